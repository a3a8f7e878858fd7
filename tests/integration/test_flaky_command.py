"""`belay flaky` as a process: its command line, its counts, its dice and its end."""

import http.client
import json
import signal
import socket
import subprocess

import pytest
from belay import Wire
from processes import BELAY, Process


@pytest.fixture
def start_flaky(closing):
    """start_flaky(options...) -> (process, port)"""

    def start(*options):
        process = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", *options])
        closing.append(process)
        return process, int(process.wait_for(r"listening on http://127\.0\.0\.1:(\d+)").group(1))

    return start


def get(port, path, **fields):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    client.request(
        "GET", path, headers={name.replace("_", "-"): value for name, value in fields.items()}
    )
    answer = client.getresponse()
    return answer.status, answer.headers, answer.read()


def counts(port, operation=None):
    query = f"?operation={operation}" if operation else ""
    return json.loads(get(port, f"/_flaky/counts{query}")[2])


def run(*arguments):
    return subprocess.run([BELAY, "flaky", *arguments], capture_output=True, text=True, timeout=20)


def test_help_is_told():
    done = run("--help")
    assert done.returncode == 0
    assert "--fail-first" in done.stdout and "/_flaky/counts" in done.stdout


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--liste", "x"], "unknown option"),
        (["--listen"], "needs a value"),
        (["now"], "is no option"),
        (["--calls", "/nowhere/calls"], "No such file"),
        (["--seed", "1", "--seed", "2"], "is given twice"),
        (["--listen", "nowhere"], "must be an address and a port"),
        (["--status", "99"], "must be a status"),
        (["--delay", "20"], "must be a duration"),
        (["--seed", "-1"], "must be a number"),
        (["--fault", "reset"], "must be WHAT:PERCENT"),
        (["--fault", "reset:101"], "must be WHAT:PERCENT"),
        (["--fault", "reset:1.00001"], "must be WHAT:PERCENT"),
        (["--fault", "rest:1"], "unknown setting 'rest'"),
        (["--fault", "700:1"], "must be a status"),
        (["--fault", "reset:60", "--fault", "close:41%"], "more than 100 %"),
    ],
)
def test_wrong_arguments_are_refused(arguments, complaint):
    done = run(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_an_address_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 2
    assert "in use" in done.stderr


def test_the_first_calls_of_each_operation_fail(start_flaky):
    process, port = start_flaky("--fail-first", "2", "--status", "429", "--retry-after", "1")
    for operation in ("a", "b"):
        answers = [get(port, "/orders/42", X_Operation_Id=operation) for _ in range(3)]
        assert [status for status, _, _ in answers] == [429, 429, 200]
        assert [fields["Retry-After"] for _, fields, _ in answers] == ["1", "1", None]
        assert counts(port, operation)["calls"] == 3
    assert counts(port)["statuses"] == {"200": 2, "429": 4}
    process.wait_for(r"GET /orders/42 \(b call 3\): 200")


def test_a_reused_connection_finds_itself_closed(start_flaky):
    _, port = start_flaky("--quiet")
    with Wire(port) as wire:
        assert wire.get("/close-on-reuse").status == 200
        assert wire.get("/close-on-reuse") is None


def test_bodies_are_counted_complete_and_cut(start_flaky):
    _, port = start_flaky("--quiet")
    body = bytes(range(256)) * 4000
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    client.request("POST", "/echo", body=body, headers={"X-Operation-Id": "whole"})
    assert client.getresponse().read() == body
    with Wire(port) as wire:
        wire.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\nX-Operation-Id: cut\r\nContent-Length: 9\r\n\r\nhalf"
        )
    assert counts(port, "whole") == {
        "operation": "whole",
        "calls": 1,
        "bodiesComplete": 1,
        "bodiesCut": 0,
        "bodyBytes": len(body),
        "methods": {"POST": 1},
    }
    with Wire(port) as wire:
        assert wire.get("/_flaky/counts?operation=cut").status == 200
    assert counts(port, "cut")["bodiesCut"] == 1


def test_the_dice_of_one_seed_fall_the_same(start_flaky):
    def play():
        _, port = start_flaky(
            "--quiet", "--seed", "7", "--fault", "503:30", "--fault", "retry-after=2&status=429:20%"
        )
        return [get(port, "/orders")[0] for _ in range(60)]

    first = play()
    assert first == play()
    assert set(first) == {200, 429, 503}


def test_every_fault_at_once_harms_nothing(start_flaky):
    process, port = start_flaky("--quiet", "--fault", "all:9")
    ended = 0
    for number in range(150):
        client = socket.create_connection(("127.0.0.1", port), 5)
        client.settimeout(0.05)
        client.sendall(b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n" * 2)
        try:
            while client.recv(65536):
                pass
        except OSError:
            pass
        client.close()
        ended += 1
    assert ended == 150
    assert counts(port)["calls"] >= 150
    process.signal(signal.SIGTERM)
    assert process.wait() == 0
    assert "Sanitizer" not in "\n".join(process.lines)


def test_it_ends_in_the_middle_of_things(start_flaky):
    process, port = start_flaky("--quiet")
    with Wire(port) as silent, Wire(port) as dripping:
        silent.send("GET /silence HTTP/1.1\r\nHost: a\r\n\r\n")
        dripping.send("GET /drip?bytes=1000 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert dripping.stream.read(4) == b"HTTP"
        process.signal(signal.SIGINT)
        assert process.wait() == 0
    assert "Sanitizer" not in "\n".join(process.lines)
