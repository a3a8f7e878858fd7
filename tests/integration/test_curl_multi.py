"""libbelay-curl in event loops: many operations at once, over real sockets."""

import json
import subprocess

import pytest
from origin import answer, in_order, silence
from processes import BELAY, BUILD, Process

PROGRAMS = BUILD / "tests" / "unit" / "curl"
BUSY, FINE = answer(503, b"busy"), answer(200, b"fine")
ABORTED, COULDNT_CONNECT = 42, 7


def loop(most, queue, *urls):
    """{number of the call: what was told of it} of an event loop with these operations."""
    done = subprocess.run(
        [PROGRAMS / "curl_loop", str(most), str(queue), *urls],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(urls)
    return {line["call"]: line for line in told}


def by_path(**scripts):
    """One script a path."""

    def script(request, connection):
        step = scripts[request.target.strip("/")]
        return step(request, connection) if callable(step) else step

    return script


@pytest.fixture
def start_flaky(closing):
    """start_flaky(option...) -> its port"""

    def start(*options):
        origin = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", *options])
        closing.append(origin)
        return origin.wait_for(r"127\.0\.0\.1:(\d+)").group(1)

    return start


@pytest.fixture
def flaky(start_flaky):
    """The address of an origin that answers 503 to the first two calls of every operation."""
    return f"http://127.0.0.1:{start_flaky('--fail-first', '2')}/orders/42"


def test_all_survive(flaky):
    told = loop(64, 0, *[flaky] * 50)
    assert {(t["status"], t["attempts"], t["word"]) for t in told.values()} == {(200, 3, "success")}


def test_who_waits_for_a_slot_is_woken(flaky):
    told = loop(2, 100, *[flaky] * 40)
    assert {(t["status"], t["attempts"]) for t in told.values()} == {(200, 3)}


def test_the_twenty_first_is_refused_at_once(start_origin):
    origin = start_origin(silence)
    url = f"http://127.0.0.1:{origin.port}/"
    told = loop(20, 0, *[f"!{url}"] * 20, url)
    assert told[20]["terminal"] == "bulkhead_full" and told[20]["elapsedMs"] < 100
    assert told[20]["code"] == COULDNT_CONNECT and told[20]["attempts"] == 0
    assert {told[i]["code"] for i in range(20)} == {ABORTED} and origin.calls() == 20


def test_a_held_answer_is_given_when_its_repeat_finds_no_slot(start_origin):
    big = answer(503, b"x" * 200_000)
    origin = start_origin(by_path(a=big, b=silence))
    url = f"http://127.0.0.1:{origin.port}/"
    told = loop(1, 1, url + "a", "!" + url + "b")
    assert told[0]["code"] == 0 and told[0]["status"] == 503 and told[0]["bytes"] == 200_000
    assert told[0]["word"] == "bulkhead_full" or told[0]["attempts"] > 1


def test_a_cancelled_one_leaves_the_others_alone(start_origin):
    origin = start_origin(by_path(a=silence, b=in_order(BUSY, FINE)))
    url = f"http://127.0.0.1:{origin.port}/"
    told = loop(64, 0, f"!{url}a", url + "b")
    assert told[0]["code"] == ABORTED and 250 <= told[0]["elapsedMs"] < 1000
    assert told[1]["status"] == 200 and told[1]["bytes"] == 4


def test_cancelled_while_it_holds_an_answer(start_origin):
    hinted = answer(503, b"busy", ["Retry-After: 2"])
    origin = start_origin(by_path(a=hinted))
    (told,) = loop(64, 0, f"!http://127.0.0.1:{origin.port}/a").values()
    assert told["word"] == "cancelled" and told["bytes"] == 0 and told["attempts"] == 1


def test_the_multi_example(flaky):
    done = subprocess.run(
        [PROGRAMS / "curl_multi", flaky, "30"], stdout=subprocess.PIPE, text=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["200 after 3 attempts, success"] * 30


def test_threads_share_a_target(start_flaky):
    """What they call together stays within the target's budget and slots."""
    port = start_flaky("--status", "503", "--fail-first", "1", "--quiet")
    done = subprocess.run(
        [PROGRAMS / "curl_threads", "8", "50", "3", f"http://127.0.0.1:{port}/orders/42"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["operations"] == 400 and told["inFlight"] == told["waiting"] == 0
    assert told["peak"] == 3
    assert 0 < told["retries"] == told["good"] <= 10 + 400 * 0.1
    assert told["attempts"] == told["events"] == 400 + told["retries"]
