#!/usr/bin/python3
"""Measures belay beside nginx, haproxy and a bare byte pump, and writes bench/RESULTS.md.

One worker each, pinned to one core; origin, load and log receiver on the other. CPU time comes from
the scheduler's own account of the process, system calls from a separate, untimed run under perf.
Rounds alternate between the proxies; the table has medians. Every step is bounded.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from processes import Process, free_port, start_haproxy, start_nginx, until  # noqa: E402

PROXY_CORE, OTHER_CORE = "0", "1"
RUN_SECONDS_MAX = 120
IDLE_CONNECTIONS = 4000  # clients may have a quarter of the descriptors
SHAPES = [  # body bytes, connections, requests
    (50, 1, 20000),
    (50, 32, 120000),
    (50, 256, 120000),
    (65536, 1, 8000),
    (65536, 32, 24000),
    (65536, 256, 24000),
]
CPU_GOAL, SYSCALLS_GOAL, IDLE_BYTES_GOAL = 0.90, 4.3, 1024

METHOD = """\
- One worker each, pinned to core {proxy}; origin, load and log receiver on core {other}.
- The load is closed-loop over keep-alive connections; so are the upstream connections.
- Medians of {rounds} alternating runs. CPU is the scheduler's account of all threads of a process.
- System calls were counted by perf in a run of their own, since counting costs time.
- belay has every policy on (deadline, retry, budget, breaker, bulkhead, quota) and writes its
  events, two records a request, to a file. nginx writes its access log to a file through a buffer
  of 64 KiB. haproxy keeps its log in a ring that it sends, batched, to a receiver which writes it.
- The byte pump understands nothing: it is the price of the sockets alone."""


class Proxy(NamedTuple):
    name: str
    port: int
    pids: list


class Run(NamedTuple):
    cpu_us: float  # a request
    busy: float  # share of the core
    rate: float  # requests a second


def pinned(core):
    return ["taskset", "-c", core]


def listening_port(process):
    return int(process.wait_for(r"127\.0\.0\.1:(\d+)").group(1))


class Bench:
    """The processes of one run of the bench."""

    def __init__(self, build, folder):
        self.build, self.folder, self.started = build, folder, []
        self.origin = listening_port(
            self.start([*pinned(OTHER_CORE), build / "bench" / "bench_origin"])
        )

    def start(self, command, **options):
        self.started.append(Process(command, **options))
        return self.started[-1]

    def stop(self):
        for process in reversed(self.started):
            process.stop(5)

    def belay(self):
        config = self.folder / "belay.yaml"
        config.write_text(f"""
workers: 1
events: {{ file: {self.folder}/events.ndjson }}
targets:
  bench:
    addresses: [ 127.0.0.1:{self.origin} ]
    policy:
      bulkhead: {{ max: 1024 }}
      quota: {{ rate: 1000000/s, burst: 100000, queue: 0 }}
      keep_alive: {{ idle: 60s, max: 1024 }}
listeners:
  - listen: 127.0.0.1:0
    kind: egress
    target: bench
""")
        process = self.start(
            [*pinned(PROXY_CORE), self.build / "src" / "app" / "belay", "serve", "-c", config]
        )
        return Proxy("belay", listening_port(process), [process.pid])

    def nginx(self):
        port = free_port()
        nginx = start_nginx(
            self.folder / "nginx",
            port,
            prefix=pinned(PROXY_CORE),
            inside_http=f"upstream bench {{ server 127.0.0.1:{self.origin}; keepalive 1024; "
            "keepalive_requests 1000000000; }",
            inside_server="location / { proxy_pass http://bench; proxy_http_version 1.1; "
            'proxy_set_header Connection ""; proxy_buffers 16 8k; proxy_max_temp_file_size 0; '
            f"access_log {self.folder}/nginx.log combined buffer=64k flush=1s; }}",
        )
        self.started.append(nginx)
        return Proxy("nginx", port, children_of(nginx.pid))

    def haproxy(self):
        log = open(self.folder / "haproxy.log", "wb")
        receiver = self.start(
            [
                *pinned(OTHER_CORE),
                "/usr/bin/python3",
                ROOT / "bench" / "log_receiver.py",
                self.folder / "haproxy.log",
            ]
        )
        log.close()
        port = free_port()
        haproxy = start_haproxy(
            self.folder / "haproxy",
            port,
            prefix=pinned(PROXY_CORE),
            defaults="    log ring@logs format raw local0\n    option httplog\n"
            "    http-reuse always\n    retries 2",
            top="ring logs\n    format raw\n    maxlen 1024\n    size 4194304\n"
            "    timeout connect 5s\n"
            f"    timeout server 10s\n    server log 127.0.0.1:{listening_port(receiver)}",
            backend=f"    server origin 127.0.0.1:{self.origin} maxconn 1024 pool-max-conn 1024",
        )
        self.started.append(haproxy)
        return Proxy("haproxy", port, [haproxy.pid])

    def pump(self):
        process = self.start(
            [*pinned(PROXY_CORE), self.build / "bench" / "bench_pump", self.origin]
        )
        return Proxy("byte pump", listening_port(process), [process.pid])

    def load(self, proxy, body_bytes, connections, requests):
        """One closed-loop run; its seconds."""
        command = [
            *pinned(OTHER_CORE),
            self.build / "bench" / "bench_load",
            proxy.port,
            body_bytes,
            connections,
            requests,
        ]
        done = subprocess.run(
            [str(word) for word in command],
            check=True,
            stdout=subprocess.PIPE,
            timeout=RUN_SECONDS_MAX,
        )
        said = json.loads(done.stdout)
        assert (
            said["failed"] == 0
        ), f"{proxy.name}: {said['failed']} of {requests} answers were not 200"
        return said["seconds"]


def children_of(pid):
    """nginx's one worker; the master does nothing."""

    def find():
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    return until(find, what="nginx's worker")


def cpu_seconds(pids):
    """What the scheduler says the threads of these processes have run, in seconds."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def measure(bench, proxy, body_bytes, connections, requests):
    before = cpu_seconds(proxy.pids)
    seconds = bench.load(proxy, body_bytes, connections, requests)
    used = cpu_seconds(proxy.pids) - before
    return Run(used * 1e6 / requests, used / seconds, requests / seconds)


def count_system_calls(bench, proxy, body_bytes, connections, requests):
    """System calls a request, or None where perf may not count."""
    if not shutil.which("perf"):
        return None
    command = [
        "perf",
        "stat",
        "-x,",
        "-e",
        "raw_syscalls:sys_enter",
        "-p",
        ",".join(map(str, proxy.pids)),
    ]
    perf = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        bench.load(proxy, body_bytes, 1, 200)  # perf has attached by the end of this, or never will
        if perf.poll() is not None:
            return None
        bench.load(proxy, body_bytes, connections, requests)
    finally:
        if perf.poll() is None:
            perf.send_signal(signal.SIGINT)
        said = perf.communicate(timeout=10)[1]
    match = re.search(r"^(\d+),,raw_syscalls", said, re.MULTILINE)
    return int(match.group(1)) / (requests + 200) if match else None


def resident_bytes(pid):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * int(re.search(r"^Private_Dirty:\s+(\d+)", text, re.MULTILINE).group(1))


def idle_bytes(bench, proxy):
    """Private memory a connection that is open and idle, over thousands of them. For a process that
    has just begun: memory that an earlier load left free would hide what connections take."""
    bench.load(proxy, 50, 1, 20000)  # the event buffer has been all round
    before = resident_bytes(proxy.pids[0])
    load = bench.start(
        [
            *pinned(OTHER_CORE),
            bench.build / "bench" / "bench_load",
            proxy.port,
            50,
            IDLE_CONNECTIONS,
            "idle",
        ],
        stdin=subprocess.PIPE,
    )
    load.wait_for("^idle$", RUN_SECONDS_MAX)
    after = resident_bytes(proxy.pids[0])
    load.child.stdin.close()
    load.wait()
    return (after - before) / IDLE_CONNECTIONS


def logged(folder):
    """Lines in each proxy's log: proof that the logs were really written."""
    counts = {}
    for file in ("events.ndjson", "nginx.log", "haproxy.log"):
        path = folder / file
        if path.exists():
            with path.open("rb") as log:
                counts[file] = sum(
                    piece.count(b"\n") for piece in iter(lambda: log.read(1 << 20), b"")
                )
    return counts


def collect(bench, proxies, rounds):
    """(shape, proxy name) -> (median Run, system calls a request)."""
    results = {}
    for shape in SHAPES:
        runs = {proxy.name: [] for proxy in proxies}
        for proxy in proxies:
            bench.load(proxy, shape[0], shape[1], shape[2] // 10)
        for turn in range(rounds):
            for proxy in proxies[turn % len(proxies) :] + proxies[: turn % len(proxies)]:
                runs[proxy.name].append(measure(bench, proxy, *shape))
        for proxy in proxies:
            median = Run(*(statistics.median(values) for values in zip(*runs[proxy.name])))
            calls = count_system_calls(bench, proxy, *shape)
            results[shape, proxy.name] = (median, calls)
            print(
                f"{shape[0]:6} bytes {shape[1]:4} connections  {proxy.name:10} "
                f"{median.cpu_us:7.2f} us  busy {median.busy:.2f} {median.rate:8.0f}/s  "
                f"calls {calls if calls is None else round(calls, 2)}",
                file=sys.stderr,
            )
    return results


def verdicts(results, idle):
    """The goals, each with what was measured."""
    for body, connections, requests in SHAPES:
        shape = (body, connections, requests)
        ours, calls = results[shape, "belay"]
        nginx, haproxy = results[shape, "nginx"][0], results[shape, "haproxy"][0]
        name = f"{body} bytes, {connections} connections"
        if (body, connections) == (50, 32):
            ratio = ours.cpu_us / min(nginx.cpu_us, haproxy.cpu_us)
            yield (
                f"{name}: CPU a request / the better of the two",
                f"{ratio:.2f}",
                f"<= {CPU_GOAL:.2f}",
                ratio <= CPU_GOAL,
            )
            yield f"{name}: busy", f"{ours.busy:.2f}", ">= 0.95", ours.busy >= 0.95
            if calls is not None:
                yield (
                    f"{name}: system calls a request",
                    f"{calls:.2f}",
                    f"<= {SYSCALLS_GOAL}",
                    calls <= SYSCALLS_GOAL,
                )
        else:
            ratio = ours.cpu_us / haproxy.cpu_us
            yield f"{name}: CPU a request / haproxy", f"{ratio:.2f}", "<= 1.00", ratio <= 1.0
    met = idle <= IDLE_BYTES_GOAL
    yield "memory of an idle connection", f"{idle:.0f} bytes", f"<= {IDLE_BYTES_GOAL}", met


def table(rows, head):
    return ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]


def page(results, proxies, idle, rounds, micro, logs):
    """The whole results page, losing rows included."""
    nginx = subprocess.run(["nginx", "-v"], stderr=subprocess.PIPE, text=True).stderr.strip()
    haproxy = subprocess.run(
        ["haproxy", "-v"], stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()[0]
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()).group(1)
    lines = [
        "# What belay costs beside others",
        "",
        f"Written by `./dev bench` on {datetime.date.today()}: {os.cpu_count()} cores of {cpu}, "
        f"Linux {platform.release()}.",
        f"{nginx}; {haproxy.split(' - ')[0]}.",
        "",
    ]
    lines += [
        METHOD.format(proxy=PROXY_CORE, other=OTHER_CORE, rounds=rounds),
        "- Lines in the logs at the end: "
        + ", ".join(f"{name} {count}" for name, count in logs.items())
        + ".",
        "",
    ]
    rows = []
    for shape in SHAPES:
        for proxy in proxies:
            run, calls = results[shape, proxy.name]
            rows.append(
                [
                    str(shape[0]),
                    str(shape[1]),
                    proxy.name,
                    f"{run.cpu_us:.2f}",
                    "not counted" if calls is None else f"{calls:.2f}",
                    f"{run.busy:.2f}",
                    f"{run.rate:.0f}",
                ]
            )
    lines += table(
        rows,
        [
            "body bytes",
            "connections",
            "proxy",
            "CPU µs a request",
            "system calls a request",
            "busy",
            "requests a second",
        ],
    )
    if idle is not None:
        lines += ["", "## Goals", ""]
        lines += table(
            [
                [name, value, goal, "met" if met else "**missed**"]
                for name, value, goal, met in verdicts(results, idle)
            ],
            ["what", "measured", "goal", ""],
        )
        lines += [
            "",
            f"Idle memory is private dirty memory over {IDLE_CONNECTIONS} connections that had one "
            "request "
            "each.",
        ]
    if micro:
        lines += [
            "",
            "## In process",
            "",
            "No network; the clock is passed in.",
            "",
            "```",
            micro.strip(),
            "```",
        ]
    return "\n".join(lines) + "\n"


def run_micro(build):
    program = build / "bench" / "bench_micro"
    if not program.exists():
        return ""
    done = subprocess.run(
        [*pinned(PROXY_CORE), str(program)], stdout=subprocess.PIPE, text=True, timeout=120
    )
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--without-belay", action="store_true", help="the others only, nothing is written"
    )
    arguments = parser.parse_args()
    assert os.cpu_count() >= 2, "the bench needs two cores"
    with tempfile.TemporaryDirectory(prefix="belay-bench-") as folder:
        bench = Bench(arguments.build.resolve(), Path(folder))
        try:
            makers = [bench.nginx, bench.haproxy, bench.pump]
            if not arguments.without_belay:
                makers.insert(0, bench.belay)
            proxies = [make() for make in makers]
            results = collect(bench, proxies, arguments.rounds)
            if arguments.without_belay:
                print(page(results, proxies, None, arguments.rounds, "", logged(bench.folder)))
                return
            idle = idle_bytes(bench, bench.belay())
            text = page(
                results,
                proxies,
                idle,
                arguments.rounds,
                run_micro(bench.build),
                logged(bench.folder),
            )
        finally:
            bench.stop()
    (ROOT / "bench" / "RESULTS.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
