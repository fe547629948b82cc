// The map of a lesson: what belongs, what likely does, and the rest, coloured after each answer.
"use strict";
globalThis.TeachMap = (() => {
  const { element } = Dom;
  const KEY = [["yes", "belongs"], ["likely", "likeliest"], ["no", "does not"], ["other", "others"]];
  const VARIABLES = { yes: "--c2", likely: "--c1", no: "--c5", other: "--point" };

  // Draws the points when they are there; `colour(answer)` takes what /teach/map.json says.
  const start = async (section) => {
    const asked = () => Dom.ask("/map.json").catch(() => ({ state: "failed" }));
    while ((await asked()).state === "drawing") await Dom.wait(2);
    const answer = await fetch("/map/points.bin").catch(() => null);
    if (!answer?.ok) return null;
    const { ids, titles, arrays } = MapData.decode(await answer.arrayBuffer());
    section.hidden = false;
    const plot = section.querySelector(".plot");
    const scatter = new Scatter(plot, arrays.positions);
    const numbers = new Map(ids.map((id, n) => [id, n]));
    const key = section.querySelector(".key");
    const probe = element("span", { hidden: true });
    section.append(probe);
    const rgb = (name) => {
      probe.style.color = `var(${VARIABLES[name]})`;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    };
    let known = { yes: [], no: [], likely: {} };
    let current = -1;
    const colour = (now = known) => {
      known = now;
      const colours = new Uint8Array(4 * ids.length);
      const shades = Object.fromEntries(KEY.map(([name]) => [name, rgb(name)]));
      const put = (n, name, opacity) => colours.set([...shades[name], Math.round(255 * opacity)], 4 * n);
      const ranks = new Uint8Array(ids.length);
      for (let n = 0; n < ids.length; n += 1) put(n, "other", 0.25);
      const mark = (id, name, opacity, rank) => {
        const n = numbers.get(id);
        if (n === undefined) return;
        put(n, name, opacity);
        ranks[n] = rank;
      };
      for (const [id, shade] of Object.entries(now.likely)) mark(id, "likely", 0.4 + 0.6 * shade, 1);
      for (const id of now.no) mark(id, "no", 0.6, 2);
      for (const id of now.yes) mark(id, "yes", 1, 3);
      scatter.paint(colours, Uint32Array.from(ids.keys()).sort((a, b) => ranks[a] - ranks[b]));
      const likely = Object.keys(now.likely).length;
      const counts = { yes: now.yes.length, no: now.no.length, likely };
      key.replaceChildren(...KEY.map(([name, words]) =>
        element("li", {}, element("span", { className: `dot ${name}` }), name in counts ? `${words}: ${Dom.number(counts[name])}` : words)));
    };
    scatter.overlay = (pen) => {
      if (current < 0) return;
      const [x, y] = scatter.place(current);
      pen.lineWidth = 3;
      pen.strokeStyle = getComputedStyle(section).color;
      pen.beginPath();
      pen.arc(x, y, 9, 0, 7);
      pen.stroke();
    };
    scatter.onhover = (row) => {
      plot.title = row < 0 ? "" : titles[row].slice(0, 200);
    };
    const recolour = () => colour();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return {
      colour,
      show: (id) => {
        current = numbers.get(id) ?? -1;
        scatter.redraw();
      },
    };
  };
  return { start };
})();
