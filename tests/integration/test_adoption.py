"""docs/adoption.md: its commands run as they stand, in their order, and show what the page says;
and what README.md shows of a log."""

import re
import subprocess
from pathlib import Path

import pytest
from processes import BELAY, free_port

PAGE = Path(__file__).parents[2] / "docs" / "adoption.md"
PORTS = ("8080", "9000", "9180")

# For each block of the page: its exit status, and what its output must hold.
SHOWN = [
    ("the log that says nothing", 1, ["merged_fields", "2"]),
    ("1 the configuration", 0, ["belay.yaml: right"]),
    ("2 one call that survives", 0, ['{"call":3,"status":200}']),
    ("3 the words", 0, ["decision retry", "decision check_state"]),
    ("4 the deadline", 0, ["urn:belay:problem:deadline-exceeded"]),
    ("5 one operation", 0, ["503", "200", "order-42-read"]),
    ("6 the unknown outcome", 0, ["urn:belay:problem:outcome-unknown"]),
    ("6 one call at the service", 0, ['"calls":1']),
    ("7 no secret", 0, []),
    ("8 the bad paths", 0, []),
    ("9 the consequences", 0, ["orders"]),
    ("the end", 0, []),
]


def blocks():
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """(status, output) of each block, run by one shell."""
    folder = tmp_path_factory.mktemp("adoption")
    script = [f'PATH="{Path(BELAY).parent}:$PATH"', "exec 2>&1"]
    for number, block in enumerate(blocks()):
        (folder / f"block{number}").write_text(block)
        script.append(f'. ./block{number}; echo "--- block {number} ended with $?"')
    text = "\n".join(script)
    taken = {port: str(free_port()) for port in PORTS}
    for file in folder.iterdir():
        block = file.read_text()
        for port, free in taken.items():
            block = re.sub(rf"(?<=127\.0\.0\.1:){port}\b", free, block)
        file.write_text(block)
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    found = re.split(r"--- block \d+ ended with (\d+)\n", done.stdout)
    assert found[-1] == "", done.stdout
    return [(int(status), output) for output, status in zip(found[::2], found[1::2])], folder


def test_every_block_is_judged():
    assert len(blocks()) == len(SHOWN)
    assert len(re.findall(r"^## \d\. ", PAGE.read_text(), re.MULTILINE)) == 9


@pytest.mark.parametrize("number", range(len(SHOWN)), ids=[name for name, *_ in SHOWN])
def test_block(shown, number):
    _, status, words = SHOWN[number]
    ended, output = shown[0][number]
    assert ended == status, output
    for word in words:
        assert word in output


def test_the_events_hold_four_operations_and_no_secret(shown):
    _, folder = shown
    events = (folder / "events.ndjson").read_text()
    assert events.count('"event":"operation"') == 4
    assert "hunter2" not in events
    assert (folder / "report.html").read_text().lower().startswith("<!doctype html>")


def test_the_readme_shows_what_inspect_says_of_its_example():
    root = PAGE.parents[1]
    shown = re.search(
        r"^\$ belay inspect examples/payments\.log\n\.\.\.\n(.*?)^```$",
        (root / "README.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    done = subprocess.run(
        [BELAY, "inspect", root / "examples" / "payments.log"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 1
    assert shown[1] in done.stdout
