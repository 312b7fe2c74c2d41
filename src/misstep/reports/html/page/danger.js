// One record of a model: how the policy gets into an unsafe state, where the border of what is safe lies, and the way around.

function dangerSentence(campaign, row, detail) {
  const verdict = campaign.word("verdict", row), own = campaign.column, outcome = campaign.word("outcome", row);
  if (verdict !== "FLAKY" && outcome !== "unsafe") {
    // In a retest, a run need not be unsafe.
    if (staysSafe(campaign, row)) return "No run of the policy from here gets into an unsafe state, so this is no bug.";
    if (outcome === "safe") return "All runs of the policy from here stayed safe, but the work ended before it was asked again, so nothing is said of this state.";
    return `The policy ${ENDS[outcome] || outcome}. Whether it gets into an unsafe state from here is not known.`;
  }
  if (verdict === "NOT A BUG") return "The policy gets into an unsafe state from here, but nothing that it could do " + (campaign.radius === "inf" ? "" : `within the radius ${campaign.radius} `) + "avoids that for sure.";
  if (verdict === "UNKNOWN") return "The policy gets into an unsafe state from here. Whether it could avoid that is not known.";
  if (verdict === "FLAKY") return contradicts(campaign) + ", so nothing is said of this state.";
  const radius = interval(own.low[row], own.high[row]);
  const how = Number.isNaN(own.low[row]) ? "" : ` The radius, which is the least number of deviations from the policy that this takes, is ${radius}.`;
  return `The policy gets into an unsafe state after ${plural(own.steps[row], "step")}, although that can be avoided for sure.${how}`;
}

// Whether it is proven that the policy stays safe; a verdict that is withheld or FLAKY proves nothing.
const staysSafe = (campaign, row) => campaign.word("outcome", row) === "safe" && campaign.word("verdict", row) === "NOT A BUG";

function dangerParts(campaign, row, detail, grid) {
  const { task } = detail, states = detail.states || [detail.state], run = detail.run || [];
  const strategy = new Map((detail.strategy || []).map(([state, label]) => [state.join(","), label]));
  const verdicts = detail.verdicts || [], drawn = picturesOf(campaign, row), outcome = campaign.word("outcome", row);
  const lastSafe = verdicts.reduce((last, own, k) => (own === "BUG" ? k : last), -1);
  const table = dangerTable(campaign, detail, states, strategy, outcome, staysSafe(campaign, row), lastSafe, (k) => player.show(k));
  const player = stepper(task, [{ title: "The policy's run", states, operators: run, end: outcome === "unsafe" ? "Unsafe." : outcome === "safe" ? (staysSafe(campaign, row) ? "Every run of the policy stays safe." : "Every run stayed safe, which the policy has not confirmed.") : `The policy ${ENDS[outcome] || outcome}.`, pictures: drawn && drawn[0] }], states.map((_, k) => [k]), (at) => markStep(table, at));
  current = player;
  grid.append(card("The run", drawn ? "w6" : "w12", player.element), card("Faults", drawn ? "w6" : "w12", faultsPart(campaign, row, detail), faultOutcomes(detail), strategyPart(detail, task)), card("Steps", "w12", table));
}

function dangerTable(campaign, detail, states, strategy, outcome, isSafe, lastSafe, show) {
  const { task, run } = detail, verdicts = detail.verdicts || [], blamed = new Set((detail.faults || []).map((fault) => fault.step));
  const within = campaign.radius === "inf" || campaign.radius === null ? "" : campaign.radius + "-";
  const WORDS = { BUG: ["fine", within + "safe"], "NOT A BUG": ["bug", within ? "not " + within + "safe" : "lost"], UNKNOWN: ["open", "unknown"] };
  const wordOf = (k, last) => {
    if (isSafe) return ["fine", "safe"];
    if (last && outcome === "unsafe") return ["bug", "unsafe"];
    // Only an unsafe run shows that a state that is no bug is lost.
    return (outcome === "unsafe" || verdicts[k] === "BUG") && WORDS[verdicts[k]] || ["open", "unknown"];
  };
  const below = verdicts.slice(lastSafe + 1).every((own) => own === "NOT A BUG") ? "below the red line unsafe states cannot be avoided for sure" + (within ? ` within the radius ${campaign.radius}` : "") : "not all states below the red line are decided";
  const border = lastSafe >= 0 && outcome === "unsafe";
  const rows = states.map((state, k) => {
    const last = k === states.length - 1, [kind, word] = wordOf(k, last);
    const chosen = strategy.get(state.join(",")), changes = k ? changedFacts(task, states[k - 1], state).plus : factsOf(task, state);
    return h("tr", { class: border && k === lastSafe + 1 ? "border" : null }, h("td", { class: "n soft" }, k), h("td", {}, h("span", { class: "badge " + kind }, word)),
      h("td", {}, changes.length ? name(changes.join(", ")) : h("span", { class: "soft" }, "no change")),
      h("td", {}, last ? "" : h("button", { type: "button", onclick: () => show(k) }, name(task.labels[run[k]])), blamed.has(k) && h("span", { class: "loss" }, " ← fault")),
      h("td", {}, chosen === undefined ? h("span", { class: "soft" }, "–") : name(task.labels[chosen])), h("td", {}, last ? "" : outcomesText(detail, states, k)));
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps" },
    h("p", { class: "small soft" }, border ? `The last ${below.startsWith("not") ? "state known to be safe" : "safe state"} is that of step ${lastSafe}; ${below}. ` : "", "Of each state only what has changed is shown; a dash means that the strategy does not get there."),
    h("table", { class: "steps many" }, h("thead", {}, h("tr", {}, [["step", "n"], ["state is"], ["what changed"], ["the policy does"], ["a safe strategy does"], ["possible outcomes"]].map(([title, kind]) => h("th", { class: kind, scope: "col" }, title)))), h("tbody", {}, rows)));
}

function outcomesText(detail, states, k) {
  if (!detail.outcomes) return h("span", { class: "soft" }, "not computed");
  const own = detail.outcomes[k] || [];
  if (own.length < 2) return h("span", { class: "soft" }, own.length ? "one" : "–");
  const here = states[k + 1].join(",");
  return h("span", {}, own.map((state, i) => [i ? " or " : "", h(state.join(",") === here ? "strong" : "span", {}, name(changedFacts(detail.task, states[k], state).plus.join(", ") || "no change"))]));
}

function faultOutcomes(detail) {
  return (detail.faults || []).filter((fault) => fault.outcome !== null).slice(0, 10).map((fault) => {
    const before = (detail.states || [])[fault.step], changes = before ? changedFacts(detail.task, before, fault.outcome).plus : factsOf(detail.task, fault.outcome);
    return h("p", { class: "small" }, `After step ${fault.step} it may happen that `, name(changes.join(", ") || "nothing changes"), ", from where unsafe states cannot be avoided for sure.");
  });
}

function strategyPart(detail, task) {
  if (detail.size === undefined || detail.size === null) return null;
  const rows = (detail.strategy || []).slice(0, 400);
  return h("details", { open: detail.size <= 6 }, h("summary", {}, `A safe strategy from here names ${plural(detail.size, "state")}`),
    rows.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Strategy" }, h("table", {}, h("tbody", {}, rows.map(([state, label]) => h("tr", {}, h("td", {}, name(factsOf(task, state).join(", "))), h("td", { class: "label" }, name(task.labels[label]))))))) : h("p", {}, "It is too large to be stored."));
}
