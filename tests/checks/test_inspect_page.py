"""belay-inspect(1) is in step with the code: options, kinds of anomalies, JSON fields."""

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BELAY = Path(os.environ.get("BELAY_BUILD", ROOT / "build-test")) / "src" / "app" / "belay"
PAGE = (ROOT / "man" / "belay-inspect.1").read_text()


def section(name):
    return PAGE.split(f".Sh {name}\n", 1)[1].split("\n.Sh ", 1)[0]


def words(text):
    """What is set literally, in a list item or in a line of its own."""
    lines = re.findall(r"^\.(?:It Li|Li|Pq Li) (.*)$", text, re.MULTILINE)
    return {word for line in lines for word in re.findall(r"\w+", line)}


def test_options():
    shown = subprocess.run([BELAY, "inspect", "--help"], stdout=subprocess.PIPE, text=True).stdout
    options = set(re.findall(r"^  --([\w-]+)", shown, re.MULTILINE))
    items = "\n".join(re.findall(r"^\.It (Fl .*)$", section("DESCRIPTION"), re.MULTILINE))
    assert options == set(re.findall(r"Fl -([\w-]+)", items))


def test_kinds_of_anomalies():
    advice = (ROOT / "src" / "inspect" / "advice.c").read_text()
    kinds = {name.lower() for name in re.findall(r"\[INSPECT_(\w+)\] =", advice)}
    assert len(kinds) == 12
    items = re.findall(r"^\.It Li (\w+)$", section("ANOMALIES"), re.MULTILINE)
    assert kinds == set(items) and len(items) == len(kinds)


def keys(value):
    """Every name in it but those inside objects that count by words, and of a result."""
    if isinstance(value, list):
        return {key for part in value for key in keys(part)}
    if not isinstance(value, dict):
        return set()
    found = set(value)
    for name, part in value.items():
        if name not in ("decisions", "errors", "terminals", "statuses", "result"):
            found |= keys(part)
    return found


def test_json_fields():
    report = json.loads((ROOT / "tests" / "golden" / "inspect" / "trouble.json").read_text())
    attempts = report["operation"].pop("attempts")
    told = words(section("THE JSON OBJECT"))
    assert keys(report) - told == set()
    event = words((ROOT / "man" / "belay.1").read_text())
    assert keys(attempts) - told - event == set()
