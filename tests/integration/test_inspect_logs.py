"""`belay inspect` on logs: each anomaly in a made-up one, and none in clean ones of any origin."""

import ctypes
import gzip
import http.client
import json
import random
import subprocess
import threading
from pathlib import Path

import pytest
from belay import Belay, configuration
from processes import BELAY, Process

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
MADE_UP = sorted((GOLDEN / "inspect" / "logs").glob("*.ndjson"))
KINDS = {
    "merged_fields",
    "clock_mixed",
    "retry_without_attempt",
    "split_operation",
    "duplicate_request_id",
    "unsafe_retry",
    "early_retry",
    "status_error_conflict",
    "full_url",
    "secret_in_field",
    "over_budget",
    "attempt_gap",
}
CALLS, CLIENTS = 150, 4  # calls of each client


def inspect(*files, stdin=None):
    done = subprocess.run(
        [BELAY, "inspect", "--json", *files], input=stdin, capture_output=True, timeout=60
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    report = json.loads(done.stdout)
    assert done.returncode == (1 if report["anomalies"] else 0)
    return report


def shown(report):
    return [{key: a[key] for key in ("kind", "count", "operationIds")} for a in report["anomalies"]]


def test_there_is_a_made_up_log_for_each_kind():
    assert {log.stem for log in MADE_UP} == KINDS


@pytest.mark.parametrize("log", MADE_UP, ids=lambda log: log.stem)
def test_a_made_up_log_shows_its_own_kind_alone(log):
    want = json.loads(log.with_suffix(".json").read_text())
    assert [anomaly["kind"] for anomaly in want] == [log.stem]
    assert shown(inspect(log)) == want


@pytest.mark.parametrize("log", MADE_UP, ids=lambda log: log.stem)
def test_it_does_so_in_any_order_and_in_any_wrapping(log):
    want = [(a["kind"], a["count"]) for a in json.loads(log.with_suffix(".json").read_text())]
    lines = log.read_text().splitlines()
    random.Random(7).shuffle(lines)
    got = shown(inspect("-", stdin="\n".join(lines).encode()))
    assert [(a["kind"], a["count"]) for a in got] == want


# --- clean logs ---


def load(port, seed):
    """One client's calls, of every kind; what they come to is the log's affair."""
    dice = random.Random(seed)
    for number in range(CALLS):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        posts = dice.random() < 0.3
        method, body = ("POST", b"x" * dice.randrange(2000)) if posts else ("GET", None)
        try:
            client.request(method, f"/orders/{number}", body=body)
            client.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # a fault that was passed on
        client.close()


def run_daemon(folder, seed):
    """The lines of a daemon that stood in front of a faulty origin until it was stopped."""
    flaky = Process(
        [BELAY, "flaky", "--listen", "127.0.0.1:0", "--quiet", "--seed", seed]
        + ["--fault", "all:1", "--fault", "503:3", "--fault", "429:1"]
    )
    port = int(flaky.wait_for(r"127\.0\.0\.1:(\d+)").group(1))
    policy = {"deadline": "2s", "silence_timeout": "100ms", "backoff": {"base": "20ms"}}
    belay = Belay(folder, configuration({"orders": (port, policy)}, workers=2))
    clients = [
        threading.Thread(target=load, args=(belay.port, seed * 100 + n)) for n in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    belay.stop()
    flaky.stop()
    lines = belay.events_file.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert sum(r.get("event") == "operation" for r in records) == CALLS * CLIENTS
    assert any(r.get("decision") == "retry" for r in records)
    return lines


@pytest.fixture(scope="module")
def daemons(tmp_path_factory):
    return [run_daemon(tmp_path_factory.mktemp("daemon"), seed) for seed in (1, 2)]


def text(lines):
    return ("\n".join(lines) + "\n").encode()


def zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    bytes_in = ctypes.c_size_t(len(data))
    packed = ctypes.create_string_buffer(library.ZSTD_compressBound(bytes_in))
    room = ctypes.c_size_t(len(packed))
    written = library.ZSTD_compress(packed, room, data, bytes_in, ctypes.c_int(3))
    return packed.raw[:written]


def write_time(line):
    record = json.loads(line)
    return record["time"], record["elapsedMs"]


def as_docker(lines):
    return [
        json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-03-01T09:00:00Z"})
        for line in lines
    ]


def as_journal(lines):
    return [f"Mar 01 09:00:00 host belay[42]: {line}" for line in lines]


def with_other_lines(lines):
    return [out for line in lines for out in (line, '{"level":"info","msg":"pool has 3"}', "ready")]


def shuffled(lines):
    return random.Random(3).sample(lines, len(lines))


CLEAN = {
    "a daemon's own": lambda a, b: text(a),
    "docker": lambda a, b: text(as_docker(a)),
    "journal": lambda a, b: text(as_journal(a)),
    "beside other people's lines": lambda a, b: text(with_other_lines(a)),
    "two daemons, one after the other": lambda a, b: text(a + b),
    "two daemons, by time": lambda a, b: text(sorted(a + b, key=write_time)),
    "two daemons, reordered": lambda a, b: text(shuffled(a + b)),
    "reordered": lambda a, b: text(shuffled(a)),
    "head cut within a line": lambda a, b: text(a)[len(text(a)) // 3 + 5 :],
    "tail cut within a line": lambda a, b: text(a)[: len(text(a)) // 2 + 5],
    "both cut, reordered": lambda a, b: text(shuffled(a[len(a) // 3 : -len(a) // 3])),
    "gzip": lambda a, b: gzip.compress(text(a)),
    "zstd": lambda a, b: zstd(text(a)),
}


@pytest.mark.parametrize("origin", CLEAN)
def test_a_clean_log_shows_nothing(daemons, origin):
    report = inspect("-", stdin=CLEAN[origin](*daemons))
    assert report["anomalies"] == []
    assert report["targets"][0]["operations"] > CALLS


def test_rotated_and_packed_files_are_one_log(daemons, tmp_path):
    lines, half = daemons[0], len(daemons[0]) // 2
    (tmp_path / "events.1.gz").write_bytes(gzip.compress(text(lines[:half])))
    (tmp_path / "events").write_bytes(text(lines[half:]))
    report = inspect(tmp_path / "events.1.gz", tmp_path / "events")
    assert report["anomalies"] == []
    assert report["targets"] == inspect("-", stdin=text(lines))["targets"]


@pytest.mark.parametrize("log", sorted((GOLDEN / "replay").glob("*.ndjson")), ids=lambda p: p.stem)
def test_what_replay_writes_is_clean(log):
    assert inspect(log)["anomalies"] == []


def test_an_operation_id_that_is_passed_on_is_no_duplicate(tmp_path, start_origin):
    """Two daemons in a row write the same operationId; a caller may ask again under it, too."""
    origin = start_origin()
    bottom = Belay(tmp_path / "bottom", configuration({"t": (origin.port, {})}))
    top = Belay(tmp_path / "top", configuration({"t": (bottom.port, {})}))
    for _ in range(2):
        client = http.client.HTTPConnection("127.0.0.1", top.port, timeout=15)
        client.request("GET", "/", headers={"X-Operation-Id": "asked-twice"})
        client.getresponse().read()
        client.close()
    top.stop()
    bottom.stop()
    files = [top.events_file, bottom.events_file]
    report = inspect(*files)
    assert report["anomalies"] == []
    assert report["targets"][0]["operations"] == 4
