// Elements of the page. Text of others only ever becomes a text node or the value of an attribute: no markup is made.

const SVG = "http://www.w3.org/2000/svg";

// Characters that are obeyed rather than shown: controls, marks that turn the direction of writing, half characters.
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function shown(text) {
  return String(text).replace(OBEYED, (odd) => {
    const code = odd.charCodeAt(0);
    return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
  });
}

// h("p", {class: "soft"}, "text", element): null and false among attributes and children are left out.
function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : shown(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

// A name of somebody else's: its direction of writing does not spill over, and a long one is broken.
const name = (text, more) => h("span", { class: "name" + (more ? " " + more : ""), dir: "auto" }, text);

const by = (id) => document.getElementById(id);

function say(text) {
  by("said").textContent = shown(text);
}

function card(title, width, ...children) {
  return h("section", { class: "card " + width }, title && h("h2", {}, title), ...children);
}

function command(text) {
  const button = h("button", { type: "button", "aria-label": "Copy the command" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      // A page from a file may not reach the clipboard: the text is selected instead.
      getSelection().selectAllChildren(button.previousElementSibling);
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return h("div", { class: "command" }, h("code", {}, text), button);
}
