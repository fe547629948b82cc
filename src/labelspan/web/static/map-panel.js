// The panel next to the map: selected items, legend, and messages for screen readers.
"use strict";
const panel = (() => {
  const SHOWN = 100;
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const itemAddress = (id) => `/item?${new URLSearchParams({ id })}`;
  const labelAddress = (name) => `/label?${new URLSearchParams({ name })}`;

  const say = (text) => {
    document.getElementById("said").textContent = text;
  };

  // The labels of some points, the most frequent first; `of` has the labels of each point.
  const commonLabels = (rows, of) => {
    const counts = new Map();
    for (const row of rows)
      for (const name of of[row]) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  };

  const list = (rows, points, labelsOf, { what, clear, table }) => {
    const box = document.getElementById("chosen");
    document.getElementById("map-help").hidden = rows.length > 0;
    if (!rows.length) {
      box.replaceChildren();
      say(what === "chosen" ? "Nothing is chosen." : "Nothing is in view.");
      return;
    }
    const labels = commonLabels(rows, labelsOf).slice(0, 10);
    const chips = labels.map(([name, count]) =>
      element(
        "li",
        {},
        element(
          "a",
          { className: "label", href: labelAddress(name) },
          `${name} `,
          element("span", { className: "count" }, `${Math.round((100 * count) / rows.length)}%`),
        ),
      ),
    );
    const items = rows.slice(0, SHOWN).map((row) => {
      const link = element("a", { href: itemAddress(points.ids[row]) }, points.titles[row]);
      const made = element("li", {}, link);
      made.dataset.id = points.ids[row];
      return made;
    });
    const button = element("button", { type: "button", className: "quiet" }, "Clear");
    button.addEventListener("click", clear);
    const parts = [];
    if (table)
      parts.push(element("p", { className: "more" }, element("a", { href: table }, "All of them as a table")));
    if (chips.length)
      parts.push(
        element("h2", {}, "Their most frequent labels"),
        element("ul", { className: "chips" }, ...chips),
      );
    parts.push(element("h2", {}, "Items"), element("ol", {}, ...items));
    if (rows.length > SHOWN)
      parts.push(element("p", { className: "none" }, `and ${(rows.length - SHOWN).toLocaleString("en")} more`));
    box.replaceChildren(button, ...parts);
    say(`${plural(rows.length, "item")} ${what === "chosen" ? "chosen" : "in view"}.`);
  };

  // What an item is, before its page is opened.
  const preview = async (card, id, title, labels, close) => {
    const button = element("button", { type: "button", className: "quiet" }, "Close");
    button.addEventListener("click", close);
    const open = element("a", { className: "button", href: itemAddress(id) }, "Open");
    const text = element("p", { className: "snippet" });
    const chips = labels
      .slice(0, 6)
      .map((name) => element("li", {}, element("a", { className: "label", href: labelAddress(name) }, name)));
    if (labels.length > 6)
      chips.push(element("li", { className: "none" }, `+${(labels.length - 6).toLocaleString("en")}`));
    card.replaceChildren(
      element("h2", {}, title),
      text,
      element("ul", { className: "chips" }, ...chips),
      element("p", { className: "actions" }, open, button),
    );
    card.dataset.id = id;
    card.hidden = false;
    open.focus({ preventScroll: true });
    const answer = await fetch(`/item.json?${new URLSearchParams({ id, k: 1 })}`).catch(() => null);
    if (!answer?.ok || card.dataset.id !== id) return;
    const line = (await answer.json()).text.split(/\s+/).join(" ").trim();
    text.textContent = line.length > 280 ? `${line.slice(0, 280)} …` : line;
  };

  const legend = (entries) => {
    const SVG = "http://www.w3.org/2000/svg";
    const lines = entries.map(({ name, colour, count }) => {
      const mark = document.createElementNS(SVG, "svg");
      const dot = document.createElementNS(SVG, "circle");
      for (const [key, value] of Object.entries({ width: 12, height: 12, "aria-hidden": "true" }))
        mark.setAttribute(key, value);
      for (const [key, value] of Object.entries({ cx: 6, cy: 6, r: 5, fill: colour }))
        dot.setAttribute(key, value);
      mark.append(dot);
      const number = element("span", { className: "count" }, count.toLocaleString("en"));
      return element("li", {}, mark, `${name} `, number);
    });
    const box = document.getElementById("legend");
    box.replaceChildren(...(lines.length ? [element("ul", {}, ...lines)] : []));
  };

  return { element, legend, list, preview, say };
})();
