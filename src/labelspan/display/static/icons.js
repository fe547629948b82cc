// Pictures on buttons, drawn in the colour of their text.
"use strict";
globalThis.Icons = (() => {
  const PATHS = {
    move: "M10 2v16M2 10h16M7.5 4.5 10 2l2.5 2.5M7.5 15.5 10 18l2.5-2.5M4.5 7.5 2 10l2.5 2.5M15.5 7.5 18 10l-2.5 2.5",
    box: "M3 4h14v12H3z",
    lasso: "M10 3c4 0 7 2 7 5s-3 5-7 5-7-2-7-5 3-5 7-5zM6 12.5c-2 1-2 4 .5 4.5 2 .4 2.500-1 2-2.500",
    closer: "M10 4v12M4 10h12",
    farther: "M4 10h12",
    whole: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4",
    view: "M2 10s3-5 8-5 8 5 8 5-3 5-8 5-8-5-8-5zM10 7.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5",
    picture: "M3 15v2h14v-2M10 3v10M6 9l4 4 4-4",
  };
  // A button with a picture; its name is read out, and shown under the pointer.
  const button = (icon, name, act, properties = {}) => {
    const made = Dom.button("", act, { title: name, ...properties });
    made.classList.add("icon");
    made.setAttribute("aria-label", name);
    made.append(Dom.svg("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" }, Dom.svg("path", { d: PATHS[icon] })));
    return made;
  };
  return { button };
})();
