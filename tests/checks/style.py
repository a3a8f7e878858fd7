"""The style check: rules of CONTRIBUTING.md that would otherwise be enforced by eye."""

import re
import subprocess
import sys
from pathlib import Path

LINES_MAX = 700
COLUMNS_MAX = 100
SOURCES = (".c", ".h", ".py", ".yaml")
# Written in pieces, so that this file does not contain what it looks for.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(work|home|root)/")
FIRST_LINES = {
    ".c": re.compile(r"/\* \S+\.c: \S"),
    ".h": re.compile(r"/\* \S+\.h: \S"),
    ".py": re.compile(r'(#!.*\n)?"""\S'),
}


def tracked(root):
    """The files of the project that people write."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    names = [name for name in listed.stdout.splitlines() if (Path(root) / name).is_file()]
    return [
        name
        for name in names
        if "/corpus/" not in name and not name.startswith("tests/conformance/")
    ]


def problems_of(name, text):
    """What is wrong with one file."""
    suffix = Path(name).suffix
    lines = text.split("\n")
    if suffix in (".c", ".h", ".py") and len(lines) > LINES_MAX:
        yield f"{name}: {len(lines)} lines, more than {LINES_MAX}"
    first = FIRST_LINES.get(suffix)
    if first and not first.match(text) and Path(name).name != "conftest.py":
        yield f"{name}:1: the first line does not say the file's job"
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        if suffix in SOURCES:
            if len(line) > COLUMNS_MAX:
                yield f"{where}: {len(line)} columns, more than {COLUMNS_MAX}"
            if "\t" in line:
                yield f"{where}: a tab"
        if line != line.rstrip() and suffix != ".tsv":
            yield f"{where}: space at the end of the line"
        if UNFINISHED.search(line):
            yield f"{where}: a mark of unfinished work"
        if MACHINE_PATH.search(line):
            yield f"{where}: a path of somebody's machine"


def check(root):
    for name in tracked(root):
        try:
            text = (Path(root) / name).read_text()
        except UnicodeDecodeError:
            yield f"{name}: not UTF-8"
            continue
        yield from problems_of(name, text)


if __name__ == "__main__":
    found = list(check(Path(__file__).resolve().parents[2]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
