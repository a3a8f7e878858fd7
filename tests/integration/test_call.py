"""`belay call` against real servers: what it writes, how it ends, and what its runs share."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from origin import answer, reset
from processes import BELAY, Process, free_port, start_nginx, until

HELD = 60  # seconds of a Retry-After that no test waits for


class Done:
    """One run: its exit status, and both outputs as bytes."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err.decode()
        assert "Sanitizer" not in self.err and "runtime error" not in self.err, self.err

    @property
    def line(self):
        """The one line on the standard error."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


def call(*arguments, stdin=b"", seconds=30, **options):
    done = subprocess.run(
        [BELAY, "call", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=seconds,
        **options,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def records(file):
    """(attempts, operations)"""
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    return (
        [r for r in lines if "event" not in r],
        [r for r in lines if r.get("event") == "operation"],
    )


@pytest.fixture
def flaky(closing):
    """The address of a `belay flaky`."""
    process = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", "--quiet"])
    closing.append(process)
    return process.wait_for(r"listening on (http://127\.0\.0\.1:\d+)").group(1)


@pytest.fixture
def dead():
    """An address that refuses every connection."""
    with socket.socket() as holder:  # bound, so that nobody else listens there, but not listening
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}"


# ---- what it writes ----


def test_two_failures_and_an_answer(flaky, tmp_path):
    events = tmp_path / "events"
    done = call(
        f"{flaky}/flaky?fail=2&status=503&key=a", "--events", events, "--backoff", "constant,10ms"
    )
    assert (done.code, done.out, done.err) == (0, b'{"call":3,"status":200}\n', "")
    attempts, operations = records(events)
    assert [a["status"] for a in attempts] == [503, 503, 200]
    assert [a["decision"] for a in attempts] == ["retry", "retry", "return"]
    assert [a["attempt"] for a in attempts] == [1, 2, 3]
    remaining = [a["remainingMs"] for a in attempts]
    assert remaining == sorted(remaining, reverse=True) and remaining[0] <= 10000
    (operation,) = operations
    assert operation["result"] == {"status": 200} and operation["answer"] == 200
    assert {a["operationId"] for a in attempts} == {operation["operationId"]}
    assert all(a["requestId"] == f"{a['operationId']}/attempt-{a['attempt']}" for a in attempts)


def test_ten_megabytes_come_byte_for_byte(closing, tmp_path):
    port = free_port()
    content = os.urandom(10 * 1024 * 1024)
    (tmp_path / "large").write_bytes(content)
    closing.append(start_nginx(tmp_path / "nginx", port, f"root {tmp_path};"))
    url = f"http://127.0.0.1:{port}/large"
    assert call(url).out == content
    assert call(url, "-o", "-").out == content
    done = call(url, "-o", tmp_path / "copy")
    assert done.out == b"" and (tmp_path / "copy").read_bytes() == content
    head = call("-i", url).out
    assert head.startswith(b"HTTP/1.1 200 OK\r\n") and head.endswith(b"\r\n\r\n" + content)
    only = call("-I", url)
    assert only.code == 0 and only.out.startswith(b"HTTP/1.1 200") and len(only.out) < 1000
    assert call(f"http://127.0.0.1:{port}/nothing").code == 1


def test_an_answer_without_a_body_leaves_an_empty_file(start_origin, tmp_path):
    origin = start_origin(lambda request, connection: answer(200, b""))
    (tmp_path / "old").write_text("from before")
    assert call(f"http://127.0.0.1:{origin.port}/", "-o", tmp_path / "old").code == 0
    assert (tmp_path / "old").read_bytes() == b""


def test_a_body_is_sent_as_curl_sends_it(start_origin, tmp_path):
    origin = start_origin()
    url = f"http://127.0.0.1:{origin.port}/"
    (tmp_path / "lines").write_bytes(b"one\r\ntwo\n\0three\n")
    cases = [
        (["-d", "a=1", "-d", "b=2"], b"a=1&b=2"),
        (["-d", f"@{tmp_path}/lines"], b"onetwothree"),
        (["--data-binary", f"@{tmp_path}/lines"], b"one\r\ntwo\n\0three\n"),
        (["--data-raw", "@lines"], b"@lines"),
        (["--data-binary", f"@{tmp_path}/lines", "-d", "b", "--data-raw", "@c"],
         b"one\r\ntwo\n\0three\n&b&@c"),
        (["-d", "@-"], b"fromstdin"),
        (["--data-binary", "@-"], b"from\nstdin\n"),
        (["-d", ""], b""),
    ]
    for arguments, sent in cases:
        done = call(url, *arguments, stdin=b"from\nstdin\n" if "-" in arguments[1] else b"")
        request = origin.requests[-1]
        assert done.code == 0, done.err
        assert (request.method, request.body) == ("POST", sent), arguments
        assert ("content-type", "application/x-www-form-urlencoded") in request.fields
    call("-sSXPUT", "-d", "x", "-H", "Content-Type: text/plain", url)
    assert origin.requests[-1].method == "PUT"
    assert ("content-type", "text/plain") in origin.requests[-1].fields


def test_a_body_is_sent_whole_with_every_attempt(start_origin):
    bodies = []

    def script(request, connection):
        bodies.append(request.body)
        return answer(503 if len(bodies) < 3 else 200, b"ok")

    origin = start_origin(script)
    body = os.urandom(300_000)
    done = call(
        f"http://127.0.0.1:{origin.port}/",
        "--data-binary",
        "@-",
        "--idempotency-key",
        "auto",
        "--backoff",
        "1ms",
        stdin=body,
    )
    assert done.code == 0 and bodies == [body] * 3
    keys = [dict(r.fields)["idempotency-key"] for r in origin.requests]
    assert len(set(keys)) == 1 and re.fullmatch("[0-9a-f]{32}", keys[0])


def test_the_answer_of_a_failure_is_written_unless_fail_is_said(flaky):
    done = call(f"{flaky}/status/404")
    assert done.code == 1 and done.out == b'{"call":1,"status":404}\n'
    assert call("-f", f"{flaky}/status/404").out == b""
    assert call("-s", f"{flaky}/status/404").err == ""
    assert "404" in call("-sS", f"{flaky}/status/404").err


# ---- how it ends ----


@pytest.mark.parametrize(
    "code, word, path, arguments",
    [
        (1, "stop", "/status/404", []),
        (1, "stop", "/flaky?status=503", ["-d", "x"]),
        (3, "deadline_exceeded", "/silence", ["--deadline", "200ms"]),
        (3, "deadline_exceeded", f"/flaky?status=503&retry-after={HELD}", []),
        (3, "deadline_exceeded", "/", ["--deadline", "1ms"]),
        (4, "max_attempts", "/flaky?status=503", ["--backoff", "1ms"]),
        (4, "max_attempts", "/reset", ["--backoff", "1ms", "--attempts", "2"]),
        (5, "budget_exhausted", "/flaky?status=503", ["--set", "budget.burst=0"]),
        (6, "breaker_open", "/flaky?status=503", ["--set", "breaker.consecutive=1"]),
        (10, "check_state", "/silence", ["-d", "x", "--max-time", "0.2"]),
        (10, "check_state", "/reset", ["-d", "x"]),
        (10, "check_state", "/status/504", ["-X", "PATCH"]),
        (11, "no_answer", "/garbage", []),
        (10, "check_state", "/garbage", ["-d", "x"]),
        (12, "answer_cut", "/close-mid-body", []),
        (12, "answer_cut", "/truncate-chunked", []),
    ],
)
def test_every_end_has_its_status(flaky, code, word, path, arguments):
    done = call(flaky + path, *arguments)
    assert done.code == code, done.err
    assert done.line.startswith(f"belay call: {word}: ")
    assert flaky.removeprefix("http://") in done.line
    assert ("the outcome is unknown" in done.line) == (code == 10)


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ([], "the URL is missing"),
        (["http://a/", "http://b/"], "one URL"),
        (["ftp://a/"], "only http and https"),
        (["http://"], "URL: "),
        (["--deadlin", "1s", "http://a/"], "did you mean --deadline?"),
        (["--deadline", "5", "http://a/"], "deadline: "),
        (["--deadline", "1s", "-m", "1", "http://a/"], "say one of them"),
        (["-m", "1.5.2", "http://a/"], "no number of seconds"),
        (["--attempts", "0", "http://a/"], "attempts: "),
        (["--backoff", "1s,2s,3s", "http://a/"], "third time"),
        (["--backoff", "wild", "http://a/"], "backoff.kind"),
        (["--retry-on", "503,tls", "http://a/"], "retry_on"),
        (["--set", "breaker.consecutiv=1", "http://a/"], "did you mean 'breaker.consecutive'?"),
        (["--set", "bulkhead.queue=1", "http://a/"], "no effect on a single call"),
        (["--set", "attempts", "http://a/"], "NAME=VALUE"),
        (["--set", "quota=on", "http://a/"], "needs a rate"),
        (["--effect", "none", "http://a/"], "read or write"),
        (["--idempotency-key", "a b", "http://a/"], "visible characters"),
        (["--operation-id", "a b", "http://a/"], "letters, digits"),
        (["-L", "http://a/"], "not followed"),
        (["-u", "me:secret", "http://a/"], "--netrc-file"),
        (["--route", "/x?token=secret", "http://a/"], "begins with one / and has no query"),
        (["--route", "//u:secret@h/x", "http://a/"], "begins with one / and has no query"),
        (["-H", "no colon", "http://a/"], "Name: value"),
        (["-H", "A: b\r\nC: d", "http://a/"], "one line"),
        (["-d", "@/nowhere/x", "http://a/"], "cannot open /nowhere/x"),
        (["-I", "-d", "x", "http://a/"], "does not go with"),
        (["-X", "HEAD", "-d", "x", "http://a/"], "does not go with"),
        (["--state", "/nowhere/x", "http://a/"], "/nowhere/x: cannot be opened"),
        (["--events", "/nowhere/x", "http://a/"], "/nowhere/x: cannot be opened"),
    ],
)
def test_wrong_usage_is_said_and_nothing_is_sent(arguments, complaint):
    done = call(*arguments)
    assert done.code == 2 and done.out == b""
    assert complaint in done.err and "secret" not in done.err


@pytest.fixture
def silent():
    """The address of a TLS server that accepts, and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"


def test_what_is_missing_here_is_a_failure(silent):
    done = call(silent, "--cacert", "/nowhere/ca.pem")
    assert (done.code, done.out) == (14, b"")
    assert done.line.startswith("belay call: failed: ") and "CA cert" in done.line


def test_the_connect_timeout_covers_the_handshake(silent):
    began = time.monotonic()
    done = call(silent, "--connect-timeout", "0.5", "--attempts", "1")
    assert done.code == 4 and "in the TLS handshake" in done.line
    assert 0.4 < time.monotonic() - began < 0.95  # one clock, not one for each phase


def test_a_state_that_is_locked_costs_no_call(flaky, tmp_path):
    state = tmp_path / "state"
    assert call(flaky, "--state", state).code == 0
    with open(state, "r+b") as holder:
        fcntl.lockf(holder, fcntl.LOCK_EX)
        began = time.monotonic()
        done = call(flaky, "--state", state, "--deadline", "600ms")
        assert done.code == 0 and "another run holds its lock" in done.line
        assert time.monotonic() - began < 0.9
        runner = subprocess.Popen([BELAY, "call", flaky, "--state", state])
        time.sleep(0.2)
        runner.send_signal(signal.SIGINT)
        assert runner.wait(timeout=1.5) == 130
    assert call(flaky, "--state", state).err == ""


def test_a_refused_call_has_method_and_endpoint_in_its_record(dead, tmp_path):
    state, events = tmp_path / "state", tmp_path / "events"
    words = ["--state", state, "--set", "breaker.consecutive=1", "--attempts", "1"]
    call(f"{dead}/orders/42?x=1", *words)
    for arguments, method in [([], "GET"), (["-d", "x"], "POST"), (["-X", "PURGE"], "PURGE")]:
        done = call(f"{dead}/orders/42?x=1", *words, *arguments, "--events", events)
        assert done.code == 6
        operation = records(events)[1][-1]
        assert operation["method"] == method and operation["endpoint"] == "/orders/{}"


def test_an_output_that_is_full_or_gone(flaky, tmp_path):
    done = call(f"{flaky}/bytes/100000", "-o", "/dev/full")
    assert done.code == 13 and "No space left" in done.line
    reader, writer = os.pipe()
    os.close(reader)
    child = subprocess.Popen(
        [BELAY, "call", f"{flaky}/bytes/100000"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert "Broken pipe" in child.communicate(timeout=20)[1].decode()
    assert child.returncode == 13


def test_an_output_that_came_closed_is_not_another_file(flaky, tmp_path):
    events, state = tmp_path / "events", tmp_path / "state"
    command = f'"$0" call --events {events} --state {state} {flaky}/bytes/10'
    done = subprocess.run(
        ["sh", "-c", f"{command} <&- >&-", BELAY], stderr=subprocess.PIPE, timeout=30, check=False
    )
    assert done.returncode == 13 and b"Bad file descriptor" in done.stderr
    attempts, operations = records(events)
    assert len(attempts) == len(operations) == 1
    done = subprocess.run(
        ["sh", "-c", f"{command} <&- >&- 2>&-", BELAY], timeout=30, check=False
    )
    assert done.returncode == 13
    assert len(records(events)[1]) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels(flaky, tmp_path, number):
    events = tmp_path / "events"
    child = subprocess.Popen(
        [BELAY, "call", f"{flaky}/silence?key={number}", "--events", events],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    counts = f"{flaky}/_flaky/counts?operation={number}"
    until(lambda: json.loads(call(counts).out)["calls"] > 0, what="the call")
    child.send_signal(number)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130 and out == b"" and b"cancelled" in err
    attempts, operations = records(events)
    assert attempts[0]["errorClass"] == "cancelled" and len(operations) == 1


def test_a_call_whose_reader_stalls_can_be_cancelled(flaky):
    reader, writer = os.pipe()
    child = subprocess.Popen([BELAY, "call", f"{flaky}/bytes/10000000"], stdout=writer)
    os.close(writer)
    assert os.read(reader, 1)
    full = fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ) - 8192
    waiting = lambda: int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)
    until(lambda: waiting() > full, what="a full pipe")
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    os.close(reader)


def test_a_waiting_call_can_be_cancelled(flaky, tmp_path):
    url = f"{flaky}/flaky?status=503"
    child = subprocess.Popen(
        [BELAY, "call", url, "--backoff", "constant,5s", "--events", tmp_path / "events"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    events = tmp_path / "events"
    until(lambda: events.exists() and events.read_text(), what="the first event")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)
    assert child.returncode == 130
    assert records(events)[1][0]["result"] == {"status": "cancelled"}


def test_a_certificate_that_nobody_trusts_is_no_answer(closing, tmp_path):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
        + ["/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )
    port = free_port()
    tls = f"""listen 127.0.0.1:{port + 0} ssl; ssl_certificate {tmp_path}/cert.pem;
              ssl_certificate_key {tmp_path}/key.pem; return 200 "over TLS";"""
    plain = free_port()
    closing.append(start_nginx(tmp_path / "nginx", plain, tls))
    url = f"https://127.0.0.1:{port}/"
    until(lambda: ssl.get_server_certificate(("127.0.0.1", port)), what="TLS")
    refused = call(url)
    assert refused.code == 11 and "tls" in refused.line
    assert call("--cacert", tmp_path / "cert.pem", url).out == b"over TLS"
    assert call("-k", url).out == b"over TLS"


# ---- what runs share ----


def test_a_breaker_that_one_run_opened_refuses_the_next_at_once(dead, tmp_path):
    state, events = tmp_path / "state", tmp_path / "events"
    shared = ["--state", state, "--set", "breaker.consecutive=3"]
    shared += ["--attempts", "5", "--backoff", "1ms"]
    assert call(dead, *shared).code == 6  # the third failure opened it
    begun = time.monotonic()
    done = call(dead, *shared, "--events", events)
    assert done.code == 6 and "try again in" in done.line and "no call was made" in done.line
    assert time.monotonic() - begun < 2
    attempts, operations = records(events)
    assert attempts == [] and operations[0]["result"] == {"status": "breaker_open"}
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_a_retry_after_holds_back_the_next_run(flaky, tmp_path):
    shared = ["--state", tmp_path / "state"]
    assert call(f"{flaky}/flaky?status=503&retry-after={HELD}", *shared).code == 3
    done = call(f"{flaky}/orders", *shared)
    assert done.code == 7 and done.out == b"" and "try again in" in done.line
    assert call(f"{flaky}/orders", *shared, "--set", "hold=off").code == 0


def test_a_short_retry_after_is_waited_for(flaky, tmp_path):
    shared = ["--state", tmp_path / "state"]
    assert call(f"{flaky}/flaky?status=503&retry-after=1", *shared, "--attempts", "1").code == 4
    begun = time.monotonic()
    assert call(f"{flaky}/orders", *shared).code == 0
    assert 0.5 < time.monotonic() - begun < 5


def test_a_quota_is_shared(flaky, tmp_path):
    quota = ["--state", tmp_path / "state", "--set", "quota.rate=1/m", "--set", "quota.burst=2"]
    assert [call(f"{flaky}/orders", *quota).code for _ in range(3)] == [0, 0, 8]
    waits = ["--state", tmp_path / "other", "--set", "quota.burst=1", "--set", "quota.queue=1"]
    begun = time.monotonic()
    assert [call(f"{flaky}/orders", *waits, "--set", "quota.rate=2/s").code for _ in "ab"] == [0, 0]
    assert time.monotonic() - begun > 0.4


def test_calls_in_flight_are_limited_over_all_runs(flaky, tmp_path):
    limit = ["--state", tmp_path / "state", "--set", "bulkhead.max=1"]
    child = subprocess.Popen([BELAY, "call", f"{flaky}/silence?key=first", *limit])
    counts = f"{flaky}/_flaky/counts?operation=first"
    until(lambda: json.loads(call(counts).out)["calls"] > 0, what="the first call")
    done = call(f"{flaky}/orders", *limit)
    assert done.code == 9 and "in flight" in done.line
    assert call(f"{flaky}/orders", *limit[:2]).code == 0  # 64 unless said
    child.kill()
    child.wait()
    assert call(f"{flaky}/orders", *limit).code == 0


def test_twenty_runs_at_once_stay_within_one_budget(dead, tmp_path):
    events, runs = tmp_path / "events", 20
    command = [BELAY, "call", dead, "--state", tmp_path / "state", "--events", events, "-s"]
    command += ["--set", "breaker=off", "--attempts", "5", "--backoff", "5ms"]
    children = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(runs)]
    codes = [child.wait(60) for child in children]
    attempts, operations = records(events)  # every line is whole
    assert len(operations) == runs and set(codes) <= {4, 5} and 5 in codes
    retries = len(attempts) - runs
    assert 10 <= retries <= 10 + runs // 10  # burst + ratio * operations


def test_a_run_that_is_killed_leaves_a_good_state(flaky, tmp_path):
    state, events = tmp_path / "state", tmp_path / "events"
    for _ in range(10):
        child = subprocess.Popen([BELAY, "call", f"{flaky}/silence?key=k", "--state", state, "-s"])
        until(lambda: state.exists() and state.stat().st_size > 64, what="the state file")
        child.kill()
        child.wait()
        done = call(f"{flaky}/orders", "--state", state, "--events", events)
        assert (done.code, done.err) == (0, "")


def test_a_damaged_state_is_told_and_begun_anew(flaky, dead, tmp_path):
    state = tmp_path / "state"
    shared = ["--state", state, "--set", "breaker.consecutive=1"]
    assert call(dead, *shared).code == 6
    data = bytearray(state.read_bytes())
    data[64 + 300 :] = os.urandom(len(data) - 64 - 300)
    state.write_bytes(data)
    done = call(f"{flaky}/orders", *shared)
    assert done.code == 0 and str(state) in done.line and "damaged" in done.line
    state.write_text("precious")
    done = call(f"{flaky}/orders", *shared)
    assert done.code == 2 and "no state file of belay" in done.line
    assert state.read_text() == "precious"


# ---- the evidence ----


def test_events_on_a_full_disk_cost_no_answer(flaky):
    done = call(f"{flaky}/orders", "--events", "/dev/full")
    assert done.code == 0 and done.out == b'{"call":1,"status":200}\n'
    assert "/dev/full: events are lost: No space left" in done.line


def test_events_and_answer_on_one_output_are_lines_of_their_own(flaky):
    done = call(f"{flaky}/bytes/10", "--events", "-")
    body, attempt, operation = done.out.split(b"\n")[:3]
    assert body == b"x" * 10
    assert json.loads(attempt)["decision"] == "return"
    assert json.loads(operation)["event"] == "operation"


def test_nothing_private_is_told(start_origin, tmp_path):
    secret = "s3cr3t-zebra"

    def script(request, connection):
        seen.append(Path(f"/proc/{children[-1].pid}/cmdline").read_bytes())
        return reset(connection)

    seen, children = [], []
    origin = start_origin(script)
    (tmp_path / "token").write_text(f"Authorization: Bearer {secret}\nX-Api-Key: {secret}\n")
    (tmp_path / "body").write_text(f"password={secret}")
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login {secret} password {secret}")
    command = [BELAY, "call", "--events", tmp_path / "events", "--state", tmp_path / "state"]
    command += ["-H", f"@{tmp_path}/token", "-d", f"@{tmp_path}/body", "--netrc-file"]
    command += [tmp_path / "netrc", "--idempotent", "--backoff", "1ms"]
    children.append(
        subprocess.Popen(
            [*command, f"http://127.0.0.1:{origin.port}/orders/77"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    )
    out, err = children[-1].communicate(timeout=20)
    assert children[-1].returncode == 4 and len(origin.requests) == 3
    assert dict(origin.requests[0].fields)["x-api-key"] == secret
    assert all(secret.encode() not in line for line in seen)

    plain = call(
        f"http://{secret}:{secret}@127.0.0.1:{origin.port}/a?token={secret}#{secret}",
        "-H",
        f"Cookie: {secret}",
        "--events",
        tmp_path / "events",
        "--attempts",
        "1",
    )
    assert plain.code == 4
    told = out + err + plain.err.encode() + (tmp_path / "events").read_bytes()
    assert secret.encode() not in told + (tmp_path / "state").read_bytes()
    assert b'"endpoint":"/orders/{}"' in told


def test_progress_is_shown_on_a_terminal_and_erased(flaky):
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [BELAY, "call", f"{flaky}/flaky?fail=1&status=503&key=p", "--backoff", "constant,400ms"],
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    out, _ = child.communicate(timeout=20)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    assert out == b'{"call":2,"status":200}\n'
    assert re.search(r"attempt 1 of 3, saw 503, next in 0\.\d s, 9\.\d s left", said)
    assert said.endswith("\r\x1b[K") and "\n" not in said


def test_help_and_manual_page_have_one_table_of_statuses():
    page = (Path(__file__).resolve().parents[2] / "man" / "belay-call.1").read_text()
    in_page = re.findall(r"^\.It (\d+) (\w+)\n(.*)$", page, re.MULTILINE)
    said = call("--help").out.decode().split("exit status\n", 1)[1]
    in_help = re.findall(r"^  (\d+) +(\w+) +(.*)$", said, re.MULTILINE)
    assert len(in_help) == 16 and in_page == in_help
