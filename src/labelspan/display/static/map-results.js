// The table next to a map: what is chosen, ranked; a row is an item, and opens where it is clicked.
"use strict";
globalThis.MapResults = (() => {
  const { element, button, number, plural, shown, isolated } = Dom;
  const { written } = MapData;
  const AT_ONCE = matchMedia("(max-width: 46rem)").matches ? 20 : 100;
  const COLUMNS = "labelspan-map-columns"; // what this browser shows

  const linked = (address, ...children) => (address ? element("a", { href: address }, ...children) : element("span", {}, ...children));

  // `settings` are those of the map; `ring(row)` marks a point, -1 none.
  const make = (map, data, scatter, settings, ring) => {
    const { ids, titles, labelsOf, metadataOf, fields, arrays } = data;
    const numbers = new Map(ids.map((id, row) => [id, row]));
    const tip = element("div", { id: "tip", hidden: true });
    map.append(tip);
    const table = element("table", { className: "items", id: "results" });
    const more = element("p", { className: "more" });
    const chooser = element("details", { className: "menu", id: "columns" });
    const host = element("div", { id: "chosen" }, table, more);
    let rows = [];
    let order = { field: "", down: false };
    let many = AT_ONCE;
    let pointed = -1; // the item whose row is open

    // --- columns -----------------------------------------------------------------------

    const every = ["Labels", ...fields.map(({ name }) => name)];
    let columns = Dom.remembered(COLUMNS)?.filter((name) => every.includes(name)) ?? every.slice(0, 2);
    const drawChooser = () => {
      const lines = every.map((name) => {
        const box = element("input", { type: "checkbox", checked: columns.includes(name) });
        box.addEventListener("change", () => {
          columns = every.filter((one) => (one === name ? box.checked : columns.includes(one)));
          Dom.remember(COLUMNS, columns);
          draw();
        });
        return element("li", {}, element("label", {}, box, " ", isolated(name, 40)));
      });
      chooser.replaceChildren(element("summary", {}, "Columns"), element("ul", {}, ...lines));
    };

    // --- rows --------------------------------------------------------------------------

    const shownValue = (row, n) => {
      const { values, kind } = fields[n];
      const value = arrays[`field${n}`][row];
      if (values) return value < 0 ? "" : values[value];
      return Number.isNaN(value) ? "" : written(value, kind);
    };
    const chip = (name) => {
      const made = linked(settings.labelAddress?.(name), isolated(name, 34));
      made.className = "label";
      return element("li", {}, made);
    };
    const chips = (names, most) => {
      const rest = names.length - most;
      return element("ul", { className: "chips" }, ...names.slice(0, most).map(chip), ...(rest > 0 ? [element("li", { className: "none" }, `+${number(rest)}`)] : []));
    };
    const cell = (row, name) => {
      if (name === "Labels") return element("td", { className: "own" }, chips(labelsOf(row), 2));
      const n = data.fieldNumber.get(name);
      const made = element("td", { className: fields[n].values ? "value" : "number" }, isolated(shownValue(row, n), 60));
      made.dataset.name = name;
      return made;
    };
    const line = (row) => {
      const title = button("", () => (pointed === row ? close() : show(row)), { className: "in" });
      title.append(isolated(titles[row], 120));
      title.setAttribute("aria-expanded", String(pointed === row));
      const head = element("th", { scope: "row" }, title);
      const made = element("tr", {}, head, ...columns.map((name) => cell(row, name)));
      made.dataset.id = ids[row];
      for (const [name, on] of [["pointerenter", row], ["focusin", row], ["pointerleave", -1], ["focusout", -1]])
        made.addEventListener(name, () => ring(on < 0 ? pointed : on));
      return pointed === row ? [made, opened(row)] : [made];
    };
    const sorted = () => {
      if (!order.field) return rows;
      const { field, down } = order;
      const n = data.fieldNumber.get(field);
      const key = field === "Title" ? (row) => titles[row].toLowerCase() : field === "Labels" ? (row) => labelsOf(row).length : fields[n].values ? (row) => shownValue(row, n) : (row) => arrays[`field${n}`][row];
      const missing = (value) => value === "" || Number.isNaN(value);
      return rows.map((row) => [key(row), row]).sort(([a], [b]) => {
        // What is missing stands last in both directions.
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        const way = typeof a === "string" ? a.localeCompare(b) : a - b;
        return down ? -way : way;
      }).map(([, row]) => row);
    };
    const heading = (name) => {
      const on = order.field === name;
      const press = button(`${shown(name, 24)}${on ? (order.down ? " ▼" : " ▲") : ""}`, () => {
        // Up, down, and as they were found.
        order = on && order.down ? { field: "", down: false } : { field: name, down: on };
        draw();
      }, { className: "in" });
      const made = element("th", { scope: "col", className: name === "Labels" ? "own" : "" }, press);
      if (on) made.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      return made;
    };
    const draw = () => {
      const every_ = sorted();
      const part = every_.slice(0, many);
      // An item that is open is shown, too, where it is not among the first.
      if (pointed >= 0 && !part.includes(pointed)) part.unshift(pointed);
      const caption = element("caption", { className: "unseen" }, "Items");
      table.replaceChildren(caption,
        element("thead", {}, element("tr", {}, ...["Title", ...columns].map(heading))),
        element("tbody", {}, ...part.flatMap(line)));
      table.hidden = !part.length;
      const left = every_.length - Math.min(many, every_.length);
      more.replaceChildren(...(left ? [button(`${number(Math.min(left, AT_ONCE))} more of ${number(left)}`, () => {
        many += AT_ONCE;
        draw();
      }, { className: "quiet small" })] : []));
    };

    // --- the open row ------------------------------------------------------------------

    const nearest = (title, found) => {
      if (!found?.length) return [];
      const lines = found.map(({ id, title: name }) => {
        const row = numbers.get(id);
        const made = button("", () => show(row, true), { className: "in" });
        made.append(isolated(name, 90));
        for (const [event, on] of [["pointerenter", row], ["pointerleave", -1], ["focus", row], ["blur", -1]]) made.addEventListener(event, () => ring(on < 0 ? pointed : on));
        return element("li", {}, made);
      });
      return [element("div", {}, element("h2", {}, title), element("ul", {}, ...lines))];
    };
    const opened = (row) => {
      const text = element("p", { className: "snippet" });
      const near = element("div", { className: "nearest" });
      const own = metadataOf(row).flatMap(([name, value]) => [element("dt", {}, shown(name)), element("dd", {}, isolated(value, 80))]);
      const address = settings.itemAddress?.(ids[row]);
      const made = element("td", { colSpan: 1 + columns.length }, ...(ids[row] === titles[row] ? [] : [element("p", { className: "id" }, isolated(ids[row], 80))]),
        text, chips(labelsOf(row), 12), ...(own.length ? [element("dl", {}, ...own)] : []), near,
        element("p", { className: "actions" }, ...(address ? [element("a", { className: "button small", href: address }, "Open")] : []),
          button("Show on the map", () => look(row), { className: "quiet small" }), button("Close", close, { className: "quiet small" })));
      settings.about?.(ids[row]).then((found) => {
        text.textContent = shown(found.text, 420);
        near.replaceChildren(...nearest("Nearest by text", found.byText), ...nearest("Nearest by labels", found.byLabels));
      }, (error) => {
        text.textContent = error.message;
      });
      return element("tr", { className: "opened", id: "card" }, made);
    };
    const look = (row) => scatter.look(scatter.positions[2 * row] / Scatter.SCALE, scatter.positions[2 * row + 1] / Scatter.SCALE, Math.max(scatter.zoom, 3));
    const close = () => {
      const last = pointed;
      pointed = -1;
      ring(-1);
      draw();
      if (last >= 0) table.querySelector(`[data-id="${CSS.escape(ids[last])}"] button`)?.focus({ preventScroll: true });
    };
    const show = (row, move = false) => {
      tip.hidden = true;
      if (row < 0) return close();
      pointed = row;
      if (move) look(row);
      ring(row);
      draw();
      const head = table.querySelector(`[data-id="${CSS.escape(ids[row])}"]`);
      head.querySelector("button").focus({ preventScroll: true });
      head.scrollIntoView({ block: "nearest" });
      head.nextElementSibling.scrollIntoView({ block: "nearest" });
      return undefined;
    };
    scatter.onclick = show;
    scatter.onhover = (row, sx, sy) => {
      tip.hidden = row < 0;
      map.classList.toggle("over", row >= 0);
      if (row < 0) return;
      const own = labelsOf(row);
      const rest = own.length > 4 ? `, and ${own.length - 4} more` : "";
      tip.replaceChildren(element("strong", {}, isolated(titles[row], 140)));
      if (own.length) tip.append(element("span", { className: "labels" }, element("bdi", {}, own.slice(0, 4).map((name) => shown(name)).join(", ") + rest)));
      const far = sx > scatter.width / 2;
      tip.style.left = far ? "" : `${sx + 14}px`;
      tip.style.right = far ? `${scatter.width - sx + 14}px` : "";
      tip.style.top = `${Math.min(sy + 14, scatter.height - 60)}px`;
    };
    drawChooser();
    return {
      host, chooser, tip, show, close,
      // Rows of the data in the order of their rank.
      list: (found) => {
        rows = found;
        many = AT_ONCE;
        draw();
      },
      count: () => plural(rows.length, "item"),
    };
  };

  return { make, linked };
})();
