// A file is dropped, shown as it is read, and fitted. What happens is kept by the server: every
// window shows the same, and a page that is loaded again goes on.
"use strict";
{
  const part = (id) => document.getElementById(id);
  const { element, plural: number } = Dom;
  const drop = part("drop");
  let secret = "";
  let drawn = "";
  let offered = "{}";

  const ask = async (path, settings = {}) => {
    const content = await Dom.ask(path, settings);
    ({ secret } = content);
    return content;
  };
  const send = (path, body) =>
    ask(path, { method: "POST", headers: { "content-type": "application/json", "x-labelspan-secret": secret }, body: JSON.stringify(body) });

  const refuse = (message) => {
    part("refused").textContent = message;
    part("refused").hidden = !message;
  };

  // --- how the file is read --------------------------------------------------------------

  const chosen = () => {
    const roles = { text: [], labels: [] };
    for (const one of part("fields").querySelectorAll("select")) roles[one.value]?.push(one.name);
    return roles;
  };
  const readAgain = (more = {}) => act(() => send("/start/read.json", { ...chosen(), ...more }));

  const row = ({ name, role, example, filled }) => {
    const select = element("select", { name }, ...["text", "labels", "other"].map((one) => element("option", { value: one }, one)));
    select.value = role === "text" || role === "labels" ? role : "other";
    if (role === "ids") select.options[2].textContent = "name of the item";
    select.setAttribute("aria-label", `Use of ${name}`);
    select.addEventListener("change", () => readAgain());
    const share = filled > 0.995 ? [] : [element("span", { className: "none" }, ` in ${Math.round(100 * filled)}% of the items`)];
    return element("tr", { className: select.value === "other" ? "" : "used" }, element("th", { scope: "row" }, element("bdi", {}, name)), element("td", {}, select), element("td", { className: "example" }, example, ...share));
  };

  const showReport = (now) => {
    const found = now.report;
    part("file-name").textContent = now.file;
    const beginning = found.complete ? "" : " in its beginning";
    part("counts").textContent = `${found.format}${found.format_guessed ? " (guessed)" : ""}: ${number(found.n_items, "item")}${beginning}, ${found.n_labelled.toLocaleString("en")} with labels, ${number(found.n_labels, "different label")}${found.n_once ? `, ${found.n_once.toLocaleString("en")} of them once` : ""}.`;
    const chips = found.labels.map(([name, count]) => element("li", {}, element("span", { className: "label" }, name, " ", element("span", { className: "count" }, count.toLocaleString("en")))));
    part("frequent").replaceChildren(...(chips.length ? [element("ul", { className: "chips" }, ...chips)] : []));
    part("fields").replaceChildren(...found.fields.filter((one) => one.role !== "left out").map(row));
    part("separated").hidden = !found.label_style || found.label_style === "lists";
    part("style").textContent = found.label_style ? `now: ${found.label_style}` : "";
    const notes = found.samples.map(({ text, labels }) => `“${text}”: ${labels === null ? "labels unknown" : labels.slice(0, 8).join(", ") || "no labels"}`);
    notes.push(...found.notes, ...found.hints.map((one) => `To change, in a terminal: ${one}`));
    if (!found.n_labelled) notes.push("No item has labels: search and map learn from the texts only.");
    if (found.why_not_writable && found.n_labelled) notes.push(`Labels cannot be written back: ${found.why_not_writable}`);
    part("notes").replaceChildren(...notes.map((one) => element("li", {}, one)));
    part("command").textContent = now.command;
  };

  // What may help where the file could not be read: its encoding, or the field of the text.
  const asks = { encoding: "How is the text written?", text: "Which field is the text?" };
  const written = { cp1252: "Windows", "mac-roman": "Mac", cp1251: "Cyrillic, Windows", gb18030: "Chinese" };
  const showChoices = (choices) => {
    const [[option, values] = []] = Object.entries(choices);
    const rows = Object.entries(values ?? {}).map(([value, example]) => {
      const button = element("button", { type: "button" }, element("bdi", {}, written[value] ?? value));
      button.addEventListener("click", () => act(() => send("/start/read.json", { [option]: option === "text" ? [value] : value })));
      return element("li", {}, button, " ", element("span", { className: "example" }, example));
    });
    part("choose").hidden = !rows.length;
    part("choose-what").textContent = asks[option] ?? "";
    part("choices").replaceChildren(...rows);
  };

  // --- what happens ------------------------------------------------------------------------

  const says = {
    empty: () => "",
    receiving: (now) => `Copying ${now.file} …`,
    reading: (now) => `Reading ${now.file} …`,
    read: () => "",
    fitting: (now) => `Making the index of ${now.file} …`,
    ready: () => "The index is there; its map opens.",
  };
  const show = (now) => {
    const busy = ["receiving", "reading", "fitting"].includes(now.state);
    part("told").textContent = says[now.state](now);
    const choices = JSON.stringify(now.choices);
    if (choices !== offered) showChoices(now.choices);
    offered = choices;
    refuse(choices === "{}" ? now.message : "");
    drop.hidden = busy || now.state === "ready";
    part("cancel").hidden = !["reading", "fitting"].includes(now.state);
    part("read").hidden = now.state !== "read" || !now.report;
    part("progress").hidden = now.state !== "fitting";
    const report = JSON.stringify([now.report, now.command]);
    if (now.report && report !== drawn) {
      showReport(now);
      drawn = report;
    }
    part("bar").max = Math.max(1, now.of);
    part("bar").value = now.step;
    part("steps").replaceChildren(...now.steps.map(({ what, seconds }) => element("li", {}, what, " ", element("span", { className: "count" }, `${seconds.toFixed(0)} s`))));
    if (now.state === "ready") location.assign("/map");
    return busy;
  };

  // One loop looks while something happens.
  let looking = false;
  const look = async () => {
    if (looking) return;
    looking = true;
    try {
      while (show(await ask("/start.json"))) await new Promise((done) => setTimeout(done, 300));
    } catch (error) {
      refuse(error.message);
    } finally {
      looking = false;
    }
  };
  const act = async (work) => {
    refuse("");
    try {
      show(await work());
      look();
    } catch (error) {
      refuse(error.message);
    }
  };

  const take = (file) => {
    const longest = Number(drop.dataset.longest);
    if (file.size > longest) {
      refuse(`${file.name} has ${number(file.size, "byte")}; at most ${number(longest, "byte")} can be taken here. In a terminal, “labelspan fit” reads larger files.`);
      return;
    }
    part("told").textContent = `Copying ${file.name} …`;
    act(() => ask(`/start/file?${new URLSearchParams({ name: file.name })}`, { method: "POST", headers: { "content-type": "application/octet-stream", "x-labelspan-secret": secret }, body: file }));
  };

  part("file").addEventListener("change", () => {
    const [file] = part("file").files;
    if (file) take(file);
    part("file").value = "";
  });
  // A file that misses the box must not replace the page.
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
  document.addEventListener("dragover", () => drop.classList.add("over"));
  document.addEventListener("dragleave", () => drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    if (drop.hidden) return;
    const entry = event.dataTransfer.items[0]?.webkitGetAsEntry?.();
    const [file] = event.dataTransfer.files;
    if (entry?.isDirectory || event.dataTransfer.files.length > 1) refuse("Drop one file; pack a folder or several files into an archive (.zip), or use “labelspan fit FOLDER” in a terminal.");
    else if (file) take(file);
  });
  part("separator").addEventListener("change", () => readAgain({ separator: part("separator").value }));
  part("model")?.addEventListener("change", () => readAgain({ model: part("model").value || null }));
  part("fit").addEventListener("click", () => act(() => send("/start/fit.json", {})));
  part("cancel").addEventListener("click", () => act(() => send("/start/cancel.json", {})));
  look();
}
