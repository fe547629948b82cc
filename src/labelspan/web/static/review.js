// The review by keyboard, without loading the whole page again; the forms work without this.
"use strict";
{
  const box = () => document.getElementById("review");

  // What works only with scripts is shown by them.
  const furnish = () => {
    for (const one of box().querySelectorAll(".keys-help, .every")) one.hidden = false;
    const every = document.getElementById("every");
    every?.addEventListener("change", () => {
      for (const one of box().querySelectorAll(".queue input")) one.checked = every.checked;
    });
    const waiting = box().querySelector("[data-wait]");
    if (waiting) watch(waiting.dataset.wait);
  };

  const watch = async (address) => {
    for (;;) {
      await new Promise((done) => setTimeout(done, 500));
      let state = "computing";
      try {
        state = (await (await fetch(address)).json()).state;
      } catch {
        // The server may be busy; ask again.
      }
      if (state !== "computing" && state !== "none") break;
    }
    await show(await fetch(location.href));
  };

  // Put the content of another answer into this page.
  const show = async (answer) => {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("review");
    if (!fresh) {
      // Refused: the page says why.
      document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
      return;
    }
    const said = document.getElementById("said");
    const words = fresh.querySelector("#said").textContent;
    const old = box();
    // The element that is read out stays, and gets the new words.
    fresh.querySelector("#said").replaceWith(said);
    old.replaceWith(fresh);
    said.textContent = words;
    history.replaceState(null, "", answer.url.replace(/([?&])did=[a-z]*(&|$)/, "$1").replace(/[?&]$/, ""));
    furnish();
    document.getElementById("question")?.focus({ preventScroll: true });
  };

  // Keys and clicks wait for those before them, so that fast typing loses nothing: each acts on
  // what the page shows when its turn comes.
  let turn = Promise.resolve();
  let stopped = false;
  const inTurn = (act) => {
    turn = turn.then(async () => {
      if (stopped) return;
      box()?.setAttribute("aria-busy", "true");
      try {
        await act();
      } catch {
        // What is typed after a failure must not decide about something else.
        stopped = true;
        document.getElementById("said").textContent =
          "The server did not answer; the decision may not have been kept. Load the page again.";
      } finally {
        box()?.removeAttribute("aria-busy");
      }
    });
  };

  const send = async (form, button) => {
    const content = new URLSearchParams(new FormData(form, button));
    await show(await fetch(form.action, { method: "POST", body: content }));
  };

  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post" || !box()?.contains(event.target)) return;
    event.preventDefault();
    const { target, submitter } = event;
    // A click is about what was on the page.
    inTurn(() => (target.isConnected ? send(target, submitter) : undefined));
  });

  const press = async (key) => {
    const button = box()?.querySelector(`button[data-key="${CSS.escape(key)}"]`);
    if (button && !button.disabled) await send(button.form, button);
  };

  const move = async (step) => {
    const rows = [...box().querySelectorAll(".queue li")];
    const next = rows[rows.findIndex((row) => row.classList.contains("on")) + step];
    if (!next) return;
    const checked = [...box().querySelectorAll(".queue input:checked")].map((one) => one.id);
    await show(await fetch(next.querySelector("a.look").href));
    for (const id of checked) {
      const one = document.getElementById(id);
      if (one) one.checked = true;
    }
  };

  const select = () => {
    const mark = box()?.querySelector(".queue li.on input");
    if (mark) mark.checked = !mark.checked;
  };

  const help = () => {
    const keys = document.getElementById("keys");
    if (keys) keys.open = !keys.open;
  };

  const ACTIONS = {
    y: () => press("y"), ArrowRight: () => press("y"),
    n: () => press("n"), ArrowLeft: () => press("n"),
    s: () => press("s"), u: () => press("u"),
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    x: select, "?": help,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("textarea, select, input:not([type=checkbox])")) return;
    // Arrows scroll a long text that has the focus.
    if (event.key.startsWith("Arrow") && event.target.closest(".text")) return;
    const act = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || !box()) return;
    event.preventDefault();
    inTurn(act);
  });

  furnish();
}
