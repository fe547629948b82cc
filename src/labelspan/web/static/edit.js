// How pages change labels: who may, what is sent, and an editor for the labels of items. Each change
// is one decision, which can be undone.
"use strict";
globalThis.Edit = (() => {
  const { element, button: made, status, saying, address, ask, shown } = Dom;
  const cut = (name, most = 60) => shown(name, most);
  const button = (text, act, className = "quiet small") => made(text, act, { className });

  // --- talking to the server -----------------------------------------------------------

  let session = null;
  // Resolves to whether this browser may change labels.
  const ready = (async () => {
    session = await ask("/edit/session.json").catch(() => null);
    return session !== null;
  })();
  const who = () => Dom.remembered("labelspan-who") ?? session?.who ?? "";
  // What the bar shows is asked for again after changes, not after each of many in a row.
  let drawBar = () => {};
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const answer = await ask("/edit/session.json").catch(() => null);
      if (answer) drawBar(answer.bar);
    }, 300);
  };
  const bar = async (draw) => {
    if (!(await ready)) return;
    drawBar = draw;
    draw(session.bar);
  };
  const send = async (path, body) => {
    await ready;
    const done = await ask(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-labelspan-secret": session?.secret ?? "" },
      body: JSON.stringify(path.endsWith("/undo.json") ? body : { ...body, who: who() }),
    });
    if (!body.preview) changed();
    return done;
  };
  // One after the other, in the order of the presses; what fails does not stop the next.
  let last = Promise.resolve();
  let sending = 0;
  const post = (path, body) => {
    sending += 1;
    const mine = last.then(() => send(path, body)).finally(() => {
      sending -= 1;
    });
    last = mine.catch(() => {});
    return mine;
  };

  const SAID = "labelspan-said"; // what was done before another page was loaded
  // Open a page, the same by default, that says what was done.
  const go = (said, href = location.href) => {
    others?.postMessage("labels");
    Dom.remember(SAID, said, true);
    if (href === location.href) location.reload();
    else location.assign(href);
  };
  const undo = async (number) => {
    const { said, decision } = await post("/edit/undo.json", number ? { number } : {});
    const here = new URL(location.href);
    // The page of a label follows its name.
    if (decision?.removed.length && decision.added.includes(here.searchParams.get("name"))) here.searchParams.set("name", decision.removed[0]);
    go(said, here.href);
  };

  // --- parts of pages ------------------------------------------------------------------

  // What was done, with a button that undoes it. `page.shown()` are the ids of the items that the
  // page shows, and `page.draw(labels)` draws their labels as they are stored now.
  const report = (line, done, page) => {
    line.replaceChildren(element("span", {}, done.said));
    page.draw(done.labels);
    if (!done.decision) return;
    others?.postMessage("labels");
    const undo = button("Undo", saying(line, async () => {
      const back = await post("/edit/undo.json", { number: done.decision.number, show: page.shown() });
      line.replaceChildren(element("span", {}, back.said));
      page.draw(back.labels);
      others?.postMessage("labels");
    }));
    line.append(" ", undo, " ", element("a", { href: "/history" }, "History"));
  };

  // Other windows of this browser tell when they have changed something.
  const others = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("labelspan");
  others?.addEventListener("message", changed);
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

  // What is decided on a page: by its buttons, and by keys that have the names of acts.
  const decided = (section, keys, act) => {
    section.addEventListener("click", (event) => {
      const name = event.target.closest("button")?.dataset.act;
      if (name) act(name);
    });
    document.addEventListener("keydown", (event) => {
      const key = event.key.toLowerCase();
      if (!(key in keys) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      // In a text, arrows scroll; a box that is ticked takes no letters.
      if (event.target.closest(`input:not([type="checkbox"]), textarea, select${key.startsWith("arrow") ? ", .text" : ""}`)) return;
      event.preventDefault();
      act(keys[key]);
    });
    // What is still to be sent is not lost by leaving.
    window.addEventListener("beforeunload", (event) => {
      if (sending) event.preventDefault();
    });
  };

  let lists = 0;
  // Let an input complete labels that exist; its list must be added to the page.
  const completed = (input) => {
    lists += 1;
    const list = element("datalist", { id: `labels-${lists}` });
    input.setAttribute("list", list.id);
    let turn = 0;
    input.addEventListener("input", async () => {
      turn += 1;
      const mine = turn;
      const { labels } = await ask(address("/labels/complete.json", { q: input.value.trim(), n: 20 })).catch(() => ({}));
      if (!labels || mine !== turn) return;
      list.replaceChildren(...labels.map(({ label, count, by }) => element("option", { value: label }, by ? `${by}, ${count}` : `${count}`)));
    });
    return list;
  };
  const labelInput = (title) => {
    const input = element("input", { maxLength: 4000, autocomplete: "off", placeholder: title });
    input.setAttribute("aria-label", title);
    return [input, completed(input)];
  };

  // Add a label to items, or remove it. `items()` are their ids; for `page` see `report`.
  const editor = (items, page, { remove = true } = {}) => {
    const [input, list] = labelInput(`Label to add${remove ? " or remove" : ""}`);
    const line = status();
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
    const act = saying(line, async (field) => {
      const name = input.value.trim();
      const ids = items();
      if (!name || !ids.length) {
        line.textContent = name ? "Nothing is selected." : "Type a label.";
        return;
      }
      const sure = confirmed === name;
      const body = { items: ids, [field]: [name], create: sure, similar: sure };
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
    });
    const form = element("form", { className: "label-editor" }, input, list, add);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act("add");
    });
    if (remove) form.append(button("Remove", () => act("remove"), "quiet"));
    const box = element("div", { className: "edit-box" }, form, line);
    return Object.assign(box, { line, input });
  };

  return { SAID, ready, bar, changed, go, undo, post, who, button, cut, editor, completed, labelInput, report, decided, follow, told: () => others?.postMessage("labels") };
})();
