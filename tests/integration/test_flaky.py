"""`belay flaky` as an origin: alone with curl, and behind the daemon."""

import http.client
import json
import subprocess

import pytest
from belay import Wire, configuration
from processes import BELAY, Process

CURL_CLOSED, CURL_CUT, CURL_TIMEOUT, CURL_RESET = 52, 18, 28, 56


@pytest.fixture
def flaky(closing):
    """flaky(option...) -> the port of a running `belay flaky`."""

    def start(*options):
        process = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", *options])
        closing.append(process)
        return int(process.wait_for(r"127\.0\.0\.1:(\d+)").group(1))

    return start


def curl(url, *words):
    return subprocess.run(
        ["curl", "-sS", "--max-time", "1", *words, url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=20,
    )


def counts(port, what=""):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request("GET", "/_flaky/counts" + what)
    return json.loads(client.getresponse().read())


@pytest.mark.parametrize(
    "path, codes",
    [
        ("/silence", {CURL_TIMEOUT}),
        ("/reset", {CURL_RESET}),
        ("/close", {CURL_CLOSED}),
        ("/drip?bytes=100&every=100ms", {CURL_TIMEOUT}),
        ("/close-mid-body", {CURL_CUT}),
        ("/reset-mid-body", {CURL_RESET, CURL_CUT}),
        ("/truncate-chunked", {CURL_CUT}),
        ("/echo", {0}),
        ("/bytes/5", {0}),
    ],
)
def test_curl_sees_the_fault(flaky, path, codes):
    done = curl(f"http://127.0.0.1:{flaky()}{path}")
    assert done.returncode in codes, done.stderr


def test_first_calls_fail_for_each_key(flaky):
    port = flaky()
    for key in ("a", "b"):
        url = f"http://127.0.0.1:{port}/flaky?fail=2&status=503&key={key}"
        assert [curl(url, "-o", "/dev/null", "-w", "%{http_code}").stdout for _ in range(4)] == [
            b"503",
            b"503",
            b"200",
            b"200",
        ]
    assert counts(port, "?operation=a")["calls"] == 4


def test_quickstart_survives_two_failures(flaky, start_belay):
    port = flaky("--fail-first", "2")
    belay = start_belay(configuration({"orders": (port, {"backoff": {"base": "10ms"}})}))
    for _ in range(3):
        done = curl(
            f"http://127.0.0.1:{belay.port}/orders/42", "-w", "%{http_code}", "-o", "/dev/null"
        )
        assert done.stdout == b"200"
    for operation, attempts in belay.operations(3):
        assert [a["status"] for a in attempts] == [503, 503, 200]
        assert counts(port, f"?operation={operation['operationId']}")["calls"] == 3


@pytest.mark.parametrize("fault", ["silence", "reset", "close", "garbage"])
def test_get_survives_one_fault(flaky, start_belay, fault):
    belay = start_belay(
        configuration({"t": (flaky(), {"silence_timeout": "200ms", "backoff": {"base": "10ms"}})})
    )
    with Wire(belay.port) as client:
        got = client.get("/x", [f"X-Flaky: fail=1&fault={fault}"])
    operation, attempts = belay.operation()
    if fault == "garbage":  # a protocol fault is not on the list of what is worth repeating
        assert got.status == 502 and [a["errorClass"] for a in attempts] == ["protocol"]
    else:
        assert got.status == 200 and len(attempts) == 2


@pytest.mark.parametrize("fault", ["silence", "reset", "close", "garbage"])
def test_post_is_sent_once(flaky, start_belay, fault):
    port = flaky()
    belay = start_belay(configuration({"t": (port, {"silence_timeout": "200ms"})}))
    with Wire(belay.port) as client:
        got = client.post("/pay", b"5", [f"X-Flaky: fail=1&fault={fault}"])
    assert got.status == 504
    operation, attempts = belay.operation()
    assert [a["decision"] for a in attempts] == ["check_state"]
    assert counts(port)["methods"] == {"POST": 1}
