"""Exports: parquet, JSON lines, and a real PostgreSQL with pgvector."""

import json
import shutil

import numpy as np
import pytest
from _support.commands import run
from _support.databases import postgresql_server
from _support.explorer import make_index

from labelspan import SemanticIndex
from labelspan.errors import InvalidInput, Mismatch, MissingData
from labelspan.export import export_file, export_postgresql


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "index"
    make_index(path)
    return path


@pytest.fixture
def index(folder):
    with SemanticIndex.load(folder) as index:
        yield index


@pytest.fixture(scope="module")
def database():
    """Address of a server that runs for these tests."""
    with postgresql_server() as address:
        yield address


def test_files_have_the_items(index, folder, tmp_path):
    """JSON lines and parquet are the same table; the command adds places on the map."""
    assert export_file(index, tmp_path / "items.jsonl") == len(index)
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == index.ids
    assert np.allclose([row["vector"] for row in rows], index.vectors(), atol=1e-6)
    item = index.item(rows[5]["id"])
    assert (rows[5]["text"], tuple(rows[5]["labels"])) == (item.text, item.labels)
    assert any(row["predicted"] for row in rows)
    assert "x" not in rows[0]
    pandas = pytest.importorskip("pandas")
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow", reason="install labelspan[io]")
    path = tmp_path / "items.parquet"
    result = run("export", path, "-i", folder)
    assert result.exit_code == 0, result.stderr
    assert "60 items" in result.stdout
    frame = pandas.read_parquet(path)
    labels = [None if own is None else list(own) for own in frame["labels"]]
    assert labels == [row.get("labels") for row in rows]
    assert np.allclose(np.stack(frame["vector"]), index.vectors(), atol=1e-5)
    assert frame["x"].between(-1, 1).all()
    assert {*rows[0]} - {"metadata"} <= {*frame.columns}
    found = duckdb.sql(f"SELECT count(*), max(len(vector)) FROM '{path}'").fetchall()
    assert found == [(len(index), index.n_dimensions)]


def test_other_files_are_refused(folder, tmp_path):
    assert "must end in .parquet" in run("export", tmp_path / "a.xls", "-i", folder).stderr
    result = run("export", tmp_path / "b.jsonl", "-i", folder, "--update", "--no-map")
    assert "is for PostgreSQL" in result.stderr
    assert not [*tmp_path.iterdir()]


QUERIES = ("chess", "music player", "the photo", "of the", "chess.board/Music-player")


def text_of(vector):
    return f"[{','.join(map(str, vector))}]"


def check_similar(connection, schema, index):
    """See that more like an item is what the index finds."""
    found = 0
    for name in index.ids:
        query = f"SELECT id, score FROM {schema}.similar(%s, 10)"
        rows = dict(connection.execute(query, (name,)).fetchall())
        hits = index.search(items=name, k=10)
        assert list(rows.values()) == pytest.approx([hit.score for hit in hits], abs=1e-5)
        # Equal scores may come in another order, and the last of them be another one.
        last = hits[-1].score + 1e-5 if hits else 0
        assert {hit.id for hit in hits if hit.score > last} <= rows.keys()
        assert all(
            rows[hit.id] == pytest.approx(hit.score, abs=1e-5) for hit in hits if hit.id in rows
        )
        found += len(rows)
    assert found > 5 * len(index)
    zeros = connection.execute(
        f"SELECT count(*) FROM {schema}.items WHERE vector_norm(vector) = 0 "
        "OR vector_norm(label_part) = 0"
    )
    assert zeros.fetchone() == (0,)


def test_postgresql_finds_what_the_index_finds(index, database):
    import psycopg

    done = export_postgresql(index, database, schema="found")
    assert done == {"written": len(index), "removed": 0, "unchanged": 0}
    with psycopg.connect(database) as connection:
        # Words, a frequent word, only frequent ones, signs in words, an id, and what nothing has.
        for query in (*QUERIES, index.ids[7], "zzzz"):
            rows = connection.execute(
                "SELECT id, score FROM found.search(%s, %s::vector, 10)",
                (query, text_of(index.embed(query))),
            ).fetchall()
            hits = index.search(query, 10)
            same = {row[0] for row in rows} & {hit.id for hit in hits}
            assert len(same) >= 0.8 * len(hits), query
            assert rows[:1] == [] if not hits else rows[0][0] == hits[0].id
            scores = dict(rows)
            for hit in hits:
                if hit.id in scores and not hit.exact:
                    assert scores[hit.id] == pytest.approx(hit.score, abs=2e-3)
        check_similar(connection, "found", index)
        label = next(iter(index.labels))
        rows = connection.execute(
            "SELECT labels FROM found.search('chess', %s::vector, 5, 0.4, %s)",
            (text_of(index.embed("chess")), [label]),
        ).fetchall()
        assert rows
        assert all(label in own for (own,) in rows)


def test_an_update_changes_only_what_changed(folder, database, tmp_path):
    import psycopg

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with SemanticIndex.load(copy, write=True) as index:
        export_postgresql(index, database, schema="kept")
        first, second, gone = index.ids[:3]
        index.relabel(first, ["game"]).remove(gone)
        index.add(["a new text about chess"], [["game"]], ["new"])
        done = export_postgresql(index, database, schema="kept", update=True)
        assert done == {"written": 2, "removed": 1, "unchanged": len(index) - 2}
        with psycopg.connect(database) as connection:
            check_similar(connection, "kept", index)
            ids = {row[0] for row in connection.execute("SELECT id FROM kept.items")}
            assert ids == set(index.ids)
            assert second in ids
            orphans = connection.execute(
                "SELECT count(*) FROM kept.postings WHERE item NOT IN (SELECT item FROM kept.items)"
            ).fetchone()
            assert orphans == (0,)


def test_what_cannot_be_written_changes_nothing(index, database, monkeypatch):
    import psycopg

    export_postgresql(index, database, schema="whole")
    with pytest.raises(Mismatch, match="exists; give --update"):
        export_postgresql(index, database, schema="whole")
    with pytest.raises(MissingData, match="no schema 'nowhere' to update"):
        export_postgresql(index, database, schema="nowhere", update=True)
    with pytest.raises(InvalidInput, match="plain name"):
        export_postgresql(index, database, schema="a; DROP TABLE b")
    with psycopg.connect(database) as connection:
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.items (id integer)")
    with pytest.raises(Mismatch, match="holds other tables"):
        export_postgresql(index, database, schema="other", update=True)
    with pytest.raises(MissingData, match="The database cannot be used"):
        export_postgresql(index, "postgresql://127.0.0.1:1/none")

    with monkeypatch.context() as patch:
        # As a server answers on which pgvector is not installed.
        patch.setattr("labelspan.export.postgresql._VECTOR", "no_such_extension")
        with pytest.raises(MissingData, match="has no pgvector"):
            export_postgresql(index, database, schema="half")

    def broken(*args):
        raise InvalidInput("stopped")

    monkeypatch.setattr("labelspan.export.postgresql._Writer._write_statistics", broken)
    with pytest.raises(InvalidInput, match="stopped"):
        export_postgresql(index, database, schema="half")
    with psycopg.connect(database) as connection:
        there = connection.execute(
            "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'half'"
        ).fetchone()
    assert there == (0,)
