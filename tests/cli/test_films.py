"""The page for everyone: a CSV file is fitted, reviewed and corrected."""

from pathlib import Path

import pytest
from _support.commands import run

FILMS = Path(__file__).parents[2] / "examples" / "films.csv"


@pytest.mark.skipif(not FILMS.exists(), reason="the example is in a clone of the repository only")
def test_a_file_is_corrected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("fit", FILMS).exit_code == 0
    done = run("review", "--kind", "merge", input="y\ny\n")
    assert "Merge comdey into comedy in 1 item." in done.output
    done = run("review", "--kind", "missing", input="y\nq\n")
    assert "Add crime to 95." in done.output
    assert run("review", "--apply", FILMS, "--out", "corrected.csv").exit_code == 0
    before, after = FILMS.read_text().splitlines(), Path("corrected.csv").read_text().splitlines()
    changed = {old: new for old, new in zip(before, after, strict=True) if old != new}
    assert [old.partition(",")[0] for old in changed] == ["72", "82", "95"]
    for old, new in changed.items():
        assert old.rpartition('",')[0] == new.rpartition('",')[0] != ""
    assert list(changed.values())[1].endswith(",romance; comedy,1950")
    assert list(changed.values())[2].endswith(",romance; crime,1967")
