// A scatter plot of many points: drawn by WebGL where there is one, by a 2d canvas elsewhere.
// Panning, zooming, pointing and drawing around points are handled here, by mouse, touch and pen;
// what the points mean is not known here.
"use strict";
class Scatter {
  static NEAR = 10; // the largest distance in pixels at which a point is hit
  static LARGER = 1.7; // of chosen points, beside the others
  static DEEPEST = 400; // the largest zoom
  static SCALE = 32767; // positions are whole numbers of 16 bits
  static MANY = 2000; // from this number of points on their density is drawn where it is not zoomed
  static CLOSE = 3; // the zoom from which only points are drawn
  static CELLS = 192; // of the density, in each direction

  // `positions` holds x and y of each point in turn, y upwards.
  constructor(host, positions) {
    this.host = host;
    this.positions = positions;
    this.count = positions.length / 2;
    this.colours = new Uint8Array(4 * this.count);
    this.order = new Uint32Array(0);
    this.usual = 0;
    this.tool = "move";
    this.drawn = []; // the corners of what is being drawn around points, in pixels
    this.onview = this.onhover = this.onclick = this.onlasso = this.overlay = () => {};
    this.ground = this.#canvas("ground");
    this.points = this.#canvas("points");
    this.marks = this.#canvas("marks");
    this.#measure();
    [this.x, this.y] = this.middle;
    this.zoom = 1;
    this.#gl();
    this.points.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.points.addEventListener("webglcontextrestored", () => {
      this.#gl();
      this.paint(this.colours, this.order, this.usual);
    });
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(host);
    this.#resize();
  }

  // --- what is drawn -------------------------------------------------------------------

  // `colours` has red, green, blue and opacity of each point; `order` the numbers of the points
  // to draw, the topmost last; those after the first `usual` are larger, and those after the first
  // `faint` are counted by the density.
  paint(colours, order, usual = order.length, faint = 0) {
    [this.colours, this.order, this.usual] = [colours, order, usual];
    this.density = order.length - faint >= Scatter.MANY ? this.#dense(order.subarray(faint)) : null;
    const { gl } = this;
    if (gl) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.colourBuffer);
      gl.bufferData(gl.ARRAY_BUFFER, colours, gl.STATIC_DRAW);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    }
    this.redraw();
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.#drawDensity();
    if (this.gl) this.#drawByGl();
    else this.#drawByHand();
    const pen = this.#pen(this.marks);
    this.overlay(pen, this.width, this.height);
    if (this.drawn.length > 1) this.#drawLine(pen, this.drawn);
  }

  // A picture of how dense the points lie: one pixel of it is a cell.
  #dense(rows) {
    const side = Scatter.CELLS;
    let cells = new Float32Array(side * side);
    for (const row of rows) {
      const [x, y] = [0, 1].map((n) => Math.min(side - 1, Math.floor(((this.positions[2 * row + n] / Scatter.SCALE + 1) / 2) * side)));
      cells[(side - 1 - y) * side + x] += 1;
    }
    // Twice the mean of three in both directions.
    for (const step of [1, side, 1, side]) {
      const smooth = cells.slice();
      for (let n = step; n < cells.length - step; n += 1) smooth[n] = (cells[n - step] + cells[n] + cells[n + step]) / 3;
      cells = smooth;
    }
    const most = Math.log1p(cells.reduce((a, b) => Math.max(a, b), 0));
    const made = document.createElement("canvas");
    made.width = made.height = side;
    const pen = made.getContext("2d");
    const pixels = pen.createImageData(side, side);
    const [r, g, b] = (this.shadeColour ?? "rgb(128 128 128)").match(/[\d.]+/g).map(Number);
    for (let n = 0; n < cells.length; n += 1) pixels.data.set([r, g, b, (150 * Math.log1p(cells[n])) / most], 4 * n);
    pen.putImageData(pixels, 0, 0);
    return made;
  }

  // How much of the density is seen: all of it on the whole map, nothing where that is zoomed.
  get shade() {
    return this.density ? Math.max(0, Math.min(1, (Scatter.CLOSE - this.zoom) / (Scatter.CLOSE - 1))) : 0;
  }

  #drawDensity() {
    const pen = this.#pen(this.ground);
    if (!this.shade) return;
    pen.globalAlpha = this.shade;
    const [left, top] = this.toScreen(-1, 1);
    pen.drawImage(this.density, left, top, 2 * this.scale, 2 * this.scale);
    pen.globalAlpha = 1;
  }

  // The diameter of a point in pixels: larger for few points, and when they are zoomed.
  get size() {
    const usual = Math.max(3, Math.min(9, 480 / Math.sqrt(this.count)));
    return Math.min(18, usual * Math.max(1, this.zoom) ** 0.45);
  }

  #canvas(name) {
    const made = document.createElement("canvas");
    made.className = name;
    made.setAttribute("aria-hidden", "true");
    this.host.append(made);
    return made;
  }

  #gl() {
    const gl = this.points.getContext("webgl2", { antialias: false, alpha: true });
    this.gl = gl;
    if (!gl) return;
    const compile = (kind, source) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, `#version 300 es\n${source}`);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    };
    this.program = gl.createProgram();
    compile(
      gl.VERTEX_SHADER,
      `in vec2 place; in vec4 colour; out vec4 shade;
       uniform vec2 centre; uniform vec2 scale; uniform float size;
       void main() {
         gl_Position = vec4((place - centre) * scale, 0.0, 1.0);
         gl_PointSize = size;
         shade = colour;
       }`,
    );
    compile(
      gl.FRAGMENT_SHADER,
      `precision highp float;
       in vec4 shade; out vec4 pixel; uniform float size;
       void main() {
         float inside = clamp(size * (0.5 - length(gl_PointCoord - 0.5)), 0.0, 1.0);
         pixel = vec4(shade.rgb, 1.0) * (shade.a * inside);
       }`,
    );
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) {
      if (!gl.isContextLost()) throw new Error(gl.getProgramInfoLog(this.program));
      return;
    }
    gl.useProgram(this.program);
    this.uniforms = Object.fromEntries(
      ["centre", "scale", "size"].map((name) => [name, gl.getUniformLocation(this.program, name)]),
    );
    const buffer = (name, size, type, data) => {
      const made = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, made);
      if (data) gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      const at = gl.getAttribLocation(this.program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, type, true, 0, 0);
      return made;
    };
    buffer("place", 2, gl.SHORT, this.positions);
    this.colourBuffer = buffer("colour", 4, gl.UNSIGNED_BYTE);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  #drawByGl() {
    const { gl, uniforms } = this;
    gl.viewport(0, 0, this.points.width, this.points.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniforms.centre, this.x, this.y);
    gl.uniform2f(uniforms.scale, (2 * this.scale) / this.width, (2 * this.scale) / this.height);
    gl.uniform1f(uniforms.size, this.size * this.ratio);
    gl.drawElements(gl.POINTS, this.usual, gl.UNSIGNED_INT, 0);
    gl.uniform1f(uniforms.size, Scatter.LARGER * this.size * this.ratio);
    gl.drawElements(gl.POINTS, this.order.length - this.usual, gl.UNSIGNED_INT, 4 * this.usual);
  }

  #drawByHand() {
    const pen = this.#pen(this.points);
    for (const [n, row] of this.order.entries()) {
      const radius = ((n < this.usual ? 1 : Scatter.LARGER) * this.size) / 2;
      const [sx, sy] = this.place(row);
      if (sx < -radius || sy < -radius || sx > this.width + radius || sy > this.height + radius) continue;
      pen.fillStyle = this.#style(row);
      pen.beginPath();
      pen.arc(sx, sy, radius, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  #style(row) {
    const [r, g, b, a] = this.colours.subarray(4 * row, 4 * row + 4);
    return `rgb(${r} ${g} ${b} / ${(a / 255).toFixed(2)})`;
  }

  #pen(canvas) {
    const pen = canvas.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    return pen;
  }

  #drawLine(pen, corners) {
    pen.beginPath();
    corners.forEach(([sx, sy], n) => (n ? pen.lineTo(sx, sy) : pen.moveTo(sx, sy)));
    pen.closePath();
    pen.strokeStyle = pen.fillStyle = this.lineColour;
    pen.lineWidth = 2;
    pen.setLineDash([6, 4]);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 0.08;
    pen.fill();
    pen.globalAlpha = 1;
  }

  // Draw a polygon of whole numbers, as positions are.
  outline(pen, corners) {
    this.#drawLine(pen, corners.map(([x, y]) => this.toScreen(x / Scatter.SCALE, y / Scatter.SCALE)));
  }

  // --- the visible part ----------------------------------------------------------------

  #measure() {
    let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let n = 0; n < this.positions.length; n += 2) {
      const [x, y] = [this.positions[n], this.positions[n + 1]];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < bottom) bottom = y;
      if (y > top) top = y;
    }
    const side = (low, high) => Math.max(high - low, 1) / Scatter.SCALE || 1;
    this.sides = [side(left, right), side(bottom, top)];
    this.middle = this.count
      ? [(left + right) / 2 / Scatter.SCALE, (bottom + top) / 2 / Scatter.SCALE]
      : [0, 0];
  }

  #resize() {
    this.ratio = window.devicePixelRatio || 1;
    [this.width, this.height] = [this.host.clientWidth || 1, this.host.clientHeight || 1];
    for (const canvas of [this.ground, this.points, this.marks]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    this.draw();
    this.onview();
  }

  // Pixels of one unit.
  get scale() {
    const whole = Math.min(this.width / this.sides[0], this.height / this.sides[1]);
    return (this.zoom * whole) / 1.1;
  }

  look(x, y, zoom = this.zoom) {
    const limit = (value, n) =>
      Math.max(this.middle[n] - this.sides[n], Math.min(this.middle[n] + this.sides[n], value));
    [this.x, this.y] = [limit(x, 0), limit(y, 1)];
    this.zoom = Math.max(0.5, Math.min(Scatter.DEEPEST, zoom));
    this.redraw();
    this.onview();
  }

  whole() {
    this.look(...this.middle, 1);
  }

  // By shares of the visible part.
  move(across, up) {
    this.look(this.x + (across * this.width) / this.scale, this.y + (up * this.height) / this.scale);
  }

  // What is at (sx, sy) stays there.
  zoomBy(factor, sx = this.width / 2, sy = this.height / 2) {
    const [x, y] = this.toWorld(sx, sy);
    const zoom = Math.max(0.5, Math.min(Scatter.DEEPEST, this.zoom * factor));
    const share = 1 - this.zoom / zoom;
    this.look(this.x + (x - this.x) * share, this.y + (y - this.y) * share, zoom);
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toWorld(sx, sy) {
    return [this.x + (sx - this.width / 2) / this.scale, this.y - (sy - this.height / 2) / this.scale];
  }

  place(row) {
    return this.toScreen(this.positions[2 * row] / Scatter.SCALE, this.positions[2 * row + 1] / Scatter.SCALE);
  }

  // The numbers of the drawn points in view.
  inView() {
    const { positions, scale } = this;
    const [x, y] = [this.x * Scatter.SCALE, this.y * Scatter.SCALE];
    const [w, h] = [this.width, this.height].map((side) => (side / 2 / scale) * Scatter.SCALE);
    return this.order.filter(
      (row) => Math.abs(positions[2 * row] - x) < w && Math.abs(positions[2 * row + 1] - y) < h,
    );
  }

  // Points sorted by their distance from the middle.
  nearestFirst(rows) {
    const [x, y] = [this.x * Scatter.SCALE, this.y * Scatter.SCALE];
    const away = (row) => (this.positions[2 * row] - x) ** 2 + (this.positions[2 * row + 1] - y) ** 2;
    return rows.sort((a, b) => away(a) - away(b));
  }

  // The drawn point at a place of the screen; -1 if there is none.
  nearest(sx, sy) {
    const [x, y] = this.toWorld(sx, sy).map((value) => value * Scatter.SCALE);
    const reach = ((Math.max(Scatter.NEAR, this.size / 2) * Scatter.SCALE) / this.scale) ** 2;
    let [best, found] = [reach, -1];
    // From the topmost on.
    for (let n = this.order.length - 1; n >= 0; n -= 1) {
      const row = this.order[n];
      const distance = (this.positions[2 * row] - x) ** 2 + (this.positions[2 * row + 1] - y) ** 2;
      if (distance < best) [best, found] = [distance, row];
    }
    return found;
  }

  // Whether each point is inside a polygon, by the even-odd rule, on whole numbers.
  inside(corners) {
    const found = new Uint8Array(this.count);
    for (let row = 0; row < this.count; row += 1) {
      const [px, py] = [this.positions[2 * row], this.positions[2 * row + 1]];
      for (let n = 0, last = corners.length - 1; n < corners.length; last = n, n += 1) {
        const [[bx, by], [ax, ay]] = [corners[n], corners[last]];
        if (ay > py !== by > py && px < ((bx - ax) * (py - ay)) / (by - ay) + ax) found[row] ^= 1;
      }
    }
    return found;
  }

  // --- mouse, touch and pen ------------------------------------------------------------

  #listen() {
    const { host } = this;
    const pointers = new Map();
    let start = null; // where a drag began
    const at = (event) => {
      const box = host.getBoundingClientRect();
      return [event.clientX - box.left - host.clientLeft, event.clientY - box.top - host.clientTop];
    };
    const spread = () => {
      const [[ax, ay], [bx, by]] = [...pointers.values()];
      return { middle: [(ax + bx) / 2, (ay + by) / 2], apart: Math.hypot(ax - bx, ay - by) || 1 };
    };
    host.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode ? 33 : 1;
      this.zoomBy(Math.exp(-0.0018 * lines * event.deltaY), ...at(event));
    }, { passive: false });
    host.addEventListener("pointerdown", (event) => {
      if (event.button || !event.target.closest("canvas")) return;
      host.setPointerCapture(event.pointerId);
      host.focus({ preventScroll: true });
      pointers.set(event.pointerId, at(event));
      const tool = event.shiftKey && this.tool === "move" ? "box" : this.tool;
      start = { place: at(event), tool, moved: false, view: [this.x, this.y] };
      this.drawn = [];
      this.onhover(-1);
    });
    host.addEventListener("pointermove", (event) => {
      const [sx, sy] = at(event);
      if (!pointers.has(event.pointerId)) {
        if (event.pointerType !== "touch") this.onhover(this.nearest(sx, sy), sx, sy);
        return;
      }
      if (pointers.size === 2) {
        const before = spread();
        pointers.set(event.pointerId, [sx, sy]);
        const now = spread();
        this.look(
          this.x - (now.middle[0] - before.middle[0]) / this.scale,
          this.y + (now.middle[1] - before.middle[1]) / this.scale,
        );
        this.zoomBy(now.apart / before.apart, ...now.middle);
        if (start) start.moved = true;
        this.drawn = [];
        return;
      }
      pointers.set(event.pointerId, [sx, sy]);
      if (!start) return;
      const [ox, oy] = start.place;
      if (!start.moved && Math.hypot(sx - ox, sy - oy) < 4) return;
      start.moved = true;
      if (start.tool === "move")
        this.look(start.view[0] - (sx - ox) / this.scale, start.view[1] + (sy - oy) / this.scale);
      else if (start.tool === "box") this.drawn = [[ox, oy], [sx, oy], [sx, sy], [ox, sy]];
      else this.drawn.push(...(this.drawn.length ? [] : [[ox, oy]]), [sx, sy]);
      this.redraw();
    });
    const end = (event) => {
      if (!pointers.delete(event.pointerId) || !start) return;
      const { moved } = start;
      const corners = this.drawn;
      if (pointers.size) return;
      [start, this.drawn] = [null, []];
      this.redraw();
      if (event.type === "pointercancel") return;
      if (!moved) this.onclick(this.nearest(...at(event)));
      else if (corners.length > 2) this.onlasso(this.#corners(corners));
    };
    host.addEventListener("pointerup", end);
    host.addEventListener("pointercancel", end);
    host.addEventListener("pointerleave", () => this.onhover(-1));
  }

  // At most 60 corners as whole numbers, so that they fit into an address.
  #corners(drawn) {
    const limit = (value) => Math.max(-99999, Math.min(99999, Math.round(value * Scatter.SCALE)));
    const step = Math.max(1, drawn.length / 60);
    const found = [];
    for (let n = 0; n < drawn.length; n += step)
      found.push(this.toWorld(...drawn[Math.floor(n)]).map(limit));
    return found;
  }

  // --- pictures ------------------------------------------------------------------------

  // The points in view as lines of an SVG picture that is `factor` times as large. Those of one
  // colour and size are one path, in half pixels, each point once and next to the one before.
  svgPoints({ shades, order, faint }, active, factor) {
    const seen = new Set(this.inView());
    const paths = new Map();
    for (const [n, row] of order.entries()) {
      if (!seen.has(row)) continue;
      const [r, g, b, a] = shades.subarray(4 * row, 4 * row + 4);
      const wide = 2 * factor * this.size * (active && n >= faint ? Scatter.LARGER : 1);
      const style = `stroke="rgb(${r},${g},${b})" stroke-opacity="${(a / 255).toFixed(2)}" stroke-width="${wide.toFixed(1)}"`;
      if (!paths.has(style)) paths.set(style, new Set());
      const [x, y] = this.place(row).map((value) => Math.round(2 * factor * value));
      paths.get(style).add(x + 65536 * y);
    }
    const lines = [...paths].map(([style, places]) => {
      let [x, y, path] = [0, 0, ""];
      for (const place of [...places].sort((a, b) => a - b)) {
        const [nx, ny] = [place % 65536, Math.floor(place / 65536)];
        path += `m${nx - x}${ny < y ? "" : " "}${ny - y}h0`;
        [x, y] = [nx, ny];
      }
      return `<path d="${path}" ${style}/>`;
    });
    return `<g transform="scale(.5)" stroke-linecap="round" fill="none">\n${lines.join("\n")}\n</g>`;
  }
}

globalThis.Scatter = Scatter;
