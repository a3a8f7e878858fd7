"""The layer check passes on the project; each kind of violation, planted in a copy, fails it."""

import os
import shutil
import subprocess
from pathlib import Path

import layers
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("BELAY_BUILD", str(ROOT / "build-test"))


@pytest.fixture
def copy(tmp_path):
    """A copy of what the check reads, to plant a violation in."""
    shutil.copy(ROOT / "ARCHITECTURE.md", tmp_path)
    shutil.copytree(ROOT / "include", tmp_path / "include")
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def plant(file, text):
    file.write_text(file.read_text() + text)


def archive_of(folder, source, build):
    """Builds an archive of one object the way meson lays it out."""
    home = build / "src" / folder / f"libbelay_{folder}.a.p"
    home.mkdir(parents=True)
    (home / "planted.c").write_text(source)
    subprocess.run(["cc", "-c", "planted.c", "-o", "planted.c.o"], cwd=home, check=True)
    subprocess.run(["ar", "rcT", f"../libbelay_{folder}.a", "planted.c.o"], cwd=home, check=True)


def test_includes_follow_the_table():
    assert list(layers.check_includes(layers.Project(ROOT))) == []


def test_symbols_follow_the_table():
    built = layers.archives(BUILD)
    assert built, f"no archives in {BUILD}"
    assert list(layers.check_symbols(layers.Project(ROOT), built)) == []


def test_no_declaration_goes_round_the_table():
    assert list(layers.check_forward_declarations(layers.Project(ROOT))) == []


def test_every_place_that_the_table_names_exists():
    assert list(layers.check_places(layers.Project(ROOT))) == []


@pytest.mark.parametrize(
    "folder, line",
    [
        ("policy", "#include <time.h>\n"),
        ("policy", '#include "rt/rt.h"\n'),
        ("base", "#include <belay/target.h>\n"),
        ("http1", "#include <errno.h>\n"),
        ("server", "#include <belay/operation.h>\n"),
        ("client", "#include <uv.h>\n"),
        ("proxy", '#include "rt/rt_uv.h"\n'),
    ],
)
def test_a_forbidden_include_is_found(copy, folder, line):
    before = set(layers.check_includes(layers.Project(copy)))
    (copy / "src" / folder / "planted.c").write_text(line)
    found = set(layers.check_includes(layers.Project(copy))) - before
    assert len(found) == 1 and f"src/{folder}/planted.c" in found.pop()


@pytest.mark.parametrize(
    "folder, source, symbol",
    [
        (
            "policy",
            "long time(long *); long now_s(void); long now_s(void) { return time(0); }",
            "time",
        ),
        (
            "policy",
            "void *malloc(unsigned long); void *f(void); void *f(void) { return malloc(3); }",
            "malloc",
        ),
        (
            "call",
            "int *__errno_location(void); int f(void); int f(void) { return *__errno_location(); }",
            "__errno_location",
        ),
        (
            "http1",
            "int socket(int, int, int); int f(void); int f(void) { return socket(1, 2, 0); }",
            "socket",
        ),
        ("base", 'int puts(const char *); int f(void); int f(void) { return puts(""); }', "puts"),
    ],
)
def test_a_forbidden_symbol_in_a_pure_archive_is_found(tmp_path, folder, source, symbol):
    archive_of(folder, source, tmp_path)
    found = list(layers.check_symbols(layers.Project(ROOT), layers.archives(tmp_path)))
    assert found == [f"{folder}/planted: uses {symbol}, which is not on the list of a pure archive"]


def test_a_call_into_a_folder_that_is_not_open_is_found(tmp_path):
    archive_of(
        "policy", "int rt_secret(void); int f(void); int f(void) { return rt_secret(); }", tmp_path
    )
    archive_of("rt", "int rt_secret(void); int rt_secret(void) { return 1; }", tmp_path)
    found = list(layers.check_symbols(layers.Project(ROOT), layers.archives(tmp_path)))
    assert found == ["policy/planted: uses rt_secret of rt"]


@pytest.mark.parametrize("declaration", ["struct rt_timer;\n", "uint64_t rt_planted(int which);\n"])
def test_a_declaration_that_goes_round_the_table_is_found(copy, declaration):
    plant(copy / "src" / "base" / "buf.c", declaration)
    (copy / "src" / "rt" / "planted.c").write_text(
        "uint64_t rt_planted(int which)\n{\n    return which;\n}\n"
    )
    found = list(layers.check_forward_declarations(layers.Project(copy)))
    assert len(found) == 1 and "buf.c: declares" in found[0] and "belongs to rt" in found[0]


@pytest.mark.parametrize("place", ["`src/base/gone.c`", "`src/base/buf.c` `buf_gone`"])
def test_a_place_that_does_not_exist_is_found(copy, place):
    plant(copy / "ARCHITECTURE.md", f"| where is it? | {place} |\n")
    found = list(layers.check_places(layers.Project(copy)))
    assert found and all("gone" in line for line in found)


def test_there_is_one_engine():
    assert list(layers.check_one_engine(layers.Project(ROOT), layers.archives(BUILD))) == []


def test_a_second_decision_table_is_found(copy):
    (copy / "src" / "app" / "planted.c").write_text(
        "int f(int s)\n{\n    return s < 500 ? BELAY_DECISION_STOP : 0;\n}\n"
    )
    found = list(layers.check_one_engine(layers.Project(copy), {}))
    assert len(found) == 1 and "BELAY_DECISION_STOP is used other than to compare" in found[0]


def test_a_second_engine_is_found(tmp_path):
    archive_of(
        "proxy",
        "int belay_retry_decide(void); int f(void); int f(void) { return belay_retry_decide(); }",
        tmp_path,
    )
    found = list(layers.check_one_engine(layers.Project(ROOT), layers.archives(tmp_path)))
    assert found == ["proxy/planted: calls belay_retry_decide instead of an operation"]
