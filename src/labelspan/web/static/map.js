// The map: Bokeh draws the points by WebGL; panning, hovering and selecting are handled here.
"use strict";
(async () => {
  const home = document.getElementById("map");
  const colourBy = document.getElementById("colour");
  const PALETTES = {
    light: ["#0f7f7f", "#c4521b", "#5a55b0", "#b52a6f", "#5c8a1e", "#a8780a", "#2f6fb8", "#7a5230"],
    dark: ["#5fd0c6", "#ff9d68", "#a9a4ff", "#ff86bd", "#a6d860", "#f0c350", "#7fb8ff", "#d0a580"],
  };
  const NEAR = 9; // the largest distance in pixels at which a point is hit

  // --- points --------------------------------------------------------------------------

  const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
  if (home.dataset.state === "drawing") panel.say("The map is being drawn; it will appear here.");
  while (home.dataset.state === "drawing") {
    await wait(2);
    const answer = await fetch("/map.json").catch(() => null);
    const now = answer?.ok ? await answer.json() : { state: "drawing", percent: 0 };
    if (now.state !== "drawing") location.reload();
    else panel.say(`The map is being drawn: ${now.percent}%. It will appear here.`);
  }
  if (home.dataset.state !== "ready") return;
  panel.say("Loading the points …");
  document.getElementById("map-help").hidden = false;
  const answer = await fetch("/map/points.json");
  if (!answer.ok) {
    panel.say("The points could not be loaded; load the page again.");
    return;
  }
  const points = await answer.json();
  const { ids, titles } = points;
  const count = ids.length;
  const SCALE = 32767; // places are whole numbers of 16 bits
  const x = Float32Array.from(points.x, (value) => value / SCALE);
  const y = Float32Array.from(points.y, (value) => value / SCALE);
  const labelsOf = Array.from({ length: count }, () => []);
  for (const [name, rows] of Object.entries(points.labels))
    for (const row of rows) labelsOf[row].push(name);

  // --- colours -------------------------------------------------------------------------

  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const probe = panel.element("span", { hidden: true });
  home.append(probe);
  // A colour of the style sheet, in a form that Bokeh can read.
  const styled = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const size = Math.max(3, Math.min(9, 480 / Math.sqrt(count)));

  const colouring = () => {
    const palette = PALETTES[isDark() ? "dark" : "light"];
    const colour = new Array(count).fill(styled("point"));
    const alpha = new Float32Array(count).fill(colourBy.value ? 0.35 : 0.55);
    const sizes = new Float32Array(count).fill(size);
    const chosen = colourBy.value
      ? [colourBy.value]
      : points.regions
          .filter((region) => region.level === 0 && region.kind === "label")
          .sort((a, b) => b.count - a.count)
          .slice(0, 8)
          .map((region) => region.name);
    // A point of several regions gets the colour of the smallest, which is the most specific.
    chosen.forEach((name, number) => {
      for (const row of points.labels[name] ?? []) {
        colour[row] = palette[number % palette.length];
        alpha[row] = 0.75;
        if (colourBy.value) sizes[row] = size + 2;
      }
    });
    panel.legend(
      chosen.map((name, number) => ({
        name,
        colour: palette[number % palette.length],
        count: points.labels[name]?.length ?? 0,
      })),
    );
    return { colour, alpha, size: sizes };
  };

  // --- the figure ----------------------------------------------------------------------

  const source = new Bokeh.ColumnDataSource({ data: { x, y, ...colouring() } });
  const names = new Bokeh.ColumnDataSource({ data: { x: [], y: [], name: [] } });
  const pointed = new Bokeh.ColumnDataSource({ data: { x: [], y: [] } });
  // Rings around what is chosen, if that is little: a few points would not be seen among many.
  const marked = new Bokeh.ColumnDataSource({ data: { x: [], y: [] } });
  const MOST_MARKED = 200;
  const mark = (rows) => {
    const shown = rows.length <= MOST_MARKED ? rows : [];
    marked.data = { x: Array.from(shown, (row) => x[row]), y: Array.from(shown, (row) => y[row]) };
  };
  const lassoed = new Bokeh.ColumnDataSource({ data: { x: [], y: [] } });
  const pan = new Bokeh.PanTool();
  const lasso = new Bokeh.LassoSelectTool({ renderers: [] });
  const wheel = new Bokeh.WheelZoomTool();
  const figure = new Bokeh.Plotting.figure({
    output_backend: "webgl",
    sizing_mode: "stretch_both",
    x_range: new Bokeh.Range1d({ start: 0, end: 1 }),
    y_range: new Bokeh.Range1d({ start: 0, end: 1 }),
    tools: [pan, lasso, wheel],
    toolbar_location: null,
    // Bokeh does not clear the first row and column of pixels, where points of earlier frames
    // would stay: no point is drawn there.
    min_border: 2,
    x_axis_type: null,
    y_axis_type: null,
    outline_line_color: null,
  });
  figure.xgrid.visible = figure.ygrid.visible = false;
  figure.toolbar.active_drag = pan;
  figure.toolbar.active_scroll = wheel;
  const drawn = figure.scatter({ field: "x" }, { field: "y" }, {
    source,
    marker: "circle",
    size: { field: "size" },
    fill_color: { field: "colour" },
    fill_alpha: { field: "alpha" },
    line_color: null,
    nonselection_fill_alpha: 0.2,
    selection_fill_alpha: 0.95,
  });
  const ring = figure.scatter({ field: "x" }, { field: "y" }, {
    source: pointed,
    marker: "circle",
    size: size + 9,
    fill_color: null,
    line_width: 3,
  });
  const few = figure.scatter({ field: "x" }, { field: "y" }, {
    source: marked,
    marker: "circle",
    size: size + 4,
    fill_color: null,
    line_width: 2,
  });
  const text = figure.text({ field: "x" }, { field: "y" }, { field: "name" }, {
    source: names,
    text_align: "center",
    text_baseline: "middle",
    text_font: "system-ui, sans-serif",
    text_font_size: "12px",
    text_font_style: "bold",
    background_fill_alpha: 0.72,
    padding: 2,
    border_radius: 4,
  });

  const outline = figure.patch({ field: "x" }, { field: "y" }, {
    source: lassoed,
    fill_alpha: 0.08,
    line_width: 2,
    line_dash: [6, 4],
  });

  const dress = () => {
    // The density is drawn behind Bokeh's picture.
    figure.background_fill_alpha = figure.border_fill_alpha = 0;
    figure.background_fill_color = styled("surface");
    outline.glyph.line_color = { value: styled("focus") };
    outline.glyph.fill_color = { value: styled("focus") };
    text.glyph.text_color = { value: styled("text") };
    text.glyph.background_fill_color = { value: styled("surface") };
    ring.glyph.line_color = { value: styled("focus") };
    few.glyph.line_color = { value: styled("focus") };
    source.data = { ...source.data, ...colouring() };
    shade();
  };

  // --- density -------------------------------------------------------------------------

  // Where many items lie, the ground is darker: counts on a grid, smoothed, in a small picture
  // that is stretched behind the points.
  const CELLS = 160;
  const ground = document.createElement("canvas");
  ground.className = "ground";
  ground.setAttribute("aria-hidden", "true");
  home.prepend(ground);
  const shades = document.createElement("canvas");
  shades.width = shades.height = CELLS;
  const density = (() => {
    let counts = new Float32Array(CELLS * CELLS);
    const cell = (value) => Math.max(0, Math.min(CELLS - 1, Math.floor(((value + 1.1) / 2.2) * CELLS)));
    for (let row = 0; row < count; row += 1) counts[(CELLS - 1 - cell(y[row])) * CELLS + cell(x[row])] += 1;
    for (let round = 0; round < 3; round += 1)
      for (const step of [1, CELLS]) {
        const blurred = new Float32Array(counts.length);
        for (let n = 2 * step; n < counts.length - 2 * step; n += 1)
          blurred[n] =
            (counts[n - 2 * step] + 4 * counts[n - step] + 6 * counts[n] + 4 * counts[n + step] + counts[n + 2 * step]) / 16;
        counts = blurred;
      }
    const sorted = counts.filter((value) => value > 0).sort();
    const most = sorted[Math.floor(0.98 * (sorted.length - 1))] || 1;
    return counts.map((value) => Math.min(1, value / most));
  })();
  const shade = () => {
    const [r, g, b] = styled("accent").match(/[\d.]+/g).map(Number);
    const picture = new ImageData(CELLS, CELLS);
    density.forEach((value, n) => picture.data.set([r, g, b, 46 * Math.sqrt(value)], 4 * n));
    shades.getContext("2d").putImageData(picture, 0, 0);
    drawGround();
  };
  const drawGround = () => {
    const [w, h] = [home.clientWidth, home.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    if (ground.width !== Math.round(w * ratio)) ground.width = Math.round(w * ratio);
    if (ground.height !== Math.round(h * ratio)) ground.height = Math.round(h * ratio);
    const pen = ground.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const perPixel = (figure.x_range.end - figure.x_range.start) / w;
    const side = 2.2 / perPixel;
    pen.imageSmoothingEnabled = true;
    pen.imageSmoothingQuality = "high";
    pen.drawImage(
      shades,
      (-1.1 - figure.x_range.start) / perPixel,
      (figure.y_range.end - 1.1) / perPixel,
      side,
      side,
    );
  };

  // --- the visible part ----------------------------------------------------------------

  const { x_range: across, y_range: upwards } = figure;
  const look = (centreX, centreY, perPixel) => {
    const [w, h] = [home.clientWidth / 2, home.clientHeight / 2];
    across.setv({ start: centreX - w * perPixel, end: centreX + w * perPixel });
    upwards.setv({ start: centreY - h * perPixel, end: centreY + h * perPixel });
  };
  const centre = () => [(across.start + across.end) / 2, (upwards.start + upwards.end) / 2];
  const scale = () => (across.end - across.start) / Math.max(1, home.clientWidth);
  const bounds = (values) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  };
  const [left, right] = bounds(x);
  const [bottom, top] = bounds(y);
  const wholeScale = () =>
    (1.06 * Math.max((right - left) / home.clientWidth, (top - bottom) / home.clientHeight)) || 1;
  const middle = [((left + right) / 2) * SCALE, ((bottom + top) / 2) * SCALE];
  const whole = () => look((left + right) / 2, (bottom + top) / 2, wholeScale());
  const zoom = (factor) => look(...centre(), scale() / factor);
  const move = (dx, dy) => {
    const [cx, cy] = centre();
    look(cx + dx * (across.end - across.start), cy + dy * (upwards.end - upwards.start), scale());
  };

  // Names of regions, the best first, if they do not overlap; more at each doubling of the zoom.
  const placeNames = () => {
    const perPixel = scale();
    const deepest = Math.log2(wholeScale() / perPixel) + 0.5;
    const taken = [];
    const data = { x: [], y: [], name: [] };
    for (const region of points.regions) {
      if (region.level > deepest) continue;
      if (region.x < across.start || region.x > across.end) continue;
      if (region.y < upwards.start || region.y > upwards.end) continue;
      const [w, h] = [(7.4 * region.name.length + 12) * perPixel, 22 * perPixel];
      // A name at the edge moves inwards until it can be read.
      const at = Math.min(Math.max(region.x, across.start + w / 2), across.end - w / 2);
      const free = taken.every(
        (o) => Math.abs(o.at - at) > (o.w + w) / 2 || Math.abs(o.y - region.y) > h,
      );
      if (!free) continue;
      taken.push({ at, y: region.y, w });
      data.x.push(at);
      data.y.push(region.y);
      data.name.push(region.kind === "word" ? `“${region.name}”` : region.name);
    }
    names.data = data;
  };
  let placing = 0;
  let shading = 0;
  const later = () => {
    hover(null); // the item is no longer under the pointer
    clearTimeout(placing);
    placing = setTimeout(() => {
      placeNames();
      keep();
    }, 60);
    cancelAnimationFrame(shading);
    shading = requestAnimationFrame(drawGround);
  };
  across.change.connect(later);
  upwards.change.connect(later);

  // --- hovering and selecting ----------------------------------------------------------

  const nearest = (px, py) => {
    let [best, found] = [(NEAR * scale()) ** 2, -1];
    for (let row = 0; row < count; row += 1) {
      const distance = (x[row] - px) ** 2 + (y[row] - py) ** 2;
      if (distance < best) [best, found] = [distance, row];
    }
    return found;
  };
  const tip = panel.element("div", { id: "tip", hidden: true });
  const hover = (event) => {
    const row = event ? nearest(event.x, event.y) : -1;
    tip.hidden = row < 0;
    home.style.cursor = row < 0 ? "" : "pointer";
    if (row < 0) return;
    const own = labelsOf[row];
    const more = own.length > 4 ? `, and ${own.length - 4} more` : "";
    tip.replaceChildren(panel.element("strong", {}, titles[row]));
    if (own.length)
      tip.append(panel.element("span", { className: "labels" }, own.slice(0, 4).join(", ") + more));
    const far = event.sx > home.clientWidth / 2;
    tip.style.left = far ? "" : `${event.sx + 14}px`;
    tip.style.right = far ? `${home.clientWidth - event.sx + 14}px` : "";
    tip.style.top = `${Math.min(event.sy + 14, home.clientHeight - 60)}px`;
  };
  figure.on_event("mousemove", hover);
  figure.on_event("mouseleave", () => hover(null));
  const card = document.getElementById("card");
  const close = () => {
    card.hidden = true;
    pointed.data = { x: [], y: [] };
  };
  figure.on_event("tap", (event) => {
    const row = nearest(event.x, event.y);
    if (row < 0) return close();
    hover(null);
    pointed.data = { x: [x[row]], y: [y[row]] };
    return panel.preview(card, ids[row], titles[row], labelsOf[row], close);
  });

  // --- what is chosen: by a lasso here, or by the address -------------------------------

  const MOST_CORNERS = 60;
  // The part of the address that selects items, for the list and for this page.
  let chosenBy = new URLSearchParams(location.search);
  for (const name of ["item", "colour", "view"]) chosenBy.delete(name);
  const choose = (rows, table) => {
    source.selected.indices = rows;
    mark(rows);
    panel.list(rows, points, labelsOf, { what: "chosen", clear, table });
  };
  const clear = () => {
    chosenBy = new URLSearchParams();
    lassoed.data = { x: [], y: [] };
    document.getElementById("selection")?.remove();
    close();
    source.selected.indices = [];
    mark([]);
    panel.list([], points, labelsOf, { what: "chosen", clear });
    keep();
  };
  const drawLasso = (corners) => {
    lassoed.data = {
      x: corners.map(([cx]) => cx / SCALE),
      y: corners.map(([, cy]) => cy / SCALE),
    };
  };
  // The even-odd rule, on the whole numbers that the server has as well.
  const inside = (corners) => {
    const rows = [];
    for (let row = 0; row < count; row += 1) {
      const [px, py] = [points.x[row], points.y[row]];
      let odd = false;
      for (let n = 0, last = corners.length - 1; n < corners.length; last = n, n += 1) {
        const [[bx, by], [ax, ay]] = [corners[n], corners[last]];
        if (ay > py !== by > py && px < ((bx - ax) * (py - ay)) / (by - ay) + ax) odd = !odd;
      }
      if (odd) rows.push(row);
    }
    return rows;
  };
  figure.on_event("selectiongeometry", ({ geometry, final }) => {
    if (!final || geometry.type !== "poly" || geometry.x.length < 3) return;
    const limit = (value) => Math.max(-99999, Math.min(99999, Math.round(value * SCALE)));
    const step = Math.max(1, geometry.x.length / MOST_CORNERS);
    const corners = [];
    for (let n = 0; n < geometry.x.length; n += step)
      corners.push([limit(geometry.x[Math.floor(n)]), limit(geometry.y[Math.floor(n)])]);
    if (corners.length < 3) return;
    document.getElementById("selection")?.remove();
    chosenBy = new URLSearchParams({ lasso: corners.map((one) => one.join(".")).join("_") });
    drawLasso(corners);
    choose(inside(corners), `/list?${chosenBy}`);
    keep();
  });

  // The address holds what is seen, so that it can be kept and sent.
  let ready = false;
  const keep = () => {
    if (!ready) return;
    const state = new URLSearchParams();
    const zoomed = Math.round((100 * wholeScale()) / scale());
    if (home.dataset.item) state.set("item", home.dataset.item);
    if (colourBy.value) state.set("colour", colourBy.value);
    const [cx, cy] = centre().map((value) => Math.round(value * SCALE));
    const moved = Math.abs(zoomed - 100) > 1 || Math.hypot(cx - middle[0], cy - middle[1]) > 200;
    const fits = Math.max(Math.abs(cx), Math.abs(cy)) < 1e6 && zoomed > 0 && zoomed < 1e7;
    if (moved && fits) state.set("view", `${cx}.${cy}.${zoomed}`);
    for (const [name, value] of chosenBy) state.append(name, value);
    const query = state.toString();
    history.replaceState(null, "", query ? `/map?${query}` : "/map");
  };
  const inView = () => {
    const rows = [];
    for (let row = 0; row < count; row += 1)
      if (x[row] > across.start && x[row] < across.end && y[row] > upwards.start && y[row] < upwards.end)
        rows.push(row);
    const [cx, cy] = centre();
    const distance = (row) => (x[row] - cx) ** 2 + (y[row] - cy) ** 2;
    rows.sort((a, b) => distance(a) - distance(b));
    panel.list(rows, points, labelsOf, { what: "in view", clear });
  };

  // --- buttons and keys ----------------------------------------------------------------

  const button = (id, act) => document.getElementById(id).addEventListener("click", act);
  const drag = (tool) => {
    tool.active = true; // and the other one becomes inactive
    document.getElementById("move").setAttribute("aria-pressed", String(tool === pan));
    document.getElementById("lasso").setAttribute("aria-pressed", String(tool === lasso));
  };
  button("move", () => drag(pan));
  button("lasso", () => drag(lasso));
  button("closer", () => zoom(1.5));
  button("farther", () => zoom(1 / 1.5));
  button("whole", whole);
  button("in-view", inView);
  for (const place of document.querySelectorAll(".region"))
    place.addEventListener("click", () => {
      look(Number(place.dataset.x), Number(place.dataset.y), wholeScale() / 5);
      inView();
    });
  const KEYS = {
    ArrowLeft: () => move(-0.1, 0),
    ArrowRight: () => move(0.1, 0),
    ArrowUp: () => move(0, 0.1),
    ArrowDown: () => move(0, -0.1),
    "+": () => zoom(1.5),
    "=": () => zoom(1.5),
    "-": () => zoom(1 / 1.5),
    0: whole,
    Enter: inView,
    Escape: clear,
  };
  home.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  colourBy.addEventListener("change", () => {
    dress();
    keep();
  });
  systemDark.addEventListener("change", dress);
  new MutationObserver(dress).observe(root, { attributeFilter: ["data-theme"] });

  // --- start ---------------------------------------------------------------------------

  dress();
  const view = await Bokeh.Plotting.show(figure, home);
  // Bokeh treats a long press as a gesture of its own, after which a drag would not start.
  const gestures = view.canvas_view?.ui_event_bus?.ui_gestures?.constructor;
  if (gestures?.press_threshold) gestures.press_threshold = 60_000;
  home.append(tip);
  drag(pan);
  whole();
  const own = ids.indexOf(home.dataset.item);
  if (own >= 0) {
    pointed.data = { x: [x[own]], y: [y[own]] };
    look(x[own], y[own], wholeScale() / 3);
  }
  if (home.dataset.view) {
    const [cx, cy, zoomed] = home.dataset.view.split(".").map(Number);
    look(cx / SCALE, cy / SCALE, (100 * wholeScale()) / Math.max(1, zoomed));
  }
  placeNames();
  drawGround();
  new ResizeObserver(() => look(...centre(), scale())).observe(home);
  panel.say(own >= 0 ? `${titles[own]} is in the middle.` : `${count.toLocaleString("en")} items.`);
  if (home.dataset.lasso)
    drawLasso(home.dataset.lasso.split("_").map((one) => one.split(".").map(Number)));
  if (home.dataset.matches) {
    const found = await fetch(home.dataset.matches);
    if (found.ok) choose((await found.json()).points);
  }
  ready = true;
  home.dataset.drawn = "yes";
})().catch((error) => {
  console.error(error);
  panel.say("The map could not be shown in this browser.");
});
