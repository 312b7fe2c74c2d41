// Several campaigns side by side.

function compareView(view) {
  const all = report.campaigns, own = report.comparison;
  const chosen = Math.min(Math.max(0, Number(view.pair) || 0), Math.max(0, own.pairs.length - 1)), pair = own.pairs[chosen];
  const page = h("div", {}, h("h1", {}, "Comparison"), pair && h("p", { class: "lead" }, comparedSentence(pair)), own.remarks.map((text) => h("p", { class: "note" }, text)));
  const curve = card("Bugs over time", pair ? "w6" : "w12", curves(all.map((one) => [one.label, one.found]), "Number of bugs of each campaign over time", "seconds of work on a task"));
  if (!pair) return page.append(h("div", { class: "grid" }, card("Campaigns", "w12", campaignsTable(all, own)), curve)), page;
  const place = h("div", {}), axes = all.length > 2 && matrixAxes(own.differ, all.length);
  page.append(h("div", { class: "grid" }, card("Campaigns", "w12", campaignsTable(all, own)), axes && card(`Bugs by ${axes[0][0]} and ${axes[1][0]}`, "w12", matrix(all, own, ...axes)),
    card("What became of the states that two campaigns share", "w12", pairsTable(all, own, chosen)), curve, card("Paired differences", "w6", differencesPart(own)),
    familiesPart(pair), settingsPart(all, own.differ.filter((one) => !axes || !axes.includes(one)), axes), card(null, "w12", place)));
  fillPair(place, pair);
  return page;
}

const labelOf = (k) => report.campaigns[k].label;

function comparedSentence(pair) {
  const words = pair.words, some = (...keys) => keys.reduce((sum, key) => sum + (words[key] || 0), 0);
  if (!pair.common) return `${labelOf(pair.first)} and ${labelOf(pair.second)} share no state, so nothing can be said of single bugs.`;
  const how = ["better", "worse"].filter((word) => words[word]).map((word) => `${count(words[word])} ${word}`).join(", ");
  const found = words.uncovered ? `, ${count(words.uncovered)} uncovered` : "";
  return `From ${labelOf(pair.first)} to ${labelOf(pair.second)}, on ${plural(pair.common, "common state")}: ${count(some("fixed"))} fixed, ${count(some("still", "better", "worse"))} still there${how ? ` (${how})` : ""}, ${count(some("new"))} new${found}.`;
}

function campaignsTable(all, compared) {
  // Rounded outwards, as `misstep compare` does.
  const low = (value) => (Math.floor(1000 * value + 1e-9) / 10).toFixed(1), high = (value) => (Math.ceil(1000 * value - 1e-9) / 10).toFixed(1);
  const share = (own, k) => [percent(own.bugs, own.tested), compared.shares[k] && own.tested > 0 && h("span", { class: "soft" }, ` (${low(compared.shares[k][0])} to ${high(compared.shares[k][1])})`)];
  const number = (value) => h("td", { class: "n" }, value);
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Campaigns" }, h("table", {}, h("thead", {}, h("tr", {}, ["campaign", "policy"].map((title) => h("th", { scope: "col" }, title)), ["tested", "bugs", "share, 95% interval", "proven no bug", "undecided", "faults"].map((title) => h("th", { class: "n", scope: "col" }, title)))),
    h("tbody", {}, all.map((one) => { const own = one.counts; return h("tr", {}, h("td", {}, link({ view: "overview", c: one.number }, name(one.label))), h("td", {}, name(cut(one.policy, 60))), number(count(own.tested)), number(count(own.bugs)), number(share(own, one.number)), number(count(own.optimal + own.unsolvable)), number(count(own.unknown + own.flaky)), number(count(own.faults))); }))));
}

function settingsPart(all, differ, axes) {
  if (!differ.length) return null;
  return card(axes ? "Other settings that differ" : "Settings that differ", "w12", h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Settings" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "setting"), all.map((one) => h("th", { scope: "col" }, name(one.label))))),
    h("tbody", {}, differ.map(([key, values]) => h("tr", {}, h("th", { scope: "row" }, key), values.map((value) => h("td", {}, value === null ? "–" : name(cut(value, 80))))))))));
}

// The two settings with the fewest empty cells, if there are some that put each campaign into a cell of its own. Half of
// the cells may be empty if somebody chose both settings; others follow from how a campaign was made.
const CHOSEN = ["policy", "version", "version of the policy", "oracle", "seed", "bias (--fuzz)", "--pool", "--runs"];

function matrixAxes(differ, campaigns) {
  let best = null, size = Infinity;
  differ.forEach((tall, i) => differ.slice(i + 1).forEach((wide) => {
    const cells = new Set(tall[1].map((value, k) => JSON.stringify([value, wide[1][k]]))), area = new Set(tall[1]).size * new Set(wide[1]).size;
    if (cells.size === campaigns && area < size && area <= campaigns * (CHOSEN.includes(tall[0]) && CHOSEN.includes(wide[0]) ? 2 : 1) && area < campaigns * campaigns) { best = [tall, wide]; size = area; }
  }));
  return best && (best[1][0] === "policy" ? [best[1], best[0]] : best);
}

function matrix(all, own, tall, wide) {
  const rows = [...new Set(tall[1])], columns = [...new Set(wide[1])];
  const since = (k) => own.pairs.find((pair) => pair.first === 0 && pair.second === k && pair.common);
  const some = (pair, ...words) => count(words.reduce((sum, word) => sum + (pair.words[word] || 0), 0));
  const told = (pair) => h("div", { class: "small" }, h("span", { class: "w-fixed" }, some(pair, "fixed"), " fixed"), ", ", h("span", { class: "w-still" }, some(pair, "still", "better", "worse"), " still"), ", ", h("span", { class: "w-new" }, some(pair, "new"), " new"), pair.words.uncovered ? [", ", h("span", { class: "w-uncovered" }, some(pair, "uncovered"), " uncovered")] : null);
  const cell = (one) => h("div", {}, link({ view: "overview", c: one.number }, `${count(one.counts.bugs)} of ${count(one.counts.tested)}`), " ", h("span", { class: "soft" }, percent(one.counts.bugs, one.counts.tested)), one.number > 0 && since(one.number) && told(since(one.number)));
  const head = (value) => (value === null ? "–" : name(cut(value, 60)));
  return [h("p", { class: "small soft" }, `Bugs of tested states; below them, what became of the states shared with ${all[0].label}.`),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Matrix" }, h("table", { class: "lights" }, h("thead", {}, h("tr", {}, h("td", {}), columns.map((value) => h("th", { scope: "col" }, head(value))))),
      h("tbody", {}, rows.map((a) => h("tr", {}, h("th", { scope: "row" }, head(a)), columns.map((b) => h("td", {}, all.filter((_, k) => tall[1][k] === a && wide[1][k] === b).map(cell)))))))) ];
}

// Families of bugs by their signatures, before and after.
function familiesPart(pair) {
  if (!pair.families.length) return null;
  const word = (before, after) => (before ? (after ? "stayed" : "went") : "came"), look = { came: "w-new", went: "w-fixed", stayed: "w-still" };
  const row = ([key, before, after]) => h("tr", {}, h("td", { class: look[word(before, after)] }, word(before, after)), h("td", {}, name(cut(key, 120))), h("td", { class: "n" }, count(before)), h("td", { class: "n" }, count(after)));
  const [was, is] = pair.unnamed, left = pair.familiesLeft;
  return card("Families that came, went and stayed", "w12", h("p", { class: "small soft" }, `Bugs by their fault, ${pair.common ? "on common states" : "on all states, as none is common"}.` + (was + is ? ` Of ${plural(was, "bug")} before and ${count(is)} after no fault is proven.` : "") + (left ? ` ${count(left)} more families are not listed.` : "")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Families" }, h("table", { class: "faults" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "change"), h("th", { scope: "col" }, "fault"), [pair.first, pair.second].map((k) => h("th", { class: "n", scope: "col" }, "bugs in ", labelOf(k))))), h("tbody", {}, pair.families.map(row)))));
}

function pairsTable(all, own, chosen) {
  const words = Object.keys(own.words).filter((word) => own.pairs.some((pair) => pair.words[word]));
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Pairs" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "from"), h("th", { scope: "col" }, "to"), h("th", { class: "n", scope: "col" }, "common"), words.map((word) => h("th", { class: "n w-" + word, scope: "col", title: own.words[word] }, word)))),
    h("tbody", {}, own.pairs.map((pair, k) => h("tr", { class: k === chosen && own.pairs.length > 1 ? "here" : null }, h("td", {}, own.pairs.length > 1 ? link({ view: "compare", pair: k }, name(labelOf(pair.first))) : name(labelOf(pair.first))), h("td", {}, name(labelOf(pair.second))), h("td", { class: "n" }, count(pair.common)), words.map((word) => h("td", { class: "n" }, pair.words[word] ? count(pair.words[word]) : "·")))))),
    own.pairs.length > 1 && h("p", { class: "small" }, `The row that is marked, from ${labelOf(own.pairs[chosen].first)} to ${labelOf(own.pairs[chosen].second)}; a click on another row shows that pair:`), changesBar(own.pairs[chosen]), own.pairs[chosen].common > 0 && legend([["-fine", "fixed or clean"], ["-open", "still bugs, or undecided"], ["-bug", "new bugs"]]), h("dl", { class: "pairs small" }, words.map((word) => [h("dt", { class: "w-" + word }, word), h("dd", {}, own.words[word])])));
}

// Of the chosen pair: what was fixed, what is still there, what is new, by length.
function changesBar(pair) {
  const of = (...words) => words.reduce((sum, word) => sum + (pair.words[word] || 0), 0);
  const parts = [["fine", of("fixed", "clean")], ["open", of("still", "better", "worse", "uncovered", "undecided", "flaky")], ["bug", of("new")]].filter(([, number]) => number);
  return h("div", { class: "share", role: "img", "aria-label": `${count(of("fixed", "clean"))} fixed or clean, ${count(of("still", "better", "worse", "uncovered"))} still bugs, ${count(of("new"))} new bugs` }, parts.map(([kind, number]) => {
    const part = h("span", { class: kind });
    part.style.flex = String(number);
    return part;
  }));
}

const verdictText = (campaign, row) => [badge(campaign.word("verdict", row)), campaign.word("verdict", row) === "BUG" && ` ${campaign.word("kind", row)}` + (campaign.column.low[row] === Infinity || Number.isNaN(campaign.column.low[row]) ? "" : campaign.isModel ? `, radius ${interval(campaign.column.low[row], campaign.column.high[row])}` : `, loses ${interval(campaign.column.low[row], campaign.column.high[row])}`)];

async function fillPair(place, pair) {
  const entries = await piece(pair.piece), first = report.campaigns[pair.first], second = report.campaigns[pair.second];
  if (!entries.length) return place.replaceChildren(h("h2", {}, "State by state"), h("p", { class: "soft" }, "No common state has changed."));
  const some = (list) => list.map(([word, a, b]) => h("tr", {}, h("td", { class: "w-" + word }, word), h("td", {}, link({ view: "record", c: pair.first, id: first.id(a) }, name(cut(first.id(a), 80)))), h("td", {}, verdictText(first, a)), h("td", {}, link({ view: "record", c: pair.second, id: second.id(b) }, name(cut(second.id(b), 80)))), h("td", {}, verdictText(second, b))));
  const body = h("tbody", {}, some(entries.slice(0, 12)));
  const more = entries.length > 12 && h("button", { type: "button", onclick: (event) => { event.target.remove(); body.append(...some(entries.slice(12))); } }, `Show ${count(entries.length - 12)} more`);
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes" }, h("table", {}, h("thead", {}, h("tr", {}, ["change", "in " + first.label, "was", "in " + second.label, "is"].map((title) => h("th", { scope: "col" }, title)))), body));
  place.replaceChildren(h("h2", {}, "State by state"), table, ...(more ? [more] : []), ...(pair.left ? [h("p", { class: "small soft" }, `${count(pair.left)} more are not listed.`)] : []));
}

function differencesPart(own) {
  const points = (value) => (value === null ? "–" : (value > 0 ? "+" : "") + (100 * value).toFixed(1));
  const row = (pair, test) => h("tr", {}, h("td", {}, name(labelOf(pair.first))), h("td", {}, name(labelOf(pair.second))), h("td", {}, test.measure),
    test.told ? h("td", { class: "soft", colspan: "3" }, test.told) : [h("td", { class: "n" }, points(test.difference[0])), h("td", { class: "n" }, `${points(test.difference[1])} to ${points(test.difference[2])}`), h("td", { class: "n" }, test.p === null ? "–" : test.p < 0.001 ? "below 0.001" : test.p.toFixed(3))]);
  const common = own.pairs.every((pair) => pair.common), told = new Set(own.pairs.flatMap((pair) => pair.tests.map((test) => test.told)));
  if (told.size === 1 && !told.has(null)) return h("p", {}, `Whether a difference is chance cannot be told: ${[...told][0]}.`);
  return [h("p", { class: "small soft" }, `Mean over tasks of the difference in the share of ${common ? "common " : ""}states that are bugs, or are solved, in percentage points: the later campaign minus the earlier one.`),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Differences" }, h("table", {}, h("thead", {}, h("tr", {}, ["from", "to", "share of"].map((title) => h("th", { scope: "col" }, title)), ["difference", "95% interval", "p (Holm)"].map((title) => h("th", { class: "n", scope: "col" }, title)))),
      h("tbody", {}, own.pairs.map((pair) => pair.tests.map((test) => row(pair, test))))))];
}
