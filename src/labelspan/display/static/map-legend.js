// The colours of the points and what they mean: by main label, by one label, or by metadata.
"use strict";
globalThis.MapLegend = (() => {
  const { element, button, number, shown, isolated } = Dom;
  const { rgb, between, written } = MapData;
  // For numbers, from small to large; lightness grows or falls all along.
  const RAMPS = {
    light: ["#2c1b66", "#23568f", "#1f8a84", "#78a832", "#d9a300"],
    dark: ["#5a5fc4", "#3f8fc9", "#45bfa0", "#a9d65c", "#ffe14d"],
  };
  const MOST_IN_MENU = 400;
  // Entries before "more" is asked for.
  const FEW = 6;

  // `keep()` is called when another colouring is chosen.
  const make = (host, data, choice, scatter, keep) => {
    const { count, labels, fields, groups, palettes, arrays, fieldNumber, membersOf, mixed, labelCounts } = data;
    const { colourBy, marks, isActive } = choice;
    const menu = element("select", { id: "colour" });
    const legend = element("div", { id: "legend" });
    const hidden = new Set(); // codes
    let colouring = null;
    let unfolded = false;

    const root = document.documentElement;
    const systemDark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => ((root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches) ? "dark" : "light");
    const probe = element("span", { hidden: true });
    host.append(probe);
    // A colour of the style sheet as the browser computes it, for light or dark.
    const computed = new Map();
    const styled = (name, scheme = theme()) => {
      const key = `${scheme} ${name}`;
      if (!computed.has(key)) {
        probe.style.colorScheme = scheme;
        probe.style.color = `var(--${name})`;
        computed.set(key, getComputedStyle(probe).color);
      }
      return computed.get(key);
    };
    const colours = (table, scheme) => table[scheme].map(rgb);

    const readColouring = (scheme = theme()) => {
      const palette = colours(palettes, scheme);
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
          names,
          codes,
          code: (row) => (codes[row] < palette.length ? codes[row] : -1),
          colour: (row) => palette[codes[row]],
          css: (code) => (code < 0 ? styled("point", scheme) : `rgb(${palette[code].join(" ")})`),
        };
      };
      if (colourBy.label) {
        const codes = new Int16Array(count).fill(-1);
        for (const row of membersOf(colourBy.label)) codes[row] = 0;
        return categories(codes, [colourBy.label], "without it");
      }
      const at = fieldNumber.get(colourBy.meta);
      if (at === undefined) return categories(arrays.groups, groups, "other");
      const values = arrays[`field${at}`];
      if (fields[at].values) return categories(values, fields[at].values, "other, or none");
      // The few smallest and largest numbers do not decide about the colours of all others.
      const sorted = values.filter((value) => !Number.isNaN(value)).sort();
      const [low, high] = [0.02, 0.98].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
      const ramp = colours(RAMPS, scheme);
      // Fifths of the items, for names on the map.
      const cuts = [0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
      const part = (value) => (Number.isNaN(value) ? -1 : Math.max(0, cuts.slice(1, -1).filter((cut) => value > cut).length));
      return {
        names: cuts.slice(1).map((cut, n) => `${written(cuts[n], fields[at].kind)} to ${written(cut, fields[at].kind)}`),
        codes: Int16Array.from(values, part),
        range: [low, high, sorted[0], sorted[sorted.length - 1]],
        kind: fields[at].kind,
        ramp,
        code: (row) => (Number.isNaN(values[row]) ? -1 : 0),
        colour: (row) => between(ramp, (values[row] - low) / (high - low || 1)),
      };
    };
    // Colours of the points, their order, and how many are not chosen, for light or dark.
    const painted = (scheme = theme()) => {
      const by = scheme === theme() ? colouring : readColouring(scheme);
      const shades = new Uint8Array(4 * count);
      const grey = styled("point", scheme).match(/[\d.]+/g).map(Number);
      const [strong, usual, faint] = isActive() ? [235, 200, 28] : [190, 110, 28];
      const layers = [[], [], []];
      for (const row of mixed) {
        const code = by.code(row);
        if (hidden.has(code)) continue;
        const known = marks[row] && code >= 0;
        const [r, g, b] = known ? by.colour(row) : grey;
        shades.set([r, g, b, marks[row] ? (known ? strong : usual) : faint], 4 * row);
        layers[marks[row] ? (known ? 2 : 1) : 0].push(row);
      }
      return { shades, order: Uint32Array.from(layers.flat()), faint: layers[0].length };
    };
    const paint = () => {
      scatter.lineColour = styled("focus");
      scatter.shadeColour = styled("muted");
      const { shades, order, faint } = painted();
      scatter.paint(shades, order, isActive() ? faint : undefined, faint);
    };
    // What a picture says about its colours: names with colours, or a ramp with its ends.
    const explained = (scheme) => {
      const by = readColouring(scheme);
      const title = colourBy.label ? "" : colourBy.meta || (groups.length ? "main labels" : "");
      if (by.range) return { title, ramp: by.ramp.map((one) => `rgb(${one.join(" ")})`), ends: by.range.slice(0, 2).map((one) => written(one, by.kind)) };
      const sizes = chosenSizes();
      const shown_ = by.entries.filter(({ code }) => !hidden.has(code) && (!isActive() || sizes.get(code)));
      return { title, entries: shown_.map(({ name, code, count: size }) => ({ name: shown(name, 26), css: by.css(code), count: isActive() ? sizes.get(code) : size })) };
    };
    const chosenSizes = () => {
      const sizes = new Map();
      for (let row = 0; row < count; row += 1) if (marks[row]) sizes.set(colouring.code(row), (sizes.get(colouring.code(row)) ?? 0) + 1);
      return sizes;
    };
    const drawLegend = () => {
      const main = !colourBy.label && !colourBy.meta;
      const about = element("p", { className: "more", hidden: !main || !groups.length }, "Each point has one colour: that of its most typical label.");
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
      const chosen = chosenSizes();
      // Ordered by what is chosen.
      const size = ({ code, other }) => (other ? -1 : (chosen.get(code) ?? 0));
      const lines = [...colouring.entries].sort((a, b) => size(b) - size(a)).map(({ name, code, count: total, other }) => {
        const mark = element("span", { className: "swatch" });
        mark.style.background = colouring.css(code);
        const text = other ? element("span", { className: "none" }, name) : isolated(name, 40);
        const made = button("", () => {
          if (!hidden.delete(code)) hidden.add(code);
          made.setAttribute("aria-pressed", String(!hidden.has(code)));
          toggleAll.textContent = hidden.size ? "Show all" : "Hide all";
          paint();
        });
        made.append(mark, text, " ", element("span", { className: "count" }, isActive() ? `${number(chosen.get(code) ?? 0)} of ${number(total)}` : number(total)));
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
      const most = unfolded ? lines.length : FEW;
      const more = button(`${lines.length - most} more`, () => {
        unfolded = true;
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
    const watch = () => {
      systemDark.addEventListener("change", recolour);
      new MutationObserver(recolour).observe(root, { attributeFilter: ["data-theme"] });
    };
    fillMenu();
    colouring = readColouring();
    drawLegend();
    // A main label that is hidden has no name on the map either.
    const isHidden = (code) => !colourBy.label && !colourBy.meta && hidden.has(code);
    // The categories by which the map is coloured, by code; null for main labels, which the regions
    // of the map are named by.
    const categories = () => (colourBy.label || colourBy.meta ? colouring : null);
    return { menu, legend, theme, styled, paint, painted, explained, draw: drawLegend, watch, isHidden, categories };
  };

  return { make };
})();
