// Bokeh writes style elements; the page's policy lets those through that carry its word.
"use strict";
{
  const { nonce } = document.currentScript;
  const create = Document.prototype.createElement;
  Document.prototype.createElement = function (name, ...rest) {
    const made = create.call(this, name, ...rest);
    if (String(name).toLowerCase() === "style") made.nonce = nonce;
    return made;
  };
}
