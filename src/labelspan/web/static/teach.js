// Teach by keys. Every press is about the item that is shown; answers are sent one after the other.
"use strict";
{
  const { element, button, isolated, address, chip, plural, wait, saying } = Dom;

  // --- starting ------------------------------------------------------------------------

  const CHOSEN = "labelspan-teach-items"; // ids that another page has chosen as examples
  const startPage = (form) => {
    let examples = [];
    try {
      examples = JSON.parse(sessionStorage.getItem(CHOSEN) ?? "[]");
    } catch {
      // Without storage a lesson starts from a label or a search.
    }
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
      sessionStorage.removeItem(CHOSEN);
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
    return element("div", { className: "text", tabIndex: 0, dir: "auto" }, ...parts);
  };
  const reasons = (title, shares) => {
    if (!shares.length) return [];
    const lines = shares.map(({ word, share }) =>
      element("li", { className: share > 0 ? "for" : "against" }, share > 0 ? "+ " : "− ", isolated(word)));
    return [element("h3", {}, title), element("ul", { className: "reason-list" }, ...lines)];
  };
  const evidence = (one) => {
    const chips = one.labels.map(chip);
    const facts = Object.entries(one.metadata).filter(([, value]) => value !== null && value !== "" && value !== one.title).map(([name, value]) =>
      element("div", {}, element("dt", {}, isolated(name)), element("dd", {}, isolated(String(value), 300))));
    const text = marked(one.text + (one.cut ? " …" : ""), one.words);
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", "Text");
    return [
      text,
      element("div", {},
        ...reasons("Words for and against", one.words), ...reasons("Labels for and against", one.label_shares),
        ...(chips.length ? [element("h3", {}, "Its labels"), element("ul", { className: "chips" }, ...chips)] : []),
        ...(facts.length ? [element("h3", {}, "Metadata"), element("dl", { className: "facts" }, ...facts)] : []),
        element("p", { className: "more" }, element("a", { href: address("/item", { id: one.id }) }, "Open the item"))),
    ];
  };

  // --- the lesson ----------------------------------------------------------------------

  const lessonPage = async (host) => {
    const { label } = host.dataset;
    const section = document.getElementById("question");
    const said = document.getElementById("decided");
    const proposal = document.getElementById("proposal");
    const done = []; // answered here, for undo
    const self = crypto.randomUUID?.() ?? String(Math.random());
    let queue = []; // items to ask about
    let map = null;
    let waiting = 0; // answers that are being sent

    const show = () => {
      const now = queue[0];
      const name = isolated(label, 60);
      if (!now) {
        proposal.replaceChildren(waiting ? "…" : "All items have an answer.");
        document.getElementById("evidence").replaceChildren();
      } else if (section.dataset.id !== now.id) {
        const chance = `${now.probability === null ? "" : `${Math.round(100 * now.probability)}% likely`}${now.kind === "near" ? " (near miss)" : ""}`;
        proposal.replaceChildren(isolated(now.title, 300), element("span", { className: "score" }, ` ${chance} `), element("span", { className: "unseen" }, "Does it belong to "), element("span", { className: "unseen" }, name));
        document.getElementById("evidence").replaceChildren(...evidence(now));
      }
      section.dataset.id = now?.id ?? "";
      for (const one of section.querySelectorAll("[data-act]"))
        one.disabled = one.dataset.act === "undo" ? !done.length : !now;
      map?.show(now?.id);
    };
    let drawn = true; // whether the map shows what was answered
    let drawing = false;
    const draw = async () => {
      const answer = await fetch(address("/teach/map.json", { label })).catch(() => null);
      if (answer?.ok) map?.colour(await answer.json());
    };
    // The map follows, one request at a time.
    const drawSoon = async () => {
      drawn = false;
      if (drawing) return;
      drawing = true;
      while (!drawn) {
        drawn = true;
        await wait(0.15);
        await draw();
      }
      drawing = false;
    };
    const take = (state) => {
      document.getElementById("state").textContent = state.progress.said;
      const answered = new Set(done.map(({ id }) => id));
      // What is not shown yet is replaced: the ranking may be new. What is shown stays, unless
      // another has answered about it, or is asked about it in another window.
      const shown = state.keep || waiting ? queue.slice(0, 1) : [];
      queue = [...shown, ...state.questions.filter(({ id }) => !answered.has(id) && id !== shown[0]?.id)];
      show();
      drawSoon();
    };
    const failed = (error) => {
      said.textContent = `${error.message} What was not kept is asked about again.`;
    };
    const answer = async (verdict) => {
      const now = queue.shift();
      done.push(now);
      waiting += 1;
      said.textContent = `${{ yes: "Belongs", no: "Does not belong", skip: "Skipped" }[verdict]}: ${now.title}`;
      show();
      try {
        const state = await Edit.post("/edit/teach/answer.json", { label, item: now.id, answer: verdict, shown: queue[0]?.id ?? "", window: self });
        waiting -= 1;
        take(state);
      } catch (error) {
        waiting -= 1;
        done.splice(done.indexOf(now), 1);
        queue.unshift(now);
        failed(error);
        show();
      }
    };
    const undo = async () => {
      const one = done.pop();
      if (!one) return;
      said.textContent = "Undoing …";
      try {
        const state = await Edit.post("/edit/teach/undo.json", { label, item: one.id });
        queue = [one];
        said.textContent = `Undone: ${one.title}`;
        take(state);
      } catch (error) {
        done.push(one);
        failed(error);
      }
    };
    const act = (name) => {
      if (name === "undo") undo();
      else if (queue[0]) answer(name);
    };
    Edit.decided(section, { y: "yes", n: "no", s: "skip", u: "undo" }, act);
    window.addEventListener("beforeunload", (event) => {
      if (waiting) event.preventDefault();
    });

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

    const first = await Dom.ask(address("/teach.json", { label }));
    host.hidden = false;
    document.getElementById("next").hidden = true;
    take(first.lesson);
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
