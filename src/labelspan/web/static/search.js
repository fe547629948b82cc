// The list: sorting, ranges. Everything here is also reached by links.
"use strict";
{
  const form = document.getElementById("search");
  document.getElementById("sort")?.addEventListener("change", () => form.requestSubmit());
  // Short addresses: what is usual is not written.
  form.addEventListener("submit", () => {
    for (const one of form.elements)
      if (!one.value || (one.id === "balance" && one.value === one.dataset.usual)) one.disabled = true;
  });

  // An item shows the ones before and after it in the list from which it was opened.
  for (const group of document.querySelectorAll(".group"))
    group.addEventListener("click", (event) => {
      if (!event.target.closest("h3 a, th a")) return;
      Dom.remember("labelspan-list", { ids: group.dataset.ids, back: location.href }, true);
    });

  for (const box of document.querySelectorAll(".range")) {
    const { field, kind, low, high, bins } = box.dataset;
    const choose = (from, to) => {
      const address = new URL(location.href);
      const others = address.searchParams.getAll("range").filter((one) => !one.startsWith(`${field}:`));
      address.searchParams.delete("range");
      address.searchParams.delete("page");
      for (const one of others) address.searchParams.append("range", one);
      if (from || to) address.searchParams.append("range", `${field}:${from}..${to}`);
      location.assign(address);
    };
    box.prepend(Facets.histogram(field, kind, JSON.parse(bins), low, high, choose));
  }
}
