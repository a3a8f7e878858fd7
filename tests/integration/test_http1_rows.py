"""The rows of conformance/http1.tsv over real sockets; a test's name begins with its row."""

import socket
import threading
import time

import pytest
from belay import Wire, configuration
from origin import answer, in_order, read_exactly, reset, says, says_and_stalls
from processes import until

GET = "GET /x HTTP/1.1\r\nHost: a\r\n"
POST = "POST /x HTTP/1.1\r\nHost: a\r\n"
SECOND = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n"


def refused(through, data, statuses=(400,), forwarded=0):
    """Sends bytes that are no request: refused, nothing forwarded, a record without attempts."""
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send(data)
        got = client.answer()
        assert got is not None and got.status in statuses, got and got.status
        assert client.closed()
    operation, attempts = belay.operation()
    assert attempts == [] and operation["result"] == {"status": "bad_request"}
    assert origin.calls() == forwarded
    return belay


def cases(row, texts):
    """One test an input, named row and number."""
    return [pytest.param(text, id=f"{row}-{number}") for number, text in enumerate(texts, 1)]


# ---- requests that are no requests ----


def test_H1_length_and_chunked(through):
    refused(
        through, POST + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND
    )


def test_H2_two_lengths(through):
    refused(through, POST + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab")


@pytest.mark.parametrize(
    "value", cases("H4", ["+2", "-1", "0x2", "1_0", "", "2 3", "2,3", "2;", "\x0b2"])
)
def test_H4_bad_length(through, value):
    refused(through, POST + f"Content-Length: {value}\r\n\r\nab")


@pytest.mark.parametrize(
    "value", cases("H6", ["18446744073709551618", "18446744073709551616", "9" * 40])
)
def test_H6_length_that_wraps(through, value):
    refused(through, POST + f"Content-Length: {value}\r\n\r\nab", (400, 413))


@pytest.mark.parametrize("line", cases("H7", ["Content-Length : 2", "Host\t: b", "X-A : 1"]))
def test_H7_space_before_colon(through, line):
    refused(through, POST + line + "\r\n\r\nab")


@pytest.mark.parametrize(
    "lines",
    cases(
        "H8",
        [
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: chunked,chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: \x0bchunked",
            "Transfer-Encoding: identity",
        ],
    ),
)
def test_H8_strange_codings(through, lines):
    refused(through, POST + lines + "\r\n\r\n0\r\n\r\n", (400, 501))


def test_H8_list_with_an_empty_element(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send(POST + "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n")
        assert client.answer().status in (400, 501)
    assert origin.calls() == 0


def test_H10_gzip_before_chunked(through):
    refused(through, POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", (501, 422))


def broken_body(through, body, statuses=(400,)):
    """A chunked request whose body breaks the framing: refused, never seen by the origin."""
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send(POST + "Transfer-Encoding: chunked\r\n\r\n" + body + SECOND)
        got = client.answer()
        assert got is None or got.status in statuses, got.status
        assert client.closed()
    operation, attempts = belay.operation()
    assert attempts == [] and operation["result"] == {"status": "bad_request"}
    assert origin.calls() == 0


@pytest.mark.parametrize("size", cases("H12", ["0x2", " 2", "-1", "+2", "2_0", "", "2 ", "g"]))
def test_H12_bad_chunk_size(through, size):
    broken_body(through, f"{size}\r\nab\r\n0\r\n\r\n")


@pytest.mark.parametrize("size", cases("H14", ["10000000000000002", "ffffffffffffffff", "f" * 40]))
def test_H14_huge_chunk_size(through, size):
    broken_body(through, f"{size}\r\nab\r\n0\r\n\r\n", (400, 413))


@pytest.mark.parametrize("extension", cases("H16", ["a=\nb", "a=\rb", "a" * 65536]))
def test_H16_bad_chunk_extension(through, extension):
    broken_body(through, f"2;{extension}\r\nab\r\n0\r\n\r\n", (400, 413, 431))


@pytest.mark.parametrize(
    "body", cases("H17", ["2\nab\r\n0\r\n\r\n", "2\r\nab\n0\r\n\r\n", "2\r\nab\r\n0\n\r\n"])
)
def test_H17_chunk_lines_ended_by_lf(through, body):
    broken_body(through, body)


def test_H20_fields_that_no_trailer_may_have(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send(
            POST + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nContent-Length: 5\r\n"
            "Transfer-Encoding: chunked\r\nHost: evil\r\nAuthorization: secret\r\n\r\n"
        )
        got = client.answer()
    assert got.status in (200, 400)
    for request in origin.requests:
        assert request.body == b"ab"
        assert request.field("authorization") is None and request.field("host") != "evil"


def test_H24_head_of_bare_lf(through):
    refused(through, "GET /x HTTP/1.1\nHost: a\n\n")


@pytest.mark.parametrize("value", cases("H25", ["a\rb", "a\0b", "\r", "\0"]))
def test_H25_cr_or_nul_in_a_value(through, value):
    refused(through, GET + f"X-A: {value}\r\n\r\n")


@pytest.mark.parametrize(
    "head",
    cases(
        "H27",
        [
            "GET /x HTTP/1.1\r\n X-A: 1\r\nHost: a\r\n\r\n",
            GET + ": 1\r\n\r\n",
            GET + "no colon\r\n\r\n",
            GET + "X\x7f: 1\r\n\r\n",
            GET + "X\x01: 1\r\n\r\n",
            GET + "X\xe9: 1\r\n\r\n",
            GET + "X A: 1\r\n\r\n",
            GET + "X-A: 1\r\n folded\r\n\r\n",
        ],
    ),
)
def test_H27_bad_field_names(through, head):
    refused(through, head)


@pytest.mark.parametrize(
    "head",
    cases(
        "H28",
        [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        ],
    ),
)
def test_H28_host(through, head):
    refused(through, head)


def test_H29_absolute_target(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send("GET http://b/1 HTTP/1.1\r\nHost: a\r\n\r\n")
        got = client.answer()
    assert got.status in (200, 400)
    assert [(r.target, r.field("host")) for r in origin.requests] == (
        [("/1", "b")] if got.status == 200 else []
    )


def test_H32_method_in_lower_case(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send("get / HTTP/1.1\r\nHost: a\r\n\r\n")
        got = client.answer()
    assert got.status in (200, 400, 501)
    assert [r.method for r in origin.requests] == (["get"] if got.status == 200 else [])


@pytest.mark.parametrize(
    "head",
    cases(
        "H34",
        [
            GET + "X-A: " + "a" * 100000 + "\r\n\r\n",
            GET + "".join(f"X-{n}: 1\r\n" for n in range(200)) + "\r\n",
            "GET /" + "a" * 65536 + " HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    ),
)
def test_H34_too_large(through, head):
    refused(through, head, (414, 431))


# ---- what is forwarded ----


def test_H37_fields_named_by_connection(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        got = client.get(fields=["Connection: X-Auth", "X-Auth: secret", "X-Other: kept"])
    assert got.status == 200
    request = origin.requests[0]
    assert request.field("x-auth") is None and request.field("x-other") == "kept"


def test_H39_hop_by_hop_fields(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        got = client.get(
            fields=[
                "Proxy-Connection: keep-alive",
                "Keep-Alive: timeout=5",
                "TE: gzip",
                "Upgrade: h2c",
                "HTTP2-Settings: AAMAAABkAAQAAP__",
                "Connection: Upgrade, HTTP2-Settings",
            ]
        )
    assert got.status == 200
    for name in ("proxy-connection", "keep-alive", "te", "upgrade", "http2-settings"):
        assert origin.requests[0].field(name) is None


def test_H41_pipeline(through):
    def slow_second(request, connection):
        if request.target == "/2":
            time.sleep(0.2)
        return answer(200, request.target.encode())

    belay, origin = through(slow_second)
    with Wire(belay.port) as client:
        client.send("".join(f"GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n" for n in (1, 2, 3)))
        assert [client.answer().body for _ in range(3)] == [b"/1", b"/2", b"/3"]
    assert origin.calls() == 3


def test_H48_http_1_0_keep_alive(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        for _ in range(2):
            client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            got = client.answer()
            assert (got.status, got.body) == (200, b"hello")
            assert got.field("connection").lower() == "keep-alive"
    assert origin.calls() == 2


def test_H48_http_1_0_closes(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.send("GET / HTTP/1.0\r\n\r\n")
        assert client.answer().status == 200
        assert client.closed()


# ---- answers ----


def test_H50_100_before_200(through):
    belay, origin = through(in_order(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(200, b"final")))
    with Wire(belay.port) as client:
        got = client.get()
    assert (got.status, got.body) == (200, b"final")


def bad_answer(through, data, method="GET"):
    """An origin whose answer is no answer: 502, and its connection is not used again."""
    script = in_order(lambda r, c: data, answer(200, b"fine"))
    belay, origin = through(script, attempts=1)
    with Wire(belay.port) as client:
        got = client.get(method=method)
        assert got.status == 502
        assert client.get().body == b"fine"
    operation, attempts = belay.operations(2)[0]
    assert attempts[0]["errorClass"] == "protocol"
    assert origin.accepted == 2
    return belay


def test_H53_unsolicited_101(through):
    bad_answer(
        through, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    )


def test_H54_head_with_a_body(through):
    script = in_order(lambda r, c: answer(200, b"hello"), answer(200, b"own answer"))
    belay, origin = through(script)
    with Wire(belay.port) as client:
        assert client.get(method="HEAD").status == 200
        got = client.get()
    assert (got.status, got.body) == (200, b"own answer")
    assert origin.accepted == 2


def test_H56_length_and_chunked_in_an_answer(through):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = head + b"5\r\nhello\r\n0\r\n\r\n"
    belay, origin = through(in_order(data, answer(200, b"second")))
    with Wire(belay.port) as client:
        got = client.get()
        assert got.status == 502 or (got.body == b"hello" and got.field("content-length") is None)
        assert client.get().body == b"second"
    assert origin.accepted == 2


def test_H58_bytes_after_the_body(through):
    belay, origin = through(in_order(answer(200, b"good") + b"EVIL", answer(200, b"clean")))
    with Wire(belay.port) as client:
        assert client.get().body == b"good"
        got = client.get()
    assert (got.status, got.body) == (200, b"clean")
    assert origin.accepted == 2


@pytest.mark.parametrize(
    "data",
    cases(
        "H59",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nonly this",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n99\r\nonly this",
        ],
    ),
)
def test_H59_cut_answer(through, data):
    belay, origin = through(says(data))
    with Wire(belay.port) as client:
        got = client.get()
        assert got is None or not got.whole
        assert client.closed()
    operation, attempts = belay.operation()
    assert [(a["status"], a["errorClass"], a["phase"], a["decision"]) for a in attempts] == [
        (None, "closed", "body", "stop")
    ]
    assert attempts[0]["reason"] == "answer_started"
    assert origin.calls() == 1


def test_H61_stall_in_a_body(through):
    data = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 1000
    belay, origin = through(says_and_stalls(data), deadline="600ms")
    began = time.monotonic()
    with Wire(belay.port) as client:
        got = client.get()
        took = time.monotonic() - began
        assert got is None or not got.whole
    assert abs(took - 0.6) <= 0.05
    operation, attempts = belay.operation()
    assert attempts[0]["errorClass"] == "timeout" and attempts[0]["phase"] == "body"


@pytest.mark.parametrize(
    "line", cases("H62", ["HTTP/1.1 99 Low", "HTTP/1.1 2000 Long", "HTTP/3 200 OK", "garbage"])
)
def test_H62_no_answer_at_all(through, line):
    bad_answer(through, line.encode() + b"\r\nContent-Length: 0\r\n\r\n")


def test_H62_counts_for_the_breaker(through):
    belay, origin = through(says(b"garbage\r\n\r\n"), attempts=1, breaker={"consecutive": 3})
    with Wire(belay.port) as client:
        assert [client.get().status for _ in range(5)] == [502, 502, 502, 503, 503]
    assert origin.calls() == 3


def test_H65_slow_reader_gets_every_byte(through):
    body = bytes(range(256)) * 8192
    belay, origin = through(in_order(answer(200, body)))
    client = socket.create_connection(("127.0.0.1", belay.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with client, client.makefile("rb") as stream:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        while stream.readline() != b"\r\n":
            pass
        assert read_exactly(stream, len(body)) == body


# ---- pooled connections, hints, breaker ----


def dies_on_reuse(request, connection):
    """Answers the first request of a connection; resets when a second one comes."""
    if request.number == 1:
        return answer(200, b"fresh")
    reset(connection)
    return None


def test_H66_pooled_connection_dies_as_a_get_is_sent(through):
    belay, origin = through(dies_on_reuse)
    with Wire(belay.port) as client:
        assert client.get().body == b"fresh"
        got = client.get()
    assert (got.status, got.body) == (200, b"fresh")
    operation, attempts = belay.operations(2)[1]
    assert [a.get("stale", False) for a in attempts] == [True, False]
    assert attempts[1]["status"] == 200 and attempts[1].get("reused", False) is False
    assert origin.accepted == 2


def test_H67_pooled_connection_dies_as_a_post_is_sent(through):
    belay, origin = through(dies_on_reuse)
    with Wire(belay.port) as client:
        assert client.get().body == b"fresh"
        got = client.post(body=b"pay")
    assert got.status == 504 and b"outcome-unknown" in got.body
    operation, attempts = belay.operations(2)[1]
    assert [(a["decision"], a.get("stale", False)) for a in attempts] == [("check_state", True)]
    assert operation["effect"] == "unknown"
    assert origin.calls("POST") == 1


def test_H67_a_pooled_connection_that_is_dead_before_is_no_attempt(through):
    closed = threading.Event()

    def closes_after_answer(request, connection):
        connection.sendall(answer(200, b"fresh"))
        closed.set()

    belay, origin = through(closes_after_answer)
    with Wire(belay.port) as client:
        assert client.get().body == b"fresh"
        assert closed.wait(5)
        got = client.post(body=b"pay")
    assert (got.status, got.body) == (200, b"fresh")
    operation, attempts = belay.operations(2)[1]
    assert len(attempts) == 1 and origin.calls("POST") == 1


def test_H70_retry_after_is_obeyed(through):
    belay, origin = through(
        in_order(answer(503, b"", ["Retry-After: 1"]), answer(200, b"ok")), deadline="5s"
    )
    with Wire(belay.port) as client:
        assert client.get().status == 200
    operation, attempts = belay.operation()
    assert attempts[0]["retryAfterMs"] == 1000 and attempts[0]["waitSource"] == "retry_after"
    assert 1000 <= attempts[0]["waitMs"] <= 1100
    assert 1.0 <= origin.requests[1].at - origin.requests[0].at <= 1.25


@pytest.mark.parametrize(
    "hint", cases("H71", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT", "99999999999999999999"])
)
def test_H71_hint_beyond_the_deadline(through, hint):
    belay, origin = through(
        in_order(answer(503, b"later", [f"Retry-After: {hint}"])), deadline="2s"
    )
    began = time.monotonic()
    with Wire(belay.port) as client:
        got = client.get()
    assert (got.status, got.body) == (503, b"later")
    assert time.monotonic() - began < 1
    operation, attempts = belay.operation()
    assert [a["decision"] for a in attempts] == ["deadline_exceeded"]
    assert origin.calls() == 1


def given_deadline(through, value):
    """Sends a request with an incoming deadline: the answer, and the deadlines passed on."""
    belay, origin = through(deadline="2s")
    with Wire(belay.port) as client:
        got = client.get(fields=[f"X-Request-Timeout-Ms: {value}"])
    passed_on = [int(r.field("x-request-timeout-ms")) for r in origin.requests]
    return got, passed_on


def test_H75_smaller_incoming_deadline_wins(through):
    got, passed_on = given_deadline(through, "700")
    assert got.status == 200 and 600 < passed_on[0] <= 695


def test_H75_DL04_larger_incoming_deadline_does_not_win(through):
    got, passed_on = given_deadline(through, "5000")
    assert got.status == 200 and 1800 < passed_on[0] <= 1995


@pytest.mark.parametrize(
    "value", cases("H75", ["soon", "1.5", "", "7e2", "99999999999999999999999"])
)
def test_H75_garbage_is_ignored(through, value):
    got, passed_on = given_deadline(through, value)
    assert got.status == 200 and 1800 < passed_on[0] <= 1995


@pytest.mark.parametrize("value", cases("H75", ["0", "-1", "-99999"]))
def test_H75_nothing_left_is_no_call(through, value):
    belay, origin = through(deadline="2s")
    began = time.monotonic()
    with Wire(belay.port) as client:
        got = client.get(fields=[f"X-Request-Timeout-Ms: {value}"])
    assert got.status == 504 and time.monotonic() - began < 0.5
    operation, attempts = belay.operation()
    assert attempts == [] and operation["result"] == {"status": "deadline_exceeded"}
    assert origin.calls() == 0


def test_H77_breaker_opens_and_lets_one_probe_through(start_origin, start_belay):
    gate = threading.Event()

    def fails_then_waits(request, connection):
        if request.target == "/probe":
            gate.wait(10)
            return answer(200, b"alive")
        return answer(500, b"broken")

    broken, fine = start_origin(fails_then_waits), start_origin()
    policy = {"breaker": {"consecutive": 3, "open_for": "300ms"}}
    belay = start_belay(
        configuration({"broken": (broken.port, policy), "fine": (fine.port, policy)})
    )
    with Wire(belay.ports[0]) as client:
        assert [client.get().status for _ in range(3)] == [500, 500, 500]
        opened = time.monotonic()
        got = client.get()
        assert got.status == 503 and time.monotonic() - opened < 0.05
    with Wire(belay.ports[1]) as client:
        assert client.get().status == 200
    assert broken.calls() == 3
    statuses, lock = [], threading.Lock()

    def call():
        with Wire(belay.ports[0]) as client:
            status = client.get("/probe").status
        with lock:
            statuses.append(status)

    probe = threading.Thread(target=lambda: until(lambda: (call(), 200 in statuses)[1]))
    probe.start()
    until(lambda: broken.calls() == 4, what="a probe")
    others = [threading.Thread(target=call) for _ in range(8)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert set(statuses) == {503} and broken.calls() == 4
    gate.set()
    probe.join()
    with Wire(belay.ports[0]) as client:
        assert client.get("/probe").status == 200


def test_H78_429_does_not_open_the_breaker(through):
    belay, origin = through(
        in_order(answer(429, b"slow down")), attempts=1, breaker={"consecutive": 3, "min_calls": 3}
    )
    with Wire(belay.port) as client:
        assert [client.get().status for _ in range(20)] == [429] * 20
    assert origin.calls() == 20


def test_H78_429_with_a_hint_holds_the_target_back(through):
    belay, origin = through(
        in_order(answer(429, b"", ["Retry-After: 1"]), answer(200, b"ok")),
        attempts=1,
        deadline="5s",
    )
    with Wire(belay.port) as client:
        assert client.get().status == 429
        assert client.get().status == 200
    assert origin.requests[1].at - origin.requests[0].at >= 1.0


# ---- deadlines ----


def test_DL01_time_spent_here_is_not_passed_on(through):
    belay, origin = through(deadline="1s")
    with Wire(belay.port) as client:
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        time.sleep(0.3)  # the caller's own slowness is the case
        client.send("cd")
        assert client.answer("POST").status == 200
    assert int(origin.requests[0].field("x-request-timeout-ms")) <= 700


def test_DL02_less_than_the_reserve_is_no_call(through):
    belay, origin = through(deadline="1s", reserve="200ms")
    with Wire(belay.port) as client:
        assert client.get(fields=["X-Request-Timeout-Ms: 150"]).status == 504
    operation, attempts = belay.operation()
    assert attempts == [] and origin.calls() == 0


def test_DL06_the_deadline_is_shared_by_all_attempts(through):
    belay, origin = through(
        in_order(answer(503), answer(503), answer(200)),
        deadline="2s",
        backoff={"kind": "constant", "base": "200ms"},
    )
    with Wire(belay.port) as client:
        assert client.get().status == 200
    left = [int(r.field("x-request-timeout-ms")) for r in origin.requests]
    assert left[0] > left[1] + 190 and left[1] > left[2] + 190


def test_DL08_what_waited_past_its_deadline_is_not_sent(through):
    gate = threading.Event()

    def first_is_slow(request, connection):
        if request.target == "/slow":
            gate.wait(10)
        return answer(200)

    belay, origin = through(first_is_slow, bulkhead={"max": 1, "queue": 10}, deadline="5s")
    slow = threading.Thread(target=lambda: Wire(belay.port).get("/slow"))
    slow.start()
    until(lambda: origin.calls() == 1)
    with Wire(belay.port) as client:
        assert client.get("/late", ["X-Request-Timeout-Ms: 200"]).status in (503, 504)
    gate.set()
    slow.join()
    with Wire(belay.port) as client:
        assert client.get("/after").status == 200
    assert [r.target for r in origin.requests] == ["/slow", "/after"]
