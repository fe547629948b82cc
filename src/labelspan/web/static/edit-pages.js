// The pages on which labels are changed: of an item, of selected rows; a label is renamed, merged or
// dropped; similar names are merged; searches are saved; and the history, which undoes.
"use strict";
{
  const { element, number, plural, status, saying, chip, address, ask } = Dom;
  const { ready, go, undo, post, who, button, cut, editor, labelInput, report, follow, told } = Edit;

  const nothing = (labels) => {
    const words = labels === undefined ? "no longer in the index" : labels ? "no labels" : "labels not known";
    return element("p", { className: "none" }, words);
  };

  const itemPage = (section) => {
    const { id } = section.dataset;
    const draw = (stored) => {
      const labels = stored[id];
      const lines = (labels ?? []).map((name) => {
        const made = chip(name);
        const drop = button("×", () => change({ remove: [name] }), "quiet small");
        drop.setAttribute("aria-label", `Remove ${cut(name)}`);
        made.append(drop);
        made.className = "editable";
        return made;
      });
      const old = section.querySelector(".chips, .none");
      const fresh = lines.length ? element("ul", { className: "chips" }, ...lines) : nothing(labels);
      if (lines.length) fresh.setAttribute("aria-label", "Labels");
      old.replaceWith(fresh);
      for (const one of document.querySelectorAll("[data-suggest]")) one.hidden = labels?.includes(one.dataset.suggest) ?? false;
    };
    const page = { shown: () => [id], draw };
    const box = editor(() => [id], page, { remove: false });
    const change = saying(box.line, async (body) => {
      report(box.line, await post("/edit/labels.json", { items: [id], ...body, show: [id] }), page);
      box.input.focus();
    });
    draw({ [id]: JSON.parse(section.dataset.labels) });
    follow(page);
    section.append(box, element("p", { className: "more" }, element("a", { href: address("/history", { item: id }) }, "History of this item")));
    for (const cell of document.querySelectorAll("td[data-suggest]"))
      cell.append(" ", button("Add it", () => change({ add: [cell.dataset.suggest] })));
  };

  // Links are added by id, title or address, and removed at either end.
  const linksPage = (section) => {
    const { id } = section.dataset;
    const line = status();
    const change = saying(line, async (body) => {
      const { said } = await post("/edit/links.json", body);
      go(said);
    });
    for (const row of section.querySelectorAll("li")) {
      const { to, by, name } = row.dataset;
      const drop = button("×", () => change({ remove: [...(to ? [[id, to]] : []), ...(by ? [[by, id]] : [])] }));
      drop.setAttribute("aria-label", `Remove the link with ${cut(name)}`);
      row.append(" ", drop);
    }
    const input = element("input", { maxLength: 4000, autocomplete: "off", required: true, placeholder: "Id or title of an item" });
    input.setAttribute("aria-label", "Id or title of an item to link to");
    const form = element("form", { className: "label-editor" }, input, element("button", { type: "submit", className: "quiet" }, "Add a link"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      change({ add: [[id, input.value.trim()]] });
    });
    section.append(form, line);
  };

  const listPage = (found) => {
    const rows = [...found.querySelectorAll("[data-id]")];
    if (!rows.length) return;
    // What is selected: a box is ticked if, and only if, its item is one of these. It stays when
    // another page of the list is shown, or another order.
    const KEPT = "labelspan-selected";
    const list = new URL(found.querySelector(".group").dataset.ids, location.href);
    list.searchParams.delete("sort");
    const kept = Dom.remembered(KEPT, true);
    const selected = new Set(kept?.of === list.href ? kept.ids : []);
    const page = {
      shown: () => rows.map((row) => row.dataset.id),
      draw: (stored) => {
        for (const row of rows) {
          const labels = stored[row.dataset.id];
          const fresh = labels?.length ? element("ul", { className: "chips" }, ...labels.map(chip)) : nothing(labels);
          row.querySelector(".chips, p.none, td.own .none")?.replaceWith(fresh);
        }
      },
    };
    const box = editor(() => [...selected], page);
    const count = element("span", { className: "count" });
    count.setAttribute("role", "status");
    const groups = [...found.querySelectorAll(".group")].filter((group) => group.querySelector("[data-id]")).map((group) => selection(group, selected, box.line, () => tell()));
    const tell = () => {
      for (const group of groups) group.tick();
      const close = groups.slice(1).reduce((sum, group) => sum + group.selected(), 0);
      const part = close ? `, ${close === selected.size ? "all" : close} only close in meaning` : "";
      const away = selected.size - rows.filter((row) => selected.has(row.dataset.id)).length;
      const where = away ? `, ${away === selected.size ? "all" : number(away)} on other pages` : "";
      count.textContent = selected.size ? `${plural(selected.size, "item")} selected${where}${part}` : "";
      Dom.remember(KEPT, { of: list.href, ids: [...selected] }, true);
      none.hidden = !selected.size;
      box.hidden = !selected.size && !box.line.textContent;
    };
    const none = button("Select none", () => {
      selected.clear();
      tell();
    });
    const bar = element("section", { className: "edit-bar" }, count, " ", none, box);
    bar.setAttribute("aria-label", "Change labels of selected items");
    found.prepend(bar);
    follow(page);
    tell();
  };

  // Boxes of the rows of one group, one for all of the page, and a button for those of all pages.
  const selection = (group, selected, line, changed) => {
    const rows = [...group.querySelectorAll("[data-id]")];
    const total = Number(group.dataset.count);
    const close = group.matches(".close");
    // All items of the group, once they were asked for.
    let every = rows.map((row) => row.dataset.id);
    let listed = false;
    const put = (ids, on) => {
      for (const id of ids) selected[on ? "add" : "delete"](id);
      changed();
    };
    const boxes = rows.map((row) => {
      const one = element("input", { type: "checkbox", className: "pick" });
      one.setAttribute("aria-label", `Select ${cut(row.querySelector("h3, th").textContent.trim(), 80)}`);
      row.querySelector("h3, th").prepend(one);
      return one;
    });
    let before = -1;
    boxes.forEach((one, n) => one.addEventListener("click", (event) => {
      const first = event.shiftKey && before >= 0 ? before : n;
      before = n;
      put(rows.slice(Math.min(n, first), Math.max(n, first) + 1).map((row) => row.dataset.id), one.checked);
    }));
    const here = element("input", { type: "checkbox" });
    here.addEventListener("change", () => put(here.checked ? rows.map((row) => row.dataset.id) : every, here.checked));
    const what = close ? "close in meaning" : "that match";
    const further = button(`Select all ${plural(total, "item")} ${what}`, async () => {
      let ids = null;
      try {
        ({ ids } = await ask(group.dataset.ids));
      } catch (error) {
        line.textContent = error.message;
        changed();
        return;
      }
      // Labels may have changed since the page was made: a row that is no longer in the list is not selected.
      put(every, false);
      every = ids;
      listed = true;
      put(ids, true);
    });
    group.prepend(element("p", { className: "select" }, element("label", {}, here, ` Select ${close ? "these" : "all on this page"}`), " ", further));
    const tick = () => {
      rows.forEach((row, n) => {
        boxes[n].checked = selected.has(row.dataset.id);
      });
      here.checked = boxes.every((one) => one.checked);
      here.indeterminate = !here.checked && boxes.some((one) => one.checked);
      further.hidden = total <= rows.length || (listed && every.every((id) => selected.has(id)));
    };
    return { tick, selected: () => every.filter((id) => selected.has(id)).length };
  };

  const labelPage = (section) => {
    const { label } = section.dataset;
    const [input, list] = labelInput("New name, or another label to merge into");
    const line = status();
    const plan = saying(line, async (by) => {
      if (by === "") {
        line.textContent = "Type a name.";
        return;
      }
      const body = { labels: [label], by, create: true };
      const found = await post("/edit/replace.json", { ...body, preview: true });
      const near = (found.similar[by] ?? []).slice(0, 3);
      const title = found.items ? `Change ${plural(found.items, "item")}` : "Do it";
      const apply = button(near.length ? `Rename it to “${cut(by, 30)}” all the same` : title, saying(line, async () => {
        const { said } = await post("/edit/replace.json", { ...body, similar: true });
        // The page follows the label.
        go(said, by ? address("/label", { name: by }) : "/labels");
      }), "danger");
      line.replaceChildren(element("span", {}, `${found.said} ${found.asked}`));
      for (const one of near) line.append(" ", button(`Merge into “${cut(one, 30)}” …`, () => plan(one), "quiet"));
      line.append(" ", apply, " ", button("Cancel", () => line.replaceChildren()));
      line.querySelector("button").focus();
    });
    const form = element("form", { className: "label-editor" }, input, list,
      element("button", { type: "submit", className: "quiet" }, "Rename or merge …"), button("Drop it …", () => plan(null), "quiet"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      plan(input.value.trim());
    });
    section.append(element("h2", {}, "Change this label"), form, line,
      element("p", { className: "more" }, element("a", { href: address("/history", { label }) }, "History of this label")));
  };

  // What is to be known before the corrected file is used, which takes a while to find out.
  const check = async (place) => {
    const note = (...words) => place.append(element("p", { className: "warning" }, ...words));
    const { notes, changed } = await ask("/changes/check.json").catch((error) => ({ notes: [error.message], changed: [] }));
    for (const one of notes) note(one);
    const links = changed.slice(0, 5).flatMap((id) => [" ", element("a", { href: address("/item", { id }) }, cut(id))]);
    if (changed.length) note(element("strong", {}, "Check these: "), `${plural(changed.length, "item")} of the file ${changed.length === 1 ? "has" : "have"} another text than when the index was made, for example`, ...links);
  };

  // A place of a change that can be undone.
  const undoable = (place) => {
    const line = status("span");
    const back = button("Undo", saying(line, () => undo(Number(place.dataset.undo))));
    back.title = `Undo: ${place.dataset.said}`;
    back.setAttribute("aria-label", back.title);
    place.append(" ", back, " ", line);
  };

  const nameBox = (host) => {
    const input = element("input", { value: who(), maxLength: 100, size: 12, autocomplete: "off" });
    input.setAttribute("aria-label", "Your name, kept with your changes");
    input.placeholder = "Your name";
    input.addEventListener("change", () => Dom.remember("labelspan-who", input.value.trim()));
    host.append(" · Changes by ", input);
  };

  // Similar names: which of a group are merged, and into what.
  const valuesPage = (section) => {
    const { field } = section.dataset;
    const line = status();
    const groups = [...section.querySelectorAll("fieldset")].map((box) => {
      const rows = [...box.querySelectorAll("[data-value]")];
      const boxes = rows.map((row) => {
        const { value } = row.dataset;
        const pick = element("input", { type: "checkbox", className: "pick", checked: false, value });
        pick.setAttribute("aria-label", `Merge ${cut(value)}`);
        row.prepend(pick);
        row.append(" ", button("Keep this name", () => {
          by.value = value;
        }));
        return pick;
      });
      const by = element("input", { value: rows[0].dataset.value, maxLength: 4000, autocomplete: "off" });
      const all = button("Select all", () => {
        for (const one of boxes) one.checked = true;
      });
      box.append(element("p", { className: "label-editor" }, all, element("label", {}, "New name ", by)));
      return { box, take: () => ({ values: boxes.filter((one) => one.checked).map((one) => one.value), by: by.value.trim() }) };
    });
    if (!groups.length) return;
    const chosen = () => groups.map((one) => ({ ...one.take(), box: one.box })).filter(({ values, by }) => by && values.some((one) => one !== by));
    // Each group of labels is a decision of its own; values of the metadata are one change.
    const send = async (wanted, preview) => {
      const found = [];
      if (field) found.push(await post("/edit/values.json", { field, groups: wanted.map(({ values, by }) => ({ values, by })), preview }));
      else
        for (const { values, by } of wanted)
          found.push(await post("/edit/replace.json", { labels: values.filter((one) => one !== by), by, create: true, similar: true, preview }));
      const made = found.map((one) => one.number ?? one.decision?.number).filter(Boolean).reverse();
      return { items: found.reduce((sum, one) => sum + one.items, 0), said: found.map((one) => one.said).join(" "), made };
    };
    const back = (made) => button("Undo", saying(line, async () => {
      for (const number of made) await post("/edit/undo.json", { number });
      told();
      location.reload();
    }));
    const merge = button("Merge what is selected …", saying(line, async () => {
      const wanted = chosen();
      if (!wanted.length) {
        line.textContent = "Select names that are the same; one group or several.";
        return;
      }
      const plan = await send(wanted, true);
      const words = wanted.map(({ values, by }) => `${values.filter((one) => one !== by).map((one) => `“${cut(one)}”`).join(", ")} into “${cut(by)}”`).join("; ");
      const apply = button(`Change ${plural(plan.items, "item")}`, saying(line, async () => {
        const done = await send(wanted, false);
        line.replaceChildren(element("span", {}, done.said), " ", back(done.made));
        for (const { box } of wanted) box.remove();
        told();
      }), "danger");
      line.replaceChildren(element("span", {}, `Merge ${words}.`), " ", apply, " ", button("Cancel", () => line.replaceChildren()));
      apply.focus();
    }), "");
    const bar = element("section", { className: "edit-bar" }, merge, line);
    bar.setAttribute("aria-label", "Merge selected names");
    section.prepend(bar);
  };

  const savedSearches = (section) => {
    const line = status();
    const query = new URLSearchParams(location.search);
    for (const name of ["page", "show", "open"]) query.delete(name);
    const save = saying(line, async (name, text) => {
      await post("/edit/search.json", { name, query: text });
      location.reload();
    });
    for (const row of section.querySelectorAll("li[data-name]")) {
      const drop = button("×", () => save(row.dataset.name, ""));
      drop.setAttribute("aria-label", `Remove the saved search ${cut(row.dataset.name)}`);
      row.className = "editable";
      row.append(drop);
    }
    if ([...query].length) {
      const input = element("input", { maxLength: 100, autocomplete: "off", required: true, placeholder: "Name of this search" });
      input.setAttribute("aria-label", "Name of this search");
      const form = element("form", { className: "label-editor" }, input, element("button", { type: "submit", className: "quiet" }, "Save this search"));
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        save(input.value, query.toString());
      });
      section.append(form);
    }
    section.append(line);
  };

  ready.then((may) => {
    if (!may) return;
    const page = (id, make) => {
      const found = document.getElementById(id);
      if (found) make(found);
    };
    page("own-labels", itemPage);
    page("own-links", linksPage);
    page("found", listPage);
    page("change-label", labelPage);
    page("who", nameBox);
    page("values", valuesPage);
    page("check", check);
    page("saved-searches", savedSearches);
    document.querySelectorAll("[data-undo]").forEach(undoable);
  });
}
