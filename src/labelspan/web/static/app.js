// Small conveniences; every page works without them.
"use strict";
{
  // The slash key moves the focus to the search box.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) return;
    const box = document.querySelector("input.q");
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });

  // The balance is shown while it is moved, and used when it is let go.
  const balance = document.querySelector("#balance");
  if (balance) {
    const shown = document.querySelector('output[for="balance"]');
    balance.addEventListener("input", () => {
      shown.textContent = `${balance.value}%`;
    });
    balance.addEventListener("change", () => {
      if (balance.form.q.value.trim()) balance.form.requestSubmit();
    });
  }

  // "Why?" opens below its item, with the content of the page behind the link.
  const open = async (link) => {
    const hit = link.closest(".hit");
    const there = hit.querySelector(".explained");
    if (there) {
      there.hidden = !there.hidden;
      link.setAttribute("aria-expanded", String(!there.hidden));
      return;
    }
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.querySelector("[data-fragment]") ?? page.querySelector("main");
    const box = Dom.element("div", { className: "explained" });
    // These headings are one level below that of the item.
    for (const heading of found.querySelectorAll("h1, h2")) heading.replaceWith(Dom.element("h4", {}, ...heading.childNodes));
    box.append(...found.childNodes);
    hit.append(box);
    link.setAttribute("aria-expanded", "true");
  };

  for (const link of document.querySelectorAll("a.why")) {
    link.setAttribute("role", "button");
    link.setAttribute("aria-expanded", "false");
    let busy = false;
    const act = async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (busy) return;
      busy = true;
      try {
        await open(link);
      } catch {
        location.assign(link.href);
      } finally {
        busy = false;
      }
    };
    link.addEventListener("click", act);
    link.addEventListener("keydown", (event) => {
      if (event.key === " ") act(event);
    });
  }

  // What is being computed is shown when it is there.
  const waiting = document.querySelector("[data-wait]");
  const look = async () => {
    const now = await Dom.ask(waiting.dataset.wait).catch(() => ({ state: "computing" }));
    if (now.state !== "computing" && now.reports !== null) location.reload();
    else setTimeout(look, 2000);
  };
  if (waiting) setTimeout(look, 1000);
}
