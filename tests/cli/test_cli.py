"""The command, as a person runs it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import labelspan
from labelspan import datasets
from labelspan.cli import app

# --- labelspan data ---------------------------------------------------------------------


def data(*args):
    return CliRunner().invoke(app, ["data", *map(str, args)], env={"COLUMNS": "200"})


def test_data_list_names_every_set(tmp_path):
    result = data("list", "--data-home", tmp_path)
    assert result.exit_code == 0
    rows = json.loads(data("list", "--json", "--data-home", tmp_path).stdout)
    assert [row["name"] for row in rows] == datasets.names()
    states = {row["name"]: row["state"] for row in rows}
    assert (states["iris"], states["yale"], states["yeast"]) == (
        "scikit-learn",
        "by hand",
        "OpenML 40597",
    )
    for row in rows:
        assert row["name"] in result.stdout
        assert f"{row['n']:,}" in result.stdout


def test_data_info_shows_the_card(tmp_path):
    card = datasets.card("yeast")
    result = data("info", "yeast", "--data-home", tmp_path)
    assert result.exit_code == 0
    for part in ("2,417", card.citation, card.terms, card.sha256, "sun2009"):
        assert part in result.stdout
    shown = json.loads(data("info", "yeast", "--json").stdout)
    assert shown["sha256"] == card.sha256
    assert shown["papers"] == ["sun2009"]


def test_data_get_gives_what_a_loader_gives(tmp_path):
    result = data("get", "iris", "--data-home", tmp_path)
    assert result.exit_code == 0
    assert result.stdout == (
        "<DataSet iris: 150 rows, 4 features, 3 classes> from scikit-learn; not pinned\n"
    )
    made = datasets.DataSet("yale", np.ones((165, 1024)), y=np.arange(165) % 15)
    datasets.write_npz(made, tmp_path / "yale.unpinned.npz")
    assert "verified" not in data("get", "yale", "--data-home", tmp_path).stdout


@pytest.mark.skipif(
    not os.environ.get("LABELSPAN_DATA"), reason="set LABELSPAN_DATA to the folder of the data"
)
def test_data_get_verifies():
    assert "sha256 verified" in data("get", "emotions").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["get", "yale"], "yale: there is no yale.npz in "),
        (["get", "pie"], "pie.npz is damaged or another version"),
        (["info", "yest"], "There is no data set 'yest'; the names are "),
    ],
)
def test_data_reports_bad_arguments(args, message, tmp_path):
    (tmp_path / "pie.npz").write_bytes(b"x")
    result = data(*args, "--data-home", tmp_path)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pie.npz"]


def test_the_package_runs_as_a_module():
    shown = subprocess.run(
        [sys.executable, "-m", "labelspan", "--version"], capture_output=True, text=True, check=True
    )
    assert labelspan.__version__ in shown.stdout
