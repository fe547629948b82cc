// Parts of pages that several scripts make.
"use strict";
globalThis.Dom = (() => {
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  // A part of a picture.
  const svg = (name, attributes = {}, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
    made.append(...children);
    return made;
  };
  const button = (text, act, properties = {}) => {
    const made = element("button", { type: "button", ...properties }, text);
    made.addEventListener("click", act);
    return made;
  };
  // A line in which what happens is announced.
  const status = (name = "p") => {
    const line = element(name, { className: "edit-said" });
    line.setAttribute("role", "status");
    return line;
  };
  // Work that says in a line why it failed.
  const saying = (line, work) => async (...given) => {
    line.classList.remove("error");
    try {
      await work(...given);
    } catch (error) {
      failed(line, error.message);
    }
  };
  const failed = (line, message) => {
    line.textContent = message;
    line.classList.add("error");
  };
  // What is remembered by this browser, or only by this window; nothing where storage is refused.
  const remembered = (key, window = false) => {
    try {
      return JSON.parse((window ? sessionStorage : localStorage).getItem(key));
    } catch {
      return null;
    }
  };
  const remember = (key, value, window = false) => {
    try {
      (window ? sessionStorage : localStorage).setItem(key, JSON.stringify(value));
    } catch {
      // It lasts as long as the page is open.
    }
  };
  const number = (value) => value.toLocaleString("en");
  const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
  const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

  // A name on one line, cut, and without characters that turn or hide what stands around it.
  const CONTROLS = /[\s\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;
  const shown = (name, most = 40) => {
    const characters = [...name.replace(CONTROLS, " ").trim()];
    return characters.length > most ? `${characters.slice(0, most - 1).join("").trim()}…` : characters.join("");
  };
  const isolated = (name, most = 80) => element("bdi", { title: name.length > most ? shown(name, 400) : "" }, shown(name, most));
  const address = (path, parameters) => {
    const query = new URLSearchParams(parameters).toString();
    return query ? `${path}?${query}` : path;
  };
  // What the server answers; an error says in plain words why there is nothing.
  const ask = async (path, settings) => {
    const answer = await fetch(path, settings).catch(() => {
      throw new Error("The server does not answer: start “labelspan serve” again, then repeat this.");
    });
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.detail), { status: answer.status });
    return content;
  };
  const chip = (name) => element("li", {}, element("a", { className: "label", href: address("/label", { name }) }, isolated(name)));

  return { element, svg, button, status, saying, failed, remembered, remember, number, plural, wait, shown, isolated, address, ask, chip };
})();
