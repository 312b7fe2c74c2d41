// The table of records. Only the rows that can be seen are elements; the others are room to scroll through.

const PRINTED = 300; // rows of a table on paper
const records = { view: null, rows: null, here: -1, redraw: null };
const HEADS = [["id", "record"], ["verdict", "verdict"], ["kind", "kind"], ["gap", "gap"], ["run", "the policy's run"], ["best", "best known"], ["family", "family"], ["source", "found by"]];

async function recordsView(campaign, view) {
  const table = h("div", { class: "rows", id: "rows", tabindex: "0", role: "table", "aria-label": "Tested states" });
  const told = h("p", { role: "status" });
  const bar = h("div", { class: "found" }, told,
    h("button", { type: "button", onclick: () => download(csvOf(campaign, records.rows), campaign.label.replace(/[^\w.-]+/g, "-") + ".csv") }, "Download CSV"));
  const change = async (changes) => {
    Object.assign(view, changes);
    replaceView(view);
    await fill();
  };
  const fill = async () => {
    const states = view.q && campaign.searchable ? await campaign.loadStates() : null;
    records.rows = rowsOf(campaign, view, states);
    records.here = -1;
    drawTable(table, campaign, view, change);
    const without = view.q && !campaign.searchable ? " (facts of states are not searched: there are too many)" : "";
    told.textContent = plural(records.rows.length, "state") + " of " + count(campaign.rows) + without;
  };
  records.view = view;
  records.change = change;
  const page = h("div", {}, h("h1", {}, "Records"), h("p", { class: "soft" }, "Every tested state is a row. A click on a record shows the run behind it."),
    filters(campaign, view, change), bar, table);
  await fill();
  // Somebody may search facts next: the states are unpacked while nothing else is to be done.
  if (campaign.searchable) (globalThis.requestIdleCallback || setTimeout)(() => campaign.loadStates());
  return page;
}

function filters(campaign, view, change) {
  const choice = (key, label) => {
    const words = campaign.words[key].filter((word) => word !== null);
    if (words.length < 2 && !view[key]) return null;
    const select = h("select", { onchange: (event) => change({ [key]: event.target.value }) }, h("option", { value: "" }, "all"),
      words.slice(0, 500).map((word) => h("option", { value: word, selected: view[key] === word }, key === "verdict" ? WORD[word] : cut(word, 60))));
    return h("label", {}, label, select);
  };
  const waiting = {};
  const typed = (key) => (event) => {
    clearTimeout(waiting[key]);
    waiting[key] = setTimeout(() => change({ [key]: event.target.value }), 60);
  };
  const family = campaign.families.length > 0 && h("label", {}, "family", h("select", { onchange: (event) => change({ family: event.target.value }) }, h("option", { value: "" }, "all"),
    campaign.families.slice(0, 500).map((own, k) => h("option", { value: k + 1, selected: Number(view.family) === k + 1 }, cut(own.signature, 50) + " (" + count(own.count) + ")"))));
  return h("form", { class: "filters", role: "search", "aria-label": "Filter records", onsubmit: (event) => event.preventDefault() },
    h("label", {}, "text", h("input", { type: "search", id: "search", value: view.q || "", placeholder: "name, fact, number", oninput: typed("q"), onfocus: () => campaign.searchable && campaign.loadStates() })),
    choice("verdict", "verdict"), choice("kind", "kind"), choice("task", campaign.isModel ? "model" : "task"), choice("outcome", "run ends in"), choice("oracle", "oracle"), family,
    h("label", {}, campaign.isModel ? "radius, at least" : "gap, at least", h("input", { type: "number", min: "0", value: view.gap || "", oninput: typed("gap") })),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: Boolean(view.clean), onchange: (event) => change({ clean: event.target.checked ? "1" : "" }) }), "bugs and undecided only"));
}

const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function drawTable(table, campaign, view, change) {
  const sort = view.sort || "id";
  const titles = h("div", { class: "row titles", role: "row", "aria-rowindex": "1" }, HEADS.map(([key, text]) => {
    const down = sort === "-" + key, up = sort === key;
    const shownTitle = key === "gap" && campaign.isModel ? "radius" : text;
    return h("div", { role: "columnheader", "aria-sort": up ? "ascending" : down ? "descending" : "none" },
      h("button", { type: "button", onclick: () => change({ sort: up ? "-" + key : key }) }, shownTitle + (up ? " ↑" : down ? " ↓" : "")));
  }));
  const room = h("div", { role: "rowgroup" });
  room.style.position = "relative";
  table.setAttribute("aria-rowcount", records.rows.length + 1);
  table.replaceChildren(h("div", { role: "rowgroup" }, titles), room);
  table.firstChild.style.cssText = "position: sticky; top: 0; z-index: 2";
  if (!records.rows.length) {
    room.append(h("div", { role: "row" }, h("div", { role: "cell", class: "empty" }, campaign.rows ? "No record fits these filters." : "Nothing was tested.")));
    return;
  }
  const tall = isNarrow() ? 66 : 38;
  room.style.height = records.rows.length * tall + "px";
  let first = -1, last = -1;
  const draw = (all) => {
    const from = all ? 0 : Math.max(0, Math.floor(table.scrollTop / tall) - 6);
    const to = Math.min(records.rows.length, all ? PRINTED : Math.ceil((table.scrollTop + (table.clientHeight || 700)) / tall) + 6);
    if (from === first && to === last && !all) return;
    first = from; last = to;
    room.replaceChildren(...Array.from({ length: to - from }, (_, k) => rowElement(campaign, view, from + k, tall)));
  };
  records.redraw = (all) => { first = -1; draw(all); };
  records.show = (k) => {
    const top = k * tall;
    if (top < table.scrollTop) table.scrollTop = top;
    if (top + tall * 2.5 > table.scrollTop + table.clientHeight) table.scrollTop = top + tall * 2.5 - table.clientHeight;
    records.redraw();
  };
  table.onscroll = () => draw();
  draw();
  requestAnimationFrame(() => draw());
}

function rowElement(campaign, view, k, tall) {
  const row = records.rows[k], own = campaign.column, kind = campaign.word("kind", row), family = campaign.familyOf[row];
  const cell = (content, more) => h("div", { role: "cell", ...more }, content);
  const cost = Number.isNaN(own.cost[row]) ? plural(own.steps[row], "step") : "cost " + count(own.cost[row]);
  const line = h("div", { class: "row line" + (k === records.here ? " here" : ""), role: "row", "aria-rowindex": k + 2 },
    cell(link({ view: "record", c: campaign.number, id: campaign.id(row), back: address(view).slice(1) }, name(campaign.id(row)))),
    cell(badge(campaign.word("verdict", row))), cell(kind || "–"), cell(interval(own.low[row], own.high[row]), { class: "gap", "data-what": campaign.isModel ? "radius" : "gap" }),
    cell(campaign.word("outcome", row) + ", " + cost), cell(interval(own.lower[row], own.upper[row])),
    cell(family < 0 ? "–" : campaign.families[family].signature), cell(campaign.word("source", row) || "other states"));
  line.style.top = k * tall + "px";
  return line;
}
