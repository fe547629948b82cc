"""Write an index to PostgreSQL with pgvector, with SQL functions that search as labelspan does.

The schema holds ``items`` (texts, labels, metadata, unit vectors), ``postings`` (the BM25 weight of
each stem in each item, without its rarity, which follows from their number), ``common`` (frequent
words, which are left out of queries) and ``spread`` (second moments of the vectors, by which the
scores of words and space are brought to one scale).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._install import install_command
from ..errors import InvalidInput, Mismatch, MissingData
from .item_table import ExportedItem, item_records

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["Exported", "export_postgresql"]

_FORMAT = 1
# The extension with the type of vectors.
_VECTOR = "vector"
_ITEMS_AT_ONCE = 2000
# The largest number of dimensions that pgvector's HNSW takes.
_MOST_INDEXED = 2000

_TABLES = """
CREATE SCHEMA {s};
CREATE TABLE {s}.about (format integer NOT NULL, dimensions integer NOT NULL);
INSERT INTO {s}.about VALUES ({format}, {width});
CREATE TABLE {s}.items (
    item integer PRIMARY KEY, id text NOT NULL UNIQUE, title text NOT NULL, text text NOT NULL,
    labels text[], predicted text[] NOT NULL, metadata jsonb NOT NULL,
    vector vector({width}) NOT NULL, digest text NOT NULL);
CREATE TABLE {s}.postings (term text NOT NULL, item integer NOT NULL, weight real NOT NULL);
CREATE TABLE {s}.common (term text PRIMARY KEY);
CREATE TABLE {s}.spread (dimension integer PRIMARY KEY, mean float8 NOT NULL,
    second vector({width}) NOT NULL);
"""
_INDEXES = """
CREATE INDEX ON {s}.postings (term, item) INCLUDE (weight);
CREATE INDEX ON {s}.postings (item);
CREATE INDEX ON {s}.items USING gin (labels);
CREATE INDEX ON {s}.items (lower(title));
"""
_NEAREST = "CREATE INDEX ON {s}.items USING hnsw (vector vector_ip_ops);"
# Stems without a list of frequent words: labelspan's own list is in the table common.
_WORDS = """
CREATE TEXT SEARCH DICTIONARY {s}.stem (TEMPLATE = {template});
CREATE TEXT SEARCH CONFIGURATION {s}.words (PARSER = default);
ALTER TEXT SEARCH CONFIGURATION {s}.words ADD MAPPING FOR asciiword, word, numword, asciihword,
    hword, numhword, hword_asciipart, hword_part, hword_numpart, int, uint, float, version
    WITH {s}.stem;
"""
_FUNCTIONS = """
CREATE FUNCTION {s}.terms(query text) RETURNS TABLE (term text, times integer)
LANGUAGE sql STABLE AS $$
    WITH found AS (
        SELECT lexeme, cardinality(positions) AS times,
               EXISTS (SELECT FROM {s}.common WHERE common.term = lexeme) AS common
        FROM unnest(to_tsvector('{s}.words', query)))
    SELECT lexeme, times FROM found WHERE NOT common OR NOT EXISTS (
        SELECT FROM found AS other WHERE NOT other.common)
$$;
CREATE FUNCTION {s}.deviation(embedding vector) RETURNS float8 LANGUAGE sql STABLE AS $$
    WITH q AS (SELECT ordinality AS dimension, value::float8
               FROM unnest(embedding::real[]) WITH ORDINALITY AS part(value, ordinality))
    SELECT CASE WHEN spread > 1e-12 THEN sqrt(spread) ELSE 1 END FROM (
        SELECT sum(q.value * -(second <#> embedding)) - sum(q.value * mean) ^ 2 AS spread
        FROM q JOIN {s}.spread USING (dimension)) AS found
$$;
CREATE FUNCTION {s}.search(
    query text, embedding vector, n integer DEFAULT 10, balance float8 DEFAULT 0.4,
    with_labels text[] DEFAULT ARRAY[]::text[])
RETURNS TABLE (id text, title text, score float8, labels text[]) LANGUAGE sql STABLE AS $$
    WITH total AS (SELECT count(*)::float8 AS items FROM {s}.items),
    wanted AS (
        SELECT w.term, w.times, ln(1 + (t.items - f.items + 0.5) / (f.items + 0.5)) AS rarity
        FROM {s}.terms(query) AS w CROSS JOIN total AS t CROSS JOIN LATERAL (
            SELECT count(*) AS items FROM {s}.postings AS p WHERE p.term = w.term) AS f),
    words AS (SELECT item, sum(weight * times * rarity) AS score
              FROM {s}.postings JOIN wanted USING (term) GROUP BY item),
    most AS (SELECT coalesce(2.2 * sum(times * rarity), 0) AS score FROM wanted),
    scales AS (
        SELECT CASE WHEN variance > 0 THEN (1 - balance) / sqrt(variance) ELSE 0 END AS words,
               balance / {s}.deviation(embedding) AS space
        FROM (SELECT coalesce(sum(score ^ 2), 0) / max(t.items)
                     - (coalesce(sum(score), 0) / max(t.items)) ^ 2 AS variance
              FROM total AS t LEFT JOIN words ON true) AS spread),
    near AS (SELECT item FROM {s}.items
             WHERE cardinality(with_labels) = 0 OR items.labels @> with_labels
             ORDER BY vector <#> embedding LIMIT greatest(256, 4 * n)),
    candidates AS (
        SELECT item FROM near UNION
        (SELECT item FROM words ORDER BY score DESC LIMIT greatest(1024, 4 * n)) UNION
        SELECT item FROM {s}.items WHERE items.id = query OR lower(items.title) = lower(query))
    SELECT i.id, i.title,
           (coalesce(w.score, 0) * s.words - (i.vector <#> embedding) * s.space)
               / nullif(m.score * s.words + s.space, 0), i.labels
    FROM candidates JOIN {s}.items AS i USING (item) LEFT JOIN words AS w USING (item)
         CROSS JOIN scales AS s CROSS JOIN most AS m
    WHERE (cardinality(with_labels) = 0 OR i.labels @> with_labels)
        AND (coalesce(w.score, 0) * s.words - (i.vector <#> embedding) * s.space > 0
             OR i.id = query OR lower(i.title) = lower(query))
    ORDER BY i.id = query DESC, lower(i.title) = lower(query) DESC, 3 DESC NULLS LAST, i.item
    LIMIT n
$$;
CREATE FUNCTION {s}.similar(wanted text, n integer DEFAULT 10)
RETURNS TABLE (id text, title text, score float8, labels text[]) LANGUAGE sql STABLE AS $$
    WITH query AS (SELECT item, vector FROM {s}.items WHERE items.id = wanted)
    SELECT i.id, i.title, -(i.vector <#> (SELECT vector FROM query)), i.labels FROM {s}.items AS i
    WHERE i.item <> (SELECT item FROM query)
    ORDER BY i.vector <#> (SELECT vector FROM query) LIMIT n
$$;
"""


@dataclass(frozen=True)
class Exported:
    """What an export to a database has written.

    Attributes
    ----------
    schema : str
    written, removed, unchanged : int
        Numbers of items.

    See Also
    --------
    export_postgresql : Returns it.

    Examples
    --------
    >>> from labelspan.export import Exported
    >>> print(Exported("labelspan", written=3, removed=1, unchanged=96).examples())
    -- words and space together; SemanticIndex.embed returns the vector of a text
    SELECT id, title, score FROM labelspan.search('two words', '[0.1, ...]', 10);
    -- more like this
    SELECT id, title, score FROM labelspan.similar('ID', 10);
    """

    schema: str
    written: int
    removed: int
    unchanged: int

    def examples(self) -> str:
        """Return SQL that searches.

        Returns
        -------
        str
            Two statements.
        """
        return (
            "-- words and space together; SemanticIndex.embed returns the vector of a text\n"
            f"SELECT id, title, score FROM {self.schema}.search('two words', '[0.1, ...]', 10);\n"
            "-- more like this\n"
            f"SELECT id, title, score FROM {self.schema}.similar('ID', 10);"
        )


def export_postgresql(
    index: SemanticIndex, address: str, *, schema: str = "labelspan", update: bool = False
) -> Exported:
    """Write items, labels, metadata, words and vectors of an index, in one transaction.

    Parameters
    ----------
    index : SemanticIndex
        Fitted on texts.
    address : str
        ``postgresql://user@host/database``; the database needs the extension pgvector.
    schema : str, default="labelspan"
        Name of the schema that is created.
    update : bool, default=False
        Whether to change only what changed in a schema that exists; without it such a schema is
        an error.

    Returns
    -------
    Exported
        Numbers of items written, removed and left as they were.

    See Also
    --------
    write_parquet : A file instead of a database.

    Examples
    --------
    >>> from labelspan.export import export_postgresql
    >>> export_postgresql(index, "postgresql://localhost/notes").written  # doctest: +SKIP
    4899
    """
    try:
        import psycopg  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise MissingData(
            "Writing to PostgreSQL needs psycopg, which is not installed; "
            f"{install_command('postgresql')}."
        ) from error
    if index.store.words is None:
        raise Mismatch("export: this index has no texts, so there are no words to write.")
    if not schema.isidentifier() or not schema.isascii():
        raise InvalidInput(f"export: schema must be a plain name, but {schema!r} was given.")
    try:
        with psycopg.connect(address) as connection:
            return _Writer(connection, index, schema.lower()).write(update=update)
    except psycopg.OperationalError as error:
        raise MissingData(
            f"The database cannot be used: {_first_line(error)} Check the address and that the "
            "server is running."
        ) from error
    except psycopg.Error as error:
        raise InvalidInput(f"The database refused the export: {_first_line(error)}") from error


class _Writer:
    """Writes in the transaction of a connection; its caller commits."""

    def __init__(self, connection: Any, index: SemanticIndex, schema: str) -> None:
        self._connection, self._index, self._schema = connection, index, schema
        self._width = index.n_dimensions
        words = index.store.words
        assert words is not None
        self._terms, self._weights = words.term_weights()
        analyzer = words.vocabulary.analyzer
        self._common = sorted(set(analyzer.stems(sorted(analyzer.common))))
        self._stemmer = analyzer.stemmer

    def write(self, *, update: bool) -> Exported:
        exists = self._check(update=update)
        if not exists:
            self._run(_TABLES)
        known: dict[str, str] = dict(
            self._connection.execute(f"SELECT id, digest FROM {self._schema}.items").fetchall()
        )
        free = self._number("SELECT coalesce(max(item) + 1, 0) FROM {s}.items")
        ids = self._index.ids
        changed: list[tuple[int, ExportedItem, str]] = []
        written = 0
        rows = self._index.store.rows(ids).tolist()
        for row, record in zip(rows, item_records(self._index), strict=True):
            digest = _digest(record)
            if known.get(record.id) != digest:
                changed.append((row, record, digest))
            if len(changed) == _ITEMS_AT_ONCE:
                written += self._copy(changed, free + written, known)
                changed.clear()
        written += self._copy(changed, free + written, known)
        gone = sorted(known.keys() - set(ids))
        self._delete(gone)
        self._write_statistics()
        if not exists:
            self._run(_INDEXES + (_NEAREST if self._width <= _MOST_INDEXED else ""))
            self._run(_WORDS + _FUNCTIONS)
        return Exported(self._schema, written, len(gone), len(ids) - written)

    def _check(self, *, update: bool) -> bool:
        """Return whether the schema is there; raise an error unless it can be used."""
        where = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{s}'"
        if not self._number(where):
            if update:
                raise MissingData(
                    f"There is no schema {self._schema!r} to update; leave out --update."
                )
            available = "SELECT count(*) FROM pg_available_extensions WHERE name = '{name}'"
            if not self._number(available.replace("{name}", _VECTOR)):
                raise MissingData(
                    "The database has no pgvector; install its package on the server, for example "
                    "postgresql-16-pgvector."
                )
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            return False
        columns = (
            "SELECT count(*) FROM information_schema.columns WHERE table_schema = '{s}' AND "
            "(table_name, column_name) IN (('items', 'digest'), ('items', 'vector'), "
            "('postings', 'weight'), ('about', 'format'), ('about', 'dimensions'))"
        )
        if self._number(columns) != 5:
            raise Mismatch(
                f"The schema {self._schema!r} holds other tables; choose another with --schema."
            )
        if not update:
            raise Mismatch(
                f"The schema {self._schema!r} exists; give --update to change only what changed, "
                "or another --schema."
            )
        about = self._connection.execute(f"SELECT format, dimensions FROM {self._schema}.about")
        if about.fetchone() != (_FORMAT, self._width):
            raise Mismatch(
                f"The schema {self._schema!r} was written from an index with other dimensions, or "
                "by another version; drop it, or choose another with --schema."
            )
        return True

    def _copy(
        self, items: Sequence[tuple[int, ExportedItem, str]], first: int, known: dict[str, str]
    ) -> int:
        self._delete([record.id for _, record, _ in items if record.id in known])
        columns = "item, id, title, text, labels, predicted, metadata, vector, digest"
        cursor = self._connection.cursor()
        with cursor.copy(f"COPY {self._schema}.items ({columns}) FROM STDIN") as copy:
            for number, (_, record, digest) in enumerate(items, first):
                vector = f"[{','.join(f'{value:.7g}' for value in record.vector)}]"
                texts = [_plain(part) for part in (record.id, record.title, record.text)]
                labels = None if record.labels is None else list(map(_plain, record.labels))
                predicted = list(map(_plain, record.predicted))
                metadata = json.dumps(record.metadata, ensure_ascii=True, default=str)
                metadata = metadata.replace("\\u0000", "")
                copy.write_row((number, *texts, labels, predicted, metadata, vector, digest))
        with cursor.copy(f"COPY {self._schema}.postings (term, item, weight) FROM STDIN") as copy:
            for number, (row, _, _) in enumerate(items, first):
                part = slice(self._weights.indptr[row], self._weights.indptr[row + 1])
                terms, weights = self._weights.indices[part], self._weights.data[part]
                for term, weight in zip(terms.tolist(), weights.tolist(), strict=True):
                    copy.write_row((self._terms[term], number, weight))
        return len(items)

    def _delete(self, ids: list[str]) -> None:
        if not ids:
            return
        s = self._schema
        owned = f"(SELECT item FROM {s}.items WHERE id = ANY(%s))"
        self._connection.execute(f"DELETE FROM {s}.postings WHERE item IN {owned}", (ids,))
        self._connection.execute(f"DELETE FROM {s}.items WHERE id = ANY(%s)", (ids,))

    def _write_statistics(self) -> None:
        """Write the moments of all vectors, and the frequent words."""
        total = np.zeros(self._width)
        second = np.zeros((self._width, self._width))
        ids = self._index.ids
        for start in range(0, len(ids), _ITEMS_AT_ONCE):
            part = self._index.vectors(ids[start : start + _ITEMS_AT_ONCE]).astype(np.float64)
            total += part.sum(axis=0)
            second += part.T @ part
        count = max(1, len(ids))
        self._run("DELETE FROM {s}.spread; DELETE FROM {s}.common;")
        cursor = self._connection.cursor()
        rows = [
            (number, float(mean), f"[{','.join(f'{value:.9g}' for value in row)}]")
            for number, (mean, row) in enumerate(zip(total / count, second / count, strict=True), 1)
        ]
        cursor.executemany(f"INSERT INTO {self._schema}.spread VALUES (%s, %s, %s)", rows)
        common = [(term,) for term in self._common]
        cursor.executemany(f"INSERT INTO {self._schema}.common VALUES (%s)", common)

    def _number(self, statement: str) -> int:
        found = self._connection.execute(statement.replace("{s}", self._schema)).fetchone()
        return int(found[0])

    def _run(self, statements: str) -> None:
        # PostgreSQL stems by the same algorithms, under the same names.
        template = "simple" if self._stemmer is None else f"snowball, Language = {self._stemmer}"
        for name, value in {
            "s": self._schema,
            "format": _FORMAT,
            "width": self._width,
            "template": template,
        }.items():
            statements = statements.replace(f"{{{name}}}", str(value))
        self._connection.execute(statements)


def _digest(record: ExportedItem) -> str:
    content = [record.id, record.text, record.labels, record.predicted, record.metadata]
    made = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode())
    made.update(np.ascontiguousarray(record.vector, np.float32).tobytes())
    return made.hexdigest()


def _plain(text: str) -> str:
    """Return a text without NUL, which PostgreSQL does not store."""
    return text.replace("\x00", "")


def _first_line(error: Exception) -> str:
    line = next((part for part in str(error).splitlines() if part.strip()), type(error).__name__)
    return f"{line.strip().rstrip('.')}."
