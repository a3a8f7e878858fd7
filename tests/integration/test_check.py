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
    "arguments", [(), ("-c",), ("--dump",), ("-c", "a", "b"), ("-x",)]
)
def test_wrong_usage(arguments):
    code, said, errors = check(*arguments)
    assert (code, said) == (2, "")
    assert errors.startswith(("usage: belay check -c FILE [--dump]\n", "belay check: "))


def test_a_dump_is_a_configuration_with_the_same_dump(write):
    code, dump, _ = check("-c", write(RIGHT), "--dump")
    assert code == 0
    assert "      deadline: 10s\n" in dump
    assert check("-c", write(dump), "--dump") == (0, dump, "")


def test_the_help_lists_the_options():
    code, said, errors = check("--help")
    assert (code, errors) == (0, "")
    assert "\n  breaker.open_for [5s]\n" in said
    assert "\n  connect_timeout [300ms] [2s over the internet]\n" in said


def test_the_long_option_names_the_file_too(write):
    file = write(RIGHT)
    assert check("--config", file) == check("-c", file)


def test_help_of_a_command_is_the_commands_own():
    done = subprocess.run([BELAY, "help", "check"], stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == check("--help")[:2]
