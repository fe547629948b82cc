// The data of a map: decoded, with what is computed from it once, such as the labels of an item.
"use strict";
globalThis.MapData = (() => {
  const KINDS = { int16: Int16Array, uint32: Uint32Array, float32: Float32Array };
  // See labelspan.display.map_data for the format.
  const decode = (buffer) => {
    const length = new DataView(buffer).getUint32(4, true);
    const data = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    let at = 8 + length;
    const arrays = {};
    for (const [name, kind, size] of data.arrays) {
      arrays[name] = new KINDS[kind](buffer, at, size);
      at += 4 * Math.ceil((size * KINDS[kind].BYTES_PER_ELEMENT) / 4);
    }
    return { ...data, arrays };
  };

  // The labels of each item, from the items of each label.
  const labelsByItem = ({ ids, labels, arrays }) => {
    const { label_ends: ends, label_rows: rows } = arrays;
    const starts = new Uint32Array(ids.length + 1);
    for (const row of rows) starts[row + 1] += 1;
    for (let row = 0; row < ids.length; row += 1) starts[row + 1] += starts[row];
    const at = starts.slice();
    const numbers = new Uint32Array(rows.length);
    for (let label = 0; label < labels.length; label += 1)
      for (let n = ends[label]; n < ends[label + 1]; n += 1) {
        numbers[at[rows[n]]] = label;
        at[rows[n]] += 1;
      }
    return (row) => Array.from(numbers.subarray(starts[row], starts[row + 1]), (label) => labels[label]);
  };

  // A fixed order in which no group of points hides another.
  const shuffled = (count) => {
    const order = Uint32Array.from({ length: count }, (_, n) => n);
    let seed = 1;
    for (let n = count - 1; n > 0; n -= 1) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const other = seed % (n + 1);
      [order[n], order[other]] = [order[other], order[n]];
    }
    return order;
  };

  const written = (value, kind) =>
    kind === "date" ? new Date(864e5 * value).toISOString().slice(0, 10) : String(Number(value.toPrecision(7)));
  // The number that a text stands for; of a year or a month, its first or last day.
  const numberOf = (text, kind, last) => {
    if (kind !== "date") return Number(text);
    const [year, month, day] = text.split("-").map(Number);
    if (day) return Date.UTC(year, month - 1, day) / 864e5;
    const start = Date.UTC(year, (month || 1) - 1, 1);
    return (last ? Date.UTC(month ? year : year + 1, month || 0, 0) : start) / 864e5;
  };

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const between = (ramp, share) => {
    const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
    const low = Math.min(ramp.length - 2, Math.floor(at));
    return ramp[low].map((value, n) => value + (at - low) * (ramp[low + 1][n] - value));
  };

  const LISTS = ["label", "without", "meta", "without_meta", "range"];

  // The data with functions that look things up in it.
  const indexed = (data) => {
    const { ids, labels, fields, arrays } = data;
    const count = ids.length;
    const labelNumber = new Map(labels.map((name, n) => [name, n]));
    const fieldNumber = new Map(fields.map((field, n) => [field.name, n]));
    const membersOf = (name) => {
      const n = labelNumber.get(name);
      return n === undefined ? [] : arrays.label_rows.subarray(arrays.label_ends[n], arrays.label_ends[n + 1]);
    };
    // A value that is not known here, because it is rare, is left to the search.
    const described = (pair) => {
      for (const [name, n] of fieldNumber) {
        const value = fields[n].values?.indexOf(pair.slice(name.length + 1)) ?? -1;
        if (pair.startsWith(`${name}=`) && value >= 0) return { field: n, value };
      }
      return null;
    };
    // A range of numbers or dates, as key:low..high.
    const ranged = (text) => {
      const cut = text.lastIndexOf(":");
      const field = fieldNumber.get(text.slice(0, cut));
      const [low, high] = text.slice(cut + 1).split("..");
      if (cut < 0 || high === undefined || !fields[field] || fields[field].values) return null;
      const end = (value, last, missing) => (value ? Math.fround(numberOf(value, fields[field].kind, last)) : missing);
      return { field, ends: [low, high], low: end(low, false, -Infinity), high: end(high, true, Infinity) };
    };
    const metadataOf = (row) =>
      fields.flatMap(({ name, values, kind }, n) => {
        const value = arrays[`field${n}`][row];
        if (values ? value < 0 : Number.isNaN(value)) return [];
        return [[name, values ? values[value] : written(value, kind)]];
      });
    return {
      ...data, count, labelNumber, fieldNumber, membersOf, described, ranged, metadataOf,
      labelsOf: labelsByItem(data), mixed: shuffled(count),
      labelCounts: labels.map((_, n) => arrays.label_ends[n + 1] - arrays.label_ends[n]),
    };
  };

  return { LISTS, decode, indexed, written, rgb, between };
})();
