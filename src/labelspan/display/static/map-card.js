// One item of a map: a tip under the pointer, and a card when it is clicked.
"use strict";
globalThis.MapCard = (() => {
  const { element, button, number, shown, isolated } = Dom;
  const linked = (address, ...children) => (address ? element("a", { href: address }, ...children) : element("span", {}, ...children));

  const make = (map, { ids, titles, labelsOf, metadataOf }, scatter, settings, ownItem) => {
    const tip = element("div", { id: "tip", hidden: true });
    const card = element("section", { id: "card", hidden: true });
    card.setAttribute("aria-label", "Chosen item");
    map.append(tip);
    const self = { tip, card, pointed: ids.indexOf(ownItem) };
    scatter.onhover = (row, sx, sy) => {
      tip.hidden = row < 0;
      map.classList.toggle("over", row >= 0);
      if (row < 0) return;
      const own = labelsOf(row);
      const more = own.length > 4 ? `, and ${own.length - 4} more` : "";
      tip.replaceChildren(element("strong", {}, isolated(titles[row], 140)));
      if (own.length)
        tip.append(element("span", { className: "labels" }, element("bdi", {}, own.slice(0, 4).map((name) => shown(name)).join(", ") + more)));
      const far = sx > scatter.width / 2;
      tip.style.left = far ? "" : `${sx + 14}px`;
      tip.style.right = far ? `${scatter.width - sx + 14}px` : "";
      tip.style.top = `${Math.min(sy + 14, scatter.height - 60)}px`;
    };
    const close = () => {
      card.hidden = true;
      self.pointed = -1;
      scatter.redraw();
    };
    const show = async (row, move = false) => {
      scatter.onhover(-1);
      if (row < 0) return close();
      self.pointed = row;
      if (move) scatter.look(scatter.positions[2 * row] / Scatter.SCALE, scatter.positions[2 * row + 1] / Scatter.SCALE, Math.max(scatter.zoom, 3));
      scatter.redraw();
      const own = labelsOf(row);
      const chips = own.slice(0, 8).map((name) => {
        const made = linked(settings.labelAddress?.(name), isolated(name, 40));
        made.className = "label";
        return element("li", {}, made);
      });
      if (own.length > 8) chips.push(element("li", { className: "none" }, `+${number(own.length - 8)}`));
      const text = element("p", { className: "snippet" });
      const address = settings.itemAddress?.(ids[row]);
      const shut = button("Close", close, { className: "quiet" });
      const open = address ? [element("a", { className: "button", href: address }, "Open")] : [];
      const facts = metadataOf(row).flatMap(([name, value]) => [element("dt", {}, shown(name)), element("dd", {}, isolated(value, 80))]);
      card.replaceChildren(element("h2", {}, isolated(titles[row], 200)),
        ...(ids[row] === titles[row] || address ? [] : [element("p", { className: "none" }, isolated(ids[row], 80))]),
        text, element("ul", { className: "chips" }, ...chips),
        ...(facts.length && !address ? [element("dl", {}, ...facts)] : []),
        element("p", { className: "actions" }, ...open, shut));
      card.dataset.id = ids[row];
      card.hidden = false;
      (open[0] ?? shut).focus({ preventScroll: true });
      const about = await settings.about?.(ids[row]).catch(() => "");
      if (about && card.dataset.id === ids[row]) text.textContent = shown(about, 280);
      return undefined;
    };
    scatter.onclick = show;
    return Object.assign(self, { show, close });
  };

  return { make, linked };
})();
