// Teach by keys. Every press is about the item that is shown; answers are sent one after the other.
"use strict";
{
  const { element, button, isolated, address, chip, plural, wait, saying } = Dom;

  // --- starting ------------------------------------------------------------------------

  const CHOSEN = "labelspan-teach-items"; // ids that another page has chosen as examples
  const startPage = (form) => {
    const examples = Dom.remembered(CHOSEN, true) ?? [];
    if (examples.length) {
      const line = document.getElementById("examples");
      line.textContent = `${plural(examples.length, "chosen item")} ${examples.length === 1 ? "is the example" : "are the examples"}.`;
      line.hidden = false;
    }
    for (const name of ["label", "within"]) form.append(Edit.completed(form.elements[name]));
    form.addEventListener("submit", saying(document.getElementById("start-said"), async (event) => {
      event.preventDefault();
      const given = new FormData(form);
      const body = { label: given.get("label").trim(), query: given.get("q").trim(), within: given.get("within").trim(), items: examples };
      const { label } = await Edit.post("/edit/teach/start.json", body);
      Dom.remember(CHOSEN, null, true);
      location.assign(address("/teach", { label }));
    }));
  };

  // --- one item ------------------------------------------------------------------------

  // The text with the words that speak for and against it.
  const marked = (text, words) => {
    const shares = new Map(words.map(({ word, share }) => [word.toLowerCase(), share]));
    const parts = text.split(/([\p{L}\p{N}]+)/u).map((part) => {
      const share = shares.get(part.toLowerCase());
      return share ? element("mark", { className: share > 0 ? "for" : "against" }, part) : part;
    });
    return element("div", { className: "text", dir: "auto" }, ...parts);
  };
  const shares = (all) => all.map(({ word, share }) =>
    element("li", { className: share > 0 ? "for" : "against" }, share > 0 ? "+ " : "− ", isolated(word)));
  // All of an item, its text first.
  const evidence = (one) => {
    const facts = Object.entries(one.metadata).filter(([, value]) => value !== null && value !== "" && value !== one.title).map(([name, value]) =>
      element("div", {}, element("dt", {}, isolated(name)), element("dd", {}, isolated(String(value), 300))));
    const why = [...shares(one.words), ...shares(one.label_shares)];
    return [
      ...(one.text ? [marked(one.text + (one.cut ? " …" : ""), one.words)] : []),
      element("div", {},
        ...(one.labels.length ? [element("ul", { className: "chips" }, ...one.labels.map(chip))] : []),
        ...(why.length ? [element("ul", { className: "reason-list" }, ...why)] : []),
        ...(facts.length ? [element("dl", { className: "facts" }, ...facts)] : []),
        element("p", { className: "more" }, element("a", { href: address("/item", { id: one.id }) }, "Open the item"))),
    ];
  };

  // --- the lesson ----------------------------------------------------------------------

  const lessonPage = async (host) => {
    const { label } = host.dataset;
    const section = document.getElementById("question");
    const said = document.getElementById("decided");
    const proposal = document.getElementById("proposal");
    const note = document.getElementById("note");
    const noteLine = document.getElementById("note-line");
    const blind = document.getElementById("blind");
    const self = crypto.randomUUID?.() ?? String(Math.random());
    const answered = new Set(); // here, until the server says so
    let queue = []; // items to ask about
    let undoable = false;
    let map = null;
    let waiting = 0; // answers that are being sent

    const show = () => {
      const now = queue[0];
      if (!now) {
        proposal.replaceChildren(waiting ? "…" : "All items have an answer.");
        document.getElementById("evidence").replaceChildren();
      } else if (section.dataset.id !== now.id) {
        const chance = now.probability === null ? "" : `${Math.round(100 * now.probability)}% likely`;
        proposal.replaceChildren(isolated(now.title, 500), element("span", { className: "score" }, ` ${chance}${now.kind === "near" ? " (near miss)" : ""}`));
        document.getElementById("evidence").replaceChildren(...evidence(now));
        note.value = "";
        noteLine.hidden = true;
      }
      section.dataset.id = now?.id ?? "";
      for (const one of section.querySelectorAll("[data-act]")) one.disabled = one.dataset.act === "undo" ? !undoable : !now;
      map?.show(now?.id);
    };
    let drawn = true; // whether the map shows what was answered
    let drawing = false;
    const draw = async () => {
      const colours = await Dom.ask(address("/teach/map.json", { label })).catch(() => null);
      if (colours) map?.colour(colours);
    };
    // The map follows, one request at a time.
    const drawSoon = async () => {
      drawn = false;
      if (drawing) return;
      drawing = true;
      while (!drawn) {
        drawn = true;
        await wait(0.15);
        await Promise.all([draw(), desk.list()]);
      }
      drawing = false;
    };
    const take = (state) => {
      desk.state(state);
      undoable = state.progress.yes + state.progress.no + state.progress.skipped > 0;
      // What is not shown yet is replaced: the ranking may be new. What is shown stays, unless
      // another has answered about it, or is asked about it in another window.
      const shown = state.keep || waiting ? queue.slice(0, 1) : [];
      queue = [...shown, ...state.questions.filter(({ id }) => !answered.has(id) && id !== shown[0]?.id)];
      show();
      drawSoon();
    };
    const failed = (error) => {
      Dom.failed(said, `${error.message} What was not kept is asked about again.`);
    };
    const answer = async (verdict, reason = "") => {
      const now = queue.shift();
      const about = { reason, note: note.value.trim() };
      answered.add(now.id);
      waiting += 1;
      said.classList.remove("error");
      said.textContent = `${{ yes: "Included", no: "Excluded", skip: "Skipped" }[verdict]}${reason ? `, ${reason}` : ""}: ${now.title}`;
      show();
      try {
        const state = await Edit.post("/edit/teach/answer.json", { label, item: now.id, answer: verdict, shown: queue[0]?.id ?? "", window: self, blind: blind.checked, ...about });
        waiting -= 1;
        take(state);
      } catch (error) {
        waiting -= 1;
        queue.unshift(now);
        failed(error);
        show();
      }
      if (!waiting) answered.clear();
    };
    // The last answer of this person, also one from before the page was loaded.
    const undo = async () => {
      said.textContent = "Undoing …";
      try {
        const state = await Edit.post("/edit/teach/undo.json", { label, who: Edit.who() });
        queue = [];
        take(state);
        said.classList.remove("error");
        said.textContent = state.undone_said;
      } catch (error) {
        Dom.failed(said, error.message);
      }
    };
    const act = (name) => {
      if (name === "undo") undo();
      else if (name === "mark") desk.highlight(!document.getElementById("highlights").checked);
      else if (!queue[0]) return;
      else if (name === "note") {
        noteLine.hidden = false;
        note.focus();
      } else if (name.startsWith("reason")) {
        const reason = desk.reasons()[Number(name.slice(6)) - 1];
        if (reason) answer("no", reason);
      } else answer(name);
    };
    note.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") proposal.focus();
    });
    const again = async () => {
      queue = [];
      section.dataset.id = "";
      take(await Edit.post("/edit/teach/state.json", { label, blind: blind.checked }));
    };
    const desk = TeachDesk.make(label, { exclude: (reason) => queue[0] && answer("no", reason), again });
    blind.addEventListener("change", again);
    const digits = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [String(n), `reason${n}`]));
    Edit.decided(section, { y: "yes", i: "yes", n: "no", e: "no", s: "skip", m: "note", u: "undo", h: "mark", ...digits }, act);

    // --- the end -----------------------------------------------------------------------

    const form = document.querySelector("#apply form");
    const line = document.getElementById("apply-said");
    form.addEventListener("submit", saying(line, async (event) => {
      event.preventDefault();
      const body = { label, form: form.elements.form.value };
      if (body.form === "split" && form.elements.rest?.value.trim()) body.rest = form.elements.rest.value.trim();
      if (document.getElementById("likely").checked) body.at_least = 0.8;
      const found = await Edit.post("/edit/teach/apply.json", { ...body, preview: true });
      if (!found.items) {
        line.textContent = "Nothing to change.";
        return;
      }
      const apply = button("Change labels", saying(line, async () => {
        Edit.report(line, await Edit.post("/edit/teach/apply.json", body), { shown: () => [], draw: drawSoon });
      }), { className: "danger" });
      line.replaceChildren(element("span", {}, found.said), " ", apply);
      apply.focus();
    }));

    host.hidden = false;
    document.getElementById("next").hidden = true;
    await again();
    map = await TeachMap.start(document.getElementById("lesson-map"));
    await draw();
    show();
  };

  Edit.ready.then((may) => {
    const form = document.getElementById("teach-start");
    const lesson = document.getElementById("lesson");
    if (may && form) startPage(form);
    if (may && lesson) lessonPage(lesson);
  });
}
