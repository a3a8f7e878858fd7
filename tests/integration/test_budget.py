"""Retries stay within their budget: against a target that fails, and along a chain."""

import pytest
from belay import Wire, configuration
from load import burst
from origin import answer, in_order

UNAVAILABLE = in_order(answer(503, b"busy"))
QUICK = {"backoff": {"kind": "constant", "base": "1ms"}}


@pytest.mark.parametrize("breaker", ["off", "on"])
def test_H73_always_failing_target_over_four_workers(through, breaker):
    policy = {"breaker": "off"} if breaker == "off" else {}
    belay, origin = through(UNAVAILABLE, workers=4, **QUICK, **policy)
    statuses = burst(belay.port, 1000, 8)
    assert statuses == {503: 1000}
    operations = belay.operations(1000)
    attempts = sum(len(attempts) for _, attempts in operations)
    first = sum(1 for _, attempts in operations if attempts)
    retries = attempts - first
    assert attempts == origin.calls()
    assert 0 < retries <= 0.1 * first + 10
    if breaker == "off":
        assert first == 1000
    else:
        assert first < 1000, "the breaker never opened"


def chain(start_belay, origin, **policy):
    """Three daemons, each in front of the next, the last in front of the origin."""
    policy = {
        "attempts": 3,
        "breaker": "off",
        "budget": {"ratio": "100%", "burst": 100},
        **QUICK,
        **policy,
    }
    port, belays = origin.port, []
    for _ in range(3):
        belays.append(start_belay(configuration({"next": (port, policy)})))
        port = belays[-1].port
    return belays[-1]


def test_three_chained_daemons_retry_on_one_level(start_belay, start_origin):
    origin = start_origin(UNAVAILABLE)
    with Wire(chain(start_belay, origin).port) as client:
        assert client.get().status == 503
    assert origin.calls() == 3


def test_three_chained_daemons_with_the_rule_off(start_belay, start_origin):
    origin = start_origin(UNAVAILABLE)
    with Wire(chain(start_belay, origin, retry_when_owned=True).port) as client:
        assert client.get().status == 503
    assert origin.calls() == 27
