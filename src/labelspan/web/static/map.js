// The page of the map: loads the points, and says how to search and where items have their pages.
"use strict";
(async () => {
  const host = document.getElementById("corpus-map");
  const told = document.getElementById("map-told");
  const { address, ask, wait } = Dom;
  // Some of the points, on their way to their places.
  const sketch = Dom.element("canvas", { id: "sketch", width: 900, height: 600 });
  sketch.setAttribute("aria-hidden", "true");
  const drawSketch = async () => {
    const answer = await fetch("/map/sketch.bin").catch(() => null);
    const data = answer?.ok ? await answer.arrayBuffer() : new ArrayBuffer(0);
    if (!data.byteLength) return;
    if (!sketch.isConnected) host.append(sketch);
    const places = new Int16Array(data);
    const pen = sketch.getContext("2d");
    pen.clearRect(0, 0, sketch.width, sketch.height);
    pen.fillStyle = getComputedStyle(host).color;
    pen.globalAlpha = 0.45;
    for (let n = 0; n < places.length; n += 2)
      pen.fillRect(450 + (290 * places[n]) / 32767, 300 - (290 * places[n + 1]) / 32767, 2, 2);
  };
  while (host.dataset.state === "drawing") {
    await wait(1);
    await drawSketch();
    const now = await ask("/map.json").catch(() => ({ state: "drawing", percent: 0 }));
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
  const search = async (q, rest) => {
    const parameters = new URLSearchParams(rest);
    if (q) parameters.set("q", q);
    return (await ask(address("/map/matches.json", parameters))).points;
  };
  const about = async (id) => {
    const { text, rest, neighbours, alike } = await ask(address("/item.json", { id, k: 5 }));
    return { text: (rest || text).split(/\s+/).join(" "), byText: alike, byLabels: neighbours };
  };
  // Only an explorer that was started for editing has this script.
  const editing = typeof Edit === "undefined" ? false : await Edit.ready;
  // Labels of what is chosen are changed here, or a label is taught from it.
  const editor = (items) => {
    const box = Edit.editor(items, { shown: () => [], draw: () => {} });
    box.append(Dom.button("Teach a label from these", () => {
      Dom.remember("labelspan-teach-items", items(), true);
      location.assign("/teach");
    }, { className: "quiet small" }));
    return box;
  };
  window.corpusMap = CorpusMap.start(host, data, {
    hint: "Words or meaning",
    title: host.dataset.title,
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
