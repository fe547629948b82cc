// A map of a corpus: names, colours, legend, search, facets and lists around a scatter plot.
// The same for the explorer and for a page of its own, which differ in `settings`.
"use strict";
globalThis.CorpusMap = (() => {
  const { element, button, number, plural, shown, isolated } = Dom;
  const { linked } = MapCard;
  const { LISTS, decode } = MapData;
  const MOST_LISTED = 100;
  const MOST_RINGS = 60;

  // settings.search(text, other): a promise of the numbers of matching points;
  // settings.itemAddress(id), labelAddress(name), tableAddress(parameters): links, if there are
  // such pages; settings.about(id): a promise of a text about an item; settings.keep(parameters):
  // called with what the map shows; settings.asked: the same, to begin with; settings.editor(ids):
  // an element that changes the labels of the items that ids() returns.
  const start = (host, read, settings) => {
    const data = MapData.indexed(read);
    const { ids, titles, count, labelsOf } = data;
    const map = element("div", { id: "map", tabIndex: 0 });
    host.replaceChildren(map);
    const scatter = new Scatter(map, data.arrays.positions);
    map.dataset.by = scatter.gl ? "webgl" : "2d";
    const choice = MapChoice.make(data, settings.asked, (corners) => scatter.inside(corners));
    const { filters, rest, isActive, chosenRows } = choice;
    let listed = null; // rows in view, where these are asked for
    let few = null; // rows with a ring

    // --- elements ----------------------------------------------------------------------

    map.setAttribute("role", "group");
    map.setAttribute("aria-label", `Map of ${plural(count, "item")}; arrow keys move it, plus and minus zoom`);
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
    const active = element("ul", { id: "active", className: "chips" });
    active.setAttribute("aria-label", "What is chosen by");
    const actions = element("p", { id: "actions", className: "more" });
    const list = element("div", { id: "chosen" });
    const query = element("input", {
      id: "map-q", className: "q", type: "search", value: filters.q, maxLength: 1000, autocomplete: "off", placeholder: settings.hint,
    });
    const form = element("form", { className: "search", id: "map-search" },
      element("label", { className: "unseen", htmlFor: "map-q" }, "Search the map"), query,
      element("button", { type: "submit" }, "Find"));
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", "On the map");
    const pressed = (id, text, tool) => {
      const made = button(text, () => use(tool), { id });
      made.dataset.tool = tool;
      return made;
    };
    const labelled = (text, name, act, id) => {
      const made = button(text, act, { id });
      made.setAttribute("aria-label", name);
      return made;
    };
    const tools = element("div", { className: "tools" },
      pressed("move", "Move", "move"), pressed("box", "Box", "box"), pressed("lasso", "Lasso", "lasso"),
      labelled("+", "Zoom in", () => scatter.zoomBy(1.5), "closer"),
      labelled("−", "Zoom out", () => scatter.zoomBy(1 / 1.5), "farther"),
      button("Whole map", () => scatter.whole(), { id: "whole" }),
      button("List what is in view", () => listView(), { id: "in-view" }),
      labelled("PNG", "Save as PNG", async () => save("png", await scatter.png(styled("surface"))), "png"),
      labelled("SVG", "Save as SVG", () => save("svg", new Blob([svg()], { type: "image/svg+xml" })), "svg"));
    tools.setAttribute("role", "toolbar");
    tools.setAttribute("aria-label", "Map");
    const item = MapCard.make(map, data, scatter, settings, choice.ownItem);
    const { close, show } = item;
    const facets = MapFacets.make(data, choice, () => update());
    const legend = MapLegend.make(map, data, choice, scatter, () => keep());
    const { styled } = legend;
    const names = MapNames.make(data, scatter, choice, legend);
    // What changes the labels of the chosen items, where that is allowed.
    const editor = settings.editor?.(() => chosenRows().map((row) => ids[row])) ?? element("div");
    const panel = element("aside", { id: "panel" }, form, said, active, actions, editor,
      element("p", { className: "colour" }, element("label", { htmlFor: "colour" }, "Colour by"), legend.menu),
      legend.legend, facets.facets, list);
    panel.setAttribute("aria-label", "Search, colours and chosen items");
    host.replaceChildren(tools, element("div", { className: "map-body" }, map, item.card, panel));

    // --- what is drawn over the points -----------------------------------------------

    const ring = (pen, row, more) => {
      const [x, y] = scatter.place(row);
      pen.beginPath();
      pen.arc(x, y, scatter.size / 2 + more, 0, 2 * Math.PI);
      pen.stroke();
    };
    scatter.overlay = (pen) => {
      if (filters.lasso.length) scatter.outline(pen, filters.lasso);
      pen.strokeStyle = styled("focus");
      pen.lineWidth = 2;
      if (few) for (const row of few) ring(pen, row, 2);
      pen.lineWidth = 3;
      if (item.pointed >= 0) ring(pen, item.pointed, 5);
      names.write(pen);
    };

    // --- lists -------------------------------------------------------------------------

    const WORDS = { label: "only", without: "not", meta: "only", without_meta: "not", range: "only" };
    const drawActive = () => {
      const chips = [];
      const chip = (text, remove) => {
        const made = button("", remove, { className: "label on" });
        const cross = element("span", {}, " ×");
        cross.setAttribute("aria-hidden", "true");
        made.append(isolated(text, 40), element("span", { className: "unseen" }, ", remove"), cross);
        chips.push(element("li", {}, made));
      };
      if (filters.q) chip(`“${filters.q}”`, () => search(""));
      for (const name of LISTS)
        for (const value of filters[name])
          chip(`${WORDS[name]} ${value}`, () => {
            filters[name] = filters[name].filter((one) => one !== value);
            update();
          });
      for (const [name, value] of rest)
        chip(`${name.replace("_", " ")} ${value}`, () => {
          rest.delete(name, value);
          search(filters.q);
        });
      if (filters.lasso.length)
        chip("inside the line", () => {
          filters.lasso = [];
          update();
        });
      active.replaceChildren(...chips);
      active.hidden = !chips.length;
      const table = settings.tableAddress?.(choice.parameters());
      actions.replaceChildren(
        ...(table && (isActive() || !listed) ? [linked(table, "As a list")] : []),
        ...(isActive() || listed ? [button("Clear", clear, { className: "quiet small" })] : []),
      );
    };
    const drawList = (rows) => {
      if (!rows.length) return list.replaceChildren();
      const counts = new Map();
      for (const row of rows) for (const name of labelsOf(row)) counts.set(name, (counts.get(name) ?? 0) + 1);
      const common = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, 10);
      const chips = common.map(([name, size]) => {
        const made = linked(settings.labelAddress?.(name), isolated(name, 34), " ",
          element("span", { className: "count" }, `${Math.round((100 * size) / rows.length)}%`));
        made.className = "label";
        return element("li", {}, made);
      });
      const items = rows.slice(0, MOST_LISTED).map((row) => {
        const address = settings.itemAddress?.(ids[row]);
        const title = address ? linked(address, isolated(titles[row], 120))
          : button("", () => show(row, true), { className: "in" });
        if (!address) title.append(isolated(titles[row], 120));
        const made = element("li", {}, title);
        made.dataset.id = ids[row];
        return made;
      });
      const parts = [element("h2", {}, "Items"), element("ol", {}, ...items)];
      if (chips.length) parts.unshift(element("h2", {}, "Their most frequent labels"), element("ul", { className: "chips" }, ...chips));
      if (rows.length > MOST_LISTED) parts.push(element("p", { className: "none" }, `and ${number(rows.length - MOST_LISTED)} more`));
      return list.replaceChildren(...parts);
    };
    const listView = () => {
      listed = scatter.nearestFirst(Array.from(scatter.inView()).filter((row) => choice.marks[row]));
      said.textContent = listed.length ? `${plural(listed.length, "item")} in view.` : "Nothing is in view.";
      drawActive();
      drawList(listed);
    };
    // After every change of what is chosen.
    const update = () => {
      listed = null;
      choice.choose();
      const rows = isActive() ? chosenRows() : [];
      few = isActive() && rows.length <= MOST_RINGS ? rows : null;
      said.textContent = isActive() ? `${plural(rows.length, "item")} chosen.` : `${plural(count, "item")}.`;
      editor.hidden = !rows.length;
      drawActive();
      facets.draw();
      drawList(rows);
      legend.draw();
      legend.paint();
      keep();
    };
    let turn = 0;
    const search = async (text) => {
      filters.q = query.value = text;
      turn += 1;
      const mine = turn;
      if (!text.trim() && ![...rest].length) choice.found = null;
      else {
        said.textContent = "Searching …";
        const rows = await settings.search(text, rest).catch((error) => error);
        if (mine !== turn) return;
        if (!Array.isArray(rows)) {
          said.textContent = rows.message;
          return;
        }
        choice.found = new Uint8Array(count);
        for (const row of rows) choice.found[row] = 1;
      }
      update();
    };
    const clear = () => {
      for (const name of LISTS) filters[name] = [];
      filters.lasso = [];
      for (const name of [...rest.keys()]) rest.delete(name);
      close();
      search("");
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      search(query.value.trim());
    });

    scatter.onlasso = (corners) => {
      filters.lasso = corners;
      update();
    };

    // --- the address, tools and keys ---------------------------------------------------

    let keeping = 0;
    const keep = () => {
      clearTimeout(keeping);
      keeping = setTimeout(() => settings.keep?.(choice.parameters(scatter)), 60);
    };
    const use = (tool) => {
      scatter.tool = map.dataset.tool = tool;
      for (const one of tools.querySelectorAll("[data-tool]"))
        one.setAttribute("aria-pressed", String(one.dataset.tool === tool));
    };
    const save = (ending, blob) => {
      const address = URL.createObjectURL(blob);
      element("a", { href: address, download: `map.${ending}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    };
    const svg = () => {
      scatter.draw();
      const [w, h] = [scatter.width, scatter.height];
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">
<rect width="100%" height="100%" fill="${styled("surface")}"/>
${scatter.svgPoints()}
${names.svg()}
</svg>
`;
    };
    scatter.onview = () => {
      item.tip.hidden = true;
      keep();
    };
    const KEYS = {
      ArrowLeft: () => scatter.move(-0.1, 0),
      ArrowRight: () => scatter.move(0.1, 0),
      ArrowUp: () => scatter.move(0, 0.1),
      ArrowDown: () => scatter.move(0, -0.1),
      "+": () => scatter.zoomBy(1.5),
      "=": () => scatter.zoomBy(1.5),
      "-": () => scatter.zoomBy(1 / 1.5),
      0: () => scatter.whole(),
      Enter: listView,
      Escape: clear,
    };
    map.addEventListener("keydown", (event) => {
      const act = KEYS[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    use("move");
    legend.watch();
    if (choice.view) {
      const [x, y, zoomed] = choice.view.split(".").map(Number);
      scatter.look(x / Scatter.SCALE, y / Scatter.SCALE, zoomed / 100);
    } else if (item.pointed >= 0) {
      const [x, y] = [scatter.positions[2 * item.pointed], scatter.positions[2 * item.pointed + 1]];
      scatter.look(x / Scatter.SCALE, y / Scatter.SCALE, 3);
    }
    // All points are there at once; what is searched for comes later.
    if (filters.q || [...rest].length) {
      legend.paint();
      facets.draw();
      search(filters.q);
    } else update();
    if (item.pointed >= 0) said.textContent = `“${shown(titles[item.pointed], 80)}” is in the middle.`;
    map.dataset.drawn = "";
    return { scatter, data, show, names: names.all };
  };

  return { decode, start };
})();
