"""The manual pages are well-formed and cover every command; README's files exist."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BELAY = Path(os.environ.get("BELAY_BUILD", ROOT / "build-test")) / "src" / "app" / "belay"


def help_of(*words):
    done = subprocess.run(
        [BELAY, *words, "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout


def commands():
    """The subcommands that `belay --help` lists."""
    code, said = help_of()
    assert code == 0
    return set(re.findall(r"^  (\w+)\s+\S", said.split("commands:", 1)[1], re.MULTILINE)) - {
        "version"
    }


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "man").glob("*.[1-8]")))
def test_manual_page_is_well_formed(page):
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", ROOT / "man" / page],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.stdout == ""


def test_every_command_is_in_a_manual_page():
    pages = "\n".join(path.read_text() for path in (ROOT / "man").glob("belay*.[1-8]"))
    headings = " ".join(re.findall(r"^\.(?:Ss|It|Nm|Cm|Sh|SS|B|SH)(.*)", pages, re.MULTILINE))
    missing = [name for name in sorted(commands()) if not re.search(rf"\b{name}\b", headings)]
    assert missing == []


def test_every_command_has_help():
    for name in commands():
        code, said = help_of(name)
        assert code == 0 and name in said, f"belay {name} --help: {code}\n{said}"


def test_every_link_between_pages_leads_somewhere():
    for page in ROOT.glob("**/*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (
                page.parent / target
            ).exists(), f"{page.name} links to {target}, which is missing"
