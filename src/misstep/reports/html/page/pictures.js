// Pictures of states: SVG as text, taken apart and built again from shapes and attributes that are known to be harmless.

const SHAPES = new Set(["svg", "g", "rect", "circle", "ellipse", "line", "polyline", "polygon", "path", "text", "tspan", "title", "desc", "defs", "marker", "clipPath", "linearGradient", "stop"]);
const LOOKS = /^(x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|d|points|width|height|viewBox|transform|fill|fill-opacity|fill-rule|stroke|stroke-width|stroke-opacity|stroke-dasharray|stroke-linecap|stroke-linejoin|opacity|class|text-anchor|dominant-baseline|font-size|font-weight|font-family|font-style|letter-spacing|dx|dy|dir|preserveAspectRatio|orient|refX|refY|markerWidth|markerHeight|offset|stop-color|role|aria-label|textLength|lengthAdjust|paint-order|vector-effect)$/;

const trusted = globalThis.trustedTypes ? trustedTypes.createPolicy("misstep-svg", { createHTML: (text) => text }) : { createHTML: (text) => text };

// In a namespace of our own, an attribute such as onload is a name like any other. In that of SVG the browser would try to
// make a handler of it while it reads, which our security policy refuses with an error on the console.
function pictureFrom(text) {
  const inert = text.replaceAll(SVG, "urn:misstep:picture");
  const parsed = new DOMParser().parseFromString(trusted.createHTML(inert), "application/xml").documentElement;
  if (parsed.localName !== "svg") return null;
  const picture = rebuilt(parsed);
  picture.setAttribute("role", "img");
  return picture;
}

// A long picture would be too small on a phone; there it can be scrolled.
function isLong(picture) {
  const [, , wide, tall] = (picture.getAttribute("viewBox") || "").split(/[\s,]+/).map(Number);
  return wide > 2.2 * tall;
}

function rebuilt(element) {
  const made = document.createElementNS(SVG, element.localName);
  for (const { name: own, value } of element.attributes)
    if (LOOKS.test(own) && !/url\s*\(|javascript:/i.test(value)) made.setAttribute(own, shown(value));
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(document.createTextNode(shown(child.data)));
    else if (child.nodeType === Node.ELEMENT_NODE && SHAPES.has(child.localName)) made.append(rebuilt(child));
  }
  return made;
}

// Numbers of pictures of the run and of the plan of a row; null: it was not drawn.
const picturesOf = (campaign, row) => report.pictures.rows[campaign.prefix + ":" + row] || null;

async function picture(number) {
  const texts = await piece("late.pictures" + Math.floor(number / report.pictures.piece));
  return pictureFrom(texts[number % report.pictures.piece]);
}
