// Labels are changed here: of an item, of selected rows, of what is chosen on the map; a label is
// renamed, merged or dropped. Each change is one decision, which can be undone.
"use strict";
const Edit = (() => {
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const button = (text, act, className = "quiet small") => {
    const made = element("button", { type: "button", className }, text);
    made.addEventListener("click", act);
    return made;
  };
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const cut = (name, most = 60) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

  // --- talking to the server -----------------------------------------------------------

  let session = null;
  // Resolves to whether this browser may change labels.
  const ready = (async () => {
    const answer = await fetch("/edit/session.json").catch(() => null);
    if (!answer?.ok) return false;
    session = await answer.json();
    return true;
  })();
  const who = () => {
    try {
      return localStorage.getItem("labelspan-who") ?? session?.who ?? "";
    } catch {
      return session?.who ?? "";
    }
  };
  const send = async (path, body) => {
    await ready;
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-labelspan-secret": session?.secret ?? "" },
      body: JSON.stringify(path.endsWith("/undo.json") ? body : { ...body, who: who() }),
    }).catch(() => {
      throw new Error("The server does not answer: start “labelspan serve” again, then repeat this.");
    });
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.detail), { status: answer.status });
    return content;
  };
  // One after the other, in the order of the presses; what fails does not stop the next.
  let last = Promise.resolve();
  const post = (path, body) => {
    const mine = last.then(() => send(path, body));
    last = mine.catch(() => {});
    return mine;
  };

  // --- parts of pages ------------------------------------------------------------------

  // What was done, with a button that undoes it. `page.shown()` are the ids of the items that the
  // page shows, and `page.draw(labels)` draws their labels as they are stored now.
  const report = (line, done, page) => {
    line.replaceChildren(element("span", {}, done.said));
    page.draw(done.labels);
    if (!done.decision) return;
    others?.postMessage("labels");
    const undo = button("Undo", async () => {
      try {
        const back = await post("/edit/undo.json", { number: done.decision.number, show: page.shown() });
        line.replaceChildren(element("span", {}, back.said));
        page.draw(back.labels);
        others?.postMessage("labels");
      } catch (error) {
        line.replaceChildren(element("span", {}, error.message));
      }
    });
    line.append(" ", undo, " ", element("a", { href: "/history" }, "History"));
  };

  // Other windows of this browser tell when they have changed something.
  const others = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("labelspan");
  // Draw the stored labels again after another window has changed some, and when one comes back.
  const follow = (page) => {
    const again = async () => {
      const ids = page.shown();
      if (!ids.length || document.hidden) return;
      const now = await post("/edit/labels.json", { items: [], show: ids }).catch(() => null);
      if (now) page.draw(now.labels);
    };
    others?.addEventListener("message", again);
    document.addEventListener("visibilitychange", again);
  };

  let lists = 0;
  // An input for a label that completes those that exist.
  const labelInput = (title) => {
    lists += 1;
    const list = element("datalist", { id: `labels-${lists}` });
    const input = element("input", { maxLength: 4000, autocomplete: "off" });
    input.setAttribute("list", list.id);
    input.setAttribute("aria-label", title);
    input.placeholder = title;
    let turn = 0;
    input.addEventListener("input", async () => {
      turn += 1;
      const mine = turn;
      const answer = await fetch(`/labels/complete.json?${new URLSearchParams({ q: input.value.trim(), n: 20 })}`).catch(() => null);
      if (!answer?.ok || mine !== turn) return;
      const { labels } = await answer.json();
      list.replaceChildren(...labels.map(({ label, count, by }) => element("option", { value: label }, by ? `${by}, ${count}` : `${count}`)));
    });
    return [input, list];
  };

  // Add a label to items, or remove it. `items()` are their ids; for `page` see `report`.
  const editor = (items, page, { remove = true } = {}) => {
    const [input, list] = labelInput("Label to add" + (remove ? " or remove" : ""));
    const line = element("p", { className: "edit-said" });
    line.setAttribute("role", "status");
    let confirmed = "";
    const add = element("button", { type: "submit", className: "quiet" }, "Add");
    const calm = () => {
      confirmed = "";
      add.textContent = "Add";
    };
    input.addEventListener("input", calm);
    const take = (name) => {
      input.value = name;
      calm();
      act("add");
    };
    const ask = (name, { asked, similar }) => {
      confirmed = name;
      add.textContent = `Create “${cut(name, 30)}”`;
      const near = (similar[name] ?? []).slice(0, 3).map((one) => button(`Use “${cut(one, 30)}”`, () => take(one)));
      const words = asked || `No item has the label “${cut(name)}” yet;`;
      line.replaceChildren(element("span", {}, asked ? `${words} Press again to create it.` : `${words} press again to create it.`));
      for (const one of near) line.append(" ", one);
    };
    const act = async (field) => {
      const name = input.value.trim();
      const ids = items();
      if (!name || !ids.length) {
        line.textContent = name ? "Nothing is selected." : "Type a label.";
        return;
      }
      const sure = confirmed === name;
      const body = { items: ids, [field]: [name], create: sure, similar: sure };
      try {
        if (field === "add" && !sure) {
          const plan = await post("/edit/labels.json", { ...body, preview: true });
          if (plan.new_labels.length) {
            ask(name, plan);
            return;
          }
        }
        const done = await post("/edit/labels.json", { ...body, show: page.shown() });
        calm();
        input.value = "";
        report(line, done, page);
      } catch (error) {
        line.textContent = error.message;
      }
    };
    const form = element("form", { className: "label-editor" }, input, list, add);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act("add");
    });
    if (remove) form.append(button("Remove", () => act("remove"), "quiet"));
    const box = element("div", { className: "edit-box" }, form, line);
    return Object.assign(box, { line, input });
  };

  const chip = (name) =>
    element("li", {}, element("a", { className: "label", href: `/label?${new URLSearchParams({ name })}` }, element("bdi", {}, cut(name, 80))));

  const nothing = (labels) => {
    const words = labels === undefined ? "no longer in the index" : labels ? "no labels" : "labels not known";
    return element("p", { className: "none" }, words);
  };

  // --- pages ---------------------------------------------------------------------------

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
    const change = async (body) => {
      try {
        report(box.line, await post("/edit/labels.json", { items: [id], ...body, show: [id] }), page);
        box.input.focus();
      } catch (error) {
        box.line.textContent = error.message;
      }
    };
    draw({ [id]: JSON.parse(section.dataset.labels) });
    follow(page);
    section.append(box, element("p", { className: "more" }, element("a", { href: `/history?${new URLSearchParams({ item: id })}` }, "History of this item")));
    for (const cell of document.querySelectorAll("td[data-suggest]"))
      cell.append(" ", button("Add it", () => change({ add: [cell.dataset.suggest] })));
  };

  const listPage = (found) => {
    const rows = [...found.querySelectorAll("[data-id]")];
    if (!rows.length) return;
    // What is selected: a box is ticked if, and only if, its item is one of these.
    const selected = new Set();
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
      count.textContent = selected.size ? `${plural(selected.size, "item")} selected${part}` : "";
      none.hidden = !selected.size;
      box.hidden = !selected.size && !box.line.textContent;
    };
    const none = button("Select none", () => {
      selected.clear();
      tell();
    }, "quiet");
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
      const answer = await fetch(group.dataset.ids).catch(() => null);
      if (!answer?.ok) {
        line.textContent = "The items could not be listed; try again.";
        changed();
        return;
      }
      const { ids } = await answer.json();
      // Labels may have changed since the page was made: a row that is no longer in the list is not selected.
      put(every, false);
      every = ids;
      listed = true;
      put(ids, true);
    }, "quiet");
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
    const line = element("p", { className: "edit-said" });
    line.setAttribute("role", "status");
    const page = { shown: () => [], draw: () => {} };
    const plan = async (by) => {
      if (by === "") {
        line.textContent = "Type a name.";
        return;
      }
      const body = { labels: [label], by, create: true };
      try {
        const found = await post("/edit/replace.json", { ...body, preview: true });
        const near = (found.similar[by] ?? []).slice(0, 3);
        const title = found.items ? `Change ${plural(found.items, "item")}` : "Do it";
        const apply = button(near.length ? `Rename it to “${cut(by, 30)}” all the same` : title, async () => {
          try {
            const done = await post("/edit/replace.json", { ...body, similar: true });
            report(line, done, page);
            if (by) line.append(" ", element("a", { href: `/label?${new URLSearchParams({ name: by })}` }, `Open ${cut(by)}`));
          } catch (error) {
            line.textContent = error.message;
          }
        }, "danger");
        line.replaceChildren(element("span", {}, `${found.said} ${found.asked}`));
        for (const one of near) line.append(" ", button(`Merge into “${cut(one, 30)}” …`, () => plan(one), "quiet"));
        line.append(" ", apply, " ", button("Cancel", () => line.replaceChildren()));
        line.querySelector("button").focus();
      } catch (error) {
        line.textContent = error.message;
      }
    };
    const form = element("form", { className: "label-editor" }, input, list,
      element("button", { type: "submit", className: "quiet" }, "Rename or merge …"), button("Drop it …", () => plan(null), "quiet"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      plan(input.value.trim());
    });
    section.append(element("h2", {}, "Change this label"), form, line,
      element("p", { className: "more" }, element("a", { href: `/history?${new URLSearchParams({ label })}` }, "History of this label")));
  };

  // Labels that the audit would merge: into any of them, after which the line stays with its undo.
  const mergeRows = (queue) => {
    for (const row of queue.querySelectorAll("[data-merge]")) {
      const labels = JSON.parse(row.dataset.merge);
      const line = element("span", { className: "edit-said" });
      line.setAttribute("role", "status");
      const buttons = labels.map((by) => button(`Merge into “${cut(by, 30)}”`, async () => {
        try {
          const done = await post("/edit/replace.json", { labels: labels.filter((one) => one !== by), by });
          report(line, done, { shown: () => [], draw: () => {} });
          for (const one of buttons) one.remove();
        } catch (error) {
          line.textContent = error.message;
        }
      }));
      row.append(" ", ...buttons.flatMap((one) => [one, " "]), line);
    }
  };

  const historyPage = async (box) => {
    const asked = new URLSearchParams(location.search);
    const list = element("ol", { className: "history" });
    const more = button("Earlier", () => load(), "quiet");
    const line = element("p", { className: "edit-said" });
    line.setAttribute("role", "status");
    box.append(line, list, more);
    const entry = (one) => {
      const made = element("li", { className: one.undone ? "undone" : "" },
        element("time", { dateTime: one.time, className: "none" }, one.time.slice(0, 16).replace("T", " ")), " ",
        element("span", { className: "who" }, one.who || "somebody"), " ", element("span", {}, one.said), " ");
      for (const id of one.examples) made.append(element("a", { className: "of", href: `/item?${new URLSearchParams({ id })}` }, cut(id, 40)), " ");
      if (one.items > one.examples.length) made.append(`and ${one.items - one.examples.length} more `);
      if (one.undone) made.append(element("span", { className: "mark" }, "undone"));
      else {
        const undo = button("Undo", async () => {
          try {
            const back = await post("/edit/undo.json", { number: one.number });
            line.textContent = back.said;
            made.replaceWith(entry({ ...one, undone: true }));
            others?.postMessage("labels");
          } catch (error) {
            line.textContent = error.message;
          }
        });
        undo.setAttribute("aria-label", `Undo: ${one.said}`);
        made.append(undo);
      }
      return made;
    };
    const load = async () => {
      const answer = await fetch(`/edit/history.json?${asked}`);
      const found = await answer.json();
      if (!answer.ok) {
        line.textContent = found.detail;
        more.hidden = true;
        return;
      }
      list.append(...found.decisions.map(entry));
      if (!list.children.length) line.textContent = "No label was changed yet.";
      more.hidden = found.next === null;
      asked.set("before", String(found.next ?? ""));
    };
    await load();
  };

  const nameBox = (host) => {
    const input = element("input", { value: who(), maxLength: 100, size: 12, autocomplete: "off" });
    input.setAttribute("aria-label", "Your name, kept with your changes");
    input.placeholder = "Your name";
    input.addEventListener("change", () => {
      try {
        localStorage.setItem("labelspan-who", input.value.trim());
      } catch {
        // Without storage the name of the server is used.
      }
    });
    host.append("Changes by ", input);
  };

  ready.then((may) => {
    if (!may) return;
    const page = (id, make) => {
      const found = document.getElementById(id);
      if (found) make(found);
    };
    page("own-labels", itemPage);
    page("found", listPage);
    page("change-label", labelPage);
    page("history", historyPage);
    page("queue", mergeRows);
    page("who", nameBox);
  });

  return { ready, post, editor };
})();
