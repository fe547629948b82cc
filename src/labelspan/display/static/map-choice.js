// Which items of a map are chosen: by a search, labels, metadata, ranges and a line around them.
"use strict";
globalThis.MapChoice = (() => {
  const { LISTS } = MapData;

  // `address` is the query string of the page; `inside(corners)` marks the points inside a line.
  const make = ({ count, arrays, labelNumber, membersOf, described, ranged, mixed }, address, inside) => {
    const asked = new URLSearchParams(address);
    const take = (name) => {
      const values = asked.getAll(name);
      asked.delete(name);
      return values;
    };
    const colourBy = { label: take("colour")[0] ?? "", meta: take("colour_meta")[0] ?? "" };
    const view = take("view")[0] ?? "";
    const ownItem = take("item")[0] ?? "";
    const filters = { q: take("q")[0] ?? "", lasso: [] };
    const rest = new URLSearchParams();
    for (const name of LISTS) {
      const values = take(name);
      const known = (value) => (name === "range" ? ranged(value) : name.endsWith("meta") ? described(value) : labelNumber.has(value));
      filters[name] = values.filter(known);
      for (const value of values.filter((one) => !known(one))) rest.append(name, value);
    }
    const lasso = take("lasso")[0] ?? "";
    if (lasso) filters.lasso = lasso.split("_").map((corner) => corner.split(".").map(Number));
    for (const [name, value] of asked) rest.append(name, value);
    const self = { filters, rest, colourBy, view, ownItem };
    let found = null; // rows that the search has found, the best first

    const isActive = () =>
      Boolean(filters.q || filters.lasso.length || [...rest].length || LISTS.some((name) => filters[name].length));
    const parameters = (scatter = null) => {
      const made = new URLSearchParams(rest);
      if (filters.q) made.set("q", filters.q);
      for (const name of LISTS) for (const value of filters[name]) made.append(name, value);
      if (filters.lasso.length) made.set("lasso", filters.lasso.map((corner) => corner.join(".")).join("_"));
      if (!scatter) return made;
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
      marks.fill(found ? 0 : 1);
      for (const row of found ?? []) marks[row] = 1;
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
        const enclosed = inside(filters.lasso);
        for (let row = 0; row < count; row += 1) marks[row] &= enclosed[row];
      }
    };
    const chosenRows = () => {
      const rows = [];
      for (let row = 0; row < count; row += 1) if (marks[row]) rows.push(row);
      return rows;
    };
    const find = (rows) => {
      found = rows;
    };
    // The same, the best match of the search first.
    const ranked = () => (found ? found.filter((row) => marks[row]) : chosenRows());
    return Object.assign(self, { isActive, parameters, marks, choose, chosenRows, find, ranked });
  };

  return { make };
})();
