#!/usr/bin/python3
"""Runs the daemon under every fault of `belay flaky` for long, and accounts for every answer.

At the end: what the clients got is what the operation records say, the origin read exactly the
calls that the attempt events say were sent, one by one, memory has not grown since a fifth of the
time, no descriptor is left, and `belay inspect` finds no anomaly. The events file is rotated all
the while.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
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


class Account:
    """Two counts of the same calls, matched by request id: the daemon's attempts and what the
    origin says it read.

    They must be equal, whatever broke: loopback loses nothing, the origin reads also what came
    before a reset of ours, and after a close-after it goes on reading (plays: after-close), so that
    a call which crossed the end on its way is counted too.
    """

    def __init__(self):
        self.sent, self.unsent, self.read = 0, set(), 0
        self.only_sent, self.only_read = {}, {}
        self.pairs = collections.Counter()  # (what the origin played, what the daemon saw)

    def attempt(self, record):
        name = record["requestId"]
        if record["sent"] == "unsent":
            self.unsent.add(name)
            return
        self.sent += 1
        saw = record["errorClass"] or record["status"]
        if name in self.only_read:
            self.pairs[self.only_read.pop(name), saw] += 1
        else:
            assert name not in self.only_sent, f"two attempts named {name}"
            self.only_sent[name] = saw

    def call(self, record):
        name = record["requestId"]
        self.read += 1
        if name in self.only_sent:
            self.pairs[record["plays"], self.only_sent.pop(name)] += 1
        else:
            assert name not in self.only_read, f"the origin read {name} twice"
            self.only_read[name] = record["plays"]

    def misread(self):
        """Pairs in which the daemon saw a status that the origin did not give."""
        whole = {"drip": 200, "close-after": 200}
        return {
            pair: count
            for pair, count in self.pairs.items()
            if isinstance(pair[1], int) and str(whole.get(pair[0], pair[0])) != str(pair[1])
        }

    def table(self):
        """A line for each thing played: how often, and what was seen of it."""
        for played in sorted({played for played, _ in self.pairs}):
            seen = {str(s): n for (p, s), n in sorted(self.pairs.items(), key=str) if p == played}
            yield f"  {played:18} {sum(seen.values()):8}  {seen}"


class Follower:
    """Reads whole lines of a growing file of JSON."""

    def __init__(self, file, count, copy=None):
        self.stream, self.count, self.copy, self.rest = file.open("rb"), count, copy, b""

    def read(self):
        data = self.stream.read()
        if self.copy:
            self.copy.write(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.count(json.loads(line))


class Ledger:
    """What the events and the origin say, counted as they are written, through rotations."""

    def __init__(self, belay, calls_file):
        self.belay, self.events = belay, None
        self.operations, self.answers, self.lost = 0, collections.Counter(), 0
        self.account = Account()
        self.calls = Follower(calls_file, self.account.call)
        self.inspect = subprocess.Popen(
            [BELAY, "inspect", "--json", "--budget", POLICY["budget"]["ratio"], "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def anomalies(self):
        """What `belay inspect` finds in all events; nothing can be read after that."""
        output, _ = self.inspect.communicate(timeout=60)
        report = json.loads(output)
        assert report["read"]["records"] >= self.operations, report["read"]
        return report["anomalies"]

    def read(self):
        """Counts what is new in the files that are open."""
        self.calls.read()
        if self.events is None:
            if not self.belay.events_file.exists():
                return
            self.events = Follower(self.belay.events_file, self._count, self.inspect.stdin)
        self.events.read()

    def rotate(self):
        """Moves the file away, as logrotate would, and follows the new one."""
        old = self.belay.events_file.with_suffix(".old")
        self.belay.events_file.rename(old)
        self.belay.signal(signal.SIGHUP)
        until(self.belay.events_file.exists, what="a new events file")
        self.read()
        assert self.events.rest == b"", "the old file ends inside a record"
        self.events.stream.close()
        self.events = None
        old.unlink()

    def _count(self, record):
        kind = record.get("event", "attempt")
        if kind == "operation":
            self.operations += 1
            self.answers[record["answer"]] += 1
        elif kind == "attempt":
            self.account.attempt(record)
        else:
            assert kind == "lost", f"an unknown record: {record}"
            self.lost += record["records"]


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


def all_read(port):
    """The daemon has ended: true when the origin has read its connections to their ends, and knows
    of no other than the one that asks."""
    return origin_counts(port)["connections"] == 1


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
    account, calls = ledger.account, counts["calls"]
    yield "calls that the origin read = calls sent by the events", (
        account.sent == account.read == calls and not account.only_sent and not account.only_read
    ), (
        f"{calls} = {account.sent}, of them {counts['callsAfterClose']} after its end; "
        f"only sent {dict(list(account.only_sent.items())[:9])}, "
        f"only read {dict(list(account.only_read.items())[:9])}"
    )
    yield "each status is the one that the origin gave", not account.misread(), str(
        account.misread() or "all"
    )
    anomalies = ledger.anomalies()
    yield "belay inspect finds no anomaly in the events", not anomalies, str(
        [(a["kind"], a["count"], a["operationIds"][:3]) for a in anomalies] or "none"
    )
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


def start_origin(folder, seed):
    faults = ("all", "503", "429")
    flaky = Process(
        [BELAY, "flaky", "--listen", "127.0.0.1:0", "--quiet", "--seed", seed]
        + ["--calls", folder / "calls.ndjson"]
        + [word for name in faults for word in ("--fault", f"{name}:{FAULT_PERCENT}")]
    )
    return flaky, int(flaky.wait_for(r"127\.0\.0\.1:(\d+)").group(1))


def soak(folder, seconds, seed):
    """Runs it; gives the verdicts and the account."""
    flaky, port = start_origin(folder, seed)
    belay = Belay(folder, configuration({"t": (port, POLICY)}, workers=2))
    try:
        before = descriptors(belay.process.pid)
        ledger, clients = Ledger(belay, folder / "calls.ndjson"), Clients(belay.port, seed)
        memory = drive(belay, ledger, clients, seconds)
        settle(belay, ledger, clients, before)
        handles = (before, descriptors(belay.process.pid))
        belay.stop()
        until(lambda: all_read(port), what="the origin having read all")
        counts = origin_counts(port)
        flaky.stop()
        ledger.read()
        return list(verdicts(ledger, clients, counts, memory, handles, seconds)), ledger.account
    finally:
        belay.stop()
        flaky.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=int, nargs="?", default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"{arguments.seconds} s, seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="belay-soak-") as folder:
        results, account = soak(Path(folder), arguments.seconds, arguments.seed)
    print("what the origin played, how often, and what the daemon saw of it:")
    print("\n".join(account.table()))
    for what, good, numbers in results:
        print(f"{'ok    ' if good else 'FAILED'} {what}: {numbers}")
    failed = sum(not good for _, good, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
