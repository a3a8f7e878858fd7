"""An origin that plays a script, byte by byte, and remembers everything it was sent."""

import socket
import struct
import threading
import time
from typing import NamedTuple


class Request(NamedTuple):
    """One request as it came over the wire."""

    connection: int  # the how-manieth connection
    number: int  # the how-manieth request on it
    method: str
    target: str
    fields: list  # (name in lower case, value), in order
    body: bytes
    at: float  # monotonic seconds when its head was complete

    def field(self, name):
        """The only value of a field, or None."""
        values = [value for key, value in self.fields if key == name.lower()]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None


def answer(status=200, body=b"", fields=(), reason="Any"):
    """The bytes of an answer with a Content-Length."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Length: {len(body)}", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


def reset(connection):
    """Closes so that the peer sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Origin:
    """Serves on a free port of loopback.

    `script(request, connection)` gives the bytes to answer with, or None when it has used the
    socket itself: the connection is then closed. b"" keeps it open and waits for the next request.
    """

    def __init__(self, script=None):
        self.script = script or (lambda request, connection: answer(200, b"hello"))
        self.requests, self.accepted, self.faults = [], 0, []
        self.lock = threading.Lock()
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.accepted += 1
                self.open.add(connection)
                number = self.accepted
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection, number):
        try:
            self._serve_requests(connection, number)
        except (OSError, EOFError):
            pass
        except (
            Exception
        ) as fault:  # a fault of the script: the test that owns this origin must see it
            self.faults.append(fault)
        finally:
            with self.lock:
                self.open.discard(connection)
            connection.close()

    def _serve_requests(self, connection, number):
        stream, count = connection.makefile("rb"), 0
        while True:
            count += 1
            request = read_request(stream, number, count)
            if request is None:
                return
            with self.lock:
                self.requests.append(request)
            said = self.script(request, connection)
            if said is None:
                return
            connection.sendall(said)

    def calls(self, method=None):
        """How many requests came (of a method)."""
        with self.lock:
            return len([request for request in self.requests if method in (None, request.method)])

    def close(self):
        self.listener.close()
        with self.lock:
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        assert not self.faults, self.faults


def read_line(stream):
    line = stream.readline(1 << 16)
    if not line.endswith(b"\r\n"):
        raise EOFError("the peer closed inside a line")
    return line[:-2].decode("latin-1")


def read_request(stream, connection, number):
    """A strict reader: what a proxy forwards must be well-formed."""
    first = stream.peek(1)
    if not first:
        return None
    method, target, version = read_line(stream).split(" ")
    assert version == "HTTP/1.1", version
    fields = []
    while line := read_line(stream):
        name, colon, value = line.partition(":")
        assert colon and name and name == name.strip(), line
        fields.append((name.lower(), value.strip()))
    at, body = time.monotonic(), read_body(stream, fields)
    return Request(connection, number, method, target, fields, body, at)


def read_body(stream, fields):
    lengths = [value for name, value in fields if name == "content-length"]
    codings = [value for name, value in fields if name == "transfer-encoding"]
    assert not (lengths and codings), "both Content-Length and Transfer-Encoding were forwarded"
    if lengths:
        assert len(lengths) == 1 and lengths[0].isdigit(), lengths
        return read_exactly(stream, int(lengths[0]))
    if not codings:
        return b""
    assert codings == ["chunked"], codings
    body = b""
    while size := int(read_line(stream).split(";")[0], 16):
        body += read_exactly(stream, size)
        assert read_line(stream) == ""
    while read_line(stream):
        pass
    return body


def read_exactly(stream, count):
    data = stream.read(count)
    if len(data) != count:
        raise EOFError("the peer closed inside a body")
    return data


# ---- pieces of scripts ----


def in_order(*steps):
    """Plays one step a request; the last one again and again. A step is bytes or a script."""
    taken, lock = iter(range(1 << 60)), threading.Lock()

    def script(request, connection):
        with lock:
            step = steps[min(next(taken), len(steps) - 1)]
        return step(request, connection) if callable(step) else step

    return script


def silence(request, connection):
    """Takes the request and says nothing until the peer closes."""
    connection.recv(1)


def cut_off(request, connection):
    """Takes the request and resets."""
    reset(connection)


def says(data):
    """Sends bytes and closes properly."""

    def script(request, connection):
        connection.sendall(data)

    return script


def says_and_stalls(data):
    """Sends bytes and then nothing until the peer closes."""

    def script(request, connection):
        connection.sendall(data)
        connection.recv(1)

    return script
