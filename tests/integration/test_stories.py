"""The five stories in a real run: what the events say, and how many calls the origin saw."""

from belay import Wire
from origin import answer, in_order, silence

UNAVAILABLE = answer(503, b"busy")
CONSTANT = {"backoff": {"kind": "constant", "base": "40ms"}}


def decisions(attempts):
    return [(a["attempt"], a["status"], a["errorClass"], a["decision"]) for a in attempts]


def check_times(operation, attempts):
    """What remains only shrinks, and every attempt starts with a part of the deadline left."""
    remaining = [a["remainingMs"] for a in attempts]
    assert remaining == sorted(remaining, reverse=True)
    assert all(r > 0 for r in remaining)
    assert operation["attempts"] == len(attempts)
    assert [a["requestId"] for a in attempts] == [
        f"{operation['operationId']}/attempt-{n + 1}" for n in range(len(attempts))
    ]


def test_story_first_success(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        got = client.get("/orders")
    assert (got.status, got.body) == (200, b"hello")
    operation, attempts = belay.operation()
    assert decisions(attempts) == [(1, 200, None, "return")]
    assert operation["result"] == {"status": 200} and operation["answer"] == 200
    assert origin.calls() == 1
    check_times(operation, attempts)


def test_story_two_failures_then_success(through):
    belay, origin = through(in_order(UNAVAILABLE, UNAVAILABLE, answer(200, b"there")), **CONSTANT)
    with Wire(belay.port) as client:
        got = client.get()
    assert (got.status, got.body) == (200, b"there")
    operation, attempts = belay.operation()
    assert decisions(attempts) == [
        (1, 503, None, "retry"),
        (2, 503, None, "retry"),
        (3, 200, None, "return"),
    ]
    assert [a.get("waitMs") for a in attempts] == [40, 40, None]
    assert operation["result"] == {"status": 200}
    assert origin.calls() == 3
    check_times(operation, attempts)


def test_story_deadline_used_up(through):
    belay, origin = through(
        in_order(UNAVAILABLE),
        deadline="300ms",
        attempts=9,
        backoff={"kind": "constant", "base": "200ms"},
    )
    with Wire(belay.port) as client:
        got = client.get()
    assert (got.status, got.body) == (503, b"busy")
    operation, attempts = belay.operation()
    assert decisions(attempts) == [(1, 503, None, "retry"), (2, 503, None, "deadline_exceeded")]
    assert operation["result"] == {"status": "deadline_exceeded"} and operation["answer"] == 503
    assert operation["elapsedMs"] < 300
    assert origin.calls() == 2
    check_times(operation, attempts)


def test_story_get_timeout(through):
    belay, origin = through(
        in_order(silence, answer(200, b"second")), silence_timeout="150ms", **CONSTANT
    )
    with Wire(belay.port) as client:
        got = client.get()
    assert (got.status, got.body) == (200, b"second")
    operation, attempts = belay.operation()
    assert decisions(attempts) == [(1, None, "timeout", "retry"), (2, 200, None, "return")]
    assert attempts[0]["sent"] == "sent" and attempts[0]["phase"] == "headers"
    assert operation["result"] == {"status": 200}
    assert origin.calls() == 2
    check_times(operation, attempts)


def test_story_post_timeout(through):
    belay, origin = through(
        in_order(silence, answer(200, b"never")), silence_timeout="150ms", **CONSTANT
    )
    with Wire(belay.port) as client:
        got = client.post(body=b"pay 5")
    assert got.status == 504
    assert got.field("content-type") == "application/problem+json"
    operation, attempts = belay.operation()
    assert decisions(attempts) == [(1, None, "timeout", "check_state")]
    assert operation["result"] == {"status": "check_state"}
    assert operation["effect"] == "unknown" and operation["answer"] == 504
    assert operation["operationId"].encode() in got.body
    assert [r.body for r in origin.requests] == [b"pay 5"]
    check_times(operation, attempts)
