// The page of the map: loads the points, and says how to search and where items have their pages.
"use strict";
(async () => {
  const host = document.getElementById("corpus-map");
  const told = document.getElementById("map-told");
  const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
  while (host.dataset.state === "drawing") {
    await wait(2);
    const answer = await fetch("/map.json").catch(() => null);
    const now = answer?.ok ? await answer.json() : { state: "drawing", percent: 0 };
    if (now.state !== "drawing") location.reload();
    else told.textContent = `The map is being drawn: ${now.percent}%. It will appear here.`;
  }
  if (host.dataset.state !== "ready") return;
  told.textContent = "Loading the points …";
  const answer = await fetch("/map/points.bin").catch(() => null);
  if (!answer?.ok) {
    told.textContent = "The points could not be loaded; load the page again.";
    return;
  }
  const data = CorpusMap.decode(await answer.arrayBuffer());
  told.remove();
  const address = (path, parameters) => {
    const query = new URLSearchParams(parameters).toString();
    return query ? `${path}?${query}` : path;
  };
  const search = async (q, rest) => {
    const parameters = new URLSearchParams(rest);
    if (q) parameters.set("q", q);
    const found = await fetch(address("/map/matches.json", parameters));
    const content = await found.json();
    if (!found.ok) throw new Error(content.detail);
    return content.points;
  };
  const about = async (id) => {
    const found = await fetch(address("/item.json", { id, k: 1 }));
    return (await found.json()).text.split(/\s+/).join(" ");
  };
  // Only an explorer that was started for editing has this script.
  const editing = typeof Edit === "undefined" ? false : await Edit.ready;
  // Labels of what is chosen are changed here, or a label is taught from it.
  const editor = (items) => {
    const box = Edit.editor(items, { shown: () => [], draw: () => {} });
    const teach = Object.assign(document.createElement("button"), { type: "button", className: "quiet small", textContent: "Teach a label from these" });
    teach.addEventListener("click", () => {
      sessionStorage.setItem("labelspan-teach-items", JSON.stringify(items()));
      location.assign("/teach");
    });
    box.append(teach);
    return box;
  };
  window.corpusMap = CorpusMap.start(host, data, {
    hint: "Words or meaning",
    search,
    about,
    itemAddress: (id) => address("/item", { id }),
    labelAddress: (name) => address("/label", { name }),
    tableAddress: (parameters) => address("/search", parameters),
    editor: editing ? editor : null,
    asked: location.search,
    keep: (parameters) => history.replaceState(null, "", address("/map", parameters)),
  });
})();
