"""libbelay-curl against real origins: what the program sees, and what the origin was sent."""

import json
import socket
import ssl
import subprocess
import threading
import time

import pytest
from origin import answer, cut_off, in_order, reset, says, says_and_stalls, silence
from processes import BELAY, BUILD, Process, free_port, start_nginx

CLIENT = BUILD / "tests" / "unit" / "curl" / "curl_client"
OK, PARTIAL, WRITE, TIMEOUT, ABORTED = 0, 18, 23, 28, 42
COULDNT_CONNECT, COULDNT_RESOLVE, GOT_NOTHING, RECV = 7, 6, 52, 56
BUSY = answer(503, b"busy", reason="Busy")
FINE = answer(200, b"fine", reason="OK")


class Call:
    """What one run of the client told."""

    def __init__(self, port, *words, path="/orders/42"):
        url = path if "://" in path else f"http://127.0.0.1:{port}{path}"
        began = time.monotonic()
        done = subprocess.run(
            [str(word) for word in (CLIENT, *words, url)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        self.seconds = time.monotonic() - began
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.attempts = [line for line in lines if "attempt" in line]
        self.operations = [line for line in lines if line.get("event") == "operation"]
        self.results = [line["result"] for line in lines if "code" in line.get("result", {})]
        self.plain = next((line["plain"] for line in lines if "plain" in line), None)
        self.result, self.operation = self.results[-1], self.operations[-1]
        assert len(self.results) == len(self.operations)
        self.body = bytes.fromhex(self.result["body"])

    def saw(self):
        return [(a["status"] or a["errorClass"], a["decision"], a["reason"]) for a in self.attempts]


@pytest.fixture
def run(start_origin):
    """run(script, option...) -> (Call, Origin)"""

    def start(script, *words, **named):
        origin = start_origin(script)
        return Call(origin.port, *words, **named), origin

    return start


def test_a_get_survives_two_refusals(run):
    call, origin = run(in_order(BUSY, BUSY, FINE))
    assert [a["status"] for a in call.attempts] == [503, 503, 200]
    assert [a["decision"] for a in call.attempts] == ["retry", "retry", "return"]
    assert call.result["code"] == OK and call.result["status"] == 200
    assert call.body == b"fine" and call.result["heads"] == "200 "
    assert call.operation["result"] == {"status": 200} and call.operation["attempts"] == 3
    assert origin.calls() == 3


def test_the_origin_is_told_who_calls_and_how_long(run):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    call, origin = run(
        in_order(BUSY, FINE), "--id", "op-42", "--field", "X-Own: kept", "--traceparent", parent
    )
    first, second = origin.requests
    for number, request in enumerate((first, second), 1):
        assert request.field("X-Operation-Id") == "op-42"
        assert request.field("X-Request-Id") == f"op-42/attempt-{number}"
        assert request.field("X-Request-Attempt") == str(number)
        assert request.field("X-Retry-Owner") == "belay"
        assert request.field("X-Own") == "kept"
        version, trace, span, flags = request.field("traceparent").split("-")
        assert (version, trace, flags) == ("00", parent[3:35], "01")
        assert span == call.attempts[number - 1]["spanId"] != parent[36:52]
        assert call.attempts[number - 1]["traceId"] == trace
    remaining = [int(request.field("X-Request-Timeout-Ms")) for request in origin.requests]
    assert 4900 < remaining[1] < remaining[0] <= 4995
    assert call.attempts[0]["endpoint"] == "/orders/{}"


def test_without_being_asked_no_field_is_added(run):
    _, origin = run(FINE_ALWAYS, "--plain-fields", "--field", "X-Own: kept")
    names = {name for name, _ in origin.requests[0].fields}
    assert names == {"host", "accept", "x-own"}


def FINE_ALWAYS(request, connection):
    return FINE


def test_a_post_that_timed_out_is_sent_once(run):
    call, origin = run(silence, "--post", "x=1", "--kept", "--deadline", "300")
    assert call.saw() == [("timeout", "check_state", "effect_unknown")]
    assert call.attempts[0]["phase"] == "headers" and call.attempts[0]["sent"] == "sent"
    assert call.result["code"] == TIMEOUT and call.result["status"] == 0
    assert call.operation["effect"] == "unknown" and origin.calls() == 1


def test_a_keyed_post_is_repeated_when_libcurl_keeps_its_body(run):
    words = ("--post", "x=1", "--keyed")
    call, origin = run(in_order(BUSY, FINE), *words, "--kept")
    assert call.result["status"] == 200
    assert [request.body for request in origin.requests] == [b"x=1", b"x=1"]
    call, origin = run(in_order(BUSY, FINE), *words)
    assert call.saw() == [(503, "stop", "not_replay_safe")] and origin.calls() == 1


@pytest.mark.parametrize("seekable", [True, False])
def test_a_body_from_a_callback_is_repeated_only_if_it_can_be_rewound(run, seekable):
    words = ["--upload", "70000", "--idempotent", *(["--seek"] if seekable else [])]
    call, origin = run(in_order(BUSY, FINE), *words)
    assert [request.method for request in origin.requests] == ["PUT"] * (2 if seekable else 1)
    assert {len(request.body) for request in origin.requests} == {70000}
    assert call.result["status"] == (200 if seekable else 503)
    assert call.attempts[0]["reason"] == ("backoff" if seekable else "not_replay_safe")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "FROB"])
def test_what_is_not_declared_is_not_repeated(run, method):
    call, origin = run(in_order(BUSY, FINE), "--method", method)
    assert call.saw() == [(503, "stop", "not_replay_safe")]
    assert call.result["status"] == 503 and call.body == b"busy" and origin.calls() == 1
    assert call.attempts[0]["method"] == method


def test_a_get_with_an_effect_is_no_safe_get(run):
    call, _ = run(in_order(BUSY, FINE), "--write")
    assert call.saw() == [(503, "stop", "not_replay_safe")]


def test_owned_by_another_level(run):
    call, origin = run(in_order(BUSY, FINE), "--owned")
    assert call.saw() == [(503, "stop", "retry_owned")] and origin.calls() == 1


def test_the_deadline_is_over_all(run):
    call, origin = run(silence, "--deadline", "400")
    assert call.saw() == [("timeout", "deadline_exceeded", "no_time")]
    assert 380 <= call.operation["elapsedMs"] <= 450
    assert call.result["code"] == TIMEOUT and origin.calls() == 1


def test_a_body_that_drips_is_cut_at_the_deadline(run):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"
    call, _ = run(says_and_stalls(head), "--deadline", "400")
    assert call.saw() == [("timeout", "stop", "answer_started")]
    assert call.attempts[0]["phase"] == "body"
    assert call.result["code"] == TIMEOUT and call.result["status"] == 200 and call.body == b"abc"
    assert 380 <= call.operation["elapsedMs"] <= 450


def test_the_handles_own_timeout_is_in_force(run):
    call, origin = run(in_order(silence, silence, FINE_ALWAYS), "--timeout", "150")
    assert [a["errorClass"] for a in call.attempts] == ["timeout", "timeout", None]
    assert all(120 <= a["elapsedMs"] <= 250 for a in call.attempts[:2])
    assert call.result["status"] == 200 and origin.calls() == 3


def test_refused_is_unsent_and_repeated_for_every_method(closing):
    call = Call(free_port(), "--post", "x=1")
    assert call.saw() == [
        ("refused", "retry", "backoff"),
        ("refused", "retry", "backoff"),
        ("refused", "max_attempts", "no_attempts"),
    ]
    assert all(a["sent"] == "unsent" and a["phase"] == "connect" for a in call.attempts)
    assert call.result["code"] == COULDNT_CONNECT and call.operation["effect"] == "none"


def test_a_name_that_does_not_exist():
    call = Call(0, path="http://does-not-exist.invalid/")
    assert call.attempts[0]["errorClass"] == "dns" and call.attempts[0]["sent"] == "unsent"
    assert call.result["code"] == COULDNT_RESOLVE


def test_a_dead_name_server_makes_nothing_late():
    call = Call(0, "--dead-names", "--deadline", "600", path="http://nobody.test/")
    assert [a["errorClass"] for a in call.attempts] == ["timeout", "timeout"]
    assert all(a["phase"] == "dns" and a["sent"] == "unsent" for a in call.attempts)
    assert call.operation["elapsedMs"] <= 650 and call.seconds < 2


def test_a_connect_that_hangs_has_a_clock_of_its_own(closing):
    """A listener whose queue is full drops what comes next."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    closing.append(listener)
    port = listener.getsockname()[1]
    for _ in range(4):
        waiting = socket.socket()
        waiting.setblocking(False)
        waiting.connect_ex(("127.0.0.1", port))
        closing.append(waiting)
    call = Call(port, "--attempts", "2", "--post", "x=1")
    assert [a["errorClass"] for a in call.attempts] == ["timeout", "timeout"]
    assert all(a["phase"] == "connect" and a["sent"] == "unsent" for a in call.attempts)
    assert all(280 <= a["elapsedMs"] <= 400 for a in call.attempts)
    assert call.operation["effect"] == "none"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate and its key, in one file."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split()
    subprocess.run(
        ["openssl", *words, "-keyout", file, "-out", file.with_suffix(".crt")],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


class TlsOrigin:
    """Hands every connection, still without TLS, to a function."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}/"
        threading.Thread(target=self._accept, args=(serve,), daemon=True).start()

    def _accept(self, serve):
        while True:
            try:
                connection, _ = self.listener.accept()
                serve(connection)
            except OSError:
                if self.listener.fileno() < 0:
                    return

    def close(self):
        self.listener.close()


def test_a_certificate_that_is_wrong_is_never_repeated(closing, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as stream:
            stream.recv(5000)
            stream.sendall(FINE)

    closing.append(TlsOrigin(serve))
    call = Call(0, "--post", "x=1", path=closing[-1].url)
    assert call.saw() == [("tls", "stop", "not_repeatable")]
    assert call.attempts[0]["phase"] == "tls" and call.attempts[0]["sent"] == "unsent"
    call = Call(0, "--insecure", path=closing[-1].url)
    assert call.saw() == [(200, "return", "success")]


def reset_hello(connection):
    connection.recv(5000)
    reset(connection)


def hold_hello(connection):
    connection.recv(5000)
    connection.recv(1)


@pytest.mark.parametrize("serve, error", [(reset_hello, "reset"), (hold_hello, "timeout")])
def test_a_handshake_that_is_lost_is_unsent_and_repeated(closing, serve, error):
    closing.append(TlsOrigin(serve))
    call = Call(0, "--insecure", "--attempts", "2", "--post", "x=1", path=closing[-1].url)
    assert [a["errorClass"] for a in call.attempts] == [error, error]
    assert all(a["phase"] == "tls" and a["sent"] == "unsent" for a in call.attempts)
    assert error != "timeout" or all(980 <= a["elapsedMs"] <= 1400 for a in call.attempts)


def test_http2_keeps_its_connection_when_an_answer_is_repeated(closing, tmp_path, certificate):
    port, plain = free_port(), free_port()
    tls = f"listen 127.0.0.1:{port} ssl http2; ssl_certificate {certificate};"
    places = "location /busy { return 503 busy; } location /fine { return 200 fine; }"
    inside = f"{tls} ssl_certificate_key {certificate}; {places}"
    closing.append(start_nginx(tmp_path, plain, inside))
    url = f"https://127.0.0.1:{port}"
    call = Call(0, "--insecure", path=url + "/busy")
    assert [a["status"] for a in call.attempts] == [503, 503, 503] and call.body == b"busy"
    assert ["reused" in a for a in call.attempts] == [False, True, True]
    call = Call(0, "--insecure", "--times", "3", "--post", "x=1", path=url + "/fine")
    assert [r["status"] for r in call.results] == [200, 200, 200] and call.body == b"fine"
    assert ["reused" in a for a in call.attempts] == [False, True, True]


def test_a_hint_is_waited_for(run):
    hinted = answer(503, b"busy", ["Retry-After: 1"])
    call, origin = run(in_order(hinted, FINE))
    assert call.attempts[0]["waitSource"] == "retry_after"
    assert call.attempts[0]["retryAfterMs"] == 1000
    assert origin.requests[1].at - origin.requests[0].at >= 1.0
    assert call.result["status"] == 200


@pytest.mark.parametrize("value", ["-5", "+5", "1.5", "120s", "1, 2", "soon"])
def test_a_hint_that_is_none_is_ignored(run, value):
    call, _ = run(in_order(answer(503, b"", [f"Retry-After: {value}"]), FINE))
    assert call.attempts[0]["waitSource"] == "backoff" and "retryAfterMs" not in call.attempts[0]
    assert call.result["status"] == 200


def test_two_hints_are_none(run):
    call, _ = run(in_order(answer(503, b"", ["Retry-After: 1", "retry-after: 2"]), FINE))
    assert call.attempts[0]["waitSource"] == "backoff"


def test_a_hint_past_the_deadline_ends_at_once_with_the_answer(run):
    call, origin = run(answer_always(answer(503, b"busy", ["Retry-After: 60"])))
    assert call.saw() == [(503, "deadline_exceeded", "no_time")]
    assert call.result["code"] == OK and call.result["status"] == 503 and call.body == b"busy"
    assert call.seconds < 3 and origin.calls() == 1


def answer_always(data):
    return lambda request, connection: data


def test_the_last_refusal_is_given_whole(run):
    big = answer(503, b"x" * 300_000)
    call, origin = run(answer_always(big))
    assert call.attempts[-1]["decision"] == "max_attempts" and origin.calls() == 3
    assert call.result["code"] == OK and call.result["status"] == 503
    assert call.result["bytes"] == 300_000 and call.result["heads"] == "503 "


def test_a_big_answer_streams(run):
    call, _ = run(answer_always(answer(200, b"y" * 20_000_000)))
    assert call.result["bytes"] == 20_000_000 and call.result["code"] == OK


@pytest.mark.parametrize("before", [b"", b"abc"])
def test_a_cut_answer_is_visibly_cut(run, before):
    cut = says(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + before)
    call, _ = run(cut, "--attempts", "1")
    assert call.attempts[0]["errorClass"] == "closed" and call.attempts[0]["phase"] == "body"
    assert call.result["code"] == PARTIAL and call.body == before


def test_a_cut_answer_of_which_nothing_was_seen_is_repeated(run):
    cut = says(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
    call, _ = run(in_order(cut, FINE), "--no-header")
    assert call.saw()[0] == ("closed", "retry", "backoff") and call.body == b"fine"


@pytest.mark.parametrize(
    "script, error, phase",
    [
        (cut_off, "reset", "headers"),
        (says(b""), "closed", "headers"),
        (says(b"junk junk junk\r\n\r\n"), "protocol", "headers"),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), None, "body"),
    ],
)
def test_what_broken_answers_are_called(run, script, error, phase):
    call, _ = run(script, "--post", "x=1", "--kept")
    (attempt,) = call.attempts
    assert attempt["phase"] == phase and attempt["status"] is None
    assert error in (None, attempt["errorClass"])
    assert attempt["decision"] in ("check_state", "stop") and call.operation["effect"] == "unknown"


def test_cancelled_while_an_attempt_runs(run):
    call, origin = run(silence, "--cancel-at", "1")
    assert call.saw() == [("cancelled", "stop", "not_repeatable")]
    assert call.result["code"] == ABORTED and call.seconds < 3 and origin.calls() == 1


def test_cancelled_while_it_waits(run):
    call, origin = run(answer_always(BUSY), "--wait", "4000", "--cancel-waiting")
    assert call.saw() == [(503, "retry", "backoff")] and origin.calls() == 1
    assert call.operation["result"] == {"status": "cancelled"}
    assert call.result["code"] == ABORTED and call.result["bytes"] == 0 and call.seconds < 3


def test_what_was_set_on_the_handle_is_still_set(run):
    call, origin = run(
        in_order(BUSY, FINE), "--field", "X-Own: kept", "--plain-after", "--timeout", "2000"
    )
    assert call.result["private"] and call.plain["private"]
    plain = origin.requests[-1]
    assert {name for name, _ in plain.fields} == {"host", "accept", "x-own"}
    assert call.plain["code"] == OK and bytes.fromhex(call.plain["body"]) == b"fine"
    assert call.plain["heads"] == "200 " and call.plain["headLines"] == 3


def test_connections_are_kept_from_call_to_call(run):
    call, origin = run(FINE_ALWAYS, "--times", "5")
    assert origin.accepted == 1 and origin.calls() == 5
    assert ["reused" in a for a in call.attempts] == [False, True, True, True, True]


def closes_when_reused(request, connection):
    """Answers the first request of a connection, and resets at the second."""
    if request.number == 1:
        return FINE
    return cut_off(request, connection)


def test_a_stale_connection_is_told_and_a_get_goes_again_at_once(run):
    call, origin = run(closes_when_reused, "--times", "2")
    first, stale, again = call.attempts
    assert stale["stale"] is True and stale["decision"] == "retry"
    assert stale["reason"] == "stale_connection" and stale["waitMs"] == 0
    assert again["status"] == 200 and "reused" not in again
    assert [r["status"] for r in call.results] == [200, 200] and origin.calls() == 3


def test_a_post_on_a_stale_connection_is_not_sent_again_by_anybody(run):
    call, origin = run(closes_when_reused, "--times", "2", "--post", "x=1", "--kept")
    assert call.attempts[1]["stale"] is True and call.attempts[1]["sent"] == "sent"
    assert call.attempts[1]["decision"] == "check_state"
    assert origin.calls("POST") == 2 and call.operation["effect"] == "unknown"


def test_a_redirect_is_one_attempt(run):
    def script(request, connection):
        if request.target == "/new":
            return FINE
        return answer(302, b"gone", ["Location: /new"])

    call, origin = run(script, "--follow")
    assert call.saw() == [(200, "return", "success")] and origin.calls() == 2
    assert call.body == b"fine" and call.result["heads"] == "302 200 "
    assert call.attempts[0]["endpoint"] == "/orders/{}"


def test_a_refusal_behind_a_redirect_is_repeated_from_the_start(run):
    redirect = answer(302, b"gone", ["Location: /new"])
    call, origin = run(in_order(redirect, BUSY, redirect, FINE), "--follow", "--no-header")
    assert [a["status"] for a in call.attempts] == [503, 200] and call.body == b"fine"


def test_an_error_behind_a_redirect(run):
    """Of a GET nothing was given yet; a POST may have had its effect. (How the connection was lost
    is not seen where libcurl would have sent it again.)"""
    redirect = answer(307, b"", ["Location: /new"])
    call, _ = run(in_order(redirect, cut_off, redirect, FINE), "--follow")
    assert call.saw() == [("closed", "retry", "backoff"), (200, "return", "success")]
    call, origin = run(in_order(redirect, cut_off), "--follow", "--post", "x=1", "--kept")
    assert call.saw() == [("closed", "check_state", "effect_unknown")]
    assert call.attempts[0]["sent"] == "sent" and origin.calls() == 2


def test_failonerror_is_a_status_all_the_same(run):
    call, origin = run(in_order(BUSY, FINE), "--fail")
    assert [a["status"] for a in call.attempts] == [503, 200] and call.body == b"fine"
    call, origin = run(answer_always(answer(404, b"none")), "--fail")
    assert call.saw() == [(404, "stop", "not_repeatable")]
    assert call.result["code"] == 22 and call.result["status"] == 404


def test_interim_answers_decide_nothing(run):
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    call, _ = run(in_order(interim + BUSY, interim + FINE))
    assert [a["status"] for a in call.attempts] == [503, 200] and call.body == b"fine"


def test_trailers_reach_the_callback(run):
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: 1\r\n\r\n"
    call, _ = run(answer_always(chunked))
    assert call.body == b"x" and call.result["headLines"] >= 4


def test_an_open_breaker_answers_without_a_call(run):
    call, origin = run(answer_always(BUSY), "--times", "12", "--attempts", "1")
    assert origin.calls() == 10
    assert call.result["refused"] and call.result["terminal"] == "breaker_open"
    assert call.result["code"] == COULDNT_CONNECT and call.operation["attempts"] == 0


@pytest.mark.parametrize("words", [("--id", "a b"), ("--id", ""), ("--traceparent", "00-1-2-3")])
def test_an_id_that_is_none_is_refused(start_origin, words):
    origin = start_origin()
    done = subprocess.run(
        [CLIENT, *words, f"http://127.0.0.1:{origin.port}/"], stdout=subprocess.PIPE, timeout=20
    )
    assert json.loads(done.stdout)["result"]["code"] == 43 and origin.calls() == 0


@pytest.fixture
def flaky(closing):
    """An origin that answers 503 to the first two calls of every operation."""
    origin = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", "--fail-first", "2"])
    closing.append(origin)
    return int(origin.wait_for(r"127\.0\.0\.1:(\d+)").group(1))


def test_the_easy_example(flaky):
    done = subprocess.run(
        [CLIENT.parent / "curl_easy", f"http://127.0.0.1:{flaky}/orders/42"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0 and json.loads(done.stdout)["call"] == 3
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [e.get("decision") for e in events] == ["retry", "retry", "return", None]
