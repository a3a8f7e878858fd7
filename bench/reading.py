#!/usr/bin/python3
"""Measures `belay inspect` beside jq and DuckDB, and writes bench/RESULTS-inspect.md.

All of `belay inspect --json` (find records, group them by operation, judge, sum up) is timed
against the others counting the same file by decision. Each runs alone on one core; its time is that
of the processor (user and system), so that other load does not count; the median of several rounds.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CORE = "1"
BYTES = 1_000_000_000
GOAL = 5  # times jq
RUN_SECONDS_MAX = 900

COUNT_WITH_JQ = [
    "jq",
    "-n",
    "-c",
    "reduce (inputs | .decision // empty) as $d ({}; .[$d] += 1)",
]
COUNT_WITH_DUCKDB = """
import duckdb, json, sys
duckdb.sql("SET threads TO 1")
duckdb.sql("SET enable_progress_bar = false")
rows = duckdb.sql(
    "SELECT decision, count(*) FROM read_json(?, format = 'newline_delimited',"
    " columns = {decision: 'VARCHAR'}) WHERE decision IS NOT NULL GROUP BY 1",
    params=[sys.argv[1]],
).fetchall()
print(json.dumps(dict(rows)))
"""


class Tool(NamedTuple):
    name: str
    command: list
    counts: object  # of its output: by decision, without those that are 0


class Run(NamedTuple):
    seconds: float  # of the processor
    peak_bytes: int
    counts: dict


def counts_of_belay(output):
    total = {}
    for target in json.loads(output)["targets"]:
        for decision, count in target["decisions"].items():
            total[decision] = total.get(decision, 0) + count
    return {decision: count for decision, count in total.items() if count}


def measure(tool, path):
    """One run on one core; wait4 tells its own time and memory."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            ["taskset", "-c", CORE, "timeout", str(RUN_SECONDS_MAX), *tool.command, path],
            stdout=output,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode in (0, 1), f"{tool.name} ended with {process.returncode}"
        output.seek(0)
        counts = tool.counts(output.read())
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, counts)


def tools(belay):
    yield Tool("belay inspect --json", [str(belay), "inspect", "--json"], counts_of_belay)
    yield Tool(version("jq", "--version"), COUNT_WITH_JQ, json.loads)
    duckdb = python_with_duckdb()
    if duckdb:
        yield Tool(
            "DuckDB " + version(duckdb, "-c", "import duckdb; print(duckdb.__version__)"),
            [duckdb, "-c", COUNT_WITH_DUCKDB],
            json.loads,
        )


def version(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def python_with_duckdb():
    """A Python in which DuckDB can be imported (pip install duckdb), or None."""
    for python in ("python3", sys.executable):
        found = shutil.which(python)
        done = found and subprocess.run([found, "-c", "import duckdb"], stderr=subprocess.DEVNULL)
        if done and done.returncode == 0:
            return found
    return None


def make_events(build, path, size_bytes):
    with open(path, "wb") as out:
        subprocess.run([build / "bench" / "bench_events", str(size_bytes)], stdout=out, check=True)
    return path.stat().st_size


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def page(results, size_bytes, lines, rounds):
    speed = {
        name: size_bytes / 1e6 / statistics.median(r.seconds for r in runs)
        for name, runs in results.items()
    }
    names = list(results)
    rows = [
        f"| {name} | {speed[name]:.0f} | {speed[names[0]] / speed[name]:.1f} | "
        f"{max(r.peak_bytes for r in results[name]) / 1e6:.0f} |"
        for name in names
    ]
    if not any(name.startswith("DuckDB") for name in names):
        rows.append("| DuckDB | not available (pip install duckdb) | | |")
    times = speed[names[0]] / speed[names[1]]
    verdict = "reached" if times >= GOAL else "**missed**"
    return "\n".join(
        [
            "# Reading the evidence: speed",
            "",
            f"Made by `./dev bench inspect` on {datetime.date.today()}, {processor()}.",
            "",
            "| tool | MB/s | belay is faster by | peak memory, MB |",
            "|---|---|---|---|",
            *rows,
            "",
            f"Goal: all of inspect at least {GOAL} times as fast as jq counting: {times:.1f}, "
            f"{verdict}.",
            "",
            f"- {size_bytes / 1e9:.2f} GB, {lines} lines of events by the real engine and encoder,",
            "  made on the fly and deleted; all of the file for each.",
            "- belay finds the records, groups them by operation, looks for anomalies and",
            "  credentials, and sums up; the others parse each line and count by `decision`.",
            "  The counts were compared.",
            "- One core each; the processor's time, user and system;",
            f"  {'one run' if rounds == 1 else f'medians of {rounds} alternating runs'}.",
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=BYTES)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory(prefix="belay-bench-") as folder:
        path = Path(folder) / "events.ndjson"
        size_bytes = make_events(build, path, arguments.bytes)
        with open(path, "rb") as events:
            lines = sum(1 for _ in events)
        results = {}
        for _ in range(arguments.rounds):
            for tool in tools(build / "src" / "app" / "belay"):
                results.setdefault(tool.name, []).append(measure(tool, path))
        counts = [run.counts for runs in results.values() for run in runs]
        assert all(count == counts[0] for count in counts), counts
    text = page(results, size_bytes, lines, arguments.rounds)
    (ROOT / "bench" / "RESULTS-inspect.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
