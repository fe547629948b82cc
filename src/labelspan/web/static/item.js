// The list that one came from: the items before and after this one, and the way back.
"use strict";
(async () => {
  const nav = document.getElementById("turn");
  const from = Dom.remembered("labelspan-list", true);
  if (!from) return;
  const { ids } = await Dom.ask(from.ids).catch(() => ({ ids: [] }));
  const at = ids.indexOf(nav.dataset.id);
  if (at < 0) return;
  const { element, address, number } = Dom;
  const link = (text, href, rel) => element("a", { href, rel }, text);
  const item = (id) => address("/item", { id });
  const where = element("span", {}, `${number(at + 1)} of ${number(ids.length)}`);
  nav.append(link("Back to the list", from.back, ""), ...(at ? [link("Previous", item(ids[at - 1]), "prev")] : []), where,
    ...(at + 1 < ids.length ? [link("Next", item(ids[at + 1]), "next")] : []));
  nav.hidden = false;
})();
