"""Write an index to PostgreSQL with pgvector, with SQL functions that search as labelspan does.

The schema holds ``items`` (texts, labels, metadata, unit vectors, and what labels add to their
places), ``postings`` (how often each stem is in each item, and the length of the item; stems in the
names of labels have # in front, and no length), ``words`` (the stem of each word, whether it is a
frequent one, which is left out of queries, and its weight in a query) and ``spread`` (second
moments of the vectors, by which the scores of words and space are brought to one scale). What every
change moves is in ``about``: the mean length, and the scale of the places by labels, which
``similar`` puts together with each item compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._install import needed
from .._typing import Array
from ..errors import InvalidInput, Mismatch, MissingData
from ..index.results import Item
from ..index.vectors import label_parts
from ..text.analysis import RUNS
from ..text.word_search import FILLER_WEIGHT, K1, LABEL_WEIGHT, B

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["EXAMPLES", "export_postgresql"]

_FORMAT = 4
# The extension with the type of vectors.
_VECTOR = "vector"
_ITEMS_AT_ONCE = 2000
# The largest number of dimensions that pgvector's HNSW takes.
_MOST_INDEXED = 2000

_TABLES = """
CREATE SCHEMA {s};
CREATE TABLE {s}.about (
    format integer NOT NULL, dimensions integer NOT NULL, label_scale float8 NOT NULL,
    mean_length float8 NOT NULL);
INSERT INTO {s}.about VALUES ({format}, {width}, 0, 1);
CREATE TABLE {s}.items (
    item integer PRIMARY KEY, id text NOT NULL UNIQUE, title text NOT NULL, text text NOT NULL,
    labels text[], metadata jsonb NOT NULL,
    vector vector({width}), label_part vector({width}), digest text NOT NULL);
CREATE TABLE {s}.postings (
    term text NOT NULL, item integer NOT NULL, times real NOT NULL, length real);
CREATE TABLE {s}.words (
    word text PRIMARY KEY, term text NOT NULL, common boolean NOT NULL, weight real NOT NULL);
CREATE TABLE {s}.spread (dimension integer PRIMARY KEY, mean float8 NOT NULL,
    second vector({width}) NOT NULL);
"""
_INDEXES = """
CREATE INDEX ON {s}.postings (term, item) INCLUDE (times, length);
CREATE INDEX ON {s}.postings (item);
CREATE INDEX ON {s}.items USING gin (labels);
CREATE INDEX ON {s}.items (lower(title));
"""
_NEAREST = "CREATE INDEX ON {s}.items USING hnsw (vector vector_ip_ops);"
# Words are those of labelspan: runs of letters and digits, in scripts without spaces pairs of
# characters. Words of no item are stemmed by PostgreSQL, whose algorithms may be older.
_WORDS = """
CREATE TEXT SEARCH DICTIONARY {s}.stem (TEMPLATE = {template});
CREATE FUNCTION {s}.terms(query text) RETURNS TABLE (term text, times float8)
LANGUAGE sql STABLE AS $$
    WITH runs AS (
        SELECT found[1] AS run, found[1] ~ '^{unspaced}' AND length(found[1]) > 1 AS unspaced
        FROM regexp_matches(lower(normalize(query, NFKC)), '{runs}', 'g') AS found),
    words AS (
        SELECT run AS word FROM runs WHERE NOT unspaced
        UNION ALL
        SELECT substr(run, n, 2) FROM runs, generate_series(1, length(run) - 1) AS n
        WHERE unspaced),
    marked AS (
        SELECT coalesce(k.term, nullif((ts_lexize('{s}.stem', w.word))[1], ''), w.word) AS term,
               coalesce(k.common, false) AS common, coalesce(k.weight, 1)::float8 AS weight
        FROM words AS w LEFT JOIN {s}.words AS k USING (word))
    SELECT term, sum(weight) FROM marked
    WHERE NOT common OR NOT EXISTS (SELECT FROM marked AS other WHERE NOT other.common)
    GROUP BY term
$$;
"""
_FUNCTIONS = """
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
RETURNS TABLE (id text, title text, score float8, labels text[]) LANGUAGE sql STABLE
SET hnsw.ef_search = 256 AS $$
    WITH total AS (SELECT count(*)::float8 AS items FROM {s}.items),
    wanted AS (
        SELECT v.term, w.times, v.most,
               ln(1 + (t.items - f.items + 0.5) / (f.items + 0.5)) AS rarity
        FROM {s}.terms(query) AS w CROSS JOIN total AS t CROSS JOIN LATERAL (VALUES
                 (w.term, ARRAY[w.term, '#' || w.term], {most}),
                 ('#' || w.term, ARRAY['#' || w.term], {label})) AS v (term, counted, most)
             CROSS JOIN LATERAL (SELECT count(DISTINCT item) AS items FROM {s}.postings AS p
                                 WHERE p.term = ANY (v.counted)) AS f
        WHERE f.items > 0 OR v.most = {most}),
    words AS (SELECT p.item, sum(
                  w.times * w.rarity * CASE WHEN p.length IS NULL THEN {label} ELSE {most} * p.times
                  / (p.times + {k1} * (1 - {b} + {b} * p.length / a.mean_length)) END) AS score
              FROM {s}.postings AS p JOIN wanted AS w USING (term) CROSS JOIN {s}.about AS a
              GROUP BY p.item),
    most AS (SELECT coalesce(sum(most * times * rarity), 0) AS score FROM wanted),
    scales AS MATERIALIZED (
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
    SELECT i.id, i.title, f.score / nullif(m.score * s.words + s.space, 0), i.labels
    FROM candidates JOIN {s}.items AS i USING (item) LEFT JOIN words AS w USING (item)
         CROSS JOIN scales AS s CROSS JOIN most AS m CROSS JOIN LATERAL (
             SELECT coalesce(w.score, 0) * s.words
                    + greatest(-(i.vector <#> embedding), 0) * s.space AS score) AS f
    WHERE (cardinality(with_labels) = 0 OR i.labels @> with_labels)
        AND (f.score > 0 OR i.id = query OR lower(i.title) = lower(query))
    ORDER BY i.id = query DESC, lower(i.title) = lower(query) DESC, f.score DESC, i.item
    LIMIT n
$$;
CREATE FUNCTION {s}.product(
    vector_1 vector, part_1 vector, vector_2 vector, part_2 vector, scale float8)
RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(-(vector_1 <#> vector_2), 0)
        + scale * (coalesce(-(vector_1 <#> part_2), 0) + coalesce(-(part_1 <#> vector_2), 0))
        + scale ^ 2 * coalesce(-(part_1 <#> part_2), 0)
$$;
CREATE FUNCTION {s}.similar(wanted text, n integer DEFAULT 10)
RETURNS TABLE (id text, title text, score float8, labels text[]) LANGUAGE sql STABLE AS $$
    WITH query AS (
        SELECT item, vector, label_part, label_scale AS scale,
               {s}.product(vector, label_part, vector, label_part, label_scale) AS square
        FROM {s}.items CROSS JOIN {s}.about WHERE items.id = wanted),
    found AS (
        SELECT i.item, i.id, i.title, i.labels,
               {s}.product(i.vector, i.label_part, q.vector, q.label_part, q.scale) / nullif(sqrt(
                   greatest(q.square * {s}.product(
                       i.vector, i.label_part, i.vector, i.label_part, q.scale), 0)), 0) AS score
        FROM {s}.items AS i CROSS JOIN query AS q WHERE i.item <> q.item)
    SELECT f.id, f.title, f.score, f.labels FROM found AS f
    WHERE f.score > {slack} ORDER BY f.score DESC, f.item LIMIT n
$$;
"""


# Statements that search.
EXAMPLES = """\
-- words and space together; SemanticIndex.embed returns the vector of a text
SELECT id, title, score FROM {s}.search('two words', '[0.1, ...]', 10);
-- more like this
SELECT id, title, score FROM {s}.similar('ID', 10);"""


def export_postgresql(
    index: SemanticIndex, address: str, *, schema: str = "labelspan", update: bool = False
) -> dict[str, int]:
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
    dict
        Numbers of items ``written``, ``removed`` and ``unchanged``.

    See Also
    --------
    export_file : A file instead of a database.

    Examples
    --------
    >>> from labelspan.export import export_postgresql
    >>> export_postgresql(index, "postgresql://localhost/notes")  # doctest: +SKIP
    {'written': 4899, 'removed': 0, 'unchanged': 0}
    """
    psycopg = needed("Writing to PostgreSQL", "psycopg", "postgresql")
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
        assert index.store.words is not None
        self._words = index.store.words
        self._width = index.n_dimensions

    @cached_property
    def _counts(self) -> tuple[list[str], Any, Array, float]:
        """All terms, how often each row has them, the lengths of the rows and their mean."""
        return self._words.term_counts()

    def write(self, *, update: bool) -> dict[str, int]:
        exists = self._check(update=update)
        if not exists:
            self._run(_TABLES)
        known: dict[str, str] = dict(
            self._connection.execute(f"SELECT id, digest FROM {self._schema}.items").fetchall()
        )
        free = self._number("SELECT coalesce(max(item) + 1, 0) FROM {s}.items")
        ids, written = self._index.ids, 0
        for start in range(0, len(ids), _ITEMS_AT_ONCE):
            part = ids[start : start + _ITEMS_AT_ONCE]
            items, vectors = self._index.items(part), self._index.vectors(part)
            parts = self._label_parts[0][self._index.store.rows(part)]
            each = zip(items, vectors, parts, strict=True)
            content = [(*one, _digest(*one)) for one in each]
            rows = [one for one in content if known.get(one[0].id) != one[-1]]
            self._delete([item.id for item, *_ in rows if item.id in known])
            self._copy(rows, free + written)
            written += len(rows)
        gone = sorted(known.keys() - set(ids))
        self._delete(gone)
        if written or gone:
            self._write_statistics()
        if not exists:
            self._run(_INDEXES + (_NEAREST if self._width <= _MOST_INDEXED else ""))
            self._run(_WORDS + _FUNCTIONS)
        return {"written": written, "removed": len(gone), "unchanged": len(ids) - written}

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
            "('postings', 'times'), ('about', 'format'), ('about', 'dimensions'))"
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

    @cached_property
    def _label_parts(self) -> tuple[Array, float]:
        """What labels add to the place of each row, and the scale of that."""
        store, found = self._index.store, self._index.model.space.directions
        if found is None:
            return np.zeros((len(store.labels), self._width), dtype=np.float32), 0.0
        return label_parts(store.labels.matrix(), found)

    def _copy(self, items: Sequence[tuple[Item, Array, Array, str]], first: int) -> None:
        if not items:
            return
        cursor = self._connection.cursor()
        columns = "item, id, title, text, labels, metadata, vector, label_part, digest"
        with cursor.copy(f"COPY {self._schema}.items ({columns}) FROM STDIN") as copy:
            for number, (item, vector, part, digest) in enumerate(items, first):
                texts = [_plain(part) for part in (item.id, item.title, item.text)]
                labels = None if item.labels is None else list(map(_plain, item.labels))
                metadata = json.dumps(item.metadata).replace("\\u0000", "")
                both = (_vector(one) if one.any() else None for one in (vector, part))
                copy.write_row((number, *texts, labels, metadata, *both, digest))
        terms, counts, lengths, _ = self._counts
        rows = self._index.store.rows([item.id for item, *_ in items]).tolist()
        with cursor.copy(f"COPY {self._schema}.postings FROM STDIN") as copy:
            for number, row in enumerate(rows, first):
                at = slice(counts.indptr[row], counts.indptr[row + 1])
                own = zip(counts.indices[at].tolist(), counts.data[at].tolist(), strict=True)
                for term, times in own:
                    length = None if terms[term].startswith("#") else float(lengths[row])
                    copy.write_row((terms[term], number, times, length))

    def _delete(self, ids: list[str]) -> None:
        s = self._schema
        owned = f"(SELECT item FROM {s}.items WHERE id = ANY(%s))"
        self._connection.execute(f"DELETE FROM {s}.postings WHERE item IN {owned}", (ids,))
        self._connection.execute(f"DELETE FROM {s}.items WHERE id = ANY(%s)", (ids,))

    def _write_statistics(self) -> None:
        """Write the moments of the vectors, as a search uses them, and the stems of words."""
        self._run("TRUNCATE {s}.spread, {s}.words;")
        values = float(self._label_parts[1]), float(self._counts[-1])
        update = f"UPDATE {self._schema}.about SET label_scale = %s, mean_length = %s"
        self._connection.execute(update, values)
        cursor = self._connection.cursor()
        moments = zip(*self._index.store.moments(), strict=True)
        rows = [(n, float(mean), _vector(second)) for n, (mean, second) in enumerate(moments, 1)]
        cursor.executemany(f"INSERT INTO {self._schema}.spread VALUES (%s, %s, %s)", rows)
        vocabulary = self._words.vocabulary
        common, fillers = vocabulary.analyzer.common, vocabulary.analyzer.fillers
        terms = zip(vocabulary.words, vocabulary.term_of.tolist(), strict=True)
        found = {word: vocabulary.terms[term] for word, term in terms}
        known = common | fillers
        found |= dict(zip(known, vocabulary.analyzer.stems(known), strict=True))
        with cursor.copy(f"COPY {self._schema}.words FROM STDIN") as copy:
            for word, term in found.items():
                weight = FILLER_WEIGHT if word in fillers else 1.0
                copy.write_row((word, term, word in common, weight))

    def _number(self, statement: str) -> int:
        found = self._connection.execute(statement.replace("{s}", self._schema)).fetchone()
        return int(found[0])

    def _run(self, statements: str) -> None:
        # PostgreSQL stems by the same algorithms, under the same names.
        stemmer = self._words.vocabulary.analyzer.stemmer
        for name, value in {
            "s": self._schema,
            "format": _FORMAT,
            "width": self._width,
            "label": LABEL_WEIGHT,
            "k1": K1,
            "b": B,
            "most": K1 + 1,
            "slack": repr(self._index.store.vectors.slack),
            "template": "simple" if stemmer is None else f"snowball, Language = {stemmer}",
            "runs": RUNS.pattern,
            "unspaced": RUNS.pattern.partition("|")[0],
        }.items():
            statements = statements.replace(f"{{{name}}}", str(value))
        self._connection.execute(statements)


def _digest(item: Item, vector: Array, part: Array) -> str:
    content = json.dumps([item.text, item.labels, item.metadata], sort_keys=True).encode()
    own = np.ascontiguousarray([vector, part], np.float32).tobytes()
    return hashlib.blake2b(content + own, digest_size=16).hexdigest()


def _vector(values: Array) -> str:
    return f"[{','.join(f'{value:.9g}' for value in values.tolist())}]"


def _plain(text: str) -> str:
    """Return a text without NUL, which PostgreSQL does not store."""
    return text.replace("\x00", "")


def _first_line(error: Exception) -> str:
    line = next((part for part in str(error).splitlines() if part.strip()), type(error).__name__)
    return f"{line.strip().rstrip('.')}."
