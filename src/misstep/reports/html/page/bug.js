// One record of a planning task: what the policy does there, beside something better.

let current = null; // the stepper that keys move

async function recordView(campaign, view) {
  const row = campaign.rowOf(view.id || "");
  current = null;
  if (row < 0) return h("div", {}, h("h1", {}, "No such record"), h("p", {}, "This report has no record ", name(cut(view.id || "", 200)), "."));
  const detail = await campaign.detail(row), own = campaign.column;
  const verdict = campaign.word("verdict", row), kind = campaign.word("kind", row);
  const page = h("div", {}, crumbs(campaign, view, row),
    h("h1", {}, name(cut(campaign.id(row), 400)), " ", badge(verdict), kind && [" ", h("span", { class: "badge" }, kind)]),
    h("p", { class: "lead" }, campaign.isModel ? dangerSentence(campaign, row, detail) : runSentence(campaign, row, detail)));
  const grid = h("div", { class: "grid" });
  page.append(grid);
  if (campaign.isModel) dangerParts(campaign, row, detail, grid);
  else await planningParts(campaign, row, detail, grid);
  grid.append(knownPart(campaign, row, detail), commandsPart(campaign, row));
  if (campaign.shrunk.includes(campaign.id(row))) grid.append(shrunkPart((await piece(`late.${campaign.prefix}.shrunk`))[campaign.id(row)]));
  return page;
}

function crumbs(campaign, view, row) {
  const back = view.back ? "#" + view.back : address({ view: "records", c: campaign.number });
  const rows = records.rows, k = rows && records.campaign === campaign ? rows.indexOf(row) : -1;
  const beside = (other, text) => link({ ...view, id: campaign.id(other) }, text);
  return h("div", { class: "crumbs" }, h("a", { href: back, id: "back" }, "← all records"),
    k >= 0 && h("span", { class: "push" }, k > 0 && beside(rows[k - 1], "← previous"), h("span", { class: "soft" }, `${count(k + 1)} of ${count(rows.length)}`), k + 1 < rows.length && beside(rows[k + 1], "next →")));
}

const ENDS = { goal: "reaches the goal", loop: "runs in a loop", stuck: "stops: it names no action", inapplicable: "names an operator that does not apply", error: "crashes", cut: "is cut at the step limit", timeout: "does not answer in time", unsafe: "gets into an unsafe state" };

// Why a record is FLAKY: it was asked again, or says of itself that asking is of no use.
const contradicts = (campaign) => (campaign.counts.contradictions ? "The policy answers differently when it is asked again" : "The policy declares that it is not deterministic");

function runSentence(campaign, row, detail) {
  const own = campaign.column, outcome = campaign.word("outcome", row), cost = count(own.cost[row]);
  const who = (campaign.word("kind", row) || "").endsWith("-some") ? "A run that the policy permits" : "The policy";
  const did = outcome === "goal" ? `${who} reaches the goal at cost ${cost}.` : `${who} ${ENDS[outcome] || outcome} after cost ${cost}.`;
  const verdict = campaign.word("verdict", row);
  if (verdict === "FLAKY") return `${did} ${contradicts(campaign)}, so nothing is said of this state.`;
  if (verdict === "UNSOLVABLE") return did + " The state is unsolvable: no plan exists, so this is no bug.";
  if (verdict === "OPTIMAL") return did + (campaign.settings["planning.objective"] === "goal" ? " Only whether it reaches the goal was asked, so this is no bug." : " That is proven to be as good as it gets.");
  if (verdict === "UNKNOWN") return did + " Whether it could do better is not known.";
  const best = own.upper[row];
  const plan = detail.plan && !detail.argument; // an argument may promise more than the plan at hand
  return `${did} ${plan ? "A plan" : "It is proven that a plan"} of cost ${count(best)}${plan ? " exists" : " at most exists"}, so it loses ${own.low[row] === Infinity ? "the goal" : interval(own.low[row], own.high[row])}.`;
}

async function planningParts(campaign, row, detail, grid) {
  const { task, run, plan } = detail, outcome = campaign.word("outcome", row);
  const runStates = followed(task, detail.state, run), planStates = plan ? followed(task, detail.state, plan) : null;
  const rows = plan ? aligned(run, plan) : run.map((_, k) => [k, null, false]);
  const places = [[0, 0]];
  for (const [a, b] of rows) { const [i, j] = places.at(-1); places.push([a === null ? i : a + 1, b === null ? j : b + 1]); }
  const drawn = picturesOf(campaign, row);
  const sides = [{ title: "The policy", states: runStates, operators: run, costs: totals(task, run), end: `The policy ${ENDS[outcome] || outcome}.`, pictures: drawn && drawn[0] }];
  if (plan) sides.push({ title: detail.argument ? "The best plan at hand" : "A better plan", states: planStates, operators: plan, costs: totals(task, plan), end: "The plan reaches the goal.", pictures: drawn && drawn[1] });
  const steps = stepsTable(task, detail, rows, outcome, (k) => player.show(k));
  const differ = h("div", {});
  const player = stepper(task, sides, places, (at) => {
    markStep(steps, at - 1);
    if (plan) differing(differ, task, runStates[places[at][0]], planStates[places[at][1]]);
  });
  current = player;
  grid.append(card(plan ? "The run beside a better plan" : "The run", "w12", player.element, plan && differ, drawn || !report.pictures.count ? null : h("p", { class: "small soft" }, `Pictures are drawn of the ${report.pictures.each} worst bugs of each family, as far as room allows.`)),
    card(plan ? "Steps" : "Steps of the run", "w8", steps), card(detail.contradictions ? "Contradictions" : "Faults", "w4", faultsPart(campaign, row, detail)));
  if (detail.argument) grid.append(argumentPart(detail));
  if (run.length) {
    const bounds = await boundsAlong(campaign, row, detail, runStates);
    grid.append(card("Cost along the run", "w12", surface(detail, bounds, campaign.column.upper[row]),
      legend([["0", "cost so far"], ["1", "range of the least total that is still possible (a dot: lower bound only)"], ...((detail.faults || []).length ? [["-bug", "fault"]] : []), ...(Number.isFinite(campaign.column.upper[row]) ? [["-fine", "best known"]] : [])])));
  }
}

function differing(place, task, ours, theirs) {
  const { plus, minus } = changedFacts(task, theirs, ours), list = (texts) => (texts.length ? h("ul", { class: "facts" }, texts.slice(0, 200).map((text) => h("li", {}, name(text)))) : h("p", { class: "small soft" }, "nothing"));
  place.replaceChildren(...(plus.length + minus.length ? [h("div", { class: "sides", id: "differing" }, h("div", {}, h("h3", {}, "True only after the policy"), list(plus)), h("div", {}, h("h3", {}, "True only after the plan"), list(minus)))] : [h("p", { class: "small soft", id: "differing" }, "Both are in the same state here.")]));
  place.firstChild.style.marginTop = "1rem";
}

function stepsTable(task, detail, rows, outcome, show) {
  const blamed = new Map((detail.faults || []).map((fault) => [fault.step, fault])), parts = rows.findIndex(([, , shared]) => !shared);
  const action = (operator, k) => h("button", { type: "button", onclick: () => show(k + 1) }, name(nameOf(task, operator)));
  const body = rows.map(([a, b, shared], k) => {
    const fault = a === null ? null : blamed.get(a);
    return h("tr", { class: (shared ? "shared" : "") + (k === parts && detail.plan ? " parts" : "") }, h("td", { class: "n soft" }, a === null ? "" : a), h("td", {}, a !== null && action(detail.run[a], k)),
      h("td", { class: "loss" }, fault ? "loses " + lossText(fault) : ""), detail.plan && [h("td", { class: "n soft" }, b === null ? "" : b), h("td", {}, b !== null && action(detail.plan[b], k))]);
  });
  const end = blamed.get(detail.run.length);
  if (outcome !== "goal") body.push(h("tr", {}, h("td", {}), h("td", {}, h("em", {}, ENDS[outcome] || outcome)), h("td", { class: "loss" }, end ? "loses " + lossText(end) : ""), detail.plan && [h("td", {}), h("td", {})]));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps" }, detail.plan && parts >= 0 && h("p", { class: "small soft" }, `They diverge at step ${parts}, below the blue line. Grey steps are shared.`),
    h("table", { class: "steps" }, h("thead", {}, h("tr", {}, h("th", { class: "n", scope: "col" }, "step"), h("th", { scope: "col" }, "the policy"), h("th", { scope: "col" }, "loss"), detail.plan && [h("th", { class: "n", scope: "col" }, "step"), h("th", { scope: "col" }, "the plan")])), h("tbody", {}, body)));
}

function markStep(steps, k) {
  const rows = steps.querySelectorAll("tbody tr");
  rows.forEach((own, i) => own.classList.toggle("here", i === k));
  const here = rows[k];
  if (here && (here.offsetTop < steps.scrollTop || here.offsetTop + 40 > steps.scrollTop + steps.clientHeight)) steps.scrollTop = here.offsetTop - 60;
}

const lossText = (fault) => (fault.loss[0] === null ? "the goal" : fault.loss[0] === 0 && fault.loss[1] === 0 ? "steps, no cost" : interval(...fault.loss));

function faultsPart(campaign, row, detail) {
  if (detail.contradictions) return detail.contradictions.map(([step, first, second, asked]) => h("p", {}, `Step ${step}: asked ${asked} times, the policy answered `, name(first), " and then ", name(second), "."));
  if (!detail.faults) return h("p", { class: "soft" }, campaign.word("verdict", row) === "BUG" ? "Faults were not looked for. The command below with --deeper looks for them." : "Faults are looked for in bugs only.");
  if (!detail.faults.length) return h("p", { class: "soft" }, "No decision is proven to be a fault.");
  const ordered = detail.faults.slice().sort((a, b) => (b.share || 0) - (a.share || 0) || a.step - b.step);
  const stops = ENDS[campaign.word("outcome", row)] || "stops";
  const did = (fault) => (fault.did === null ? "The policy " + stops.split(":")[0] : name(nameOf(detail.task, fault.did)));
  return ordered.slice(0, 60).map((fault) => h("div", { class: "blamed" }, h("p", {}, h("strong", {}, `Step ${fault.step}: `), did(fault), fault.better !== null && [" instead of ", name(nameOf(detail.task, fault.better))]),
    h("p", { class: "small soft" }, campaign.isModel ? "" : `loses ${lossText(fault)}` + (fault.share ? `, ${percent(fault.share, 1)} of the gap` : ""), fault.again ? ", in every round of the loop" : "")));
}

// What proved it, and the oracle that asked for it, unless that begins with the same name.
const decidedBy = (source, oracle) => (source === null ? `what is known of other states, ${oracle}` : (oracle || "").startsWith(source) ? oracle : `${source}, ${oracle}`);

// A probability, never 0 for something and never 100 % for less than certain; and between which ones another lies.
const probability = (p) => {
  const text = (100 * p).toFixed(1);
  return p > 0 && text === "0.0" ? "below 0.1%" : p < 1 && text === "100.0" ? "above 99.9%" : text + "%";
};
const share = (ends) => (ends ? [...new Set(ends.map(probability))].join(" to ") : null);

function knownPart(campaign, row, detail) {
  const own = campaign.column, facts = factsOf(detail.task, detail.state), at = own.at[row];
  const list = h("ul", { class: "facts" }, facts.slice(0, FACTS_AT_ONCE).map((text) => h("li", {}, name(text))));
  if (facts.length > FACTS_AT_ONCE) list.append(h("li", {}, h("button", { type: "button", class: "quiet", onclick: (event) => { event.target.parentNode.replaceWith(...facts.slice(FACTS_AT_ONCE).map((text) => h("li", {}, name(text)))); } }, `${count(facts.length - FACTS_AT_ONCE)} more`)));
  const walk = detail.walk, permitted = detail.permitted;
  const opinions = detail.opinions && h("table", {}, h("thead", {}, h("tr", {}, ["oracle", "verdict", "gap", "decided by"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, detail.opinions.map(([oracle, verdict, gap, source]) => h("tr", {}, h("td", {}, name(oracle)), h("td", {}, badge(verdict)), h("td", {}, verdict === "BUG" && gap.length ? interval(...gap) : "–"), h("td", {}, source || "other states")))));
  return card("What is known of this state", "w8", pairs([
    ["state", list],
    ["found", walk ? (walk.length ? h("span", {}, `by a walk of ${plural(walk.length, "step")}: `, name(walk.slice(0, 30).map((op) => nameOf(detail.task, op)).join(", ") + (walk.length > 30 ? ", ..." : ""))) : "the initial state") : detail.found ? `run ${detail.found[0]}, step ${detail.found[1]}` : own.depth[row] >= 0 ? `at depth ${own.depth[row]}` : null],
    ["cheapest plan", campaign.isModel ? null : "costs " + interval(own.lower[row], own.upper[row])],
    ["permitted runs", permitted ? `least cost ${count(permitted.least === null ? Infinity : permitted.least)}, largest ${permitted.most === null ? "not known or failing" : count(permitted.most)}` : null],
    [campaign.isModel ? "risk to get into an unsafe state" : "risk to miss the goal", share(detail.risk)], ["least possible risk", share(detail.leastRisk)],
    ["decided by", decidedBy(campaign.word("source", row), campaign.word("oracle", row))],
    ["belongs to", detail.chooser ? "the pair of the policy and " + detail.chooser : null],
    ["the policy said", detail.message || null], ["after", seconds(at) + " of work on the task"],
    ["effort", detail.effort ? `${count(detail.effort[0])} expansions, ${count(detail.effort[1])} evaluations` : null],
    ["verdicts", opinions || null],
  ]));
}

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", `'"'"'`) + "'");

function commandsPart(campaign, row) {
  if (!campaign.folder) return card("Look closer", "w4", h("p", {}, "The campaign was in memory: save it to explain and replay its records by commands."));
  const folder = quoted(campaign.folder), id = quoted(campaign.id(row)), isBug = campaign.word("verdict", row) === "BUG";
  return card("Look closer", "w4", isBug && [h("p", { class: "small soft" }, "this bug in words"), command(`misstep explain ${folder} ${id}`)],
    isBug && !campaign.isModel && [h("p", { class: "small soft" }, "the smallest repair, and further faults"), command(`misstep explain ${folder} ${id} --deeper`)],
    h("p", { class: "small soft" }, "check all witnesses again"), command(`misstep replay ${folder}`), h("p", { class: "small soft" }, "run the policy again"), command(`misstep replay ${folder} --rerun`));
}

function shrunkPart(small) {
  const steps = (title, names) => h("div", {}, h("h3", {}, title), names.length ? h("ol", { class: "small actions" }, names.slice(0, 60).map((text) => h("li", {}, name(text))), names.length > 60 && h("li", {}, `${count(names.length - 60)} more`)) : h("p", { class: "small soft" }, "no action"));
  const sizes = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "number of"), ["before", "after"].map((title) => h("th", { class: "n", scope: "col" }, title)))),
    h("tbody", {}, small.sizes.filter(([, before, after]) => before || after).map(([what, before, after]) => h("tr", {}, h("td", {}, what), h("td", { class: "n soft" }, count(before)), h("td", { class: "n" }, h(after < before ? "strong" : "span", {}, count(after)))))));
  const drawn = small.picture && pictureFrom(small.picture);
  const smaller = small.sizes.some(([, before, after]) => after < before);
  return card(smaller ? "The same fault in a smaller task" : "A smaller task", "w12", h("p", {}, smaller ? small.legal + " " : "No smaller task that shows this fault was found. ", h("span", { class: "soft" }, small.reason[0].toUpperCase() + small.reason.slice(1) + ".")),
    h("div", { class: "small-task" }, h("div", {}, sizes), h("div", {}, drawn ? h("div", { class: "picture" }, drawn) : h("ul", { class: "facts" }, small.facts.slice(0, 40).map((text) => h("li", {}, name(text))))), steps("The policy", small.run), small.plan && steps("A better plan", small.plan)),
    small.problem && h("details", {}, h("summary", {}, "the small problem in PDDL"), h("pre", { class: "scroll", tabindex: "0" }, small.problem)),
    small.folder && [h("p", { class: "small soft" }, "the small bug in words"), command(`misstep explain ${quoted(small.folder)}`)]);
}
