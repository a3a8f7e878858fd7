"""`belay inspect` as a process: on the daemon's own events, on bad ones, as pages, following."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess

import pytest
from belay import Belay, configuration
from browser import BROWSER, Browser
from processes import BELAY, BUILD, Process

PICTURES = BUILD / "pictures"  # kept, to be looked at
LINE_OF_WORDS = "2026-01-06 12:00:00 ERROR request failed"


def inspect(*arguments, **options):
    return subprocess.run(
        [BELAY, "inspect", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        **options,
    )


def attempt(operation, number=1, **fields):
    """One line of an event; an unsafe or broken one by what it is given."""
    event = {
        "v": 1,
        "time": f"2026-01-06T12:00:{number:02d}.000Z",
        "operationId": operation,
        "requestId": f"{operation}/attempt-{number}",
        "attempt": number,
        "method": "GET",
        "target": "orders",
        "route": "/orders/{id}",
        "endpoint": "/orders/{id}",
        "status": 200,
        "errorClass": None,
        "elapsedMs": 10,
        "remainingMs": 2000 - 1000 * (number - 1),
        "decision": "return",
    }
    return json.dumps({**event, **fields})


def unsafe(operation):
    """A POST that was sent again after a 503."""
    retry = {"status": 503, "decision": "retry", "waitMs": 900}
    return [
        attempt(operation, 1, method="POST", **retry),
        attempt(operation, 2, method="POST"),
    ]


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def kinds(report):
    return {anomaly["kind"]: anomaly["count"] for anomaly in report["anomalies"]}


@pytest.fixture
def bad(tmp_path):
    lines = unsafe("twice") + [attempt("good"), LINE_OF_WORDS, attempt("gap", 3)]
    lines += [attempt("gap", 1, status=503, decision="retry", waitMs=100), "not an event"]
    return write(tmp_path / "bad.ndjson", lines)


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good.ndjson", [attempt(f"op{n}") for n in range(50)])


@pytest.fixture
def own_events(closing, tmp_path):
    """The file of a real daemon before an origin that fails the first call of each operation."""
    flaky = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", "--fail-first", "1", "--quiet"])
    closing.append(flaky)
    port = int(flaky.wait_for(r"listening on http://127\.0\.0\.1:(\d+)").group(1))
    policy = {"deadline": "5s", "backoff": {"base": "5ms"}, "budget": {"ratio": "10%", "burst": 10}}
    belay = Belay(tmp_path / "daemon", configuration({"orders": (port, policy)}))
    closing.append(belay)
    for number in range(8):
        subprocess.run(
            ["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{belay.port}/orders/{number}"],
            check=True,
        )
    belay.operations(8)
    return belay.events_file


def test_our_own_events_are_in_order(own_events):
    done = inspect(own_events)
    assert done.returncode == 0, done.stdout
    assert "Nothing wrong was found." in done.stdout
    assert "operations 8   attempts 16   retries 8   amplification 2.00" in done.stdout
    report = json.loads(inspect("--json", own_events).stdout)
    assert report["anomalies"] == []
    assert report["targets"][0]["decisions"]["retry"] == 8
    assert inspect("--check", own_events).returncode == 0


def test_one_operation_of_our_own(own_events):
    operation = json.loads(own_events.read_text().splitlines()[0])["operationId"]
    done = inspect("--operation", operation, own_events)
    assert done.returncode == 0
    assert f"operation {operation}" in done.stdout and "retry: backoff" in done.stdout
    told = json.loads(inspect("--operation", operation, "--json", own_events).stdout)["operation"]
    assert [a["status"] for a in told["attempts"]] == [503, 200]
    assert told["attempts"][1]["startMs"] >= told["attempts"][0]["waitMs"]
    assert told["deadlineMs"] <= 5000 and told["result"] == {"status": 200}


def test_anomalies_make_the_exit_status(bad):
    done = inspect(bad)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "unsafe_retry" in done.stdout and "twice" in done.stdout
    report = json.loads(inspect("--json", bad).stdout)
    assert kinds(report) == {"unsafe_retry": 1, "attempt_gap": 1, "merged_fields": 1}
    unsafe_retry = report["anomalies"][0]
    assert unsafe_retry["operationIds"] == ["twice"] and unsafe_retry["examples"][0]["line"] == 2


def test_packed_and_several_files_and_standard_input(good, bad, tmp_path):
    packed = tmp_path / "bad.gz"
    packed.write_bytes(gzip.compress(bad.read_bytes()))
    report = json.loads(inspect("--json", good, packed).stdout)
    assert report["targets"][0]["operations"] == 53
    assert kinds(report)["unsafe_retry"] == 1
    with bad.open() as lines:
        piped = inspect("--json", stdin=lines)
    assert kinds(json.loads(piped.stdout))["unsafe_retry"] == 1


def test_filters_make_no_anomalies(bad):
    def narrowed(*options):
        report = json.loads(inspect("--json", *options, bad).stdout)
        return sum(t["operations"] for t in report["targets"]), kinds(report)

    assert narrowed("--target", "orders") == (3, {"unsafe_retry": 1, "attempt_gap": 1})
    assert narrowed("--target", "nobody") == (0, {})
    assert narrowed("--route", "/orders/{id}")[0] == 3
    assert narrowed("--decision", "retry") == (2, {"unsafe_retry": 1, "attempt_gap": 1})
    # The second attempts began in the window, their operations did not.
    assert narrowed("--since", "2026-01-06T12:00:02Z")[1].get("unsafe_retry") is None
    assert narrowed("--until", "2026-01-06T12:00:02Z")[1]["unsafe_retry"] == 1
    assert narrowed("--since", "1s") == (0, {})


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--since", "yesterday"], "--since is a time"),
        (["--until", "2026-13-01T00:00:00Z"], "--until is a time"),
        (["--decision", "retri"], "did you mean retry?"),
        (["--decision", "retry", "-"], "reads the log twice"),
        (["--budget", "ten"], "--budget is a share"),
        (["--max-operations", "1"], "--max-operations is a number"),
        (["--jsn"], "did you mean --json"),
        (["--check", "--html", "x"], "--check goes with none"),
        (["--json", "--html", "-"], "cannot both"),
        (["/nonexistent/events"], "/nonexistent/events: No such file"),
        (["/"], "/: Is a directory"),
    ],
)
def test_wrong_arguments_are_refused(arguments, complaint):
    done = inspect(*arguments, stdin=subprocess.DEVNULL)
    assert done.returncode == 2, done.stdout
    assert complaint in done.stderr
    assert done.stdout == ""


def test_what_holds_no_event_is_not_called_clean(tmp_path):
    done = inspect(write(tmp_path / "other.log", ["GET / 200", "GET /a 404"]))
    assert done.returncode == 2
    assert "none of 2 lines holds an event" in done.stderr
    empty = tmp_path / "empty"
    empty.touch()
    assert inspect(empty).returncode == 0


def test_an_operation_that_is_not_there(good):
    done = inspect("--operation", "nobody", good)
    assert done.returncode == 1
    assert done.stdout == "" and "no record of operation 'nobody' in 50 lines" in done.stderr


def test_check_says_what_is_lacking(bad):
    done = inspect("--check", bad)
    assert done.returncode == 1
    assert not json.loads(inspect("--check", "--json", bad).stdout)["ok"]


def test_many_operations_in_a_small_table(tmp_path):
    log = write(tmp_path / "many.ndjson", [attempt(f"op{n}") for n in range(5000)])
    report = json.loads(inspect("--json", "--max-operations", "64", log).stdout)
    assert report["targets"][0]["operations"] == 5000
    assert report["anomalies"] == []


# ---- a terminal, a pipe, a full disk ----


def test_a_reader_that_leaves_is_no_fault(bad):
    for ignored in (False, True):

        def ignore(ignored=ignored):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)

        child = subprocess.Popen(
            [BELAY, "inspect", bad],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=ignore,
        )
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(20) in (1, -signal.SIGPIPE)
        child.stderr.close()


def test_a_full_disk_is_told(bad, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [BELAY, "inspect", bad], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2 and "No space left" in done.stderr
    page = tmp_path / "page.html"
    page.write_text("the old one")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = inspect("--html", page, bad, preexec_fn=limit)
    assert done.returncode == 2 and "page.html: File too large" in done.stderr
    assert page.read_text() == "the old one"
    assert [path.name for path in tmp_path.iterdir() if "page" in path.name] == ["page.html"]


def on_a_terminal(command, **variables):
    """What a program writes to a terminal."""
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables},
        timeout=60,
    )
    return done.stdout.decode()


def test_colour_and_bars_follow_the_terminal(bad):
    command = f"{BELAY} inspect {bad}"
    shown = on_a_terminal(command)
    assert "\033[1;31munsafe_retry\033[0m" in shown and "\u2588" in shown
    assert "\033" not in on_a_terminal(command, NO_COLOR="1")
    assert "\033" not in on_a_terminal(command, TERM="dumb")
    plain = on_a_terminal(command, LC_ALL="C", NO_COLOR="1")
    assert plain.isascii() and "###" in plain
    assert "\033" not in inspect(bad).stdout


# ---- following ----


def test_following_tells_each_anomaly_once(closing, tmp_path):
    log = write(tmp_path / "events.ndjson", [attempt("one"), *unsafe("first")])
    follower = Process([BELAY, "inspect", "--follow", log])
    closing.append(follower)
    follower.wait_for(r"^unsafe_retry \(1\).*operation first$")
    with log.open("a") as more:
        more.write("\n".join(unsafe("second")) + "\n")
    follower.wait_for(r"^unsafe_retry \(2\).*operation second$")
    log.rename(tmp_path / "events.ndjson.1")  # rotated
    write(log, unsafe("third"))
    follower.wait_for(r"^unsafe_retry \(3\).*operation third$")
    follower.signal(signal.SIGINT)
    assert follower.wait() == 1
    said = "\n".join(follower.lines)
    assert said.count("operation first") == 1
    assert "Read 7 lines" in said and "target orders" in said


def test_following_a_file_that_is_emptied(closing, tmp_path):
    log = write(tmp_path / "events.ndjson", [attempt("one"), *unsafe("first")])
    follower = Process([BELAY, "inspect", "--follow", log])
    closing.append(follower)
    follower.wait_for(r"operation first$")
    os.truncate(log, 0)
    with log.open("a") as more:
        more.write("\n".join(unsafe("second")) + "\n")
    follower.wait_for(r"operation second$")
    follower.signal(signal.SIGTERM)
    assert follower.wait() == 1


def test_following_on_a_terminal_redraws_it(bad):
    command = f"stty rows 12 cols 80; timeout -s INT 2 {BELAY} inspect --follow {bad}"
    shown = on_a_terminal(command)
    first, last = shown.split("\033[H", 1)[1].rsplit("\033[H\033[2J", 1)
    assert "unsafe_retry" in first and first.split("\033[J")[0].count("\n") <= 11
    assert "anomalies, the gravest first" in last


def test_following_a_pipe_ends_with_it(tmp_path):
    child = subprocess.Popen(
        [BELAY, "inspect", "--follow", "--json", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    said, _ = child.communicate("\n".join(unsafe("a")) + "\n", timeout=20)
    assert child.returncode == 1
    assert kinds(json.loads(said)) == {"unsafe_retry": 1}


# ---- the page, in a real browser ----

needs_browser = pytest.mark.skipif(not shutil.which(BROWSER), reason="there is no chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page that has everything: two targets, trouble, one operation, texts that want out."""
    folder = tmp_path_factory.mktemp("page")
    lines = []
    for n in range(600):
        clock = f"2026-01-06T12:{n // 60:02d}:{n % 60:02d}.000Z"
        target = "payments" if n % 3 == 0 else "orders"
        common = {"time": clock, "target": target, "elapsedMs": 5 + n % 40, "remainingMs": 3000}
        if 200 < n < 260 and n % 2:
            retry = {"status": 503, "decision": "retry", "waitMs": 400, "reason": "backoff"}
            lines.append(attempt(f"op{n}", 1, **{**common, **retry}))
            common["remainingMs"] = 2500
            lines.append(attempt(f"op{n}", 2, **common))
        elif n % 50 == 7:
            late = {"status": None, "errorClass": "timeout", "decision": "deadline_exceeded"}
            lines.append(attempt(f"op{n}", 1, **{**common, **late}))
        else:
            lines.append(attempt(f"op{n}", 1, **common))
    lines += unsafe("<img src=x onerror=alert(1)>" + "x" * 90) + [LINE_OF_WORDS]
    lines.append(attempt("long", target="a-name-without-any-place-to-break-it" * 3))
    log = write(folder / "night.ndjson", lines)
    done = inspect("--html", folder / "night.html", log)
    assert done.returncode == 1, done.stderr
    assert "night.html is written" in done.stdout
    return folder / "night.html"


@pytest.fixture
def browser(tmp_path):
    PICTURES.mkdir(exist_ok=True)
    return Browser(tmp_path)


@needs_browser
@pytest.mark.parametrize("width", [1200, 360])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_and_is_quiet(page, browser, width, dark):
    picture = PICTURES / f"inspect-{width}-{'dark' if dark else 'light'}.png"
    console = browser.picture(page, picture, width, 4200 if width > 400 else 9000, dark)
    assert console == []
    assert picture.stat().st_size > 50_000
    seen = browser.measure(page, width, dark)
    assert seen["window"] == width
    assert seen["content"] <= width and seen["outside"] == 0
    bright = sum(seen["paper"]) > 3 * 128
    assert bright != dark and (sum(seen["ink"]) < 3 * 128) != dark


@needs_browser
def test_the_browser_understands_the_page(page, browser):
    tree, console = browser.tree(page, 1200)
    assert console == []
    assert tree.count("<svg ") == tree.count('role="img"') >= 10
    assert tree.count("<svg ") == tree.count("</desc>")
    assert "<img" not in tree and "<script" not in tree
    assert 'href="#unsafe_retry"' in tree and 'id="unsafe_retry"' in tree
    assert "Decisions over time" in tree and "Latency by attempt" in tree


@needs_browser
def test_one_operation_on_a_page(own_events, browser, tmp_path):
    operation = json.loads(own_events.read_text().splitlines()[0])["operationId"]
    page = tmp_path / "one.html"
    assert inspect("--html", page, "--operation", operation, own_events).returncode == 0
    assert browser.picture(page, PICTURES / "inspect-operation.png", 900, 1000) == []
    assert browser.measure(page, 360)["content"] <= 360
    tree, _ = browser.tree(page, 900)
    assert operation in tree and "Attempts and waits" in tree


@pytest.mark.parametrize("kept", ["cut", "behind a flipped bit", "nothing"])
def test_a_packed_file_that_is_damaged_has_no_good_verdict(good, tmp_path, kept):
    packed = bytearray(gzip.compress(good.read_bytes() * 40))
    if kept == "cut":
        del packed[len(packed) // 2 :]
    elif kept == "behind a flipped bit":
        packed[len(packed) // 2] ^= 1
    else:
        del packed[20:]
    file = tmp_path / "log.gz"
    file.write_bytes(packed)
    done = inspect(file)
    assert done.returncode == 2
    assert "1 packed file is cut or damaged, and not read to the end" in done.stderr


def test_a_whole_packed_file_has_its_verdict(good, tmp_path):
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(good.read_bytes()))
    done = inspect(file)
    assert (done.returncode, done.stderr) == (0, "")
