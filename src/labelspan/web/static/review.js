// The review by keyboard, without loading the whole page again; the forms work without this.
"use strict";
{
  let busy = false;

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

  const send = async (form, button) => {
    if (busy) return;
    busy = true;
    box().setAttribute("aria-busy", "true");
    try {
      const content = new URLSearchParams(new FormData(form, button));
      await show(await fetch(form.action, { method: "POST", body: content }));
    } catch {
      document.getElementById("said").textContent =
        "The server did not answer; the decision may not have been kept. Load the page again.";
    } finally {
      busy = false;
      box()?.removeAttribute("aria-busy");
    }
  };

  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post" || !box()?.contains(event.target)) return;
    event.preventDefault();
    send(event.target, event.submitter);
  });

  const move = async (step) => {
    const rows = [...box().querySelectorAll(".queue li")];
    const next = rows[rows.findIndex((row) => row.classList.contains("on")) + step];
    if (!next || busy) return;
    busy = true;
    try {
      const checked = [...box().querySelectorAll(".queue input:checked")].map((one) => one.id);
      await show(await fetch(next.querySelector("a.look").href));
      for (const id of checked) {
        const one = document.getElementById(id);
        if (one) one.checked = true;
      }
    } finally {
      busy = false;
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("textarea, select, input:not([type=checkbox])")) return;
    const key = event.key.toLowerCase();
    const button = box()?.querySelector(`button[data-key="${CSS.escape(key)}"]`);
    if (button && !button.disabled) {
      event.preventDefault();
      button.click();
    } else if (key === "j" || key === "k") {
      event.preventDefault();
      move(key === "j" ? 1 : -1);
    } else if (key === "x") {
      const mark = box()?.querySelector(".queue li.on input");
      if (mark) mark.checked = !mark.checked;
    }
  });

  furnish();
}
