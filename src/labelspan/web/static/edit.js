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
    });
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.error.message), { status: answer.status });
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

  // What was done, with a button that undoes it; `undone` is called then.
  const report = (line, done, undone) => {
    line.replaceChildren(element("span", {}, done.said));
    if (!done.decision) return;
    const undo = button("Undo", async () => {
      try {
        const back = await post("/edit/undo.json", { number: done.decision.number });
        line.replaceChildren(element("span", {}, back.said));
        undone?.(back);
      } catch (error) {
        line.replaceChildren(element("span", {}, error.message));
      }
    });
    line.append(" ", undo, " ", element("a", { href: "/history" }, "History"));
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

  // Add a label to items, or remove it. `items()` are their ids; `changed(answer)` is called after.
  const editor = (items, changed, { remove = true } = {}) => {
    const [input, list] = labelInput("Label to add" + (remove ? " or remove" : ""));
    const line = element("p", { className: "edit-said" });
    line.setAttribute("role", "status");
    let creating = "";
    const add = element("button", { type: "submit", className: "quiet" }, "Add");
    const calm = () => {
      creating = "";
      add.textContent = "Add";
    };
    input.addEventListener("input", calm);
    const act = async (field) => {
      const name = input.value.trim();
      const ids = items();
      if (!name || !ids.length) {
        line.textContent = name ? "Nothing is selected." : "Type a label.";
        return;
      }
      const body = { items: ids, [field]: [name], create: creating === name };
      try {
        if (field === "add" && !body.create) {
          const { new_labels: fresh } = await post("/edit/labels.json", { ...body, preview: true });
          if (fresh.length) {
            creating = name;
            add.textContent = `Create “${cut(name, 30)}”`;
            line.textContent = `No item has the label “${cut(name)}” yet; press again to create it.`;
            return;
          }
        }
        const done = await post("/edit/labels.json", body);
        calm();
        input.value = "";
        report(line, done, changed);
        changed(done);
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

  // --- pages ---------------------------------------------------------------------------

  const itemPage = (section) => {
    const { id } = section.dataset;
    const draw = (labels) => {
      const lines = labels.map((name) => {
        const made = chip(name);
        const drop = button("×", () => change({ remove: [name] }), "quiet small");
        drop.setAttribute("aria-label", `Remove ${cut(name)}`);
        made.append(drop);
        made.className = "editable";
        return made;
      });
      const old = section.querySelector(".chips, .none");
      const fresh = lines.length ? element("ul", { className: "chips" }, ...lines) : element("p", { className: "none" }, "no labels");
      if (lines.length) fresh.setAttribute("aria-label", "Labels");
      old.replaceWith(fresh);
      for (const one of document.querySelectorAll("[data-suggest]")) one.hidden = labels.includes(one.dataset.suggest);
    };
    const box = editor(() => [id], (done) => draw(done.labels[id] ?? JSON.parse(section.dataset.labels)), { remove: false });
    const change = async (body) => {
      try {
        const done = await post("/edit/labels.json", { items: [id], ...body });
        draw(done.labels[id] ?? []);
        report(box.line, done, (back) => draw(back.labels[id] ?? []));
        box.input.focus();
      } catch (error) {
        box.line.textContent = error.message;
      }
    };
    draw(JSON.parse(section.dataset.labels));
    section.append(box, element("p", { className: "more" }, element("a", { href: `/history?${new URLSearchParams({ item: id })}` }, "History of this item")));
    for (const cell of document.querySelectorAll("td[data-suggest]"))
      cell.append(" ", button("Add it", () => change({ add: [cell.dataset.suggest] })));
  };

  const listPage = (found) => {
    const rows = [...found.querySelectorAll("[data-id]")];
    if (!rows.length) return;
    const boxes = rows.map((row) => {
      const box = element("input", { type: "checkbox", className: "pick" });
      box.setAttribute("aria-label", `Select ${cut(row.querySelector("h3, th").textContent.trim(), 80)}`);
      row.querySelector("h3, th").prepend(box);
      return box;
    });
    const chosen = () => rows.filter((_, n) => boxes[n].checked);
    const show = (done) => {
      for (const row of rows) {
        const labels = done.labels[row.dataset.id];
        const old = row.querySelector(".chips, p.none, td.own .none");
        if (labels && old) old.replaceWith(labels.length ? element("ul", { className: "chips" }, ...labels.map(chip)) : element("p", { className: "none" }, "no labels"));
      }
    };
    const every = element("input", { type: "checkbox", id: "select-all" });
    const count = element("span", { className: "count" });
    // The ids of all items that match, also on other pages, once they were asked for.
    let matching = null;
    const box = editor(() => matching ?? chosen().map((row) => row.dataset.id), show);
    const tell = () => {
      const number = matching?.length ?? chosen().length;
      count.textContent = number ? `${plural(number, "item")} selected` : "";
      every.checked = chosen().length === rows.length;
      further.hidden = !every.checked || Boolean(matching) || !found.querySelector(".pager");
      box.hidden = !number && !box.line.textContent;
    };
    const further = button(`Select all ${document.querySelector(".summary strong").textContent} that match`, async () => {
      const answer = await fetch(document.querySelector('.summary a[href^="/search.jsonl"]').href).catch(() => null);
      if (!answer?.ok) {
        box.line.textContent = "The items could not be listed; try again.";
        return;
      }
      matching = (await answer.text()).split("\n").filter(Boolean).map((one) => JSON.parse(one).id);
      tell();
    }, "quiet");
    every.addEventListener("change", () => {
      for (const one of boxes) one.checked = every.checked;
      matching = null;
      tell();
    });
    let before = -1;
    boxes.forEach((one, n) => one.addEventListener("click", (event) => {
      if (event.shiftKey && before >= 0)
        for (let at = Math.min(n, before); at <= Math.max(n, before); at += 1) boxes[at].checked = one.checked;
      before = n;
      matching = null;
      tell();
    }));
    const bar = element("section", { className: "edit-bar" }, element("label", {}, every, " Select all on this page"), " ", further, " ", count, box);
    bar.setAttribute("aria-label", "Change labels of selected items");
    found.prepend(bar);
    tell();
  };

  const labelPage = (section) => {
    const { label } = section.dataset;
    const [input, list] = labelInput("New name, or another label to merge into");
    const line = element("p", { className: "edit-said" });
    line.setAttribute("role", "status");
    const plan = async (by) => {
      if (by === "") {
        line.textContent = "Type a name.";
        return;
      }
      const body = { labels: [label], by, create: true };
      try {
        const found = await post("/edit/replace.json", { ...body, preview: true });
        const apply = button(found.items ? `Change ${plural(found.items, "item")}` : "Do it", async () => {
          try {
            const done = await post("/edit/replace.json", body);
            report(line, done);
            if (by) line.append(" ", element("a", { href: `/label?${new URLSearchParams({ name: by })}` }, `Open ${cut(by)}`));
          } catch (error) {
            line.textContent = error.message;
          }
        }, "danger");
        line.replaceChildren(element("span", {}, found.said), " ", apply, " ", button("Cancel", () => line.replaceChildren()));
        apply.focus();
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
        line.textContent = found.error.message;
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
    page("who", nameBox);
  });

  return { ready, post, editor, report, who };
})();
