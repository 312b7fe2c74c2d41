// Pieces of data: base64 in an element, deflated. They are unpacked when they are needed and the last ones are kept.

const KEPT = 60;
const unpacked = new Map();

async function bytesOf(id) {
  let element = by(id);
  if (!element && document.readyState === "loading") {
    // The page is used while its end is still being read.
    await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
    element = by(id);
  }
  if (!element) throw new Error("the report has no piece " + id);
  const packed = atob(element.textContent);
  const raw = new Uint8Array(packed.length);
  for (let k = 0; k < packed.length; k++) raw[k] = packed.charCodeAt(k);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

const ARRAYS = { Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array, Int32Array };
const arrayOf = async (id, type) => new ARRAYS[type](await bytesOf(id));

function piece(id) {
  const known = unpacked.get(id);
  if (known) return known;
  const made = bytesOf(id).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  unpacked.set(id, made);
  if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
  return made;
}
