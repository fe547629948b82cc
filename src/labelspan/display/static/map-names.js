// Names on the map: of regions, and of items where few are in view. None overlaps another.
"use strict";
globalThis.MapNames = (() => {
  const { shown } = Dom;
  const MOST_TITLES = 250;

  // Cells across the map, around which a category is compared with its share of all items; smallest
  // share and ratio that name a cell, and number of items that name a region.
  const CELLS = [10, 20, 40];
  const [SHARE, LIFT, ITEMS] = [0.4, 1.5, 8];
  const RATIO = 8; // a rarer category is not better from here on

  // Regions of the map where one of some categories is frequent: names for a colouring.
  const regionsOf = ({ names, codes }, positions) => {
    const count = codes.length;
    const totals = new Float64Array(names.length);
    for (const code of codes) if (code >= 0) totals[code] += 1;
    const found = [];
    for (const [level, across] of CELLS.entries()) {
      const cellOf = (row) => [0, 1].map((n) => Math.min(across - 1, Math.floor(((positions[2 * row + n] / Scatter.SCALE + 1) / 2) * across)));
      const cells = new Map();
      for (let row = 0; row < count; row += 1) {
        const [x, y] = cellOf(row);
        const at = y * across + x;
        if (!cells.has(at)) cells.set(at, []);
        cells.get(at).push(row);
      }
      const best = new Map();
      for (const at of cells.keys()) {
        const sizes = new Map();
        let all = 0;
        for (const [dx, dy] of [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]) {
          const x = (at % across) + dx;
          if (x < 0 || x >= across) continue;
          for (const row of cells.get(at + dx + dy * across) ?? []) {
            all += 1;
            if (codes[row] >= 0) sizes.set(codes[row], (sizes.get(codes[row]) ?? 0) + 1);
          }
        }
        let [worth, code] = [0, -1];
        for (const [own, size] of sizes) {
          const [share, lift] = [size / all, (size / all) * (count / totals[own])];
          const value = share ** 2 * Math.log(Math.min(lift, RATIO));
          if (share >= SHARE && lift >= LIFT && value > worth) [worth, code] = [value, own];
        }
        if (code >= 0) best.set(at, code);
      }
      const seen = new Set();
      for (const [start, code] of best) {
        if (seen.has(start)) continue;
        const todo = [start];
        seen.add(start);
        const rows = [];
        for (const at of todo) {
          rows.push(...cells.get(at).filter((row) => codes[row] === code));
          for (const step of [at % across ? -1 : 0, (at + 1) % across ? 1 : 0, across, -across])
            if (best.get(at + step) === code && !seen.has(at + step)) {
              seen.add(at + step);
              todo.push(at + step);
            }
        }
        if (rows.length < ITEMS) continue;
        const middle = [0, 1].map((n) => rows.map((row) => positions[2 * row + n]).sort((a, b) => a - b)[rows.length >> 1] / Scatter.SCALE);
        found.push({ name: names[code], x: middle[0], y: middle[1], count: rows.length, level, kind: "category" });
      }
    }
    return found.sort((a, b) => a.level - b.level || b.count - a.count);
  };

  const make = ({ titles, regions: own, groups, palettes }, scatter, { marks }, { styled, isHidden, categories }) => {
    let regions = own;
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
    const largest = new Set();
    // Names follow the colouring: by main labels and words, or by the categories that have colours.
    const follow = () => {
      const by = categories();
      regions = by ? regionsOf(by, scatter.positions) : own;
      largest.clear();
      for (const one of regions.filter(({ level, kind }) => level === 0 && kind !== "word").slice(0, 10)) largest.add(one);
      scatter.redraw();
    };
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
        if (isHidden(codeOfName.get(region.name))) continue;
        const name = shown(region.name, 32);
        const key = name.toLowerCase().replace(/s$/, "");
        if (seen.has(key)) continue;
        const style = font(largest.has(region) ? "large" : "name");
        // Where another name is in the way, above or below.
        if ([0, -18, 18].some((off) => place(name, x, y + off, style, "center", "text"))) seen.add(key);
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
    const escaped = (text) => text.replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]);
    // The names as lines of a picture that is `factor` times as large.
    const svg = (factor, scheme) =>
      texts.map(({ text, left, y, font: style, colour }) =>
        `<text transform="translate(${(left * factor).toFixed(1)} ${(y * factor).toFixed(1)}) scale(${factor.toFixed(3)})" dominant-baseline="middle" style="font: ${style}; unicode-bidi: isolate" fill="${styled(colour, scheme)}" stroke="${styled("surface", scheme)}" stroke-width="3" paint-order="stroke">${escaped(text)}</text>`).join("\n");
    follow();
    return { write, svg, follow, escaped, all: () => texts.map(({ text }) => text) };
  };

  return { make };
})();
