// A map of a corpus with its table: names, colours and legend over a scatter plot, bars under it,
// search and results next to it.
// The same for the explorer and for a page of its own, which differ in `settings`.
"use strict";
globalThis.CorpusMap = (() => {
  const { element, button, number, plural, isolated } = Dom;
  const { linked } = MapResults;
  const { LISTS, decode } = MapData;
  const MOST_RINGS = 60;

  // settings.search(text, other): a promise of the numbers of matching points;
  // settings.itemAddress(id), labelAddress(name), tableAddress(parameters): links, if there are
  // such pages; settings.about(id): a promise of a text about an item, and of its nearest items by
  // text and by labels; settings.keep(parameters): called with what the map shows; settings.asked:
  // the same, to begin with; settings.editor(ids): an element that changes the labels of the items
  // that ids() returns; settings.title: of saved pictures.
  const start = (host, read, settings) => {
    const data = MapData.indexed(read);
    const { ids, count } = data;
    const map = element("div", { id: "map", tabIndex: 0 });
    host.replaceChildren(map);
    const scatter = new Scatter(map, data.arrays.positions);
    map.dataset.by = scatter.gl ? "webgl" : "2d";
    const choice = MapChoice.make(data, settings.asked, (corners) => scatter.inside(corners));
    const { filters, rest, isActive, chosenRows } = choice;
    let inView = false; // whether the results are those in view
    let few = null; // rows with a ring
    let ringed = choice.ownItem ? ids.indexOf(choice.ownItem) : -1; // what the pointer or the focus is at

    // --- elements ----------------------------------------------------------------------

    map.setAttribute("role", "group");
    map.setAttribute("aria-label", `Map of ${plural(count, "item")}; arrow keys move it, plus and minus zoom`);
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
    const active = element("ul", { id: "active", className: "chips" });
    active.setAttribute("aria-label", "What is chosen by");
    const actions = element("p", { id: "actions", className: "more" });
    const query = element("input", {
      id: "map-q", className: "q", type: "search", value: filters.q, maxLength: 1000, autocomplete: "off", placeholder: settings.hint,
    });
    const form = element("form", { className: "search", id: "map-search" },
      element("label", { className: "unseen", htmlFor: "map-q" }, "Search the map"), query,
      element("button", { type: "submit" }, "Search"));
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", "On the map");
    const tool = (icon, name) => {
      const made = Icons.button(icon, name, () => use(icon), { id: icon });
      made.dataset.tool = icon;
      return made;
    };
    const viewing = Icons.button("view", "Only what is in view", () => {
      inView = !inView;
      viewing.setAttribute("aria-pressed", String(inView));
      listResults();
    }, { id: "in-view" });
    viewing.setAttribute("aria-pressed", "false");
    const tools = element("div", { className: "tools" },
      tool("move", "Move"), tool("box", "Box"), tool("lasso", "Lasso"),
      Icons.button("closer", "Zoom in", () => scatter.zoomBy(1.5)),
      Icons.button("farther", "Zoom out", () => scatter.zoomBy(1 / 1.5)),
      Icons.button("whole", "Whole map", () => scatter.whole()), viewing,
      Icons.button("picture", "Save picture", () => picture.open()));
    tools.setAttribute("role", "toolbar");
    tools.setAttribute("aria-label", "Map");
    const results = MapResults.make(map, data, scatter, settings, (row) => {
      ringed = row;
      scatter.redraw();
    });
    const { close, show } = results;
    const facets = MapFacets.make(data, choice, () => update());
    const legend = MapLegend.make(map, data, choice, scatter, () => {
      names.follow();
      keep();
    });
    const { styled } = legend;
    const names = MapNames.make(data, scatter, choice, legend);
    const picture = MapPicture.make(scatter, legend, names, () => pictureTitle());
    // What changes the labels of the chosen items, where that is allowed.
    const editor = settings.editor?.(() => chosenRows().map((row) => ids[row])) ?? element("div");
    const key = element("details", { id: "key", open: map.clientWidth > 560 }, element("summary", {}, "Colours"),
      element("p", { className: "colour" }, element("label", { htmlFor: "colour" }, "By"), legend.menu), legend.legend);
    const panel = element("aside", { id: "panel" }, form,
      element("div", { className: "summary" }, said, actions, results.chooser), active, editor, results.host);
    panel.setAttribute("aria-label", "Search and results");
    const plot = element("div", { className: "plot" }, map, tools, key);
    host.replaceChildren(element("div", { className: "map-body" }, plot, panel, facets.facets), picture.dialog);

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
      if (ringed >= 0) ring(pen, ringed, 5);
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
        ...(table ? [linked(table, "As a list")] : []),
        ...(isActive() ? [button("Clear", clear, { className: "quiet small" })] : []),
      );
    };
    // What is chosen, the best match first; or what of it is in view, from the middle on.
    const listResults = () => {
      const chosen = choice.ranked();
      const seen = inView ? scatter.nearestFirst(Array.from(scatter.inView()).filter((row) => choice.marks[row])) : chosen;
      results.list(seen);
      const total = isActive() ? `${number(chosen.length)} of ${plural(count, "item")}` : plural(count, "item");
      said.textContent = inView ? `${number(seen.length)} in view, of ${total}` : total;
    };
    // After every change of what is chosen.
    const update = () => {
      choice.choose();
      listResults();
      const rows = isActive() ? chosenRows() : [];
      few = isActive() && rows.length <= MOST_RINGS ? rows : null;
      editor.hidden = !rows.length;
      drawActive();
      facets.draw();
      legend.draw();
      legend.paint();
      keep();
    };
    let turn = 0;
    const search = async (text) => {
      filters.q = query.value = text;
      turn += 1;
      const mine = turn;
      if (!text.trim() && ![...rest].length) choice.find(null);
      else {
        said.textContent = "Searching …";
        const rows = await settings.search(text, rest).catch((error) => error);
        if (mine !== turn) return;
        if (!Array.isArray(rows)) {
          said.textContent = rows.message;
          return;
        }
        choice.find(rows);
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
    const pictureTitle = () => [settings.title ?? "", filters.q && `“${filters.q}”`, ...filters.label].filter(Boolean).join(", ");
    let moved = 0;
    scatter.onview = () => {
      results.tip.hidden = true;
      keep();
      if (!inView) return;
      clearTimeout(moved);
      moved = setTimeout(listResults, 120);
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
      Enter: () => viewing.click(),
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
    } else if (ringed >= 0) {
      const [x, y] = [scatter.positions[2 * ringed], scatter.positions[2 * ringed + 1]];
      scatter.look(x / Scatter.SCALE, y / Scatter.SCALE, 3);
    }
    // All points are there at once; what is searched for comes later.
    if (filters.q || [...rest].length) {
      legend.paint();
      facets.draw();
      search(filters.q);
    } else update();
    if (ringed >= 0) show(ringed);
    map.dataset.drawn = "";
    return { scatter, data, show, names: names.all };
  };

  return { decode, start };
})();
