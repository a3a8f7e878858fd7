"""What breaks in the middle: origins that die, clients that dawdle, disks that are full."""

import json
import signal
import threading
import time

import pytest
from belay import Wire, configuration
from origin import answer, in_order, reset, silence
from processes import BUILD, Process, free_port, until


def count_to_the_end(connection):
    """Bytes until the connection ends, properly or by a reset."""
    count = 0
    try:
        while piece := connection.recv(1 << 16):
            count += len(piece)
    except ConnectionResetError:
        pass
    return count


def test_origin_killed_in_the_middle_of_an_answer(start_belay, closing):
    origin = Process([BUILD / "bench" / "bench_origin"])
    closing.append(origin)
    port = int(origin.wait_for(r"127\.0\.0\.1:(\d+)").group(1))
    belay = start_belay(configuration({"t": (port, {})}))
    with Wire(belay.port) as client:
        client.send(f"GET /{1 << 25} HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.stream.read(100).startswith(
            b"HTTP/1.1 200"
        )  # more than all buffers hold is still to come
        origin.signal(signal.SIGKILL)
        origin.wait()
        assert count_to_the_end(client.socket) < 1 << 25
    operation, attempts = belay.operation()
    assert attempts[0]["status"] is None and attempts[0]["errorClass"] in ("reset", "closed")
    assert attempts[0]["phase"] == "body" and attempts[0]["decision"] == "stop"


def test_origin_that_nobody_listens_for(start_belay):
    belay = start_belay(
        configuration(
            {"t": (free_port(), {"attempts": 2, "backoff": {"kind": "constant", "base": "10ms"}})}
        )
    )
    with Wire(belay.port) as client:
        got = client.get()
    assert got.status == 502 and got.field("content-type") == "application/problem+json"
    problem = json.loads(got.body)
    assert problem["status"] == 502 and problem["operationId"]
    operation, attempts = belay.operation()
    assert [(a["errorClass"], a["sent"], a["decision"]) for a in attempts] == [
        ("refused", "unsent", "retry"),
        ("refused", "unsent", "max_attempts"),
    ]


def test_a_post_to_nobody_is_repeated_since_it_was_unsent(start_belay):
    belay = start_belay(
        configuration(
            {"t": (free_port(), {"attempts": 2, "backoff": {"kind": "constant", "base": "10ms"}})}
        )
    )
    with Wire(belay.port) as client:
        assert client.post().status == 502
    operation, attempts = belay.operation()
    assert len(attempts) == 2 and operation["effect"] == "none"


@pytest.mark.parametrize("deadline_ms", [200, 500, 1000])
def test_deadline_within_50_ms(through, deadline_ms):
    belay, origin = through(silence, deadline=f"{deadline_ms}ms")
    began = time.monotonic()
    with Wire(belay.port) as client:
        got = client.get()
    took_ms = (time.monotonic() - began) * 1000
    assert got.status == 504
    assert abs(took_ms - deadline_ms) <= 50
    operation, attempts = belay.operation()
    assert [a["errorClass"] for a in attempts] == ["timeout"]


def test_a_body_that_drips_for_ever_is_cut_at_the_deadline(through):
    def drips(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"1\r\nx\r\n")
            time.sleep(0.02)  # the drip is the case

    belay, origin = through(drips, deadline="700ms")
    began = time.monotonic()
    with Wire(belay.port) as client:
        got = client.get()
    assert abs(time.monotonic() - began - 0.7) <= 0.05
    assert got.status == 200 and not got.whole


def test_a_slow_upload_is_cut_at_the_deadline_and_holds_no_slot(through):
    belay, origin = through(deadline="600ms", bulkhead={"max": 1})
    slow = Wire(belay.port)
    began = time.monotonic()
    slow.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
    with Wire(belay.port) as client:
        assert client.get().status == 200
    got = slow.answer("POST")
    assert abs(time.monotonic() - began - 0.6) <= 0.1
    assert got is None or got.status in (408, 504)
    slow.close()
    assert origin.calls("POST") == 0


def test_a_client_that_resets_frees_its_slot(through):
    arrived = threading.Event()

    def first_hangs(request, connection):
        if request.target == "/hang":
            arrived.set()
            return silence(request, connection)
        return answer(200, b"free")

    belay, origin = through(first_hangs, bulkhead={"max": 1}, deadline="20s", silence_timeout="20s")
    gone = Wire(belay.port)
    gone.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n")
    assert arrived.wait(5)
    reset(gone.socket)
    gone.close()

    def served():
        with Wire(belay.port) as client:
            return client.get("/next").status == 200

    until(served, 5, "a free slot")


def test_bulkhead_refuses_the_one_too_many(through):
    gate = threading.Event()

    def waits(request, connection):
        gate.wait(10)
        return answer(200)

    belay, origin = through(waits, bulkhead={"max": 3})
    threads = [threading.Thread(target=lambda: Wire(belay.port).get()) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: origin.calls() == 3)
    began = time.monotonic()
    with Wire(belay.port) as client:
        got = client.get()
    assert got.status == 503 and time.monotonic() - began < 0.1
    gate.set()
    for thread in threads:
        thread.join()
    assert origin.calls() == 3


def test_events_to_a_full_disk_do_not_stop_traffic(start_origin, start_belay):
    origin = start_origin()
    belay = start_belay(configuration({"t": (origin.port, {})}, events={"file": "/dev/full"}))
    with Wire(belay.port) as client:
        assert [client.get().status for _ in range(200)] == [200] * 200
    assert belay.stop() == 0
    assert any("cannot write /dev/full" in line for line in belay.process.lines)
    assert any("400 event records were lost" in line for line in belay.process.lines)


def test_events_of_a_file_that_was_full_are_told_as_lost_when_it_recovers(
    start_origin, start_belay
):
    """A file that may not grow stands for a full disk; rotating it away makes room."""
    origin = start_origin()
    belay = start_belay(
        configuration({"t": (origin.port, {})}, events={"buffer": "64KiB"}),
        prefix=["prlimit", f"--fsize={96 * 1024}"],
    )
    count = 2500
    with Wire(belay.port) as client:
        assert [client.get().status for _ in range(count)] == [200] * count
        belay.process.wait_for("events: cannot write .*: File too large")
        full = belay.events_file.with_suffix(".full")
        belay.events_file.rename(full)
        belay.signal(signal.SIGHUP)
        belay.process.wait_for("events: writing again")
    assert belay.stop() == 0
    before = full.read_text().splitlines()
    records = [json.loads(line) for line in before[:-1]] + belay.records()
    if full.read_text().endswith("\n"):
        records.append(json.loads(before[-1]))
    told = sum(record["records"] for record in records if record.get("event") == "lost")
    written = sum(record.get("event") != "lost" for record in records)
    assert told > 0 and written + told == 2 * count, (written, told)
    assert not any("unsaid in the file" in line for line in belay.process.lines)


def test_large_answer_arrives_whole(through):
    body = b"0123456789" * 1_000_000
    belay, origin = through(in_order(answer(200, body)), deadline="20s")
    with Wire(belay.port) as client:
        got = client.get()
    assert got.whole and got.body == body


def test_chunked_answer_with_trailers_arrives_whole(through):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = head + b"3;x=1\r\nabc\r\n4\r\ndefg\r\n0\r\nX-T: 1\r\n\r\n"
    belay, origin = through(in_order(data))
    with Wire(belay.port) as client:
        got = client.get()
        assert (got.body, got.whole) == (b"abcdefg", True)
        assert client.get().body == b"abcdefg"


def test_answer_delimited_by_closing(through):
    def until_close(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

    belay, origin = through(until_close)
    with Wire(belay.port) as client:
        got = client.get()
    assert (got.body, got.whole) == (b"until the end", True)


def test_a_client_that_drips_its_head_is_cut(start_origin, start_belay):
    origin = start_origin()
    belay = start_belay(
        configuration({"t": (origin.port, {})}, connections={"head_timeout": "300ms"})
    )
    began = time.monotonic()
    with Wire(belay.port) as client:
        client.send("GET / HTTP/1.1\r\nHo")
        got = client.answer()
        assert got is None or got.status == 408
        assert client.closed()
    assert 0.25 <= time.monotonic() - began <= 1
    assert origin.calls() == 0
