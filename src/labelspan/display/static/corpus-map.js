// A map of a corpus: names, colours, legend, search, facets and lists around a scatter plot.
// The same for the explorer and for a page of its own, which differ in `settings`.
"use strict";
const CorpusMap = (() => {
  // For numbers, from small to large; lightness grows or falls all along.
  const RAMPS = {
    light: ["#2c1b66", "#23568f", "#1f8a84", "#78a832", "#d9a300"],
    dark: ["#5a5fc4", "#3f8fc9", "#45bfa0", "#a9d65c", "#ffe14d"],
  };
  const MOST_LISTED = 100;
  const MOST_IN_MENU = 400;
  const MOST_RINGS = 60;
  const MOST_TITLES = 250;
  // Entries of a facet and of the legend before "more" is asked for.
  const FEW = 8;
  const FEW_COLOURS = 12;
  const MOST_FACETS = 200;
  const LISTS = ["label", "without", "meta", "without_meta", "range"];
  const BINS = 20;

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const button = (text, act, properties = {}) => {
    const made = element("button", { type: "button", ...properties }, text);
    made.addEventListener("click", act);
    return made;
  };
  const number = (value) => value.toLocaleString("en");
  const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

  // A name on one line, cut, and without characters that turn or hide what stands around it.
  const CONTROLS = /[\s\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;
  const shown = (name, most = 40) => {
    const characters = [...name.replace(CONTROLS, " ").trim()];
    return characters.length > most ? `${characters.slice(0, most - 1).join("").trim()}…` : characters.join("");
  };
  const isolated = (name, most) => element("bdi", { title: name.length > most ? shown(name, 400) : "" }, shown(name, most));

  // --- data ----------------------------------------------------------------------------

  const KINDS = { int16: Int16Array, uint32: Uint32Array, float32: Float32Array };
  // See labelspan.display.map_data for the format.
  const decode = (buffer) => {
    const length = new DataView(buffer).getUint32(4, true);
    const data = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    let at = 8 + length;
    const arrays = {};
    for (const [name, kind, size] of data.arrays) {
      arrays[name] = new KINDS[kind](buffer, at, size);
      at += 4 * Math.ceil((size * KINDS[kind].BYTES_PER_ELEMENT) / 4);
    }
    return { ...data, arrays };
  };

  // The labels of each item, from the items of each label.
  const labelsByItem = ({ ids, labels, arrays }) => {
    const { label_ends: ends, label_rows: rows } = arrays;
    const starts = new Uint32Array(ids.length + 1);
    for (const row of rows) starts[row + 1] += 1;
    for (let row = 0; row < ids.length; row += 1) starts[row + 1] += starts[row];
    const at = starts.slice();
    const numbers = new Uint32Array(rows.length);
    for (let label = 0; label < labels.length; label += 1)
      for (let n = ends[label]; n < ends[label + 1]; n += 1) {
        numbers[at[rows[n]]] = label;
        at[rows[n]] += 1;
      }
    return (row) => Array.from(numbers.subarray(starts[row], starts[row + 1]), (label) => labels[label]);
  };

  // A fixed order in which no group of points hides another.
  const shuffled = (count) => {
    const order = Uint32Array.from({ length: count }, (_, n) => n);
    let seed = 1;
    for (let n = count - 1; n > 0; n -= 1) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const other = seed % (n + 1);
      [order[n], order[other]] = [order[other], order[n]];
    }
    return order;
  };

  const written = (value, kind) =>
    kind === "date" ? new Date(864e5 * value).toISOString().slice(0, 10) : String(Number(value.toPrecision(7)));
  // The number that a text stands for; of a year or a month, its first or last day.
  const valueOf = (text, kind, last) => {
    if (kind !== "date") return Number(text);
    const [year, month, day] = text.split("-").map(Number);
    if (day) return Date.UTC(year, month - 1, day) / 864e5;
    const start = Date.UTC(year, (month || 1) - 1, 1);
    return (last ? Date.UTC(month ? year : year + 1, month || 0, 0) : start) / 864e5;
  };

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const between = (ramp, share) => {
    const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
    const low = Math.min(ramp.length - 2, Math.floor(at));
    return ramp[low].map((value, n) => value + (at - low) * (ramp[low + 1][n] - value));
  };

  // --- the page ------------------------------------------------------------------------

  // settings.search(text, other): a promise of the numbers of matching points;
  // settings.itemAddress(id), labelAddress(name), tableAddress(parameters): links, if there are
  // such pages; settings.about(id): a promise of a text about an item; settings.keep(parameters):
  // called with what the map shows; settings.asked: the same, to begin with; settings.editor(ids):
  // an element that changes the labels of the items that ids() returns.
  const start = (host, data, settings) => {
    const { ids, titles, labels, regions, groups, fields, palettes, arrays } = data;
    const count = ids.length;
    const labelsOf = labelsByItem(data);
    const labelNumber = new Map(labels.map((name, n) => [name, n]));
    const fieldNumber = new Map(fields.map((field, n) => [field.name, n]));
    const mixed = shuffled(count);
    const membersOf = (name) => {
      const n = labelNumber.get(name);
      return n === undefined ? [] : arrays.label_rows.subarray(arrays.label_ends[n], arrays.label_ends[n + 1]);
    };
    const labelCounts = labels.map((_, n) => arrays.label_ends[n + 1] - arrays.label_ends[n]);

    // --- what is shown -----------------------------------------------------------------

    const asked = new URLSearchParams(settings.asked);
    const take = (name) => {
      const values = asked.getAll(name);
      asked.delete(name);
      return values;
    };
    const colourBy = { label: take("colour")[0] ?? "", meta: take("colour_meta")[0] ?? "" };
    const view = take("view")[0] ?? "";
    const ownItem = take("item")[0] ?? "";
    const filters = { q: take("q")[0] ?? "", lasso: [] };
    // A value that is not known here, because it is rare, is left to the search.
    const rest = new URLSearchParams();
    const described = (pair) => {
      for (const [name, n] of fieldNumber) {
        const value = fields[n].values?.indexOf(pair.slice(name.length + 1)) ?? -1;
        if (pair.startsWith(`${name}=`) && value >= 0) return { field: n, value };
      }
      return null;
    };
    // A range of numbers or dates, as key:low..high.
    const ranged = (text) => {
      const cut = text.lastIndexOf(":");
      const field = fieldNumber.get(text.slice(0, cut));
      const [low, high] = text.slice(cut + 1).split("..");
      if (cut < 0 || high === undefined || !fields[field] || fields[field].values) return null;
      const end = (value, last, missing) => (value ? Math.fround(valueOf(value, fields[field].kind, last)) : missing);
      return { field, ends: [low, high], low: end(low, false, -Infinity), high: end(high, true, Infinity) };
    };
    for (const name of LISTS) {
      const values = take(name);
      const known = (value) => (name === "range" ? ranged(value) : name.endsWith("meta") ? described(value) : labelNumber.has(value));
      filters[name] = values.filter(known);
      for (const value of values.filter((one) => !known(one))) rest.append(name, value);
    }
    const lasso = take("lasso")[0] ?? "";
    if (lasso) filters.lasso = lasso.split("_").map((corner) => corner.split(".").map(Number));
    for (const [name, value] of asked) rest.append(name, value);
    let found = null; // what the search has found, as marks
    let listed = null; // rows in view, where these are asked for
    const hidden = new Set(); // codes of the legend
    const opened = new Set(); // parts of the panel that are unfolded
    let colouring = null;

    const isActive = () =>
      Boolean(filters.q || filters.lasso.length || [...rest].length || LISTS.some((name) => filters[name].length));
    const parameters = (all = true) => {
      const made = new URLSearchParams(rest);
      if (filters.q) made.set("q", filters.q);
      for (const name of LISTS) for (const value of filters[name]) made.append(name, value);
      if (filters.lasso.length) made.set("lasso", filters.lasso.map((corner) => corner.join(".")).join("_"));
      if (!all) return made;
      if (ownItem) made.set("item", ownItem);
      if (colourBy.label) made.set("colour", colourBy.label);
      if (colourBy.meta) made.set("colour_meta", colourBy.meta);
      const [x, y] = [scatter.x, scatter.y].map((value) => Math.round(value * Scatter.SCALE));
      const [mx, my] = scatter.middle.map((value) => value * Scatter.SCALE);
      const zoomed = Math.round(100 * scatter.zoom);
      if (Math.abs(zoomed - 100) > 1 || Math.hypot(x - mx, y - my) > 200) made.set("view", `${x}.${y}.${zoomed}`);
      return made;
    };
    const marks = new Uint8Array(count).fill(1);
    const choose = () => {
      if (found) marks.set(found);
      else marks.fill(1);
      const only = (rows) => {
        for (const row of rows) marks[row] |= 2;
        for (let row = 0; row < count; row += 1) marks[row] = marks[row] === 3 ? 1 : 0;
      };
      const without = (rows) => {
        for (const row of rows) marks[row] = 0;
      };
      const valued = (pair) => {
        const { field, value } = described(pair);
        return mixed.filter((row) => arrays[`field${field}`][row] === value);
      };
      for (const name of filters.label) only(membersOf(name));
      for (const name of filters.without) without(membersOf(name));
      // Several values of a field are alternatives.
      for (const [, pairs] of Map.groupBy(filters.meta, (pair) => described(pair).field)) only(pairs.flatMap((pair) => Array.from(valued(pair))));
      for (const text of filters.range) {
        const { field, low, high } = ranged(text);
        only(mixed.filter((row) => arrays[`field${field}`][row] >= low && arrays[`field${field}`][row] <= high));
      }
      for (const pair of filters.without_meta) without(valued(pair));
      if (filters.lasso.length) {
        const inside = scatter.inside(filters.lasso);
        for (let row = 0; row < count; row += 1) marks[row] &= inside[row];
      }
    };
    const chosenRows = () => {
      const rows = [];
      for (let row = 0; row < count; row += 1) if (marks[row]) rows.push(row);
      return rows;
    };

    // --- elements ----------------------------------------------------------------------

    const map = element("div", { id: "map", tabIndex: 0 });
    map.setAttribute("role", "group");
    map.setAttribute("aria-label", `Map of ${plural(count, "item")}; arrow keys move it, plus and minus zoom`);
    const tip = element("div", { id: "tip", hidden: true });
    const card = element("section", { id: "card", hidden: true });
    card.setAttribute("aria-label", "Chosen item");
    const said = element("p", { id: "said" });
    said.setAttribute("role", "status");
    const menu = element("select", { id: "colour" });
    const legend = element("div", { id: "legend" });
    const active = element("ul", { id: "active", className: "chips" });
    active.setAttribute("aria-label", "What is chosen by");
    const actions = element("p", { id: "actions", className: "more" });
    const facets = element("div", { id: "facets" });
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
    // What changes the labels of the chosen items, where that is allowed.
    const editor = settings.editor?.(() => chosenRows().map((row) => ids[row])) ?? element("div");
    const panel = element("aside", { id: "panel" }, form, said, active, actions, editor,
      element("p", { className: "colour" }, element("label", { htmlFor: "colour" }, "Colour by"), menu),
      legend, facets, list);
    panel.setAttribute("aria-label", "Search, colours and chosen items");
    host.replaceChildren(tools, element("div", { className: "map-body" }, map, card, panel));

    const scatter = new Scatter(map, arrays.positions);
    map.append(tip);
    map.dataset.by = scatter.gl ? "webgl" : "2d";

    // --- colours -----------------------------------------------------------------------

    const root = document.documentElement;
    const systemDark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => ((root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches) ? "dark" : "light");
    const probe = element("span", { hidden: true });
    host.append(probe);
    // A colour of the style sheet as the browser computes it.
    const computed = new Map();
    const styled = (name) => {
      if (!computed.has(name)) {
        probe.style.color = `var(--${name})`;
        computed.set(name, getComputedStyle(probe).color);
      }
      return computed.get(name);
    };
    const colours = (table) => table[theme()].map(rgb);

    const readColouring = () => {
      const palette = colours(palettes);
      const categories = (codes, names, other) => {
        const counts = new Map();
        for (const code of codes) {
          const own = code < palette.length ? code : -1;
          counts.set(own, (counts.get(own) ?? 0) + 1);
        }
        const entries = names.slice(0, palette.length).map((name, code) => ({ name, code, count: counts.get(code) ?? 0 }));
        entries.sort((a, b) => b.count - a.count);
        if (counts.has(-1)) entries.push({ name: other, code: -1, count: counts.get(-1), other: true });
        return {
          entries: entries.filter((entry) => entry.count),
          code: (row) => (codes[row] < palette.length ? codes[row] : -1),
          colour: (row) => palette[codes[row]],
          css: (code) => (code < 0 ? styled("point") : `rgb(${palette[code].join(" ")})`),
        };
      };
      if (colourBy.label) {
        const codes = new Int16Array(count).fill(-1);
        for (const row of membersOf(colourBy.label)) codes[row] = 0;
        return categories(codes, [colourBy.label], "without it");
      }
      const n = fieldNumber.get(colourBy.meta);
      if (n === undefined) return categories(arrays.groups, groups, "other");
      const values = arrays[`field${n}`];
      if (fields[n].values) return categories(values, fields[n].values, "other, or none");
      // The few smallest and largest numbers do not decide about the colours of all others.
      const sorted = values.filter((value) => !Number.isNaN(value)).sort();
      const [low, high] = [0.02, 0.98].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
      const ramp = colours(RAMPS);
      return {
        range: [low, high, sorted[0], sorted[sorted.length - 1]],
        kind: fields[n].kind,
        ramp,
        code: (row) => (Number.isNaN(values[row]) ? -1 : 0),
        colour: (row) => between(ramp, (values[row] - low) / (high - low || 1)),
      };
    };
    const paint = () => {
      const shades = new Uint8Array(4 * count);
      const grey = styled("point").match(/[\d.]+/g).map(Number);
      const [strong, usual, faint] = isActive() ? [235, 200, 28] : [190, 110, 28];
      const layers = [[], [], []];
      for (const row of mixed) {
        const code = colouring.code(row);
        if (hidden.has(code)) continue;
        const known = marks[row] && code >= 0;
        const [r, g, b] = known ? colouring.colour(row) : grey;
        shades.set([r, g, b, marks[row] ? (known ? strong : usual) : faint], 4 * row);
        layers[marks[row] ? (known ? 2 : 1) : 0].push(row);
      }
      scatter.lineColour = styled("focus");
      scatter.paint(shades, Uint32Array.from(layers.flat()), isActive() ? layers[0].length : undefined);
    };
    const drawLegend = () => {
      const main = !colourBy.label && !colourBy.meta;
      const about = element("p", { className: "more", hidden: !main || !groups.length }, "A point has the colour of one of its labels, its main label: the one most typical of its place on the map. So fewer points have a colour than items have the label.");
      if (colouring.range) {
        const bar = element("div", { className: "ramp" });
        bar.style.background = `linear-gradient(to right, ${colouring.ramp.map((one) => `rgb(${one.join(" ")})`).join(", ")})`;
        const [low, high, first, last] = colouring.range;
        const ends = [
          (first < low ? "≤ " : "") + written(low, colouring.kind),
          (last > high ? "≥ " : "") + written(high, colouring.kind),
        ];
        legend.replaceChildren(bar, element("p", { className: "ends-of-ramp" }, ...ends.map((end) => element("span", {}, end))));
        return;
      }
      // Of the items that are chosen.
      const chosen = new Map();
      for (let row = 0; row < count; row += 1) if (marks[row]) chosen.set(colouring.code(row), (chosen.get(colouring.code(row)) ?? 0) + 1);
      const lines = colouring.entries.map(({ name, code, count: size, other }) => {
        const mark = element("span", { className: "swatch" });
        mark.style.background = colouring.css(code);
        const text = other ? element("span", { className: "none" }, name) : isolated(name, 40);
        const made = button("", () => {
          if (!hidden.delete(code)) hidden.add(code);
          made.setAttribute("aria-pressed", String(!hidden.has(code)));
          toggleAll.textContent = hidden.size ? "Show all" : "Hide all";
          paint();
        });
        made.append(mark, text, " ", element("span", { className: "count" }, isActive() ? `${number(chosen.get(code) ?? 0)} of ${number(size)}` : number(size)));
        made.setAttribute("aria-pressed", String(!hidden.has(code)));
        return element("li", {}, made);
      });
      const toggleAll = button(hidden.size ? "Show all" : "Hide all", () => {
        if (hidden.size) hidden.clear();
        else for (const { code } of colouring.entries) hidden.add(code);
        drawLegend();
        paint();
      }, { className: "quiet small", id: "toggle-all" });
      toggleAll.hidden = lines.length < 3;
      const most = opened.has("legend") ? lines.length : FEW_COLOURS;
      const more = button(`${lines.length - most} more`, () => {
        opened.add("legend");
        drawLegend();
      }, { className: "quiet small", hidden: lines.length <= most });
      legend.replaceChildren(element("ul", {}, ...lines.slice(0, most)), more, " ", toggleAll, about);
    };
    const recolour = () => {
      computed.clear();
      colouring = readColouring();
      drawLegend();
      paint();
    };
    const fillMenu = () => {
      const option = (value, text) => element("option", { value, selected: value === menu.dataset.now }, shown(text, 60));
      menu.dataset.now = colourBy.label ? `l${colourBy.label}` : colourBy.meta ? `m${colourBy.meta}` : "";
      const group = (label, options) => (options.length ? [element("optgroup", { label }, ...options)] : []);
      const order = labels.map((_, n) => n).sort((a, b) => labelCounts[b] - labelCounts[a]);
      const some = order.filter((n, rank) => rank < MOST_IN_MENU || labels[n] === colourBy.label);
      menu.replaceChildren(
        option("", "main labels"),
        ...group("Metadata", fields.map(({ name }) => option(`m${name}`, name))),
        ...group("Labels", some.map((n) => option(`l${labels[n]}`, `${shown(labels[n])} (${number(labelCounts[n])})`))),
      );
    };
    menu.addEventListener("change", () => {
      colourBy.label = menu.value.startsWith("l") ? menu.value.slice(1) : "";
      colourBy.meta = menu.value.startsWith("m") ? menu.value.slice(1) : "";
      hidden.clear();
      recolour();
      keep();
    });

    // --- names -------------------------------------------------------------------------

    const FONTS = { name: "600 13px", large: "600 15px", title: "12px" };
    const SMALL_FONTS = { name: "600 11px", large: "600 12px", title: "11px" };
    const font = (name) => `${(scatter.width < 520 ? SMALL_FONTS : FONTS)[name]} system-ui, sans-serif`;
    const widths = new Map();
    const width = (pen, text, style) => {
      const key = `${style}\n${text}`;
      if (!widths.has(key)) {
        pen.font = style;
        if (widths.size > 20000) widths.clear();
        widths.set(key, pen.measureText(text).width);
      }
      return widths.get(key);
    };
    const largest = new Set(regions.filter(({ level, kind }) => level === 0 && kind === "label").slice(0, 10));
    const codeOfName = new Map(groups.map((name, code) => [name, code < palettes.light.length ? code : -1]));
    let texts = []; // what is written, for SVG
    const write = (pen) => {
      texts = [];
      const seen = new Set();
      const [w, h] = [scatter.width, scatter.height];
      const place = (text, x, y, style, align, colour) => {
        const long = width(pen, text, style);
        const left = align === "center" ? Math.max(4, Math.min(w - 4 - long, x - long / 2)) : x;
        const box = [left - 3, y - 9, left + long + 3, y + 9];
        // A name is whole or not there.
        if ((box[2] > w && align !== "center") || box[1] < 0 || box[3] > h) return false;
        if (texts.some(({ box: o }) => o[0] < box[2] && box[0] < o[2] && o[1] < box[3] && box[1] < o[3])) return false;
        texts.push({ text, left, y, font: style, colour, box });
        return true;
      };
      const deepest = Math.log2(scatter.zoom) + 0.5;
      for (const region of regions) {
        if (region.level > deepest) break;
        const [x, y] = scatter.toScreen(region.x, region.y);
        if (x < 0 || y < 12 || x > w || y > h - 12) continue;
        if (!colourBy.label && !colourBy.meta && hidden.has(codeOfName.get(region.name))) continue;
        const name = shown(region.name, 32);
        const key = name.toLowerCase().replace(/s$/, "");
        if (seen.has(key)) continue;
        const text = region.kind === "word" ? `“${name}”` : name;
        const style = font(largest.has(region) ? "large" : "name");
        // Where another name is in the way, above or below.
        if ([0, -18, 18].some((off) => place(text, x, y + off, style, "center", "text"))) seen.add(key);
      }
      if (scatter.zoom > 1.5) {
        const rows = scatter.inView().filter((row) => marks[row]);
        if (rows.length <= MOST_TITLES)
          for (const row of scatter.nearestFirst(rows)) {
            const [x, y] = scatter.place(row);
            place(shown(titles[row], 44), x + scatter.size / 2 + 4, y, font("title"), "left", "muted");
          }
      }
      pen.textBaseline = "middle";
      pen.lineJoin = "round";
      pen.lineWidth = 4;
      pen.strokeStyle = styled("surface");
      for (const { text, left, y, font: style, colour } of texts) {
        pen.font = style;
        pen.fillStyle = styled(colour);
        // Isolated, so that its own direction does not move it.
        pen.strokeText(`\u2068${text}\u2069`, left, y);
        pen.fillText(`\u2068${text}\u2069`, left, y);
      }
    };
    let pointed = ids.indexOf(ownItem);
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
      if (pointed >= 0) ring(pen, pointed, 5);
      write(pen);
    };
    let few = null;

    // --- lists and facets --------------------------------------------------------------

    const linked = (address, ...children) =>
      address ? element("a", { href: address }, ...children) : element("span", {}, ...children);
    const filterBy = (name, value) => {
      if (!filters[name].includes(value)) filters[name].push(value);
      update();
    };
    // `entries` are a value, what is written for it, and the number of items.
    const facet = (title, entries, include, exclude) => {
      const left = entries.filter(([value, , size]) => size && !filters[include].includes(value));
      if (!left.length) return [];
      left.sort((a, b) => b[2] - a[2] || (a[1] < b[1] ? -1 : 1));
      const most = opened.has(`${title}\nmore`) ? MOST_FACETS : FEW;
      const lines = left.slice(0, most).map(([value, text, size]) => {
        const add = button("", () => filterBy(include, value), { className: "in" });
        add.append(isolated(text || "(empty)", 34));
        const drop = button("−", () => filterBy(exclude, value), { className: "out" });
        drop.setAttribute("aria-label", `without ${shown(text)}`);
        return element("li", {}, add, " ", element("span", { className: "count" }, number(size)), drop);
      });
      const made = element("details", { open: opened.has(title) }, element("summary", {}, shown(title)), element("ul", {}, ...lines));
      if (left.length > most)
        made.append(button(`${number(left.length - most)} more`, () => {
          opened.add(`${title}\nmore`);
          drawFacets();
        }, { className: "quiet small" }));
      made.addEventListener("toggle", () => (made.open ? opened.add(title) : opened.delete(title)));
      return [made];
    };
    const rangeFacet = (name, kind, values) => {
      let [least, largest] = [Infinity, -Infinity];
      for (let row = 0; row < count; row += 1)
        if (marks[row] && values[row] <= Infinity) [least, largest] = [Math.min(least, values[row]), Math.max(largest, values[row])];
      if (!(least < largest)) return [];
      const whole = kind === "date" || values.every((value) => Number.isNaN(value) || Number.isInteger(value));
      const step = whole ? Math.ceil((largest - least + 1) / BINS) : (largest - least) / BINS;
      const bins = Array.from({ length: whole ? Math.ceil((largest - least + 1) / step) : BINS }, (_, n) => ({
        low: written(least + n * step, kind), high: written(whole ? Math.min(largest, least + (n + 1) * step - 1) : least + (n + 1) * step, kind), count: 0,
      }));
      for (let row = 0; row < count; row += 1)
        if (marks[row] && values[row] <= Infinity) bins[Math.min(bins.length - 1, Math.floor((values[row] - least) / step))].count += 1;
      const now = filters.range.map(ranged).find(({ field }) => fields[field].name === name);
      const choose = (low, high) => {
        filters.range = filters.range.filter((text) => !text.startsWith(`${name}:`));
        if (low || high) filters.range.push(`${name}:${low}..${high}`);
        update();
      };
      const made = element("details", { open: opened.has(name) || Boolean(now) }, element("summary", {}, shown(name)),
        Facets.histogram(shown(name), kind, bins, now?.ends[0], now?.ends[1], choose));
      made.addEventListener("toggle", () => (made.open ? opened.add(name) : opened.delete(name)));
      return [made];
    };
    const drawFacets = () => {
      const inLabels = labels.map((name, n) => {
        let size = 0;
        for (let at = arrays.label_ends[n]; at < arrays.label_ends[n + 1]; at += 1) size += marks[arrays.label_rows[at]];
        return [name, name, size];
      });
      const parts = facet("Labels", inLabels, "label", "without");
      fields.forEach(({ name, values, kind }, n) => {
        if (!values) return parts.push(...rangeFacet(name, kind, arrays[`field${n}`]));
        const sizes = new Uint32Array(values.length);
        const codes = arrays[`field${n}`];
        for (let row = 0; row < count; row += 1) if (marks[row] && codes[row] >= 0) sizes[codes[row]] += 1;
        const entries = values.map((value, code) => [`${name}=${value}`, value, sizes[code]]);
        return parts.push(...facet(name, entries, "meta", "without_meta"));
      });
      facets.replaceChildren(...parts);
    };
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
      const table = settings.tableAddress?.(parameters(false));
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
      listed = scatter.nearestFirst(Array.from(scatter.inView()).filter((row) => marks[row]));
      said.textContent = listed.length ? `${plural(listed.length, "item")} in view.` : "Nothing is in view.";
      drawActive();
      drawList(listed);
    };
    // After every change of what is chosen.
    const update = () => {
      listed = null;
      choose();
      const rows = isActive() ? chosenRows() : [];
      few = isActive() && rows.length <= MOST_RINGS ? rows : null;
      said.textContent = isActive() ? `${plural(rows.length, "item")} chosen.` : `${plural(count, "item")}.`;
      editor.hidden = !rows.length;
      drawActive();
      drawFacets();
      drawList(rows);
      drawLegend();
      paint();
      keep();
    };
    let turn = 0;
    const search = async (text) => {
      filters.q = query.value = text;
      turn += 1;
      const mine = turn;
      if (!text.trim() && ![...rest].length) found = null;
      else {
        said.textContent = "Searching …";
        const rows = await settings.search(text, rest).catch((error) => error);
        if (mine !== turn) return;
        if (!Array.isArray(rows)) {
          said.textContent = rows.message;
          return;
        }
        found = new Uint8Array(count);
        for (const row of rows) found[row] = 1;
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

    // --- one item ----------------------------------------------------------------------

    scatter.onhover = (row, sx, sy) => {
      tip.hidden = row < 0;
      map.classList.toggle("over", row >= 0);
      if (row < 0) return;
      const own = labelsOf(row);
      const more = own.length > 4 ? `, and ${own.length - 4} more` : "";
      tip.replaceChildren(element("strong", {}, isolated(titles[row], 140)));
      if (own.length)
        tip.append(element("span", { className: "labels" }, element("bdi", {}, own.slice(0, 4).map((name) => shown(name)).join(", ") + more)));
      const far = sx > scatter.width / 2;
      tip.style.left = far ? "" : `${sx + 14}px`;
      tip.style.right = far ? `${scatter.width - sx + 14}px` : "";
      tip.style.top = `${Math.min(sy + 14, scatter.height - 60)}px`;
    };
    const close = () => {
      card.hidden = true;
      pointed = -1;
      scatter.redraw();
    };
    const metadataOf = (row) =>
      fields.flatMap(({ name, values, kind }, n) => {
        const value = arrays[`field${n}`][row];
        if (values ? value < 0 : Number.isNaN(value)) return [];
        return [[name, values ? values[value] : written(value, kind)]];
      });
    const show = async (row, move = false) => {
      scatter.onhover(-1);
      if (row < 0) return close();
      pointed = row;
      if (move) scatter.look(scatter.positions[2 * row] / Scatter.SCALE, scatter.positions[2 * row + 1] / Scatter.SCALE, Math.max(scatter.zoom, 3));
      scatter.redraw();
      const own = labelsOf(row);
      const chips = own.slice(0, 8).map((name) => {
        const made = linked(settings.labelAddress?.(name), isolated(name, 40));
        made.className = "label";
        return element("li", {}, made);
      });
      if (own.length > 8) chips.push(element("li", { className: "none" }, `+${number(own.length - 8)}`));
      const text = element("p", { className: "snippet" });
      const address = settings.itemAddress?.(ids[row]);
      const shut = button("Close", close, { className: "quiet" });
      const open = address ? [element("a", { className: "button", href: address }, "Open")] : [];
      const facts = metadataOf(row).flatMap(([name, value]) => [element("dt", {}, shown(name)), element("dd", {}, isolated(value, 80))]);
      card.replaceChildren(element("h2", {}, isolated(titles[row], 200)),
        ...(ids[row] === titles[row] || address ? [] : [element("p", { className: "none" }, isolated(ids[row], 80))]),
        text, element("ul", { className: "chips" }, ...chips),
        ...(facts.length && !address ? [element("dl", {}, ...facts)] : []),
        element("p", { className: "actions" }, ...open, shut));
      card.dataset.id = ids[row];
      card.hidden = false;
      (open[0] ?? shut).focus({ preventScroll: true });
      const about = await settings.about?.(ids[row]).catch(() => "");
      if (about && card.dataset.id === ids[row]) text.textContent = shown(about, 280);
      return undefined;
    };
    scatter.onclick = show;
    scatter.onlasso = (corners) => {
      filters.lasso = corners;
      update();
    };

    // --- the address, tools and keys ---------------------------------------------------

    let keeping = 0;
    const keep = () => {
      clearTimeout(keeping);
      keeping = setTimeout(() => settings.keep?.(parameters()), 60);
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
      const escaped = (text) => text.replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]);
      const [w, h] = [scatter.width, scatter.height];
      const lines = texts.map(({ text, left, y, font: style, colour }) =>
        `<text x="${left.toFixed(1)}" y="${y.toFixed(1)}" dominant-baseline="middle" style="font: ${style}; unicode-bidi: isolate" fill="${styled(colour)}" stroke="${styled("surface")}" stroke-width="3" paint-order="stroke">${escaped(text)}</text>`);
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">
<rect width="100%" height="100%" fill="${styled("surface")}"/>
${scatter.svgPoints()}
${lines.join("\n")}
</svg>
`;
    };
    scatter.onview = () => {
      tip.hidden = true;
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
    systemDark.addEventListener("change", recolour);
    new MutationObserver(recolour).observe(root, { attributeFilter: ["data-theme"] });

    // --- start -------------------------------------------------------------------------

    use("move");
    fillMenu();
    colouring = readColouring();
    drawLegend();
    if (view) {
      const [x, y, zoomed] = view.split(".").map(Number);
      scatter.look(x / Scatter.SCALE, y / Scatter.SCALE, zoomed / 100);
    } else if (pointed >= 0) {
      const [x, y] = [scatter.positions[2 * pointed], scatter.positions[2 * pointed + 1]];
      scatter.look(x / Scatter.SCALE, y / Scatter.SCALE, 3);
    }
    // All points are there at once; what is searched for comes later.
    if (filters.q || [...rest].length) {
      paint();
      drawFacets();
      search(filters.q);
    } else update();
    if (pointed >= 0) said.textContent = `“${shown(titles[pointed], 80)}” is in the middle.`;
    map.dataset.drawn = "";
    return { scatter, data, show, names: () => texts.map(({ text }) => text) };
  };

  return { decode, start, shown };
})();
