"""`belay check`: what it says, and its exit status."""

import subprocess

import pytest
from processes import BELAY

RIGHT = """
targets: { orders: { addresses: [127.0.0.1:9000] } }
listeners: [ { listen: 127.0.0.1:8080, target: orders } ]
events: { file: "-" }
"""


def check(*arguments):
    done = subprocess.run(
        [BELAY, "check", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def write(tmp_path):
    def write(text):
        file = tmp_path / "belay.yaml"
        file.write_text(text)
        return file

    return write


def test_a_right_file_is_one_line(write):
    file = write(RIGHT)
    assert check("-c", file) == (
        0,
        f"{file}: right: 1 listener, 1 catch-all, 1 target; events to the standard output; "
        "no admin listener\n",
        "",
    )


def test_a_wrong_file_tells_each_mistake(write):
    file = write(RIGHT + "workers: many\nadmn: {}\n")
    assert check("-c", file) == (
        1,
        "",
        f'{file}:5:10: workers: expected a whole number such as 3, not "many"\n'
        f'{file}:6:1: unknown key "admn" in the configuration; '
        'did you mean "admin"?\n',
    )


def test_a_missing_file_cannot_be_read(tmp_path):
    code, said, errors = check("-c", tmp_path / "none.yaml")
    assert (code, said) == (2, "")
    assert (
        errors.splitlines()[0] == f"{tmp_path}/none.yaml: cannot be read: No such file or directory"
    )
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ((), "usage: belay check -c FILE [--dump]\n"),
        (("--dump",), "usage: belay check -c FILE [--dump]\n"),
        (("-c", "a", "b"), "usage: belay check -c FILE [--dump]\n"),
        (("-c",), "belay check: -c needs a value\n"),
        (("-c", "a", "--dump=x"), "belay check: --dump takes no value\n"),
        (("-c", "a", "-c", "b"), "belay check: -c is given twice\n"),
        (("-c", "a", "--config", "a"), "belay check: --config is given twice\n"),
        (("-x",), "belay check: unknown option -x; did you mean -c?\n"),
    ],
)
def test_wrong_usage(arguments, complaint):
    code, said, errors = check(*arguments)
    assert (code, said) == (2, "")
    assert errors.startswith(complaint)


def test_a_second_configuration_does_not_silently_win_in_serve_either():
    done = subprocess.run(
        [BELAY, "serve", "-c", "a", "--config=b"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "belay serve: --config is given twice\n"


def test_a_dump_is_a_configuration_with_the_same_dump(write):
    code, dump, _ = check("-c", write(RIGHT), "--dump")
    assert code == 0
    assert "      deadline: 10s\n" in dump
    assert check("-c", write(dump), "--dump") == (0, dump, "")


def test_the_help_lists_the_options():
    code, said, errors = check("--help")
    assert (code, errors) == (0, "")
    assert "  -c FILE, --config FILE   the configuration\n" in said
    assert "\n  breaker.open_for [5s]\n" in said
    assert "\n  connect_timeout [300ms] [2s over the internet]\n" in said


def test_the_long_option_names_the_file_too(write):
    file = write(RIGHT)
    assert check("--config", file) == check("-c", file)


def test_help_of_a_command_is_the_commands_own():
    done = subprocess.run([BELAY, "help", "check"], stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == check("--help")[:2]
