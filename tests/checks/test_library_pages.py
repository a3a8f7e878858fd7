"""Every function of the library has its manual page, the page says what the header says, and its
example compiles, runs and prints what the page promises."""

import re
import subprocess
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "man").glob("*.3"))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """One object with all of the library."""
    folder = tmp_path_factory.mktemp("library")
    subprocess.run([ROOT / "tools" / "amalgamate", folder], check=True)
    subprocess.run(["cc", "-c", "-O1", "belay.c"], cwd=folder, check=True)
    return folder / "belay.o"


def of_libbelay(path):
    """The example of libbelay-curl's page runs in the integration suite, with that library."""
    return path.name != "belay_curl.3"


def test_every_function_has_a_page_that_says_what_the_header_says():
    prototypes = pages.declared((ROOT / "include" / "belay").glob("*.h"))
    found = {path.name: pages.read(path) for path in FILES}
    assert list(pages.problems(found, prototypes)) == []


@pytest.mark.parametrize("path", filter(of_libbelay, FILES), ids=lambda path: path.name)
def test_the_example_of_a_page_prints_what_it_promises(library, tmp_path, path):
    displays = pages.read(path).displays
    assert len(displays) == 2, "an example is a program, then what it prints"
    program, promised = displays
    (tmp_path / "example.c").write_text(program)
    compiled = subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", ROOT / "include"]
        + ["example.c", library, "-pthread", "-o", "example"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert compiled.returncode == 0, compiled.stdout
    done = subprocess.run([tmp_path / "example"], stdout=subprocess.PIPE, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (0, promised)


def code_of(page):
    """The lines of C that a page of Markdown shows."""
    blocks = re.findall(r"^```c\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def test_the_readme_shows_lines_of_an_example():
    example = (ROOT / "examples" / "blocking.c").read_text().splitlines()
    shown = [line for line in code_of("README.md") if line != "..."]
    assert shown and set(shown) - {line.strip() for line in example} == set()


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_every_name_of_the_library_in_a_page_exists(page):
    headers = " ".join(path.read_text() for path in (ROOT / "include" / "belay").glob("*.h"))
    known = set(re.findall(r"\b(?:belay|BELAY)_\w+", headers)) | {path.stem for path in FILES}
    named = set(re.findall(r"\b(?:belay|BELAY)_[A-Za-z0-9]\w*", (ROOT / page).read_text()))
    assert named - known == set()


PAGE = """.Sh NAME
.Nm belay_a ,
.Nm belay_b
.Nd what
.Sh SYNOPSIS
.In belay/a.h
.Ft "const char *"
.Fo belay_b
.Fa "int x"
.Fc
.Sh DESCRIPTION
"""
HEADER = "BELAY_API const char *belay_b(int x);\n"


@pytest.mark.parametrize(
    "page, header, found",
    [
        (PAGE, HEADER, []),
        (PAGE, HEADER + "static inline int belay_c(void)\n{\n", ["belay_c has no manual page"]),
        (
            PAGE.replace("int x", "long x"),
            HEADER,
            ["belay_a.3: says const char*belay_b(long x), " "the header const char*belay_b(int x)"],
        ),
        (PAGE, "", ["belay_a.3: belay_b is no public function"]),
        (
            PAGE.replace(".Nm belay_b\n", ""),
            HEADER,
            ["belay_a.3: belay_b is not in its NAME"],
        ),
        (
            PAGE.replace(".Nm belay_a ,\n", ".Nm belay_c ,\n"),
            HEADER,
            [
                "belay_a.3: belay_c is in its NAME, but not in its SYNOPSIS",
                "belay_a.3: its own name is not in its NAME",
            ],
        ),
    ],
)
def test_a_planted_fault_is_found(tmp_path, page, header, found):
    (tmp_path / "belay_a.3").write_text(page)
    (tmp_path / "a.h").write_text(header)
    prototypes = pages.declared([tmp_path / "a.h"])
    assert (
        list(pages.problems({"belay_a.3": pages.read(tmp_path / "belay_a.3")}, prototypes)) == found
    )
