"""Running the command, and what it says when it refuses."""

from functools import cache

from typer import testing
from typer.testing import CliRunner

from labelspan.cli import app

# To build the commands takes longer than to run most of them, and each run would do it again.
testing._get_command = cache(testing._get_command)


def run(*args, **options):
    env = {"COLUMNS": "120", "TERM": "dumb"}
    return CliRunner().invoke(app, [str(arg) for arg in args], env=env, **options)


def one_sentence(result, code=1):
    """The last line on stderr, where the command was refused."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.splitlines()[-1]
