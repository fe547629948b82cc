// The bar of every page: how much was changed, what waits for a review, undo, and the corrected file.
"use strict";
{
  const { element, button, plural, number, saying, address } = Dom;
  const strip = document.getElementById("strip");
  const line = Dom.status("span");
  const parts = element("span", { className: "strip-parts" });
  const menu = element("details", { className: "menu" });

  const draw = ({ changes, review, undo, formats }) => {
    const back = button("Undo", saying(line, () => Edit.undo()), { className: "quiet small", disabled: !undo, title: undo ? `Undo: ${undo}` : "Nothing was changed" });
    const links = Object.entries(formats).map(([key, name]) =>
      element("li", {}, element("a", { href: address("/changes/file", { as: key }), download: "" }, name)));
    menu.replaceChildren(element("summary", { className: "button quiet small" }, "Download", element("span", {}, " corrected file")), element("ul", {}, ...links));
    parts.replaceChildren(
      element("a", { href: "/changes" }, plural(changes, "change")),
      ...(review === null ? [] : [element("a", { href: "/review" }, `Review ${number(review)}`)]), back, menu);
  };

  Edit.bar(draw).then(() => {
    if (!menu.isConnected && !parts.firstChild) return;
    strip.append(parts, line);
    line.textContent = Dom.remembered(Edit.SAID, true) ?? "";
    Dom.remember(Edit.SAID, "", true);
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
