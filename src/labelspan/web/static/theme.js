// Set the theme before the page is drawn: the chosen one, or that of the system.
"use strict";
{
  const themes = ["auto", "light", "dark"];
  const root = document.documentElement;
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("labelspan-theme") ?? "auto";
  } catch {
    // Without storage the choice lasts for one page.
  }

  const use = (theme) => {
    chosen = themes.includes(theme) ? theme : "auto";
    if (chosen === "auto") delete root.dataset.theme;
    else root.dataset.theme = chosen;
  };
  use(chosen);

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const say = () => {
      button.textContent = `Theme: ${chosen}`;
    };
    say();
    button.hidden = false;
    button.addEventListener("click", () => {
      use(themes[(themes.indexOf(chosen) + 1) % themes.length]);
      try {
        localStorage.setItem("labelspan-theme", chosen);
      } catch {
        // As above.
      }
      say();
    });
  });
}
