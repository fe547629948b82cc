// A map in a page of its own: the points are in the page, and words are looked for in names.
"use strict";
{
  const text = document.getElementById("points").innerHTML.trim();
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const data = CorpusMap.decode(bytes.buffer);
  let names = null;
  const search = async (q) => {
    names ??= data.ids.map((id, row) => `${id}\n${data.titles[row]}`.toLowerCase());
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    return data.ids.map((_, row) => row).filter((row) => words.every((word) => names[row].includes(word)));
  };
  const asked = location.hash.slice(1);
  const keep = (parameters) => history.replaceState(null, "", `#${parameters}`);
  CorpusMap.start(document.getElementById("corpus-map"), data, { hint: "Words of ids and titles", search, asked, keep, title: document.title });
}
