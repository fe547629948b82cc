"""Pages of the explorer and their JSON endpoints: same content, documented, accessible."""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from _support.explorer import ODD, WORDS, Page, client_of, explore, read_points

from labelspan import LSI, SemanticIndex

pytest.importorskip("starlette.testclient", reason="install labelspan[test]")

from labelspan.web import Served
from labelspan.web.endpoints import PAGES
from labelspan.web.map_points import POINTS
from labelspan.web.openapi import describe

IMAGE = sorted(WORDS)[2]
# Stands for the key of a finding.
KEY = "0" * 24
# Each page with something asked of it, and the plain ones without.
ASKED = [
    ("/", {}),
    ("/search", {}),
    ("/search", {"q": "crop a photo"}),
    ("/search", {"q": "music", "label": ["game"], "without": [IMAGE]}),
    ("/search", {"label": [IMAGE]}),
    ("/search", {"q": "zzz"}),
    ("/search", {"q": '"><script>alert(1)</script>'}),
    ("/teach", {}),
    ("/values", {}),
    ("/values", {"how": "spelling"}),
    ("/teach", {"label": "game", "q": "chess"}),
    ("/search", {"q": "photo", "label": [IMAGE], "without": ["game"], "sort": "-title"}),
    ("/search", {"label": ["works-with::*"], "meta": ["year=2001"], "show": "table"}),
    ("/search", {"without": ["works-with::*"], "without_meta": ["free=true"], "sort": "-labels"}),
    ("/search", {"range": ["number:3..30"], "show": "table", "open": ["labels", "meta.year"]}),
    ("/search", {"finding": "wrong"}),
    ("/search", {"lasso": "-32767.-32767_32767.-32767_0.32767", "page": 1}),
    ("/why", {"id": "item6", "q": "chess player"}),
    ("/why", {"id": ODD[4], "label": [IMAGE]}),
    *(("/item", {"id": name}) for name in [*ODD, "item7", "item8", "item9", "item10", "item11"]),
    ("/map", {}),
    ("/map", {"item": ODD[0], "colour": IMAGE, "view": "-10.20.150"}),
    ("/map", {"q": "chess", "label": [IMAGE], "without_meta": ["year=2001"]}),
    ("/labels", {}),
    ("/labels", {"q": "MUSIC"}),
    ("/label", {"name": IMAGE}),
    ("/labels", {"q": "MUSIC", "sort": "-precision"}),
    ("/review", {}),
    ("/review", {"kind": "missing", "label": IMAGE}),
    ("/review", {"kind": "pairs", "show": "skipped"}),
    ("/finding", {"key": KEY}),
    ("/axis", {}),
    ("/axis", {"number": 3}),
    ("/tag", {}),
    ("/tag", {"text": "a picture of a chess board", "k": 2}),
]


@pytest.fixture(scope="module")
def client(folder):
    with explore(folder, drawn=True, audited=True) as client:
        yield client


# What is shown in other words, or only after a press, or only some of it.
OTHERWISE = {"state", "end", "show", "open", "sorts", "key", "kind", "unknown", "pattern", "bins"}


def leaves(content, path):
    """All texts in JSON; of metadata only where all of it is shown, with its keys."""
    if isinstance(content, dict):
        keys = list(content) if path == "keys" or set(map(type, content.values())) == {int} else []
        whole = path in ("/item", "/finding")
        inner = [
            leaf
            for key, value in content.items()
            if key not in OTHERWISE and (key != "metadata" or whole)
            for leaf in leaves(value, "keys" if key == "metadata" else path)
        ]
        return keys + inner
    if isinstance(content, list):
        return [leaf for value in content for leaf in leaves(value, path)]
    return [content] if isinstance(content, str) and content.strip() else []


# --- pages and JSON endpoints ---------------------------------------------------------------


def with_key(client, asked):
    if asked.get("key") != KEY:
        return asked
    return {"key": client.get("/review.json", params={"kind": "pairs"}).json()["rows"][0]["key"]}


@pytest.mark.parametrize(("path", "asked"), ASKED)
def test_a_page_shows_what_its_json_endpoint_gives(client, path, asked):
    jsonschema = pytest.importorskip("jsonschema", reason="install labelspan[e2e]")
    asked, described = with_key(client, asked), describe()
    page = next(page for page in PAGES if page.path == path)
    shown = client.get(path, params=asked)
    endpoint = client.get(page.json_path, params=asked)
    assert (shown.status_code, endpoint.status_code) == (200, 200), shown.text + endpoint.text
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert endpoint.headers["content-type"] == "application/json"
    content, read = endpoint.json(), Page(shown.text)
    # The map is drawn by a script, from the points.
    table = asked.get("show") == "table"
    if table:
        content = content | {
            key: [hit | {"snippet": ""} for hit in content[key]] for key in ("hits", "close")
        }
    if path == "/item":
        # The title is the heading, and stands before the rest of the text once.
        whole = [*content["title"].split(), *content["rest"].split()]
        assert content["text"].split() == (whole if content["text"] else [])
        content = content | {"text": "", "fields": {}}
    if path == "/review":
        content = content | {"rows": [row | {"items": []} for row in content["rows"]]}
    for leaf in leaves(content, path) if path != "/map" else ():
        text = " ".join(leaf.split())
        assert text in read.text or leaf in read.values, text
    hits = [
        hit
        for part in (content, *content.get("sides", ()))
        for key in ("hits", "close", "alike", "neighbours", "items", "others")
        if isinstance(part.get(key), list)
        for hit in part[key]
    ]
    if path != "/finding":
        found = [a["data-id"] for a in read.all("li", "tr") if "data-id" in a]
        assert found == [hit["id"] for hit in hits]
    for hit in hits:
        assert hit.get("score") is None or f"{hit['score']:.2f}" in read.text
    schema = described["paths"][page.json_path]["get"]["responses"]["200"]["content"]
    schema = schema["application/json"]["schema"] | {"components": described["components"]}
    jsonschema.validate(endpoint.json(), schema)
    # The page links to its JSON endpoint, with the same parameters.
    link = next(a["href"] for a in read.all("link") if a.get("rel") == "alternate")
    assert client.get(link).json() == endpoint.json()


def test_every_page_was_asked():
    assert {path for path, _ in ASKED} == {page.path for page in PAGES}


def test_all_links_lead_somewhere(client):
    seen, waiting = set(), ["/", "/map", "/search?q=photo", f"/label?name={quote(IMAGE)}"]
    while waiting and len(seen) < 150:
        address = waiting.pop()
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200, address
        if answer.headers["content-type"].startswith("text/html"):
            read = Page(answer.text)
            links = [a["href"] for a in read.all("a", "link")] + [
                a["src"] for a in read.all("script")
            ]
            assert all(link.startswith(("/", "#")) and link[1:2] != "/" for link in links), links
            found = {link for link in links if link.startswith("/")} - seen - set(waiting)
            waiting += sorted(found)
    assert len(seen) > 60


def test_search_returns_the_results_of_the_index(client, index):
    given = client.get("/search.json", params={"q": "chess player"}).json()
    found = index.browse("chess player")
    hits = found.page(1, 20)
    assert given["count"] == found.total
    assert [hit["id"] for hit in given["hits"]] == [hit.id for hit in hits]
    assert [hit["title"] for hit in given["hits"]] == [index.item(hit.id).title for hit in hits]
    assert {"chess", "player"} & set(given["hits"][0]["words"])
    assert [hit["score"] for hit in given["hits"]] == pytest.approx(
        [h.score for h in hits], abs=1e-4
    )
    for hit, found in zip(given["hits"], hits, strict=True):
        chosen = [tag.label for tag in index.tag(items=found.id) if tag.chosen]
        expected = [name for name in chosen if name not in (found.labels or ())]
        assert [one["label"] for one in hit["suggested"]] == expected, "only what disagrees"


def test_an_item_is_not_its_own_neighbour_and_unknown_labels_are_null(client):
    given = client.get("/item.json", params={"id": "item10", "k": 100}).json()
    assert given["labels"] is None
    assert "item10" not in [hit["id"] for hit in given["neighbours"]]
    assert "labels not known" in client.get("/item", params={"id": "item10"}).text
    assert "no labels" in client.get("/item", params={"id": "item11"}).text


def test_an_axis_has_items_at_both_ends_and_all_between(client, index):
    told = client.get("/axis.json", params={"number": 1}).json()
    values = dict(zip(index.ids, index.vectors(index.ids)[:, 1], strict=True))
    order = sorted(values, key=values.get)
    assert [one["id"] for one in told["low"]["items"]] == order[:5]
    assert [one["id"] for one in told["high"]["items"]] == order[::-1][:5]
    assert sum(told["bars"]) == len(index)
    assert (told["least"], told["largest"]) == pytest.approx(
        (values[order[0]], values[order[-1]]), abs=1e-4
    )
    assert told["count"] == index.n_dimensions
    # It is reached from an explanation, and not from the menu.
    why = Page(client.get("/why", params={"id": "item6", "q": "chess player"}).text)
    assert any((a.get("href") or "").startswith("/axis?number=") for a in why.all("a"))
    assert "/axis" not in [a.get("href") for a in Page(client.get("/").text).all("a")]


def test_tag_by_address_and_by_form(client, index):
    text = "a picture of a chess board"
    one = client.get("/tag.json", params={"text": text, "k": 3}).json()
    two = client.post("/tag.json", data={"text": text, "k": "3"}).json()
    assert one == two
    tags = index.tag(text, 3)
    assert [(t["label"], t["chosen"]) for t in one["tags"]] == [(t.label, t.chosen) for t in tags]
    assert [t["probability"] for t in one["tags"]] == pytest.approx(
        [t.probability for t in tags], abs=1e-4
    )
    page = Page(client.post("/tag", data={"text": text}).text)
    assert all(tag.label in page.text for tag in tags)
    assert text in page.text, "the text stays in its box"
    # A long text does not make the address of the JSON endpoint too long.
    long = Page(client.post("/tag", data={"text": "chess " * 2000}).text)
    assert all(len(value) < 3000 for value in long.values)


def test_an_index_without_labels_can_be_explored(tmp_path):
    texts = ["chess board", "photo camera", "music radio", "board game", "radio song"]
    SemanticIndex(estimator=LSI(2)).fit(texts).save(tmp_path / "index")
    with explore(tmp_path / "index", drawn=True) as client:
        paths = ["/", "/search?q=board", "/item?id=1", "/map", "/labels", "/axis", "/tag"]
        for path in [*paths, "/search", "/search?show=table", "/review"]:
            assert client.get(path).status_code == 200, path
        refused = client.post("/tag", data={"text": "board"})
        assert refused.status_code == 400
        assert "fitted without labels" in refused.text


# --- the map --------------------------------------------------------------------------------


def test_text_is_sent_compressed(client):
    for path in ("/", "/search.json", "/static/style.css"):
        plain = client.get(path, headers={"accept-encoding": "identity"})
        packed = client.get(path, headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        assert int(packed.headers["content-length"]) < 0.6 * len(plain.content)
        assert packed.content == plain.content


def test_an_item_links_to_the_list_and_to_addresses(tmp_path):
    texts = ["a chess game", "edit photos", "play chess online", "crop a picture"]
    labels = [["game"], ["image"], ["game"], ["image"]]
    metadata = [
        {
            "site": f"https://example.org/{n}?a=1&b=2",
            "kind": "ab"[n % 2],
            "none": None,
            "same": text,
        }
        for n, text in enumerate(texts)
    ]
    index = SemanticIndex(estimator=LSI(2)).fit(texts, labels, metadata=metadata)
    index.save(tmp_path / "index")
    with explore(tmp_path / "index") as client:
        page = Page(client.get("/item", params={"id": "0"}).text)
        links = {a["href"]: a for a in page.all("a")}
        assert links["https://example.org/0?a=1&b=2"]["rel"] == "noopener noreferrer"
        assert "/search?meta=kind%3Da" in links
        assert "None" not in page.text
        assert page.text.count("a chess game") <= 3, "title of the page, heading, neighbours"
        found = client.get("/search.json", params={"meta": "kind=a"}).json()
        assert [hit["id"] for hit in found["hits"]] == ["0", "2"]


def test_points_are_all_items_once(client, index):
    answer = client.get(POINTS)
    points, arrays = read_points(answer.content)
    assert points["ids"] == index.ids
    assert len(points["titles"]) == len(index) == len(arrays["groups"])
    assert arrays["positions"].shape == (2 * len(index),)
    assert abs(arrays["positions"].astype(int)).max() == 32767
    members = np.split(arrays["label_rows"], arrays["label_ends"][1:-1])
    rows_of = dict(zip(points["labels"], members, strict=True))
    assert {name: len(rows) for name, rows in rows_of.items()} == index.labels
    for name, rows in rows_of.items():
        assert all(name in index.item(points["ids"][row]).labels for row in rows)
    # Metadata, to colour and to filter by; the numbers are few enough to be chosen.
    fields = {one["name"]: one["values"] for one in points["fields"] if "values" in one}
    assert points["fields"][2] == {"name": "number", "kind": "number"}
    assert fields == {"year": [str(year) for year in range(2000, 2005)], "free": ["false", "true"]}
    assert arrays["field0"].tolist() == [number % 5 for number in range(len(index))]
    plain = client.get(POINTS, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert answer.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in plain.headers["vary"]
    assert "accept-encoding" in answer.headers["vary"]
    assert plain.content == answer.content
    assert points["titles"][9] == "first line of music"
    assert points["titles"][8] == "item8", "an item without a text"
    first = [region for region in points["regions"] if region["level"] == 0]
    shown = client.get("/map.json").json()["regions"]
    assert [one["name"] for one in first] == [one["name"] for one in shown] != []
    # Who has them need not get them again.
    again = client.get(POINTS, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["vary"] == "accept-encoding"
    assert client.get(POINTS, headers={"if-none-match": '"other"'}).status_code == 200


def test_pages_say_that_the_map_is_being_drawn_or_has_failed(folder, monkeypatch, caplog):
    served = Served(folder)
    with client_of(served) as client:
        assert client.get("/map.json").json()["state"] == "drawing"
        assert "being drawn" in client.get("/map").text
        waiting = client.get(POINTS)
        assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "2")

        def fail(*given, **settings):
            raise ZeroDivisionError("a secret")

        monkeypatch.setattr("labelspan.display.corpus_map.stored_layout", fail)
        with served.lease() as snapshot:
            snapshot.make("map")
        assert "a secret" in caplog.text
        assert client.get("/map.json").json()["state"] == "failed"
        assert client.get(POINTS).status_code == 500
        assert "could not be drawn" in client.get("/map").text
        assert client.get("/search?q=chess").status_code == 200


# --- for everyone ---------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "asked"), [*ASKED, ("/nowhere", {}), ("/item", {})])
def test_pages_have_what_screen_readers_and_keyboards_need(client, path, asked):
    html = client.get(path, params=with_key(client, asked)).text
    page = Page(html)
    assert html.startswith("<!doctype html>")
    assert page.all("html") == [{"lang": "en"}]
    for once in ("h1", "main", "header", "footer", "title"):
        assert len(page.all(once)) == 1, once
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    first = page.all("a")[0]
    assert (first["href"], first["class"]) == ("#content", "skip")
    assert page.all("main")[0]["id"] == "content"
    assert all("aria-label" in nav for nav in page.all("nav"))
    labelled = {a["for"] for a in page.all("label")}
    for control in page.all("input", "select", "textarea"):
        assert control.get("type") == "hidden" or control["id"] in labelled
    assert all(a.get("scope") for a in page.all("th"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    viewport = next(a for a in page.all("meta") if a.get("name") == "viewport")
    assert viewport["content"] == "width=device-width, initial-scale=1"
    # What the content security policy would not let through.
    assert not page.scripts.strip()
    assert not any(name == "style" or name.startswith("on") for _, a in page.elements for name in a)


def test_focus_can_be_seen_and_both_themes_have_every_colour():
    package = Path(__file__).parents[2] / "src" / "labelspan"
    style = (package / "web/static/style.css").read_text()
    assert ":focus-visible { outline: 3px" in style
    style += "".join(path.read_text() for path in (package / "display/static").glob("*.css"))
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", style))
    defined = dict(re.findall(r"--([a-z0-9-]+): light-dark\(([^)]+)\)", style))
    assert used <= defined.keys()

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    pairs = [
        (front, back)
        for front in ("text", "muted", "accent")
        for back in ("ground", "surface", "soft")
    ]
    for theme in (0, 1):
        colour = {name: luminance(v.split(", ")[theme]) for name, v in defined.items()}
        for front, back in [*pairs, ("accent-text", "accent")]:
            high, low = sorted([colour[front], colour[back]], reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (theme, front, back)


def test_values_filter_one_by_one_and_images_only_if_allowed(tmp_path):
    """Of a list each value is a link of its own; an image is a link unless images are allowed."""
    topics = ["chess board", "radio music"] * 6
    where = ["Canada, India", "India", "Peru, Canada", "India, Peru"] * 3
    picture = 'https://elsewhere.example/a.png?x="1&y'
    metadata = [
        {"country": one, "poster": "https://elsewhere.example/a.png?x=1&y", "odd": picture, "n": ""}
        for one in where
    ]
    index = SemanticIndex(estimator=LSI(2)).fit(topics, metadata=metadata)
    index.save(tmp_path / "index")
    for allowed in (False, True):
        with explore(tmp_path / "index", images=allowed) as client:
            got = client.get("/item", params={"id": "0"})
            page, policy = Page(got.text), got.headers["content-security-policy"]
            assert client.get("/item.json?id=0").json()["values"]["country"] == ["Canada", "India"]
            links = [one["href"] for one in page.all("a")]
            for name, count in (("Canada", 6), ("India", 9)):
                (href,) = [one for one in links if one.endswith(f"meta=country%3D{name}")]
                assert client.get(f"/search.json{href[7:]}").json()["count"] == count
            images = page.all("img")
            assert [one["src"] for one in images] == [metadata[0]["poster"]] * allowed
            assert all(one["referrerpolicy"] == "no-referrer" for one in images)
            assert ("http:" in policy) is allowed
            assert metadata[0]["poster"] in links
            assert "http:" not in client.get("/search").headers["content-security-policy"]
