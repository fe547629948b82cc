// Saves a map as a picture, with a title and a legend, light or dark, in some size: SVG or PNG.
"use strict";
globalThis.MapPicture = (() => {
  const { element, button, number, status, saying } = Dom;
  const SIZES = ["1200 x 800", "1600 x 1000", "2000 x 1400"];
  const [MARGIN, TITLE, LEGEND, LINE] = [24, 44, 230, 21];
  // A PNG has colours of this many bits per channel, which is hardly seen, or fewer if it is larger
  // than this number of bytes; the ground stays as it is.
  const [BITS, LARGEST] = [5, 500_000];

  const make = (scatter, legend, names, title) => {
    const { escaped } = names;
    const heading = element("input", { id: "picture-title", maxLength: 120, autocomplete: "off" });
    const size = element("select", { id: "picture-size" }, ...SIZES.map((text) => element("option", {}, text)));
    const scheme = element("select", { id: "picture-scheme" }, element("option", { value: "light" }, "light"), element("option", { value: "dark" }, "dark"));
    const keyed = element("input", { type: "checkbox", id: "picture-legend", checked: true });
    const line = status();
    const labelled = (text, input) => element("p", {}, element("label", { htmlFor: input.id }, text), " ", input);

    // The picture as the text of an SVG file.
    const svg = () => {
      const [wide, high] = size.value.split(" x ").map(Number);
      const how = scheme.value;
      const colour = (name) => legend.styled(name, how);
      const text = (x, y, content, style, name = "text") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" style="font: ${style} system-ui, sans-serif" fill="${colour(name)}">${escaped(content)}</text>`;
      const top = heading.value.trim() ? TITLE : 0;
      const side = keyed.checked ? LEGEND : 0;
      scatter.draw();
      const factor = Math.min((wide - 2 * MARGIN - side) / scatter.width, (high - 2 * MARGIN - top) / scatter.height);
      const [w, h] = [scatter.width * factor, scatter.height * factor];
      const painted = legend.painted(how);
      const parts = [`<rect width="100%" height="100%" fill="${colour("surface")}"/>`];
      if (top) parts.push(text(MARGIN, MARGIN + 22, heading.value.trim(), "600 22px"));
      parts.push(`<svg x="${MARGIN}" y="${MARGIN + top}" width="${w.toFixed(1)}" height="${h.toFixed(1)}">`,
        scatter.svgPoints(painted, painted.faint > 0, factor), names.svg(factor, how), "</svg>");
      if (side) {
        const x = wide - LEGEND;
        let y = MARGIN + top + 14;
        const about = legend.explained(how);
        if (about.title) parts.push(text(x, y, about.title, "600 14px"));
        for (const { name, css, count } of (about.entries ?? []).slice(0, Math.floor((high - y - MARGIN) / LINE) - 1)) {
          y += LINE;
          parts.push(`<circle cx="${x + 6}" cy="${y - 5}" r="6" fill="${css}"/>`, text(x + 20, y, `${name} ${number(count)}`, "14px"));
        }
        if (about.ramp) {
          y += LINE;
          const stops = about.ramp.map((css, n) => `<stop offset="${n / (about.ramp.length - 1)}" stop-color="${css}"/>`);
          parts.push(`<linearGradient id="ramp">${stops.join("")}</linearGradient><rect x="${x}" y="${y - 12}" width="${LEGEND - MARGIN}" height="14" fill="url(#ramp)"/>`,
            text(x, y + LINE, about.ends.join(" to "), "14px"));
        }
      }
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}">\n${parts.join("\n")}\n</svg>\n`;
    };
    const png = async (text) => {
      const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = element("canvas", { width: image.width, height: image.height });
      const pen = canvas.getContext("2d");
      pen.drawImage(image, 0, 0);
      URL.revokeObjectURL(address);
      const pixels = pen.getImageData(0, 0, canvas.width, canvas.height);
      const ground = pixels.data.slice(0, 4);
      let made = null;
      for (let bits = BITS; bits > 2 && !(made?.size < LARGEST); bits -= 1) {
        const step = 255 / (2 ** bits - 1);
        for (let n = 0; n < pixels.data.length; n += 1) {
          const from = ground[n % 4];
          pixels.data[n] = from + Math.round((pixels.data[n] - from) / step) * step;
        }
        pen.putImageData(pixels, 0, 0);
        made = await new Promise((done) => canvas.toBlob(done, "image/png"));
      }
      return made;
    };
    const send = (ending, blob) => {
      const address = URL.createObjectURL(blob);
      element("a", { href: address, download: `map.${ending}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
      line.textContent = `Saved map.${ending}, ${number(Math.ceil(blob.size / 1000))} kB.`;
    };
    const dialog = element("dialog", { id: "picture" }, element("h2", { id: "picture-heading" }, "Save picture"),
      labelled("Title", heading), labelled("Size", size), labelled("Colours", scheme),
      element("p", {}, element("label", {}, keyed, " with the legend")),
      element("p", { className: "actions" },
        button("Save PNG", saying(line, async () => send("png", await png(svg())))),
        button("Save SVG", saying(line, async () => send("svg", new Blob([svg()], { type: "image/svg+xml" })))),
        button("Close", () => dialog.close(), { className: "quiet" })), line);
    dialog.setAttribute("aria-labelledby", "picture-heading");
    const open = () => {
      heading.value = title();
      scheme.value = legend.theme();
      line.textContent = "";
      dialog.showModal();
    };
    return { dialog, open };
  };

  return { make };
})();
