"""A small tagged corpus, in every format."""

import csv
import gzip
import io
import json
import sqlite3
import tarfile
import zipfile

import numpy as np

from labelspan.corpus import CorpusReader, read_corpus

WORDS = {
    "game": ["chess", "board", "player", "level", "score", "puzzle", "dice", "card"],
    "sound": ["audio", "music", "mixer", "song", "volume", "tune", "radio", "choir"],
    "image": ["photo", "picture", "pixel", "colour", "crop", "camera", "paint", "draw"],
    "text": ["letter", "editor", "page", "font", "spelling", "novel", "print", "word"],
}


def rows(count=48, seed=0):
    """Items of four topics, some of two."""
    rng = np.random.default_rng(seed)
    topics = sorted(WORDS)
    made = []
    for number in range(count):
        own = sorted({topics[number % 4], topics[int(rng.integers(4))]})
        words = " ".join(rng.choice(WORDS[topic], 5).tolist()[k] for topic in own for k in range(5))
        made.append(
            {
                "id": f"item{number}",
                "title": f"Item {number}",
                "body": words,
                "tags": own,
                "year": 2000 + number % 3,
            }
        )
    return made


def as_table(items, delimiter=",", separator=";"):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(items[0]), delimiter=delimiter)
    writer.writeheader()
    for item in items:
        writer.writerow({**item, "tags": separator.join(item["tags"])})
    return out.getvalue()


def as_lines(items):
    return "".join(json.dumps(item) + "\n" for item in items)


def formats(folder):
    """The same corpus in every format, by the name of its file."""
    items = rows()
    (folder / "a.jsonl").write_text(as_lines(items))
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(as_lines(items).encode()))
    (folder / "a.json").write_text(json.dumps(items, indent=1))
    (folder / "a.csv").write_text(as_table(items))
    (folder / "b.csv").write_text(as_table(items, ";", "|"))
    (folder / "a.tsv").write_text("\ufeff" + as_table(items, "\t", ","))
    (folder / "c.csv").write_text(as_table(items, separator="', '").replace("', '", "; "))
    return ["a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "b.csv", "a.tsv", "c.csv"]


def library(path, items):
    """The database of Calibre, with the items as books."""
    base = sqlite3.connect(path)
    base.executescript("""
        create table books (id integer primary key, title text, sort text);
        create table comments (id integer primary key, book integer, text text);
        create table tags (id integer primary key, name text collate nocase, unique (name));
        create table books_tags_link (id integer primary key, book integer, tag integer,
                                      unique (book, tag));
        create table authors (id integer primary key, name text);
        create table books_authors_link (id integer primary key, book integer, author integer);
        create table metadata_dirtied (id integer primary key, book integer, unique (book));
        create trigger books_update after update on books begin
            update books set sort = title_sort(new.title) where id = new.id; end;
        insert into authors values (1, 'Doe| Ann');
    """)
    link = "insert into books_tags_link (book, tag) select ?, id from tags where name = ?"
    for n, item in enumerate(items, 1):
        base.execute("insert into books values (?, ?, '')", (n, f"Book {n}"))
        text = f"<p>{item['body']}</p>"
        base.execute("insert into comments (book, text) values (?, ?)", (n, text))
        base.execute("insert into books_authors_link (book, author) values (?, 1)", (n,))
        for tag in item["tags"]:
            base.execute("insert or ignore into tags (name) values (?)", (tag,))
            base.execute(link, (n, tag))
    base.commit()
    base.close()
    return path


def read(source, heads=(1 << 23, 1500), **options):
    """Read a corpus in memory, and compare it with the same items read one by one."""
    found = read_corpus(source, **options)
    for head in heads:
        stream = CorpusReader(source, head=head, **options)
        items = list(stream)
        assert [item.text for item in items] == list(found.texts)
        assert [item.labels and list(item.labels) for item in items] == found.labels
        assert [item.id for item in items] == list(found.ids)
        assert [item.metadata for item in items] == list(found.metadata)
        for skip in (1, len(items) // 2, len(items) - 1):
            assert list(stream.items(skip)) == items[skip:]
    return found


def write_all(folder, files):
    """Write files by their paths in a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def packed(target, files, mode, top="all/"):
    """Pack files in a folder into an archive, "zip" or a mode of tarfile."""
    where = {"fileobj": target} if isinstance(target, io.BytesIO) else {"name": target}
    if mode == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(top + name, content)
        return target
    with tarfile.open(**where, mode=mode) as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(top + name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target
