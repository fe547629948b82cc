// Decide by keys. Every press is kept: it is about the finding that is shown, or about the next
// one as soon as that is known; decisions are sent one after the other.
"use strict";
{
  const list = document.getElementById("queue");
  const section = document.getElementById("question");
  const asked = new URLSearchParams(location.search);
  const words = { wrong: ["Remove", "Removed", "Kept"], missing: ["Add", "Added", "Not added"] };
  const queue = []; // findings that wait: key, kind, label, title
  const known = new Set(); // keys that were in the queue
  const done = []; // decided here, for undo
  const presses = []; // of keys, before there is a finding they are about
  const shown = new Map(); // evidence by key: promises
  let at = 0;
  let ended = false;
  let stopped = false;

  const line = document.getElementById("decided");
  const said = (text) => {
    line.classList.remove("error");
    line.textContent = text;
  };
  const evidence = (key) => {
    if (!shown.has(key))
      shown.set(key, fetch(`/finding?key=${key}`).then(async (answer) => {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        return page.querySelector("[data-fragment]");
      }).catch(() => null));
    return shown.get(key);
  };
  const take = (rows) => {
    for (const row of rows)
      if (row.key && !known.has(row.key)) {
        known.add(row.key);
        queue.push({ ...row, order: known.size });
      }
  };
  const mark = () => {
    for (const row of list?.children ?? []) {
      row.classList.toggle("on", row.dataset.key === queue[at]?.key);
      row.hidden = known.has(row.dataset.key) && !queue.some(({ key }) => key === row.dataset.key);
    }
  };
  const show = async () => {
    const now = queue[at];
    section.hidden = !now && !done.length && !stopped;
    mark();
    const proposal = document.getElementById("proposal");
    if (!now) {
      proposal.textContent = ended ? "Enough: nothing is left to decide here." : "…";
      document.getElementById("evidence").replaceChildren();
      return;
    }
    const name = Dom.isolated(now.label, 80);
    const title = Dom.element("a", { href: Dom.address("/item", { id: now.item }) }, Dom.isolated(now.title, 80));
    proposal.replaceChildren(`${words[now.kind][0]} `, name, now.kind === "wrong" ? " from " : " to ", title, "?");
    section.classList.toggle("wrong", now.kind === "wrong");
    const yes = section.querySelector("[data-act=accept] span");
    const no = section.querySelector("[data-act=reject] span");
    yes.textContent = now.kind === "wrong" ? "Remove it" : "Add it";
    no.textContent = now.kind === "wrong" ? "Keep it" : "Do not add it";
    section.dataset.key = now.key;
    for (const { key } of queue.slice(at, at + 3)) evidence(key);
    const part = await evidence(now.key);
    if (queue[at] === now && part) document.getElementById("evidence").replaceChildren(...part.cloneNode(true).childNodes);
  };

  let asking = false;
  const fill = async () => {
    if (asking || ended || queue.length - at > 10) return;
    asking = true;
    try {
      // What is decided leaves the list of the server, so the first page has what is new.
      await sent;
      const answer = await Dom.ask(Dom.address("/review.json", { kind: asked.get("kind") || "pairs", label: asked.get("label") ?? "", show: asked.get("show") ?? "waiting" }));
      const before = queue.length;
      take(answer.rows.map(({ key, kind, labels, items, titles }) => ({ key, kind, label: labels[0], item: items[0], title: titles[0] })));
      document.getElementById("enough").textContent = answer.enough;
      ended = queue.length === before;
    } catch (error) {
      Dom.failed(line, error.message);
      return;
    } finally {
      asking = false;
    }
    while (presses.length && (queue[at] || ended)) act(presses.shift());
    await show();
  };

  let sent = Promise.resolve();
  const failed = (error, back) => {
    stopped = true;
    back();
    presses.length = 0;
    Dom.failed(line, `${error.message} Nothing was lost: what was not kept waits again.`);
    show();
  };
  const progress = (step) => {
    const bar = document.getElementById("progress");
    if (!bar) return;
    bar.value += step;
    document.getElementById("done").textContent = bar.value.toLocaleString("en");
  };
  // Numbers of findings that wait: of all, of a kind, and of this list.
  const waiting = (kind, step) => {
    const shown = [...document.querySelectorAll('.kinds [data-kind=""], .left'), document.querySelector(`.kinds [data-kind="${kind}"]`)];
    for (const one of shown)
      if (one) one.textContent = Math.max(0, Number(one.textContent.replaceAll(",", "")) + step).toLocaleString("en");
  };
  const decide = (decision) => {
    const [one] = queue.splice(at, 1);
    at = Math.min(at, Math.max(0, queue.length - 1));
    done.push(one);
    const [, yes, no] = words[one.kind];
    said(`${{ accept: yes, reject: no, skip: "Skipped" }[decision]}: ${one.label} of ${one.title}.`);
    if (decision !== "skip") progress(1);
    one.decision = decision;
    waiting(one.kind, -1);
    one.made = Edit.post("/edit/decide.json", { findings: [one.key], decision });
    sent = one.made.catch((error) => failed(error, () => {
      done.splice(done.indexOf(one), 1);
      queue.push(one);
      queue.sort((a, b) => a.order - b.order);
      at = 0;
      if (decision !== "skip") progress(-1);
      waiting(one.kind, 1);
    }));
  };
  const undo = () => {
    const one = done.pop();
    said("Undoing …");
    // The decision of this page: another window may have made the last one.
    const back = async () => {
      const made = await one?.made;
      if (made && !made.decision) throw new Error("Another window had decided about it before.");
      return Edit.post("/edit/undo.json", made ? { number: made.decision.number } : {});
    };
    sent = back().then((undone) => said(undone.said), (error) => failed(error, () => one && done.push(one)));
    if (!one) {
      // Decided before this page was loaded: it is in the list again.
      known.clear();
      ended = false;
      sent.then(fill);
      return;
    }
    queue.splice(at, 0, one);
    if (one.decision !== "skip") progress(-1);
    waiting(one.kind, 1);
  };
  const act = (name) => {
    stopped = false;
    if (name === "help") {
      const keys = document.getElementById("keys");
      keys.hidden = !keys.hidden;
      section.querySelector("[data-act=help]").setAttribute("aria-expanded", String(!keys.hidden));
      return;
    }
    if (name === "undo") undo();
    else if (name === "next" || name === "previous") at = Math.max(0, Math.min(queue.length - 1, at + (name === "next" ? 1 : -1)));
    else if (queue[at]) decide(name);
    else if (!ended) presses.push(name);
    show();
    fill();
  };
  const KEYS = {
    y: "accept", n: "reject", s: "skip", u: "undo", "?": "help",
    arrowright: "accept", arrowleft: "reject", arrowdown: "next", arrowup: "previous",
  };

  // Labels that the audit would merge: into any of them, after which the line stays with its undo.
  const offerMerge = (row) => {
    const labels = JSON.parse(row.dataset.merge);
    const said = Dom.status("span");
    const buttons = labels.map((by) => Edit.button(`Merge into “${Edit.cut(by, 30)}”`, Dom.saying(said, async () => {
      const done = await Edit.post("/edit/replace.json", { labels: labels.filter((one) => one !== by), by });
      Edit.report(said, done, { shown: () => [], draw: () => {} });
      for (const one of buttons) one.remove();
      waiting("merge", -1);
    })));
    row.append(" ", ...buttons.flatMap((one) => [one, " "]), said);
  };

  Edit.ready.then((may) => {
    if (may) list?.querySelectorAll("[data-merge]").forEach(offerMerge);
    // While the audit runs there is nothing to decide.
    if (!may || !section) return;
    take([...(list?.children ?? [])].map((row) => ({ ...row.dataset, title: row.querySelector(".of")?.textContent ?? "" })));
    Edit.decided(section, KEYS, act);
    show();
    fill();
  });
}
