// What stands beside and below a question: the curve of what was found, the target, reasons, and
// the decisions, each of which can be changed.
"use strict";
globalThis.TeachDesk = (() => {
  const { element, svg, button, isolated, address, ask, number, plural, saying } = Dom;
  const [WIDE, HIGH, LEFT, LOW] = [320, 190, 34, 22];
  const TARGETS = [80, 90, 95, 98, 100];
  const NAMES = { yes: "Include", no: "Exclude", skip: "Skip" };
  const AT_ONCE = 50;

  // Found against read: a line up to now, then what is expected, in a band.
  const curve = ({ read, found, ahead, expected, low, high }) => {
    const [last, most] = [Math.max(1, ...read, ...ahead), Math.max(1, ...found, ...high)];
    const x = (value) => LEFT + ((WIDE - LEFT - 8) * value) / last;
    const y = (value) => HIGH - LOW - ((HIGH - LOW - 8) * value) / most;
    const line = (across, up) => across.map((value, n) => `${x(value).toFixed(1)},${y(up[n]).toFixed(1)}`).join(" ");
    const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Found ${found.at(-1)} after ${plural(read.at(-1), "answer")}${ahead.length ? `; ${Math.round(low.at(-1))} to ${Math.round(high.at(-1))} of all ${number(last)} are expected to belong` : ""}` });
    picture.append(
      svg("polygon", { class: "band", points: `${line(ahead, low)} ${line([...ahead].reverse(), [...high].reverse())}` }),
      svg("polyline", { class: "expected", points: line(ahead, expected) }),
      svg("polyline", { class: "found", points: line(read, found) }),
      svg("path", { class: "axes", d: `M${LEFT} 4V${HIGH - LOW}H${WIDE - 4}` }),
      svg("text", { x: LEFT - 4, y: 14, "text-anchor": "end" }, number(most)),
      svg("text", { x: LEFT - 4, y: HIGH - LOW, "text-anchor": "end" }, "0"),
      svg("text", { x: WIDE - 4, y: HIGH - 6, "text-anchor": "end" }, `${number(last)} read`),
      svg("text", { x: LEFT + 4, y: 14 }, "found"),
    );
    return picture;
  };

  // `exclude(reason)` answers about the item that is shown; `again()` asks for the questions.
  const make = (label, { exclude, again }) => {
    const line = document.getElementById("desk-said");
    const target = document.getElementById("target");
    const marks = document.getElementById("highlights");
    const lesson = document.getElementById("lesson");
    const shelf = document.getElementById("reasons");
    const body = document.querySelector("#decisions tbody");
    const tabs = [...document.querySelectorAll("#decisions [data-show]")];
    let reasons = [];
    let which = "mine";
    let many = AT_ONCE;

    // --- beside it ---------------------------------------------------------------------

    const state = (now) => {
      const words = document.getElementById("state");
      words.textContent = now.said;
      words.classList.toggle("enough", now.enough);
      document.getElementById("curve").replaceChildren(curve(now.curve));
      const share = Math.round(100 * now.progress.target);
      target.replaceChildren(...[...new Set([...TARGETS, share])].sort((a, b) => a - b).map((value) =>
        element("option", { value: String(value), selected: value === share }, `${value}%`)));
      tabs.find((one) => one.dataset.show === "conflicts").textContent = `Conflicts (${number(now.conflicts)})`;
      if (reasons.join("\n") === now.reasons.join("\n")) return;
      reasons = now.reasons;
      const own = element("input", { maxLength: 2000, placeholder: "own words", autocomplete: "off" });
      own.setAttribute("aria-label", "Exclude, because of: own words");
      const form = element("form", {}, own);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (own.value.trim()) exclude(own.value.trim());
        own.value = "";
        own.blur();
      });
      shelf.replaceChildren(...reasons.map((reason, n) =>
        button(reason, () => exclude(reason), { className: "quiet small", title: `key ${n + 1}` })), form,
        button("Edit reasons", rename, { className: "quiet small" }));
      for (const [n, one] of [...shelf.querySelectorAll(":scope > button")].slice(0, -1).entries()) one.prepend(element("kbd", {}, String(n + 1)), " ");
    };
    // The reasons that are offered, one a line.
    const rename = () => {
      const given = element("textarea", { rows: 5, value: reasons.join("\n") });
      given.setAttribute("aria-label", "Reasons, one per line");
      const keep = button("Keep", saying(line, async () => {
        const named = given.value.split("\n").map((one) => one.trim()).filter(Boolean);
        state(await Edit.post("/edit/teach/aim.json", { label, reasons: named }));
      }));
      shelf.replaceChildren(given, keep);
      given.focus();
    };
    const highlight = (on) => {
      marks.checked = on;
      lesson.classList.toggle("plain", !on);
    };
    marks.addEventListener("change", () => highlight(marks.checked));
    target.addEventListener("change", saying(line, async () => {
      state(await Edit.post("/edit/teach/aim.json", { label, target: Number(target.value) / 100 }));
    }));
    document.getElementById("taken").addEventListener("change", saying(line, async (event) => {
      const [file] = event.target.files;
      if (!file) return;
      const done = await Edit.post("/edit/teach/take.json", { label, content: await file.text() });
      line.textContent = done.taken;
      event.target.value = "";
      await again();
    }));

    // --- below it ----------------------------------------------------------------------

    const field = (row, name, title) => {
      const input = element("input", { value: row[name], maxLength: 2000, autocomplete: "off" });
      input.setAttribute("aria-label", `${title}: ${row.title}`.slice(0, 120));
      input.addEventListener("change", saying(line, async () => {
        row[name] = input.value.trim();
        await Edit.post("/edit/teach/comment.json", { label, item: row.id, reason: row.reason, note: row.note });
        line.textContent = "Kept.";
      }));
      return element("td", {}, input);
    };
    const drawRow = (row) => {
      const choice = element("select", {}, ...Object.entries(NAMES).map(([value, name]) => element("option", { value, selected: value === row.answer }, name)));
      choice.setAttribute("aria-label", `Decision: ${row.title}`.slice(0, 120));
      choice.addEventListener("change", saying(line, async () => {
        await Edit.post("/edit/teach/answer.json", { label, item: row.id, answer: choice.value, reason: row.reason, note: row.note });
        await again();
      }));
      const mine = row.who === Edit.who();
      const others = Object.entries(row.others).map(([who, answer]) => `${who || "somebody"}: ${NAMES[answer]}`);
      const own = mine ? [field(row, "reason", "Reason"), field(row, "note", "Note")] : [element("td", {}, isolated(row.reason, 200)), element("td", {}, isolated(row.note, 200))];
      const made = element("tr", {}, element("th", { scope: "row" }, element("a", { href: address("/item", { id: row.id }) }, isolated(row.title, 200))),
        element("td", {}, choice), ...own,
        element("td", {}, isolated(row.who || "somebody"), ...(others.length ? [element("span", { className: "none" }, ` (${others.join(", ")})`)] : [])),
        element("td", { className: "number" }, row.time.slice(0, 16).replace("T", " ")));
      made.dataset.id = row.id;
      return made;
    };
    const list = async () => {
      const found = await ask(address("/teach/decisions.json", { label, show: which, who: Edit.who(), n: many })).catch(() => null);
      // What somebody is typing into stays.
      if (!found || body.contains(document.activeElement)) return;
      body.replaceChildren(...found.rows.map(drawRow));
      const none = document.getElementById("decisions-none");
      none.replaceChildren(found.count ? plural(found.count, "decision") : "None yet.");
      if (found.count > found.rows.length) none.append(" ", button("More", () => {
        many += 10 * AT_ONCE;
        list();
      }, { className: "quiet small" }));
    };
    for (const tab of tabs)
      tab.addEventListener("click", () => {
        which = tab.dataset.show;
        for (const one of tabs) one.setAttribute("aria-pressed", String(one === tab));
        list();
      });
    return { state, list, highlight, reasons: () => reasons };
  };

  return { make };
})();
