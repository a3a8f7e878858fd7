"""libbelay as one header and one source: compiles strictly by itself, shows what the library shows,
and passes the unit tests of its parts."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import exports
import pytest

ROOT = Path(__file__).resolve().parents[2]
STRICT = ["-c", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
UNIT = ROOT / "tests" / "unit"
# What a test needs besides.
BESIDES = {"encode": [ROOT / "src" / "event" / "out.c"]}


def run(*command, cwd=None, **options):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-6000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("amalgamation")
    run(ROOT / "tools" / "amalgamate", folder)
    run("cc", *STRICT, "-O1", "-DBELAY_INTERNAL=", "belay.c", "-o", "tested.o", cwd=folder)
    return folder


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_it_compiles_strictly_and_shows_the_public_functions_alone(folder, compiler):
    run(compiler, *STRICT, "belay.c", "-o", f"{compiler}.o", cwd=folder)
    assert exports.archived(folder / f"{compiler}.o") == exports.marked(
        exports.headers_of(ROOT, "belay")
    )


def test_the_header_stands_alone_in_c_and_cplusplus(folder):
    (folder / "one.c").write_text('#include "belay.h"\n#include <belay/belay.h>\n')
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
        "-I", ROOT / "include", "one.c", cwd=folder)  # fmt: skip
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++",
        "-I", ROOT / "include", "one.c", cwd=folder)  # fmt: skip


def test_two_runs_write_the_same(folder, tmp_path):
    run(ROOT / "tools" / "amalgamate", tmp_path)
    for name in ("belay.h", "belay.c"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def unit_programs(folder):
    """The unit tests of every source that is in it."""
    sources = set(re.findall(r"^/\* (\w+)\.c:", (folder / "belay.c").read_text(), re.MULTILINE))
    for suite in ("base", "policy", "call", "event"):
        for path in sorted((UNIT / suite).glob("*.c")):
            if suite in ("policy", "call") or path.stem in sources:
                yield path
    yield UNIT / "http1" / "retry_after.c"


def passes(folder, path):
    program = folder / f"{path.parent.name}-{path.stem}"
    sources = [path, *BESIDES.get(path.stem, []), folder / "tested.o"]
    includes = ["-I", ROOT / "include", "-I", ROOT / "src", "-I", UNIT]
    libraries = ["-lcmocka", "-ljansson", "-pthread"]
    run("cc", "-O1", "-D_GNU_SOURCE", *includes, *sources, *libraries, "-o", program)
    said = run(program)
    assert re.search(r"\[  PASSED  \] [1-9]", said), said
    return path.stem


def test_it_passes_the_unit_tests_of_its_parts(folder):
    with ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(lambda path: passes(folder, path), unit_programs(folder)))
    assert len(passed) > 20
