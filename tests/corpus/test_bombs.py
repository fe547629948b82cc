"""Files made to fill memory, to take for ever or to lead elsewhere: read or refused, and soon."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from _support.samples import marc_record
from _support.tagged import packed, write_all

from labelspan.corpus import CorpusReader, read_corpus
from labelspan.errors import InvalidFile, LabelspanError

SECONDS, MEGABYTES = 5, 500
# A machine under load, or an older one, takes longer; what goes on for ever takes longer still.
SLOW = 4
# Packed pieces of a megabyte, one after the other, are a packed file.
PIECE, COUNT = b"a text of many words\n" * 50_000, 300
LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
XML = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>'


def in_zip(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def ods(content):
    return in_zip(
        {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": content}
    )


def workbook(**changes):
    import openpyxl

    out = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["title", "tags"])
    book.active.append(["a text of words", "a"])
    book.save(out)
    with zipfile.ZipFile(out) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    old, new = changes["sheet"]
    files["xl/worksheets/sheet1.xml"] = files["xl/worksheets/sheet1.xml"].replace(old, new)
    return in_zip(files)


def recursive_database(path):
    base = sqlite3.connect(path)
    base.execute("create table notes (title text, tags text)")
    base.execute("insert into notes values ('a text of words', 'a')")
    base.execute(
        "create view texts as with recursive n(title) as (select 'a b' union all select title from "
        "n) select title, 'a' as tags from n"
    )
    base.commit()
    base.close()
    return path.read_bytes()


def packed_bombs():
    """Yield names and contents of small files that unpack to large ones."""
    long = PIECE * 80
    packed_pieces = gzip.compress(PIECE, 9) * COUNT
    yield "gzip.csv.gz", packed_pieces
    yield "bzip2.jsonl.bz2", bz2.compress(b" " * (1 << 20)) * COUNT
    yield "xz.json.xz", lzma.compress(b"[") + lzma.compress(b" " * (1 << 20)) * COUNT
    yield "gzip.bib.gz", gzip.compress(b"@article{a,\n") + packed_pieces
    yield "gzip.ris.gz", gzip.compress(b"TY  - JOUR\n") + packed_pieces
    yield "gzip.xml.gz", gzip.compress(b"<posts>") + packed_pieces
    yield "gzip.mbox.gz", gzip.compress(b"From a\nSubject: b\n\n") + packed_pieces
    yield "tar.gz", packed(io.BytesIO(), {"a.txt": long, "b.txt": "b"}, "w:gz").getvalue()
    yield "deflate.zip", in_zip({"a.txt": long, "b.txt": "b"})
    yield "deflate.xlsx", in_zip({"xl/workbook.xml": long})
    yield "deflate.ods", ods(b"<a>" + long)


def bombs(folder):
    """Yield names and contents of files that are deep, wide or refer to themselves."""
    for opening in ("[", '{"a":', '[{"a":'):
        yield "deep.json", opening * 300_000
        yield "deep.jsonl", '{"text": "a", "b": ' + opening * 300_000
    yield "wide.json", json.dumps({f"key {n}": n for n in range(100_000)})
    yield "wide.jsonl", "".join(json.dumps({f"key {n}": "a b c"}) + "\n" for n in range(30_000))
    yield "digits.json", '[{"text": "a", "n": ' + "1" * 5_000_000 + "}]"
    yield "laughs.xml", XML + "<posts><row Title='&l9;'/></posts>"
    yield "laughs.rdf", XML + "<RDF><a>&l9;</a></RDF>"
    yield "laughs.enex", XML + "<en-export><note><title>&l9;</title></note></en-export>"
    yield "deep.xml", "<posts>" * 300_000
    yield "open.ris", "TY  - JOUR\n" * 200_000
    yield "wiki.csv", "text,tags\n" + "a b,[[a]] " + "[[b " * 500_000
    yield "deep.ods", ods("<table>" * 300_000)
    yield "laughs.ods", ods(XML + "<table>&l9;</table>")
    cell = '<table-cell number-columns-repeated="2000000000"><p>a b</p></table-cell>'
    row = f'<table-row number-rows-repeated="2000000000">{cell}</table-row>'
    yield "wide.ods", ods(f"<x><table name='a'>{row}</table></x>")
    huge = ('<dimension ref="A1:B2"', '<dimension ref="A1:XFD1048576"')
    yield "wide.xlsx", workbook(sheet=huge)
    yield "laughs.xlsx", workbook(sheet=("<worksheet", XML.partition("?>")[2] + "<worksheet"))
    yield "far.xlsx", workbook(sheet=('<row r="2"', '<row r="1048576"'))
    aliases = "a0: &a0 [x, x]\n" + "".join(
        f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(9)
    )
    yield "laughs.yml", aliases
    yield "deep.yml", "a: " + "[" * 300_000
    yield "deep.arff", "@relation a\n" + "@attribute b {" * 100_000
    yield "comments.dat", "% " * 200_000
    yield "deep.bib", "@article{a, title={" + "{" * 300_000
    yield "strings.bib", "".join(f"@string{{s{n} = s{n + 1} # s{n + 1}}}\n" for n in range(5000))
    yield "entries.bib", "@article{a,\n" * 10_000
    yield "deep.html", "<!DOCTYPE NETSCAPE-Bookmark-file-1>" + "<DL><DT><H3>a</H3>" * 30_000
    for piece in ("<a ", "<!--", "</", "<!", "&", "<a href='"):
        yield "open.html", "<!DOCTYPE NETSCAPE-Bookmark-file-1>" + piece * 100_000
    nested = "".join(
        f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(1500)
    )
    yield "deep.eml", f"Subject: a\n{nested}"
    yield "same.eml", "Content-Type: multipart/mixed; boundary=x\n\n--x\n" * 20_000
    yield "words.eml", f"Subject: {'=?utf-8?q?a?= ' * 50_000}\n\na"
    yield "options.eml", f"Content-Type: text/plain; {'a*0*=x; ' * 20_000}\n\na"
    yield "wide.eml", "".join(f"X-Header-{n}: a\n" for n in range(50_000)) + "\n\na"
    script = "<script>" * 100_000
    yield "script.eml", f"Subject: a\nContent-Type: text/html\n\n{script}"
    yield "length.mrc", b"99999" + marc_record(0).as_marc()[5:] * 100
    yield "cells.csv", "title,tags\n" + "," * 20_000_000
    yield "quote.csv", 'title,tags\n"' + "a,b\n" * 2_000_000
    yield "columns.csv", ",".join(f"c{n}" for n in range(100_000)) + "\na,b\n"
    yield "columns.tsv", "\t".join(f"c{n}" for n in range(1_000_000)) + "\na\tb\n"
    row = "<sheetData><row>" + "<c><v>1</v></c>" * 30_000 + "</row>"
    yield "columns.xlsx", workbook(sheet=("<sheetData>", row))
    yield "view.sqlite", recursive_database(folder / "made.sqlite")


def notes():
    """Yield folders of notes."""
    yield {"a.md": "---\na: " + "[" * 300_000 + "\n---\ntext", "b.md": "---\ntags: a\n---\nb"}
    yield {"a.md": "+++\na = " + "[" * 300_000 + "\n+++\ntext", "b.md": "---\ntags: a\n---\nb"}
    yield {"a.md": "#" + "a-" * 500_000 + "\x01", "b.md": "---\ntags: a\n---\nb #c"}
    yield {"a.md": "a:: " + "#[[b" * 300_000 + "\n\ntext", "b.md": "tags:: a\n\nb"}
    yield {"a.md": "```\n~~~\n" * 50_000, "b.md": "---\ntags: a\n---\nb #c"}


def most_memory():
    """Megabytes: of only this program, where the system also counts what started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def attempts(paths):
    """Read all items of some files one by one, and print what is wrong with how it ended."""
    for path in paths:
        start, said = time.process_time(), ""
        # Stopped where it goes on for ever.
        signal.setitimer(signal.ITIMER_PROF, 2 * SLOW * SECONDS)
        try:
            for record in CorpusReader(path):
                assert record.text is not None
        except LabelspanError as error:
            said = str(error)
        signal.setitimer(signal.ITIMER_PROF, 0)
        spent = time.process_time() - start
        peak = most_memory()
        if spent > SLOW * SECONDS or peak > MEGABYTES or "\n" in said or len(said) > 1000:
            print(f"{path}: {spent:.1f} s, {peak:.0f} MB, {said:.200}")


def test_bombs_end_soon(tmp_path):
    paths = []
    for n, (name, content) in enumerate([*packed_bombs(), *bombs(tmp_path)]):
        write_all(tmp_path / str(n), {name: content})
        paths.append(tmp_path / str(n) / name)
    paths += [write_all(tmp_path / f"notes{n}", files) for n, files in enumerate(notes())]
    # In a process of its own: memory of this one was taken by others.
    code = "import sys; from test_bombs import attempts; attempts(sys.argv[1:])"
    here = Path(__file__).parent
    search = [here, here.parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, search))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_links_pipes_and_devices(tmp_path, monkeypatch):
    write_all(tmp_path, {"in/a.txt": "a text", "in/b.txt": "another", "out/secret.txt": "secret"})
    os.mkfifo(tmp_path / "in" / "pipe.txt")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "out" / "secret.txt")
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "out")
    for name, target in (("nowhere", "missing"), ("itself", "itself"), ("above", "..")):
        (tmp_path / "in" / name).symlink_to(target)
    found = read_corpus(tmp_path / "in")
    assert sorted(found.texts) == ["a text", "another"]
    assert "6 link(s) or pipe(s) left out" in found.notes
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)
        server.bind("socket.csv")
        for name, what in (
            ("in/pipe.txt", "a pipe"),
            ("socket.csv", "a socket"),
            ("/dev/zero", "a device"),
        ):
            with pytest.raises(InvalidFile, match=f"is {what}, which may never end"):
                read_corpus(name)
