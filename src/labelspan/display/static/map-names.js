// Names on the map: of regions, and of items where few are in view. None overlaps another.
"use strict";
globalThis.MapNames = (() => {
  const { shown } = Dom;
  const MOST_TITLES = 250;

  const make = ({ titles, regions, groups, palettes }, scatter, { marks }, { styled, isHidden }) => {
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
        if (isHidden(codeOfName.get(region.name))) continue;
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
    const escaped = (text) => text.replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]);
    const svg = () =>
      texts.map(({ text, left, y, font: style, colour }) =>
        `<text x="${left.toFixed(1)}" y="${y.toFixed(1)}" dominant-baseline="middle" style="font: ${style}; unicode-bidi: isolate" fill="${styled(colour)}" stroke="${styled("surface")}" stroke-width="3" paint-order="stroke">${escaped(text)}</text>`).join("\n");
    return { write, svg, all: () => texts.map(({ text }) => text) };
  };

  return { make };
})();
