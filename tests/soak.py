#!/usr/bin/python3
"""Runs the daemon under every fault of `belay flaky` for long, and accounts for every answer.

At the end: what the clients got is what the operation records say, the origin saw the calls that
the attempt events say were sent, memory has not grown since a fifth of the time, and no descriptor
is left. The events file is rotated all the while.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("BELAY_BUILD", str(ROOT / "build"))
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from belay import Belay, Wire, configuration  # noqa: E402
from processes import BELAY, Process, until  # noqa: E402

RATE_MIN, RATE_AIM = 500, 700  # operations a second
CLIENTS = 48
FAULT_PERCENT = 1.5  # each; what the dice really gave is checked against 1 %
ROTATE_EVERY_S = 20
MEMORY_GROWTH_MAX = 1.05
POLICY = {
    "deadline": "2s",
    "silence_timeout": "250ms",
    "backoff": {"kind": "full", "base": "20ms"},
    "breaker": "off",
    "budget": {"ratio": "30%", "burst": 50},
    "hold": {"max": "1ms", "scope": "target"},
    "bulkhead": {"max": 256, "queue": 64},
}


class Ledger:
    """What the events say, counted as they are written, through rotations."""

    def __init__(self, belay):
        self.belay, self.file, self.rest = belay, None, b""
        self.operations, self.attempts, self.answers = 0, 0, collections.Counter()
        self.sent, self.answered, self.unsent, self.lost = 0, 0, 0, 0

    def read(self):
        """Counts what is new in the file that is open."""
        if self.file is None:
            if not self.belay.events_file.exists():
                return
            self.file = self.belay.events_file.open("rb")
        data = self.rest + self.file.read()
        *lines, self.rest = data.split(b"\n")
        for line in lines:
            self._count(json.loads(line))

    def rotate(self):
        """Moves the file away, as logrotate would, and follows the new one."""
        old = self.belay.events_file.with_suffix(".old")
        self.belay.events_file.rename(old)
        self.belay.signal(signal.SIGHUP)
        until(self.belay.events_file.exists, what="a new events file")
        self.read()
        assert self.rest == b"", "the old file ends inside a record"
        self.file.close()
        self.file = None
        old.unlink()

    def _count(self, record):
        kind = record.get("event", "attempt")
        if kind == "operation":
            self.operations += 1
            self.answers[record["answer"]] += 1
        elif kind == "attempt":
            self.attempts += 1
            self.sent += record["sent"] != "unsent"
            self.unsent += record["sent"] == "unsent"
            self.answered += record["status"] is not None
        else:
            self.lost += record.get("lost", 0)


class Clients:
    """Paced clients that never retry and count what they got."""

    def __init__(self, port, seed):
        self.port, self.outcomes, self.lock = port, collections.Counter(), threading.Lock()
        self.stopped = threading.Event()
        self.threads = [
            threading.Thread(target=self._client, args=(random.Random(seed + n),), daemon=True)
            for n in range(CLIENTS)
        ]
        for thread in self.threads:
            thread.start()

    def total(self):
        with self.lock:
            return sum(self.outcomes.values())

    def _client(self, dice):
        wire, period = None, CLIENTS / RATE_AIM
        due = time.monotonic() + dice.random() * period
        while not self.stopped.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            due = max(due + period, time.monotonic() - period)
            wire = wire or Wire(self.port)
            outcome, again = self._request(wire, dice)
            with self.lock:
                self.outcomes[outcome] += 1
            if not again or dice.random() < 0.02:
                wire.close()
                wire = None
        if wire:
            wire.close()

    def _request(self, wire, dice):
        kind = dice.random()
        try:
            if kind < 0.7:
                got = wire.get(f"/orders/{dice.randrange(1000)}")
            elif kind < 0.8:
                got = wire.get(f"/bytes/{dice.randrange(100_000)}")
            else:
                got = wire.post("/orders", bytes(dice.randrange(20_000)))
        except OSError as fault:
            return f"lost: {type(fault).__name__}", False
        if got is None:
            return "cut before a head", False
        if not got.whole:
            return "cut", False
        return got.status, (got.field("connection") or "").lower() != "close"

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(30)


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def origin_counts(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_flaky/counts", timeout=10) as answer:
        return json.load(answer)


def drive(belay, ledger, clients, seconds):
    """Lets time pass; returns the memory at a fifth of it and at its end."""
    began, rotated, early_kb = time.monotonic(), time.monotonic(), None
    while (passed := time.monotonic() - began) < seconds:
        clients.stopped.wait(1)
        ledger.read()
        if early_kb is None and passed >= seconds / 5:
            early_kb = resident_kb(belay.process.pid)
        if time.monotonic() - rotated >= ROTATE_EVERY_S:
            ledger.rotate()
            rotated = time.monotonic()
            print(
                f"{passed:5.0f} s  {clients.total()} answers  {resident_kb(belay.process.pid)} kB",
                flush=True,
            )
    return early_kb, resident_kb(belay.process.pid)


def settle(belay, ledger, clients, first_descriptors):
    """Stops the load and waits until all records are read and all descriptors closed."""
    clients.stop()

    def all_records():
        ledger.read()
        return ledger.operations >= clients.total()

    until(all_records, 15, f"an operation record for each of {clients.total()} answers")
    try:
        until(lambda: descriptors(belay.process.pid) <= first_descriptors, 20)
    except AssertionError:
        pass  # the verdict says how many are left


def verdicts(ledger, clients, counts, memory, handles, seconds):
    """(what, good, numbers) of everything that must hold."""
    total, got = clients.total(), clients.outcomes
    whole = {status: count for status, count in got.items() if isinstance(status, int)}
    cut = sum(count for status, count in got.items() if not isinstance(status, int))
    recorded_more = sum((ledger.answers - collections.Counter(whole)).values())
    rate = total / seconds
    yield f"at least {RATE_MIN} operations a second", rate >= RATE_MIN, f"{rate:.0f}"
    recorded = ledger.operations
    yield "an operation record for every answer", recorded == total, f"{recorded} for {total}"
    yield "records give the status that the client got", (
        recorded_more == cut and all(ledger.answers[s] >= n for s, n in whole.items())
    ), (f"clients {dict(got)}, records {dict(ledger.answers)}")
    yield "no record was lost", ledger.lost == 0, str(ledger.lost)
    calls = counts["calls"]
    yield "the origin saw each answered call, and none that was not sent", (
        ledger.answered <= calls <= ledger.sent
    ), f"{ledger.answered} <= {calls} <= {ledger.sent}"
    faults = {
        **counts["faults"],
        **{s: n for s, n in counts["statuses"].items() if s in ("429", "503")},
    }
    rare = {name: n for name, n in faults.items() if n < 0.01 * calls}
    yield "every fault in at least 1 % of the calls", len(
        faults
    ) >= 12 and not rare, f"{faults} of {calls}"
    yield f"memory at the end <= {MEMORY_GROWTH_MAX} x a fifth", memory[
        1
    ] <= MEMORY_GROWTH_MAX * memory[0], (f"{memory[0]} kB, {memory[1]} kB")
    yield "descriptors equal", handles[1] == handles[0], f"{handles[0]}, {handles[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=int, nargs="?", default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"{arguments.seconds} s, seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="belay-soak-") as folder:
        flaky = Process(
            [
                BELAY,
                "flaky",
                "--listen",
                "127.0.0.1:0",
                "--quiet",
                "--seed",
                arguments.seed,
                "--fault",
                f"all:{FAULT_PERCENT}",
                "--fault",
                f"503:{FAULT_PERCENT}",
                "--fault",
                f"429:{FAULT_PERCENT}",
            ]
        )
        port = int(flaky.wait_for(r"127\.0\.0\.1:(\d+)").group(1))
        belay = Belay(Path(folder), configuration({"t": (port, POLICY)}, workers=2))
        try:
            before = descriptors(belay.process.pid)
            ledger, clients = Ledger(belay), Clients(belay.port, arguments.seed)
            memory = drive(belay, ledger, clients, arguments.seconds)
            settle(belay, ledger, clients, before)
            after = descriptors(belay.process.pid)
            results = list(
                verdicts(
                    ledger, clients, origin_counts(port), memory, (before, after), arguments.seconds
                )
            )
        finally:
            belay.stop()
            flaky.stop()
    for what, good, numbers in results:
        print(f"{'ok    ' if good else 'FAILED'} {what}: {numbers}")
    failed = sum(not good for _, good, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
