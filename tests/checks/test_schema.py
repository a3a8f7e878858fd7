"""docs/event.schema.json holds for every event that the encoder writes, and for no mutated one."""

import copy
import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BELAY_BUILD", ROOT / "build-test"))
SCHEMA = json.loads((ROOT / "docs" / "event.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

ATTEMPT = {
    "v": 1,
    "time": "2026-01-06T12:00:00.123Z",
    "operationId": "op",
    "requestId": "op/attempt-1",
    "attempt": 1,
    "method": "GET",
    "status": None,
    "errorClass": "timeout",
    "phase": "headers",
    "sent": "sent",
    "elapsedMs": 300,
    "remainingMs": 1480,
    "decision": "retry",
    "reason": "backoff",
    "waitMs": 260,
    "waitSource": "backoff",
}
OPERATION = {
    "v": 1,
    "event": "operation",
    "operationId": "op",
    "result": {"status": "stop"},
    "attempts": 1,
    "elapsedMs": 300,
}
TEXTS = {"operationId", "requestId", "method"}
LOST = {"v": 1, "event": "lost", "records": 3}


def is_valid(event):
    return VALIDATOR.is_valid(event)


def events(count_bytes, seed):
    """Events of the real engine and encoder, as a run under faults writes them."""
    done = subprocess.run(
        [BUILD / "bench" / "bench_events", str(count_bytes), str(seed)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_events_of_the_engine():
    seen = events(400_000, 7)
    assert {event.get("decision") for event in seen} >= {None, "return", "retry", "stop"}
    for event in seen:
        assert is_valid(event), (event, [error.message for error in VALIDATOR.iter_errors(event)])


OUTCOMES = [
    {"elapsedMs": 5, "status": 200},
    {"elapsedMs": 5, "status": 500},
    {"elapsedMs": 5, "status": 503, "retryAfterMs": 20},
    {"elapsedMs": 5, "status": 429, "retryAfterMs": 99999},
    *(
        {"elapsedMs": 80, "errorClass": word, "sent": "sent", "phase": "headers"}
        for word in SCHEMA["$defs"]["errorClass"]["enum"]
    ),
]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_events_of_replay(method):
    """Every outcome alone, and before a success."""
    lines = [
        json.dumps({"operationId": "op", "method": method, "observations": observations})
        for outcome in OUTCOMES
        for observations in ([outcome], [outcome, OUTCOMES[0]], [outcome] * 4)
    ]
    done = subprocess.run(
        [BUILD / "src" / "app" / "belay", "replay", "-"],
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=60,
    )
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(seen) >= 2 * len(lines)
    for event in seen:
        assert is_valid(event), (event, [error.message for error in VALIDATOR.iter_errors(event)])


@pytest.mark.parametrize("event", [ATTEMPT, OPERATION, LOST])
def test_a_required_field_is_missing(event):
    assert is_valid(event)
    kinds = {"attempt": ATTEMPT, "operation": OPERATION, "lost": LOST}
    name = next(name for name, of in kinds.items() if of is event)
    for field in SCHEMA["$defs"][name]["required"]:
        assert not is_valid({key: value for key, value in event.items() if key != field}), field


@pytest.mark.parametrize("event", [ATTEMPT, OPERATION, LOST])
def test_a_value_of_the_wrong_type(event):
    for field in event:
        for wrong in (["x"], {"x": 1}, -1, 1.5, "no such word\n"):
            if isinstance(event[field], str) and isinstance(wrong, str) and field in TEXTS:
                continue
            assert not is_valid({**event, field: wrong}), (field, wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"status": 200},  # both
        {"errorClass": None},  # neither
        {"v": 2},
        {"attempt": 0},
        {"status": 99, "errorClass": None},
        {"decision": "return"},  # but a wait
        {"event": "party"},
        {"endpoint": "/orders?user=7"},
        {"time": "yesterday"},
        {"operationId": ""},
        {"operationId": "x" * 129},
    ],
)
def test_a_mutated_attempt(change):
    event = copy.deepcopy(ATTEMPT)
    event.update(change)
    assert not is_valid(event)


def test_fields_of_others_are_left_alone():
    assert is_valid({**ATTEMPT, "level": "info", "host": {"name": "a"}})
