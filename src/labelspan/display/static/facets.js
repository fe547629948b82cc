// A histogram with two ends, to choose a range of numbers or dates: in the list and on the map.
"use strict";
globalThis.Facets = (() => {
  const { element, svg } = Dom;
  const HIGH = 36;

  // bins: {low, high, count} from the least to the largest, low and high as texts;
  // choose(low, high) is called with texts, empty where there is no limit.
  const histogram = (field, kind, bins, low, high, choose) => {
    const most = Math.max(1, ...bins.map((bin) => bin.count));
    const bars = bins.map((bin, n) => {
      // A bin with few items is still seen.
      const tall = bin.count ? Math.max(2, (HIGH * bin.count) / most) : 0;
      return svg("rect", { x: n + 0.06, y: HIGH - tall, width: 0.88, height: tall });
    });
    const picture = svg("svg", { viewBox: `0 0 ${bins.length} ${HIGH}`, preserveAspectRatio: "none", class: "bars", "aria-hidden": "true" }, ...bars);
    const input = (name, value, limit) => {
      const made = element("input", { value: value || "", placeholder: limit, size: 10, autocomplete: "off" });
      made.type = kind === "date" ? "text" : "number";
      if (kind === "number") made.step = "any";
      made.setAttribute("aria-label", `${field}, ${name}`);
      return made;
    };
    const first = input("from", low, bins[0].low);
    const last = input("to", high, bins[bins.length - 1].high);
    const form = element("form", { className: "ends-of-range" }, first, element("span", {}, "to"), last,
      element("button", { type: "submit", className: "quiet small" }, "Set"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      choose(first.value.trim(), last.value.trim());
    });
    // Dragging over the bars chooses them.
    let from = -1;
    const at = (event) => {
      const box = picture.getBoundingClientRect();
      return Math.max(0, Math.min(bins.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bins.length)));
    };
    const mark = (a, b) => bars.forEach((bar, n) => bar.classList.toggle("out", n < a || n > b));
    picture.addEventListener("pointerdown", (event) => {
      from = at(event);
      picture.setPointerCapture(event.pointerId);
      mark(from, from);
    });
    picture.addEventListener("pointermove", (event) => {
      if (from < 0) return;
      const now = at(event);
      mark(Math.min(from, now), Math.max(from, now));
    });
    picture.addEventListener("pointerup", (event) => {
      if (from < 0) return;
      const now = at(event);
      const [a, b] = [Math.min(from, now), Math.max(from, now)];
      from = -1;
      choose(bins[a].low, bins[b].high);
    });
    return element("div", { className: "histogram" }, picture, form);
  };

  return { histogram };
})();
