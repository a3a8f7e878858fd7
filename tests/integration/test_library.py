"""libbelay as a C programmer meets it: installed, found by pkg-config, compiled against, run.

The library is built plain, by itself, and installed below a prefix of the test's own; its examples
are copied out of the tree and compiled with what pkg-config says.
"""

import os
import re
import shutil
import socket
import subprocess
import sys

import pytest
from processes import BELAY, BUILD, ROOT, Process

sys.path.append(str(ROOT / "tests" / "checks"))
import pages  # noqa: E402

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

    def compile(self, source, kind, *more, compiler="cc", package="belay"):
        """A program from a copy of a source file; kind is shared, static or amalgamated."""
        copy = shutil.copy(source, self.folder)
        program = self.folder / f"{source.stem}-{kind}"
        options = ["-Wall", "-Wextra", "-Werror", copy, *getattr(self, kind)(package), *more]
        run(compiler, "-o", program, *options, cwd=self.folder)
        return program

    def shared(self, package):
        return self.flags("--cflags", "--libs", package)

    def static(self, package):
        """The same, but of ours the archives."""
        flags = self.shared(package)
        return [re.sub(r"^-l(belay.*)", r"-l:lib\1.a", flag) for flag in flags] + ["-pthread"]

    def amalgamated(self, _):
        """No library at all: belay.c beside the program."""
        folder = self.folder / "amalgamation"
        run(ROOT / "tools" / "amalgamate", folder / "belay")
        return [folder / "belay" / "belay.c", "-I", folder]

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


@pytest.mark.parametrize("kind", ["shared", "static", "amalgamated"])
def test_a_blocking_program_survives_a_flaky_origin(installed, flaky, kind):
    program = installed.compile(EXAMPLES / "blocking.c", kind)
    assert ("libbelay.so.0" in installed.needs(program)) == (kind == "shared")
    assert installed.run(program, flaky, "/orders/42").splitlines() == [
        "attempt 1: 503, retry",
        "attempt 2: 503, retry",
        "attempt 3: 200, return",
        "answered after 3 attempts",
    ]


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_an_event_loop_survives_a_flaky_origin(installed, flaky, kind):
    program = installed.compile(EXAMPLES / "libuv.c", kind, *installed.flags("--libs", "libuv"))
    paths = [f"/orders/{number}" for number in range(4)]
    said = sorted(installed.run(program, flaky, *paths).splitlines())
    assert said == [f"{path}: answered after 3 attempts" for path in paths]


def test_an_event_loop_tells_how_a_dead_origin_ends(installed):
    program = installed.compile(EXAMPLES / "libuv.c", "shared", *installed.flags("--libs", "libuv"))
    with socket.socket() as dead:  # bound, but nobody listens
        dead.bind(("127.0.0.1", 0))
        said = installed.run(program, dead.getsockname()[1], "/x")
    assert said == "/x: max_attempts after 3 attempts\n"


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_transfers_of_libcurl_survive_a_flaky_origin(installed, flaky, kind):
    easy = installed.compile(EXAMPLES / "curl_easy.c", kind, package="belay-curl")
    multi = installed.compile(EXAMPLES / "curl_multi.c", kind, package="belay-curl")
    assert ("libbelay-curl.so.0" in installed.needs(easy)) == (kind == "shared")
    said = installed.run(easy, f"http://127.0.0.1:{flaky}/orders/42")
    assert re.findall(r'"decision":"(\w+)"', said) == ["retry", "retry", "return"]
    said = installed.run(multi, f"http://127.0.0.1:{flaky}/orders/43", 20)
    assert said == "200 after 3 attempts, success\n" * 20


LINES_MAX = 30

OVER_LIBCURL = """\
#include <belay/curl.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct belay_curl_call call = {.adds_fields = true};
    CURL *easy = curl_easy_init();
    if (argc != 2 || !easy) return 2;
    curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
    CURLcode code = belay_curl_perform(easy, &call);
    printf("%d after %u attempts\\n", call.result.status, call.result.ending.attempts);
    curl_easy_cleanup(easy);
    return code != CURLE_OK;
}
"""

# Each attempt is whatever the program does: here another program makes it.
OVER_LIBBELAY = """\
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct belay_instant now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return belay_instant_of(t.tv_sec, t.tv_nsec);
}

int main(int argc, char **argv)
{
    struct belay_policy policy = belay_policy_default();
    struct belay_target *target = argc == 2 ? belay_target_create(&policy, 1) : NULL;
    struct belay_traits get = belay_traits_of(BELAY_METHOD_GET);
    struct belay_instant start = now(), end = belay_instant_add(start, policy.deadline_for);
    struct belay_operation op;
    struct belay_admission may;
    if (!target) return 2;
    belay_operation_init(&op, &policy, target, &get, start, end, NULL);
    while ((may = belay_operation_admit(&op, now())).kind != BELAY_REFUSED) {
        if (may.kind == BELAY_WAIT) continue;
        struct belay_outcome outcome = belay_outcome_status(system(argv[1]) ? 503 : 200);
        if (belay_operation_record(&op, &outcome, now(), 7).decision != BELAY_DECISION_RETRY) break;
    }
    return printf("%u attempts\\n", belay_operation_finish(&op, now()).attempts) < 0;
}
"""


def from_pkg_config(installed, folder, program, package):
    """Compiled outside the tree as anybody would, from nothing but what pkg-config says."""
    assert len(program.splitlines()) <= LINES_MAX
    assert ROOT not in folder.parents
    (folder / "program.c").write_text(program)
    flags = installed.flags("--cflags", "--libs", package)
    run("cc", "-Wall", "-Wextra", "-Werror", "-o", "program", "program.c", *flags, cwd=folder)
    return folder / "program"


def test_thirty_lines_over_libcurl_survive_a_flaky_origin(installed, flaky, tmp_path):
    program = from_pkg_config(installed, tmp_path, OVER_LIBCURL, "belay-curl")
    said = installed.run(program, f"http://127.0.0.1:{flaky}/orders/42")
    assert said.endswith("200 after 3 attempts\n")


def test_thirty_lines_over_libbelay_alone_survive_a_flaky_origin(installed, flaky, tmp_path):
    program = from_pkg_config(installed, tmp_path, OVER_LIBBELAY, "belay")
    get = f"curl --silent --fail --output /dev/null http://127.0.0.1:{flaky}/orders/42"
    assert installed.run(program, get) == "3 attempts\n"


def test_the_example_of_libbelay_curls_page(installed, tmp_path):
    program, promised = pages.read(ROOT / "man" / "belay_curl.3").displays
    source = tmp_path / "page.c"
    source.write_text(program)
    assert installed.run(installed.compile(source, "shared", package="belay-curl")) == promised


LIMITS_HELD = "4000 operations, never more than 3 calls at once, retries within the budget\n"


def test_threads_share_a_targets_limits(installed):
    program = installed.compile(EXAMPLES / "threads.c", "shared", "-pthread")
    assert installed.run(program) == LIMITS_HELD


def test_threads_share_a_targets_limits_without_a_race(installed):
    program = installed.compile(
        EXAMPLES / "threads.c", "amalgamated", "-pthread", "-fsanitize=thread", "-g", "-O1"
    )
    assert installed.run(program) == LIMITS_HELD


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_a_program_in_cplusplus(installed, tmp_path, kind):
    """Every header, and one operation to its end."""
    source = tmp_path / "plus.cpp"
    headers = sorted(path.name for path in (installed.prefix / "include" / "belay").glob("*.h"))
    source.write_text(
        "".join(f"#include <belay/{name}>\n" for name in headers)
        + """
#include <cstdio>
int main()
{
    belay_policy policy = belay_policy_default();
    belay_target *target = belay_target_create(&policy, 1);
    belay_traits traits = belay_traits_of(BELAY_METHOD_GET);
    belay_operation op;
    belay_instant start = belay_instant_of(1, 0);
    belay_operation_init(&op, &policy, target, &traits, start,
                         belay_instant_add(start, policy.deadline_for), nullptr);
    belay_admission may = belay_operation_admit(&op, start);
    belay_outcome outcome = belay_outcome_status(204);
    belay_verdict verdict = belay_operation_record(&op, &outcome, start, 7);
    belay_ending ending = belay_operation_finish(&op, start);
    belay_target_destroy(target);
    std::printf("%d %s %d %s\\n", may.kind == BELAY_ADMITTED,
                belay_decision_name(verdict.decision), ending.status, belay_version());
}
"""
    )
    program = installed.compile(
        source, kind, "-std=c++17", "-pedantic", compiler="c++", package="belay-curl"
    )
    assert installed.run(program) == f"1 return 204 {installed.flags('--modversion', 'belay')[0]}\n"


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_installing_below_destdir_and_uninstalling(installed, tmp_path):
    """The same files under DESTDIR/prefix and nothing else; uninstall leaves none."""
    environment = dict(os.environ, DESTDIR=str(tmp_path))
    build, below = installed.folder / "build", tmp_path / installed.prefix.relative_to("/")
    run("meson", "install", "-C", build, "--no-rebuild", env=environment)
    assert files_below(below) == files_below(installed.prefix)
    assert files_below(tmp_path) == {
        str((below / name).relative_to(tmp_path)) for name in files_below(below)
    }
    run("ninja", "-C", build, "uninstall", env=environment)
    assert files_below(tmp_path) == set()
    assert "include/belay/belay.h" in files_below(installed.prefix)


def test_the_whole_project_installs_its_program_library_and_pages(tmp_path):
    environment = dict(os.environ, DESTDIR=str(tmp_path))
    run("meson", "install", "-C", BUILD, "--no-rebuild", env=environment)
    names = {name.rsplit("/", 1)[1] for name in files_below(tmp_path)}
    pages = {path.name for path in (ROOT / "man").glob("*.[1-8]")}
    headers = {path.name for path in (ROOT / "include" / "belay").glob("*.h")}
    assert {"belay", "libbelay.so.0", "libbelay.a", "belay.pc"} | pages | headers <= names
