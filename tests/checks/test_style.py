"""The style check passes on the project, and finds each fault that is planted."""

from pathlib import Path

import pytest
import style

ROOT = Path(__file__).resolve().parents[2]


def test_style():
    assert list(style.check(ROOT)) == []


@pytest.mark.parametrize(
    "name, text, problem",
    [
        ("a.c", "/* a.c: job */\n" * 701, "lines, more than"),
        ("a.c", "/* a.c: job */\n" + "x" * 121, "columns, more than"),
        ("a.c", "#include <x.h>\n", "the file's job"),
        ("a.h", "/* a.h: job */\n\tint a;\n", "a tab"),
        ("a.c", "/* a.c: job */\nint a; \n", "space at the end"),
        ("a.c", "/* a.c: job */\n/* TO" "DO: later */\n", "unfinished"),
        ("a.md", "see /wo" "rk/main\n", "somebody's machine"),
    ],
)
def test_a_planted_fault_is_found(name, text, problem):
    found = list(style.problems_of(name, text))
    assert len(found) == 1 and problem in found[0]
