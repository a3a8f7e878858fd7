"""`belay inspect` shows nothing of what looks like a secret, wherever in a record it stands."""

import json
import subprocess

import pytest
from processes import BELAY

PLANT = "hunter2hunter2"
SECRETS = [
    f"/orders?access_token={PLANT}",
    f"https://u:{PLANT}@orders.example/",
    f"password={PLANT}",
]
TEXTS = ["operationId", "requestId", "method", "target", "route", "endpoint", "traceId", "spanId"]
WORDS = ["errorClass", "phase", "sent", "decision", "reason", "waitSource", "time"]
ENDING = ["fallback", "result", "effect", "event"]


def records(field, secret):
    """An operation of two attempts with the secret in one field, and its ending."""
    names = {
        "operationId": "op",
        "target": "orders",
        "method": "POST",
        "route": "/orders",
        "endpoint": "/orders",
        "traceId": "0af7651916cd43dd8448eb211c80319c",
    }
    tries = [
        {**names, "attempt": n, "requestId": f"op/attempt-{n}", "status": 503, "errorClass": None}
        | {"elapsedMs": 5, "remainingMs": 900 - n, "decision": "retry", "waitMs": 1}
        for n in (1, 2)
    ]
    ending = {**names, "event": "operation", "result": {"status": "stop"}, "attempts": 3}
    lines = [{"v": 1, **line} for line in (*tries, ending)]
    for line in lines:
        if field == "result":
            line["result"] = {"status": secret}
        elif field == "route":  # what a layer writes that has no templates
            line["route"] = line["endpoint"] = secret
        elif field == "a name":
            line[secret.removeprefix("/orders?")] = {secret: "https://a.example/?a=b"}
        else:
            line[field] = secret
    return "".join(json.dumps(line) + "\n" for line in lines)


def said(log, *options):
    done = subprocess.run(
        [BELAY, "inspect", *options, "-"], input=log, capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (0, 1, 2) and done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("secret", SECRETS, ids=["query", "user", "assignment"])
@pytest.mark.parametrize("field", [*TEXTS, *WORDS, *ENDING, "a name"])
def test_a_secret_is_shown_nowhere(field, secret):
    log = records(field, secret)
    for one in ([], ["--operation", secret if field == "operationId" else "op"]):
        for form in ([], ["--json"], ["--html", "-"], ["--follow"], ["--follow", "--json"]):
            assert PLANT not in said(log, *one, *form), (one, form)
    for form in ([], ["--json"]):
        assert PLANT not in said(log, "--check", *form), form


def test_an_operation_that_is_asked_for_by_a_secret_is_not_named():
    told = said(records("method", "GET"), "--operation", SECRETS[2])
    assert "no record of operation" in told and PLANT not in told
