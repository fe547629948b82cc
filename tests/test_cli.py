"""The command, as a person runs it."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import labelspan
from labelspan.cli import app


def test_demo_prints_a_table_and_mlsi_leads_lsi():
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    assert "label Jaccard" in result.output
    result = CliRunner().invoke(app, ["demo", "--json"])
    rows = {row["space"]: row for row in json.loads(result.output)}
    assert rows["MLSI"]["jaccard"] > rows["LSI"]["jaccard"] + 0.02
    assert rows["MLSI"]["dimensions"] == 8


@pytest.mark.parametrize(("args", "code"), [(["--help"], 0), (["demo", "--components", "0"], 2)])
def test_exit_codes(args, code):
    assert CliRunner().invoke(app, args).exit_code == code


def test_version_as_a_process():
    command = [sys.executable, "-c", "from labelspan.cli import app; app()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"labelspan {labelspan.__version__}"
