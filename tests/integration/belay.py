"""The daemon as tests see it: started on a generated configuration, with its events at hand."""

import copy
import json
import re
import socket
from pathlib import Path

import yaml
from processes import BELAY, Process, until


def configuration(targets, listeners=None, **top):
    """targets is {name: (port, policy)}; without listeners each target gets one, in order."""
    listeners = listeners or [{"target": name} for name in targets]
    return {
        "workers": 1,
        "targets": {
            name: {"addresses": [f"127.0.0.1:{port}"], "policy": policy}
            for name, (port, policy) in targets.items()
        },
        "listeners": [
            {"listen": "127.0.0.1:0", "kind": "egress", **listener} for listener in listeners
        ],
        **top,
    }


class Belay:
    """One running `belay serve`."""

    def __init__(self, folder, config, prefix=()):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.config = folder, copy.deepcopy(config)
        self.events_file = Path(
            self.config.setdefault("events", {}).setdefault("file", str(folder / "events.ndjson"))
        )
        self.config_file = folder / "belay.yaml"
        self.write_config(self.config)
        self.process = Process([*prefix, BELAY, "serve", "-c", self.config_file])
        self.ports = self._ports(len(self.config["listeners"]))
        self.port = self.ports[0]

    def write_config(self, config):
        self.config_file.write_text(yaml.safe_dump(config))

    def _ports(self, count):
        lines = r"egress.*127\.0\.0\.1:(\d+)|listening.*127\.0\.0\.1:(\d+)"

        def found():
            ports = [
                int(next(filter(None, match.groups())))
                for match in (re.search(lines, line) for line in list(self.process.lines))
                if match
            ]
            assert self.process.child.poll() is None, "belay ended:\n" + "\n".join(
                self.process.lines
            )
            return ports if len(ports) >= count else None

        return until(found, what="belay's addresses")

    def records(self):
        """Every event written so far."""
        if not self.events_file.exists():
            return []
        return [json.loads(line) for line in self.events_file.read_text().splitlines()]

    def operations(self, count):
        """Waits for so many operations; [(operation record, its attempts), ...] in their order."""

        def ended():
            return [r for r in self.records() if r.get("event") == "operation"]

        until(lambda: len(ended()) >= count, what=f"{count} operation records")
        records = self.records()
        attempts = [r for r in records if "attempt" in r and r.get("event") != "operation"]
        return [
            (operation, [a for a in attempts if a["operationId"] == operation.get("operationId")])
            for operation in ended()
        ]

    def operation(self):
        """The one operation that there was."""
        operations = self.operations(1)
        assert len(operations) == 1
        return operations[0]

    def signal(self, number):
        self.process.signal(number)

    def stop(self):
        """Drains and ends it; a fault that a sanitizer saw fails the test."""
        code = self.process.stop(30)
        said = "\n".join(self.process.lines)
        assert "Sanitizer" not in said and "runtime error" not in said, said[-6000:]
        return code


class Answer:
    """An answer as it came over the wire."""

    def __init__(self, status, fields, body, whole):
        self.status, self.fields, self.body, self.whole = status, fields, body, whole

    def field(self, name):
        values = [value for key, value in self.fields if key == name.lower()]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None


class Wire:
    """A client's connection: sends bytes as they are, reads strictly."""

    def __init__(self, port, seconds=15):
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def get(self, path="/", fields=(), method="GET"):
        self.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: test", *fields, "", ""]))
        return self.answer(method)

    def post(self, path="/", body=b"x", fields=()):
        head = "\r\n".join(
            [f"POST {path} HTTP/1.1", "Host: test", f"Content-Length: {len(body)}", *fields, "", ""]
        )
        self.send(head.encode() + body)
        return self.answer("POST")

    def answer(self, method="GET"):
        """The next final answer (`whole` is False for a cut body); None: ended before its head."""
        while True:
            head = self._head()
            if head is None:
                return None
            status, fields = head
            if status >= 200:
                break
        body, whole = self._body(method, status, fields)
        return Answer(status, fields, body, whole)

    def _head(self):
        lines = []
        while True:
            try:
                line = self.stream.readline(1 << 16)
            except ConnectionResetError:
                return None
            if not line.endswith(b"\r\n"):
                assert not lines, f"cut inside a head: {lines}"
                return None
            if line == b"\r\n":
                break
            lines.append(line[:-2].decode("latin-1"))
        version, status = lines[0].split(" ")[:2]
        assert version in ("HTTP/1.1", "HTTP/1.0"), lines[0]
        fields = [
            (line.partition(":")[0].lower(), line.partition(":")[2].strip()) for line in lines[1:]
        ]
        return int(status), fields

    def _body(self, method, status, fields):
        named = dict(fields)
        if method == "HEAD" or status in (204, 304):
            return b"", True
        try:
            if named.get("transfer-encoding") == "chunked":
                return self._chunks()
            if "content-length" in named:
                body = self.stream.read(int(named["content-length"]))
                return body, len(body) == int(named["content-length"])
            return self.stream.read(), True
        except ConnectionResetError:
            return b"", False

    def _chunks(self):
        body = b""
        while True:
            line = self.stream.readline(1 << 16)
            if not line.endswith(b"\r\n"):
                return body, False
            size = int(line.split(b";")[0], 16)
            if size == 0:
                break
            piece = self.stream.read(size)
            body += piece
            if len(piece) != size or self.stream.read(2) != b"\r\n":
                return body, False
        while line := self.stream.readline(1 << 16):
            if line == b"\r\n":
                return body, True
        return body, False

    def closed(self, seconds=5):
        """Waits for the peer to close; True when it did and sent nothing more."""
        self.socket.settimeout(seconds)
        try:
            return self.stream.read(1) == b""
        except ConnectionResetError:
            return True
        except (TimeoutError, OSError):
            return False
