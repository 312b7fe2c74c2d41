// Several campaigns side by side.

function compareView(view) {
  const all = report.campaigns, own = report.comparison;
  const chosen = Math.min(Math.max(0, Number(view.pair) || 0), own.pairs.length - 1);
  const place = h("div", {});
  const page = h("div", {}, h("h1", {}, "Comparison"), h("p", { class: "lead" }, comparedSentence(own.pairs[chosen])),
    h("div", { class: "grid" }, card("Campaigns", "w12", campaignsTable(all)), card("What became of the states that two campaigns share", "w12", pairsTable(all, own, chosen)),
      card("Bugs over time", "w6", curves(all.map((one) => [one.label, merged(one.times)]), "Number of bugs of each campaign over time", "seconds of work on a task")),
      card("Paired differences", "w6", differencesPart(all, own)), matrixPart(all, own), card(null, "w12", place)));
  fillPair(place, own.pairs[chosen]);
  return page;
}

const labelOf = (k) => report.campaigns[k].label;

function comparedSentence(pair) {
  const words = pair.words, some = (...keys) => keys.reduce((sum, key) => sum + (words[key] || 0), 0);
  if (!pair.common) return `${labelOf(pair.first)} and ${labelOf(pair.second)} share no state, so nothing can be said of single bugs. "misstep test --pool-from" tests another policy on the same states.`;
  return `From ${labelOf(pair.first)} to ${labelOf(pair.second)}, on ${plural(pair.common, "common state")}: ${count(some("fixed"))} fixed, ${count(some("still", "better", "worse"))} still there, ${count(some("new", "uncovered"))} new.`;
}

// The best curve of a campaign: that of the oracle with most bugs.
const merged = (times) => Object.values(times).sort((a, b) => (b.at(-1) || [0, 0])[1] - (a.at(-1) || [0, 0])[1])[0] || [];

function campaignsTable(all) {
  const number = (value) => h("td", { class: "n" }, value);
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Campaigns" }, h("table", {}, h("thead", {}, h("tr", {}, ["campaign", "policy"].map((title) => h("th", { scope: "col" }, title)), ["tested", "bugs", "share", "proven fine", "undecided", "missteps"].map((title) => h("th", { class: "n", scope: "col" }, title)))),
    h("tbody", {}, all.map((one) => { const own = one.counts; return h("tr", {}, h("td", {}, link({ view: "overview", c: one.number }, name(one.label))), h("td", {}, name(cut(one.policy, 60))), number(count(own.tested)), number(count(own.bugs)), number(percent(own.bugs, own.tested)), number(count(own.optimal + own.unsolvable)), number(count(own.unknown + own.flaky)), number(count(own.faults))); }))));
}

// Settings in which the campaigns differ: with two of them a matrix, bugs of tested states in each cell.
function matrixPart(all, own) {
  if (!own.differ.length) return card("Settings", "w12", h("p", {}, "All campaigns have the same settings."));
  const tall = own.differ.find(([key]) => key === "policy") || own.differ[0], wide = own.differ.find((one) => one !== tall);
  if (!wide || all.length < 3) return card("Settings that differ", "w12", h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Settings" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "setting"), all.map((one) => h("th", { scope: "col" }, name(one.label))))), h("tbody", {}, own.differ.map(([key, values]) => h("tr", {}, h("th", { scope: "row" }, key), values.map((value) => h("td", {}, value === null ? "–" : name(cut(value, 80))))))))));
  const rows = [...new Set(tall[1])], columns = [...new Set(wide[1])];
  const cellOf = (a, b) => all.filter((_, k) => tall[1][k] === a && wide[1][k] === b).map((one) => h("div", {}, link({ view: "overview", c: one.number }, `${count(one.counts.bugs)} of ${count(one.counts.tested)}`), " ", h("span", { class: "soft" }, percent(one.counts.bugs, one.counts.tested))));
  return card(`Bugs by ${tall[0]} and ${wide[0]}`, "w12", h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Matrix" }, h("table", { class: "lights" }, h("thead", {}, h("tr", {}, h("td", {}), columns.map((value) => h("th", { scope: "col" }, name(cut(value || "–", 60)))))), h("tbody", {}, rows.map((a) => h("tr", {}, h("th", { scope: "row" }, name(cut(a || "–", 60))), columns.map((b) => h("td", {}, cellOf(a, b)))))))));
}

function pairsTable(all, own, chosen) {
  const words = Object.keys(own.words).filter((word) => own.pairs.some((pair) => pair.words[word]));
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Pairs" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "from"), h("th", { scope: "col" }, "to"), h("th", { class: "n", scope: "col" }, "common"), words.map((word) => h("th", { class: "n w-" + word, scope: "col", title: own.words[word] }, word)))),
    h("tbody", {}, own.pairs.map((pair, k) => h("tr", { class: k === chosen ? "here" : null }, h("td", {}, own.pairs.length > 1 ? link({ view: "compare", pair: k }, name(labelOf(pair.first))) : name(labelOf(pair.first))), h("td", {}, name(labelOf(pair.second))), h("td", { class: "n" }, count(pair.common)), words.map((word) => h("td", { class: "n" }, pair.words[word] ? count(pair.words[word]) : "·")))))),
    own.pairs.length > 1 && h("p", { class: "small" }, `The row that is marked, from ${labelOf(own.pairs[chosen].first)} to ${labelOf(own.pairs[chosen].second)}; a click on another row shows that pair:`), changesBar(own.pairs[chosen]), h("dl", { class: "pairs small" }, words.map((word) => [h("dt", { class: "w-" + word }, word), h("dd", {}, own.words[word])])));
}

// Of the chosen pair: what was fixed, what is still there, what is new, by length.
function changesBar(pair) {
  const of = (...words) => words.reduce((sum, word) => sum + (pair.words[word] || 0), 0);
  const parts = [["fine", of("fixed", "clean")], ["open", of("still", "better", "worse", "undecided", "flaky")], ["bug", of("new", "uncovered")]].filter(([, number]) => number);
  return h("div", { class: "share", role: "img", "aria-label": `${count(of("fixed", "clean"))} fixed or clean, ${count(of("still", "better", "worse"))} still bugs, ${count(of("new", "uncovered"))} new bugs` }, parts.map(([kind, number]) => {
    const part = h("span", { class: kind });
    part.style.flex = String(number);
    return part;
  }));
}

const verdictText = (campaign, row) => [badge(campaign.word("verdict", row)), campaign.word("verdict", row) === "BUG" && ` ${campaign.word("kind", row)}` + (campaign.column.low[row] === Infinity ? "" : ` ${interval(campaign.column.low[row], campaign.column.high[row])}`)];

async function fillPair(place, pair) {
  const entries = await piece(pair.piece), first = report.campaigns[pair.first], second = report.campaigns[pair.second];
  if (!entries.length) return place.replaceChildren(h("h2", {}, "State by state"), h("p", { class: "soft" }, "No common state has changed."));
  const some = (list) => list.map(([word, a, b]) => h("tr", {}, h("td", { class: "w-" + word }, word), h("td", {}, link({ view: "record", c: pair.first, id: first.id(a) }, name(cut(first.id(a), 80)))), h("td", {}, verdictText(first, a)), h("td", {}, link({ view: "record", c: pair.second, id: second.id(b) }, name(cut(second.id(b), 80)))), h("td", {}, verdictText(second, b))));
  const body = h("tbody", {}, some(entries.slice(0, 15)));
  const more = entries.length > 15 && h("button", { type: "button", onclick: (event) => { event.target.remove(); body.append(...some(entries.slice(15))); } }, `Show ${count(entries.length - 15)} more`);
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes" }, h("table", {}, h("thead", {}, h("tr", {}, ["change", "in " + first.label, "was", "in " + second.label, "is"].map((title) => h("th", { scope: "col" }, title)))), body));
  place.replaceChildren(h("h2", {}, "State by state"), table, ...(more ? [more] : []), ...(pair.left ? [h("p", { class: "small soft" }, `${count(pair.left)} more are not listed.`)] : []));
}

function differencesPart(all, own) {
  const points = (value) => (value === null ? "–" : (value > 0 ? "+" : "") + (100 * value).toFixed(1));
  return [h("p", { class: "small soft" }, "Mean over tasks of the difference in the share of common states that are bugs, in percentage points; below 0 the later campaign has fewer bugs."),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Differences" }, h("table", {}, h("thead", {}, h("tr", {}, ["from", "to"].map((title) => h("th", { scope: "col" }, title)), ["difference", "95% interval", "p (Holm)"].map((title) => h("th", { class: "n", scope: "col" }, title)))),
      h("tbody", {}, own.pairs.map((pair) => { const [value, low, high] = pair.difference; return h("tr", {}, h("td", {}, name(labelOf(pair.first))), h("td", {}, name(labelOf(pair.second))), h("td", { class: "n" }, points(value)), h("td", { class: "n" }, pair.told || `${points(low)} to ${points(high)}`), h("td", { class: "n" }, pair.p === null ? "–" : pair.p.toFixed(3))); }))))];
}
