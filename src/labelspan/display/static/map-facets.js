// Small bars under a map: labels, values and ranges of what is chosen, to click or to brush.
"use strict";
globalThis.MapFacets = (() => {
  const { element, button, number, shown, isolated } = Dom;
  const { written } = MapData;
  const FEW = 5;
  const MOST = 200;
  const BINS = 20;

  // `update()` is called when something is chosen.
  const make = ({ count, labels, fields, arrays, ranged }, { filters, marks }, update) => {
    const facets = element("div", { id: "facets" });
    const opened = new Set(); // parts that are unfolded
    const filterBy = (name, value) => {
      if (!filters[name].includes(value)) filters[name].push(value);
      update();
    };
    const part = (title, ...children) => {
      const made = element("section", {}, element("h2", {}, isolated(title, 40)), ...children);
      made.setAttribute("aria-label", shown(title));
      return made;
    };
    // `entries` are a value, what is written for it, and the number of items.
    const facet = (title, entries, include, exclude) => {
      const left = entries.filter(([value, , size]) => size && !filters[include].includes(value));
      if (!left.length) return [];
      left.sort((a, b) => b[2] - a[2] || (a[1] < b[1] ? -1 : 1));
      const most = opened.has(title) ? MOST : FEW;
      const lines = left.slice(0, most).map(([value, text, size]) => {
        const bar = element("span", { className: "bar" });
        bar.style.width = `${(100 * size) / left[0][2]}%`;
        const add = button("", () => filterBy(include, value), { className: "in" });
        add.append(bar, isolated(text || "(empty)", 34), " ", element("span", { className: "count" }, number(size)));
        const drop = button("−", () => filterBy(exclude, value), { className: "out" });
        drop.setAttribute("aria-label", `without ${shown(text)}`);
        return element("li", {}, add, drop);
      });
      const made = part(title, element("ul", {}, ...lines));
      if (left.length > most)
        made.append(button(`${number(left.length - most)} more`, () => {
          opened.add(title);
          drawFacets();
        }, { className: "quiet small" }));
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
      return [part(name, Facets.histogram(shown(name), kind, bins, now?.ends[0], now?.ends[1], choose))];
    };
    const drawFacets = () => {
      const inLabels = labels.map((name, n) => {
        let size = 0;
        for (let at = arrays.label_ends[n]; at < arrays.label_ends[n + 1]; at += 1) size += marks[arrays.label_rows[at]];
        return [name, name, size];
      });
      const parts = facet("Labels", inLabels, "label", "without");
      for (const [n, { name, values, kind }] of fields.entries()) {
        if (!values) {
          parts.push(...rangeFacet(name, kind, arrays[`field${n}`]));
          continue;
        }
        const sizes = new Uint32Array(values.length);
        const codes = arrays[`field${n}`];
        for (let row = 0; row < count; row += 1) if (marks[row] && codes[row] >= 0) sizes[codes[row]] += 1;
        const entries = values.map((value, code) => [`${name}=${value}`, value, sizes[code]]);
        parts.push(...facet(name, entries, "meta", "without_meta"));
      }
      facets.replaceChildren(...parts);
    };
    return { facets, draw: drawFacets };
  };

  return { make };
})();
