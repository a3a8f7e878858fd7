"""Starting, reloading, stopping: semantics of signals and exit codes in a real process."""

import re
import signal
import subprocess
import threading
import time
from collections import deque

import pytest
from belay import Wire, configuration
from load import Load
from origin import answer, in_order
from processes import BELAY, Process, accepts, until

ROUNDS = 20
LOST = re.compile("^lost")


@pytest.fixture(scope="module")
def quick_origin():
    flaky = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", "--quiet"])
    yield int(flaky.wait_for(r"listening on http://127\.0\.0\.1:(\d+)").group(1))
    flaky.stop()


def busy(loads, a_second):
    """A condition: over the last tenth of a second the loads had that many answers a second."""
    seen = deque()

    def reached():
        seen.append((time.monotonic(), sum(load.total() for load in loads)))
        while len(seen) > 2 and seen[1][0] <= seen[-1][0] - 0.1:
            seen.popleft()
        took, had = seen[-1][0] - seen[0][0], seen[-1][1] - seen[0][1]
        return took >= 0.1 and had / took >= a_second

    return reached


@pytest.mark.parametrize("number", range(ROUNDS))
def test_H84_sigterm_under_load_loses_no_accepted_request(start_belay, quick_origin, number):
    belay = start_belay(configuration({"t": (quick_origin, {})}, [{"target": "t"}], workers=2))
    loads = [Load(belay.port, 6), Load(belay.port, 4, keep_alive=False)]
    until(lambda: min(load.total() for load in loads) >= 40 + 7 * number, what="a load")
    until(busy(loads, 1000), what="1000 answers a second")
    belay.signal(signal.SIGTERM)
    code = belay.process.wait(30)
    outcomes = {}
    for load in loads:
        for outcome, count in load.stop().items():
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    assert code == 0
    assert not [outcome for outcome in outcomes if LOST.match(str(outcome))], outcomes
    assert set(outcomes) <= {200, "connect refused"}, outcomes


def test_answers_say_close_while_draining(through):
    entered, gate = threading.Event(), threading.Event()

    def waits(request, connection):
        if request.target == "/slow":
            entered.set()
            gate.wait(10)
        return answer(200, b"done")

    belay, origin = through(waits)
    with Wire(belay.port) as idle, Wire(belay.port) as busy:
        assert idle.get().field("connection") in (None, "keep-alive")
        busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        assert entered.wait(5)
        belay.signal(signal.SIGTERM)
        until(lambda: not accepts(belay.port), 10, "the listener closing")
        gate.set()
        got = busy.answer()
        assert (got.status, got.body) == (200, b"done") and got.field(
            "connection"
        ).lower() == "close"
    assert belay.process.wait(15) == 0
    assert len(belay.operations(2)) == 2


def test_sighup_reopens_the_events_file(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.get("/before")
        belay.operations(1)
        moved = belay.events_file.with_suffix(".1")
        belay.events_file.rename(moved)
        belay.signal(signal.SIGHUP)
        until(belay.events_file.exists, what="a new events file")
        client.get("/after")
        ((operation, attempts),) = belay.operations(1)
    assert operation["endpoint"] == "/after" and moved.read_text().count("\n") == 2


def test_sighup_takes_a_right_configuration(start_origin, start_belay):
    origin = start_origin(in_order(answer(503)))
    config = configuration({"t": (origin.port, {"attempts": 1})})
    belay = start_belay(config)
    with Wire(belay.port) as client:
        client.get()
        assert origin.calls() == 1
        belay.config["targets"]["t"]["policy"] = {
            "attempts": 3,
            "backoff": {"kind": "constant", "base": "1ms"},
        }
        belay.write_config(belay.config)
        belay.signal(signal.SIGHUP)

        def three_attempts():
            before = origin.calls()
            client.get()
            return origin.calls() - before == 3

        until(three_attempts, what="the new number of attempts")


def test_sighup_keeps_the_old_configuration_when_the_new_one_is_wrong(start_origin, start_belay):
    origin = start_origin()
    belay = start_belay(configuration({"t": (origin.port, {})}))
    belay.config_file.write_text("targets: { t: { adresses: [] } }\n")
    belay.signal(signal.SIGHUP)
    belay.process.wait_for(r"belay\.yaml:\d+:\d+")
    with Wire(belay.port) as client:
        assert client.get().status == 200


def test_a_reload_says_what_it_cannot_change(start_origin, start_belay, tmp_path):
    origin = start_origin()
    config = configuration({"t": (origin.port, {})})
    belay = start_belay(config)
    events = belay.config["events"]["file"]
    changed = {**belay.config, "workers": 3, "events": {"file": str(tmp_path / "moved")}}
    for _ in range(2):  # a second reload says it again: it still waits
        said = len(belay.process.lines)
        belay.write_config({**changed, "admin": {"listen": "127.0.0.1:9"}})
        belay.signal(signal.SIGHUP)
        until(
            lambda said=said: [line for line in belay.process.lines[said:] if "is taken" in line],
            what="the reload",
        )
        told = [line for line in belay.process.lines[said:] if "needs a restart" in line]
        assert told == [
            f"belay: {belay.config_file}: {option} stays {now}; {then} needs a restart"
            for option, now, then in (
                ("admin.listen", "none", "127.0.0.1:9"),
                ("events.file", events, tmp_path / "moved"),
                ("workers", 1, 3),
            )
        ]
    belay.write_config(belay.config)
    said = len(belay.process.lines)
    belay.signal(signal.SIGHUP)
    until(
        lambda: [line for line in belay.process.lines[said:] if "is taken" in line],
        what="the reload",
    )
    assert not [line for line in belay.process.lines[said:] if "restart" in line]


def test_a_reload_with_shorter_deadlines_does_not_cut_what_began_before(start_origin, start_belay):
    """The end waits for the longest deadline that still runs, not for that of today's file."""
    entered, gate = threading.Event(), threading.Event()

    def waits(request, connection):
        entered.set()
        gate.wait(20)
        return answer(200, b"late")

    origin = start_origin(waits)
    policy = {"deadline": "30s", "silence_timeout": "30s"}
    belay = start_belay(configuration({"t": (origin.port, policy)}, drain={"grace": "10ms"}))
    with Wire(belay.port, 30) as client:
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert entered.wait(5)
        belay.config["targets"]["t"]["policy"] = {"deadline": "100ms"}
        belay.write_config(belay.config)
        belay.signal(signal.SIGHUP)
        belay.process.wait_for("is taken")
        belay.signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            belay.process.child.wait(10)  # longer than 100 ms and what is added at the end
        gate.set()
        assert (client.answer().status, belay.process.wait(15)) == (200, 0)


def test_a_drain_that_had_to_cut_ends_with_1(start_origin, start_belay):
    """A connection that outlives all deadlines is cut, and the exit status says so."""
    origin = start_origin()
    belay = start_belay(
        configuration(
            {"t": (origin.port, {"deadline": "100ms"})},
            drain={"grace": "10ms"},
            connections={"head_timeout": "60s"},
        )
    )
    with Wire(belay.port, 30) as client:
        client.send("GET / HTTP/1.1\r\nHost: ")
        belay.signal(signal.SIGTERM)
        assert client.closed(30)
        assert belay.process.wait(15) == 1
    belay.process.wait_for("did not end by their deadlines and are cut")


def test_a_wrong_configuration_says_where_and_ends_with_2(tmp_path):
    file = tmp_path / "belay.yaml"
    file.write_text("targets:\n  t:\n    adresses: [ 127.0.0.1:1 ]\n")
    for command in ("check", "serve"):
        done = subprocess.run(
            [BELAY, command, "-c", file],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=20,
        )
        assert done.returncode in (1, 2), done.stdout
        assert re.search(r"belay\.yaml:3:5: .*addresses", done.stdout), done.stdout


def test_two_daemons_cannot_have_one_address(through, tmp_path):
    belay, origin = through()
    file = tmp_path / "second.yaml"
    file.write_text(belay.config_file.read_text().replace("127.0.0.1:0", f"127.0.0.1:{belay.port}"))
    done = subprocess.run(
        [BELAY, "serve", "-c", file],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=20,
    )
    assert done.returncode != 0 and str(belay.port) in done.stdout


def test_the_clock_of_an_idle_connection_is_kept_during_a_drain(through):
    belay, origin = through()
    with Wire(belay.port) as client:
        client.get()
        began = time.monotonic()
        belay.signal(signal.SIGTERM)
        assert belay.process.wait(15) == 0
        assert time.monotonic() - began < 10


def test_clients_that_take_every_descriptor_do_no_harm_to_a_target(start_origin, start_belay):
    """Held connections over the limit are told so; those that are held get their answers."""
    origin = start_origin()
    few = ["sh", "-c", 'ulimit -n 64; exec "$0" "$@"']
    belay = start_belay(configuration({"orders": (origin.port, {})}), prefix=few)
    clients = [Wire(belay.port) for _ in range(100)]
    for client in clients:
        client.send("GET / HTTP/1.1\r\nHost: a\r\n")
    for client in clients:
        try:
            client.send("\r\n")
        except OSError:
            pass  # answered 503 and closed already
    statuses = [answer.status for answer in (client.answer() for client in clients) if answer]
    for client in clients:
        client.close()
    assert set(statuses) == {200, 503}
    assert statuses.count(200) == origin.calls() == 16
