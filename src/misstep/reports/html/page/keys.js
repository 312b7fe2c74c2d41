// The keyboard: everything that the mouse can do in the table and along a run.

const KEYS = [["/", "search the records"], ["j, k", "next and previous row of the table, or step of a run"], ["Enter", "open the row"], ["Esc", "back to the table, or close this"], ["g", "overview"], ["f", "families"], ["r", "records"], ["?", "this help"]];

function startKeys() {
  const dialog = by("keys");
  dialog.append(h("h2", { id: "keys-title" }, "Keyboard"), h("dl", { class: "pairs" }, KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])), h("p", {}), h("form", { method: "dialog" }, h("button", {}, "Close")));
  by("help").addEventListener("click", () => dialog.showModal());
  by("skip").addEventListener("click", () => by("main").focus());
  document.addEventListener("keydown", pressed);
  startPrinting();
}

function pressed(event) {
  const { key, target } = event, dialog = by("keys");
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  const writing = target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (key === "Escape") {
    if (writing) { target.blur(); by("rows") && by("rows").focus(); }
    else if (by("back")) location.hash = by("back").getAttribute("href");
    return;
  }
  if (writing) {
    if (key === "Enter" && target.id === "search" && records.rows && records.rows.length) { move(1, true); by("rows").focus(); }
    return;
  }
  const c = readView().c;
  const actions = {
    "/": () => { if (by("search")) by("search").focus(); else { go({ view: "records", c }); records.focus = true; } },
    j: () => move(1), k: () => move(-1), "?": () => dialog.showModal(),
    g: () => go({ view: "overview", c }), f: () => go({ view: "families", c }), r: () => go({ view: "records", c }),
    Enter: () => openRow(target),
  };
  if (!actions[key]) return;
  if (key !== "Enter" || target.id === "rows" || target === document.body || target.id === "main") { event.preventDefault(); actions[key](); }
}

function move(by_, fromTop) {
  if (!by("rows")) { if (current) current.step(by_); return; }
  if (!records.rows.length) return;
  records.here = fromTop ? 0 : Math.max(0, Math.min(records.rows.length - 1, records.here + by_));
  records.show(records.here);
  say(records.campaign.id(records.rows[records.here]) + ", " + WORD[records.campaign.word("verdict", records.rows[records.here])]);
}

function openRow() {
  if (!by("rows") || records.here < 0) return;
  const campaign = records.campaign;
  go({ view: "record", c: campaign.number, id: campaign.id(records.rows[records.here]), back: address(records.view).slice(1) });
}

// On paper the colours are light, and of a long table the beginning is printed.
function startPrinting() {
  const root = document.documentElement.dataset;
  let before;
  addEventListener("beforeprint", () => {
    before = root.theme;
    root.theme = "light";
    if (!by("rows")) return;
    records.redraw(true);
    if (records.rows.length > PRINTED) by("rows").append(h("p", { class: "empty", id: "cut" }, `The first ${PRINTED} of ${count(records.rows.length)} rows.`));
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.theme; else root.theme = before;
    if (by("cut")) by("cut").remove();
    if (by("rows")) records.redraw();
  });
}
