"""The library shows what its headers declare; each kind of difference, planted, is found."""

import os
import re
import subprocess
from pathlib import Path

import exports
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BELAY_BUILD", ROOT / "build-test"))


@pytest.mark.parametrize("library", exports.FOLDERS)
def test_a_library_shows_what_its_headers_declare(library):
    assert list(exports.check_library(ROOT, BUILD, library)) == []


def test_the_version_of_the_headers_is_the_projects():
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
    text = (ROOT / "include" / "belay" / "version.h").read_text()
    assert re.search(r'#define BELAY_VERSION "([\d.]+)"', text).group(1) == version


def test_the_umbrella_has_every_header():
    text = (ROOT / "include" / "belay" / "belay.h").read_text()
    names = {path.name for path in exports.headers_of(ROOT, "belay")} - {"belay.h"}
    assert set(re.findall(r"#include <belay/(\w+\.h)>", text)) == names


def test_every_header_is_installed():
    listed = set(re.findall(r"'belay/(\w+\.h)'", (ROOT / "include" / "meson.build").read_text()))
    assert listed == {path.name for path in exports.headers_of(ROOT, "belay")}


@pytest.fixture
def small(tmp_path):
    """A header, a map and a shared library that agree; plant(header, map, source) changes them."""

    def plant(header="", names="belay_a;", source=""):
        (tmp_path / "a.h").write_text(
            '#define BELAY_API __attribute__((visibility("default")))\n'
            f"BELAY_API int belay_a(int x);\n{header}"
        )
        (tmp_path / "a.map").write_text(f"BELAY_0 {{\nglobal:\n{names}\nlocal:\n*;\n}};\n")
        (tmp_path / "a.c").write_text(
            f'#include "a.h"\nint belay_a(int x) {{ return x; }}\n{source}'
        )
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-fvisibility=hidden", "a.c", "-o", "a.so"]
            + ["-Wl,--version-script=a.map"],
            cwd=tmp_path,
            check=True,
        )
        shown = exports.exported(tmp_path / "a.so")
        return list(exports.check([tmp_path / "a.h"], tmp_path / "a.map", shown))

    return plant


PUBLIC_B = "BELAY_API int belay_b(void);\n"
BODY_B = "int belay_b(void) { return 1; }\n"


@pytest.mark.parametrize(
    "planted, found",
    [
        ({}, []),
        (
            {"header": PUBLIC_B},
            [
                "belay_b is public, but not in a.map",
                "belay_b is public, but the library does not export it",
            ],
        ),
        (
            {"header": PUBLIC_B, "source": BODY_B},
            [
                "belay_b is public, but not in a.map",
                "belay_b is public, but the library does not export it",
            ],
        ),
        (
            {"header": "int belay_b(void);\n"},
            ["a.h: belay_b is declared without BELAY_API"],
        ),
        (
            {"names": "belay_a; belay_b;", "source": f"BELAY_API {BODY_B}"},
            [
                "belay_b is in a.map, but no public header declares it",
                "belay_b is exported, but no public header declares it",
            ],
        ),
    ],
)
def test_a_planted_difference_is_found(small, planted, found):
    assert small(**planted) == found


def test_an_export_without_a_version_is_found(tmp_path):
    (tmp_path / "a.h").write_text("BELAY_API int belay_a(int x);\n")
    (tmp_path / "a.map").write_text("BELAY_0 {\nglobal:\nbelay_a;\nlocal:\n*;\n};\n")
    assert list(exports.check([tmp_path / "a.h"], tmp_path / "a.map", {"belay_a": None})) == [
        "belay_a is exported in version None, the map says BELAY_0"
    ]


def test_an_internal_name_in_the_static_library_is_found(tmp_path):
    (tmp_path / "a.h").write_text("BELAY_API int belay_a(int x);\n")
    (tmp_path / "a.map").write_text("BELAY_0 {\nglobal:\nbelay_a;\nlocal:\n*;\n};\n")
    shown, kept = {"belay_a": "BELAY_0"}, {"belay_a", "inner"}
    assert list(exports.check([tmp_path / "a.h"], tmp_path / "a.map", shown, kept)) == [
        "inner is public or in the static library, but not both"
    ]
