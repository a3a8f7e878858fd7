"""libbelay as a C programmer meets it: installed, found by pkg-config, compiled against, run.

The library is built plain, by itself, and installed below a prefix of the test's own; its examples
are copied out of the tree and compiled with what pkg-config says.
"""

import os
import re
import shutil
import subprocess

import pytest
from processes import BELAY, ROOT, Process

EXAMPLES = ROOT / "examples"


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        **options,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


class Installed:
    """An installed libbelay: compiles programs against it, and runs them."""

    def __init__(self, folder):
        self.folder, self.prefix = folder, folder / "usr"
        run("meson", "setup", folder / "build", ROOT, "-Ddaemon=false", f"--prefix={self.prefix}")
        run("ninja", "-C", folder / "build")
        run("meson", "install", "-C", folder / "build", "--no-rebuild")
        self.libraries = next(self.prefix.rglob("libbelay.so")).parent
        self.environment = dict(
            os.environ,
            PKG_CONFIG_PATH=str(self.libraries / "pkgconfig"),
            LD_LIBRARY_PATH=str(self.libraries),
        )

    def flags(self, *words):
        return run("pkg-config", *words, env=self.environment).split()

    def compile(self, source, kind, *more, compiler="cc"):
        """A program from a copy of a source file; kind is shared or static."""
        copy = shutil.copy(source, self.folder)
        program = self.folder / f"{source.stem}-{kind}"
        flags = self.flags("--cflags", "--libs", "belay")
        if kind == "static":
            flags = [*self.flags("--cflags", "belay"), "-Wl,-Bstatic"]
            flags += [*self.flags("--libs", "--static", "belay"), "-Wl,-Bdynamic"]
        warnings = ["-Wall", "-Wextra", "-Werror"]
        run(compiler, "-o", program, *warnings, copy, *flags, *more, cwd=self.folder)
        return program

    def run(self, program, *arguments):
        return run(program, *arguments, env=self.environment)

    def needs(self, program):
        """The shared libraries that a program asks for."""
        said = run("readelf", "-d", program)
        return set(re.findall(r"NEEDED.*\[(.*)\]", said))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def flaky(closing):
    """The port of an origin that answers 503 to the first two calls of every operation."""
    origin = Process([BELAY, "flaky", "--listen", "127.0.0.1:0", "--fail-first", "2"])
    closing.append(origin)
    return int(origin.wait_for(r"listening on http://127\.0\.0\.1:(\d+)").group(1))


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_a_blocking_program_survives_a_flaky_origin(installed, flaky, kind):
    program = installed.compile(EXAMPLES / "blocking.c", kind)
    assert ("libbelay.so.0" in installed.needs(program)) == (kind == "shared")
    assert installed.run(program, flaky, "/orders/42").splitlines() == [
        "attempt 1: 503, retry",
        "attempt 2: 503, retry",
        "attempt 3: 200, return",
        "answered after 3 attempts",
    ]
