// Stepping through a run and a plan side by side: a slider, and buttons to go on, back and along.

// `sides` are {title, states, operators, end, pictures}; `places` says for each position which state of each side it is.
function stepper(task, sides, places, moved) {
  const boxes = sides.map((side) => ({ side, where: h("span", { class: "soft" }), picture: h("div", { class: "picture" }), did: h("p", {}), facts: h("ul", { class: "facts" }) }));
  const slider = h("input", { type: "range", min: "0", max: places.length - 1, value: "0", "aria-label": "Position along the run", id: "slider" });
  const output = h("output", { for: "slider" });
  const play = h("button", { type: "button", id: "play" }, "Play");
  let at = 0, timer = 0;
  const show = async (to) => {
    at = Math.max(0, Math.min(places.length - 1, to));
    slider.value = at;
    output.textContent = `${at} of ${places.length - 1}`;
    moved(at);
    await Promise.all(boxes.map((box, k) => fillSide(task, box, places[at][k], at)));
  };
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (at === places.length - 1) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => { if (at >= places.length - 1 || !play.isConnected) stop(); else show(at + 1); }, 700);
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  const button = (text, label, by) => h("button", { type: "button", "aria-label": label, onclick: () => show(by === null ? 0 : at + by) }, text);
  const element = h("div", {}, h("div", { class: sides.length > 1 ? "sides" : null },
    boxes.map((box) => h("div", { class: "side" }, h("h3", {}, box.side.title, box.where), box.side.pictures && box.picture, box.did, box.facts))),
    h("div", { class: "player" }, button("«", "To the beginning", null), button("‹", "One step back", -1), play, button("›", "One step on", 1), slider, output));
  show(0);
  return { element, show, step: (by) => show(at + by) };
}

const FACTS_AT_ONCE = 60;

async function fillSide(task, box, index, at) {
  const { side } = box, state = side.states[index], last = index === side.operators.length;
  box.where.textContent = `step ${index}` + (side.costs ? `, cost ${count(side.costs[index])}` : "");
  box.did.replaceChildren(last ? (side.end || "") : h("span", {}, "next: ", name(nameOf(task, side.operators[index]))));
  const { plus, minus } = index && side.states[index - 1] ? changedFacts(task, side.states[index - 1], state) : { plus: [], minus: [] };
  const fresh = new Set(plus), others = factsOf(task, state).filter((text) => !fresh.has(text));
  const list = box.facts;
  const fact = (kind) => (text) => h("li", { class: kind }, name(text));
  // Where there is a picture, the facts that change are enough.
  const few = side.pictures ? [] : others.slice(0, FACTS_AT_ONCE);
  list.replaceChildren(...plus.map(fact("plus")), ...minus.map(fact("minus")), ...few.map(fact(null)));
  if (others.length > few.length) list.append(h("li", {}, h("button", { type: "button", class: "quiet", onclick: (event) => { event.target.parentNode.replaceWith(...others.slice(few.length).map(fact(null))); } }, `${count(others.length - few.length)} unchanged facts`)));
  if (side.pictures) {
    const number = side.pictures[index], asked = (box.asked = at);
    const drawn = number === undefined ? h("p", { class: "soft" }, "This state was not drawn: the run is long.") : await picture(number);
    if (box.asked === asked && drawn) {
      box.picture.replaceChildren(drawn);
      box.picture.classList.toggle("long", isLong(drawn));
      if (isLong(drawn) && isNarrow()) box.picture.tabIndex = 0;
    }
  }
}
