// Bokeh adds style elements; the content security policy allows those with the page's nonce.
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
