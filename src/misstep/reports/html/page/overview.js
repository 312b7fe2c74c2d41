// The first screen of a campaign.

function overviewView(campaign) {
  const own = campaign.counts, fine = own.optimal + own.unsolvable, open = own.unknown + own.flaky;
  return h("div", {},
    h("h1", {}, name(campaign.label)),
    h("p", { class: "lead", id: "sentence" }, campaign.sentence),
    campaign.notes.slice(0, 6).map((text) => h("p", { class: "note" }, text)),
    campaign.notes.length > 6 && h("details", {}, h("summary", {}, plural(campaign.notes.length - 6, "more note")), campaign.notes.slice(6).map((text) => h("p", { class: "note" }, text))),
    h("div", { class: "grid" },
      card("Verdicts", "w8", countsPart(campaign, own, fine, open)),
      card("The campaign", "w4", subjectPart(campaign)),
      card(campaign.isModel ? "Severity: the radius of the bugs" : "Severity: the gap of the bugs", "w6", severityPart(campaign)),
      card("Bugs over time", "w6", curves(Object.entries(campaign.times), "Number of bugs that each oracle had proven over time", "seconds of work on a task")),
      card("What was tested", "w12", placesPart(campaign)),
      tasksPart(campaign),
      card("Effort", "w4", effortPart(campaign)),
      card("Make it again", "w8", again(campaign)),
      card("Settings", "w12", h("details", {}, h("summary", {}, plural(Object.keys(campaign.settings).length, "setting")), pairs(Object.entries(campaign.settings))))));
}

function pairs(entries) {
  return h("dl", { class: "pairs" }, entries.filter(([, value]) => value !== null && value !== undefined).map(([title, value]) => [h("dt", {}, title), h("dd", {}, value instanceof Node ? value : name(value))]));
}

function countsPart(campaign, own, fine, open) {
  const figure = (title, number, kind) => h("div", {}, h("dt", {}, title), h("dd", { class: kind }, count(number)));
  const bar = h("div", { class: "share", role: "img", "aria-label": `${percent(own.bugs, own.tested)} bugs, ${percent(fine, own.tested)} proven to be no bugs, ${percent(open, own.tested)} undecided` },
    [["bug", own.bugs], ["fine", fine], ["open", open]].filter(([, number]) => number).map(([kind, number]) => {
      const part = h("span", { class: kind });
      part.style.flex = String(number);
      return part;
    }));
  const kinds = Object.entries(campaign.kinds).map(([kind, number]) => link({ view: "records", c: campaign.number, kind, sort: "-gap" }, count(number) + " " + kind));
  return [
    h("dl", { class: "figures" }, figure("tested", own.tested), figure("bugs", own.bugs, own.bugs ? "bug" : null), figure(campaign.isModel ? "not bugs" : "optimal", own.optimal, own.optimal ? "fine" : null),
      own.unsolvable > 0 && figure("unsolvable", own.unsolvable, "fine"), figure("unknown", own.unknown, own.unknown ? "open" : null), own.flaky > 0 && figure("flaky", own.flaky, "open"), figure("faults", own.faults)),
    own.tested > 0 && bar,
    own.tested > 0 && h("p", { class: "small" }, `${percent(own.bugs + fine, own.tested)} of the tested states are decided.`,
      own.states > own.tested ? ` ${count(own.states - own.tested)} of ${count(own.states)} states are not judged.` : "",
      campaign.isModel ? "" : ` The policy reaches the goal from ${count(own.solved)}.`),
    kinds.length > 0 && h("p", { class: "small" }, "Kinds of bugs: ", kinds.map((own, k) => [k ? ", " : "", own]), "."),
    worstPart(campaign),
  ];
}

// For a reader in a hurry: the worst bug, and the fault behind most bugs.
function worstPart(campaign) {
  if (!campaign.counts.bugs) return null;
  const low = campaign.column.low;
  let worst = -1;
  for (let row = 0; campaign.worst && worst < 0 && row < campaign.rows; row++) if (campaign.id(row) === campaign.worst.id) worst = row;
  const family = campaign.families[0], id = worst < 0 ? null : campaign.id(worst);
  const loses = worst < 0 ? "" : campaign.isModel && Number.isNaN(low[worst]) ? "unsafe states can be avoided" : campaign.isModel ? `its radius is ${interval(low[worst], campaign.column.high[worst])}` : low[worst] === Infinity ? "the policy misses the goal" : `it loses ${interval(low[worst], campaign.column.high[worst])}`;
  return [
    worst >= 0 && h("p", { class: "small" }, "Worst bug: ", link({ view: "record", c: campaign.number, id }, name(cut(id, 80))), ", " + loses + "."),
    family && h("p", { class: "small" }, campaign.families.length > 1 ? "Largest family of bugs: the policy " : "The fault: the policy ", withNames(cut(family.sentence, 300)), ". ", link({ view: "families", c: campaign.number }, `See ${plural(campaign.families.length, "family", "families")}`), "."),
  ];
}

function subjectPart(campaign) {
  const names = campaign.tasks.map(([own]) => own);
  const shownNames = names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${names.length - 4} more` : "");
  return pairs([
    ["policy", campaign.policy], ["digest", campaign.digest], [campaign.isModel ? "models" : "tasks", shownNames || "none"],
    ["oracle", campaign.oracles.join("; ")], ["radius", campaign.radius], ["state", campaign.finished ? "finished" : "not finished"], ["folder", campaign.folder || "in memory"],
  ]);
}

function severityPart(campaign) {
  const told = campaign.isModel ? "radius, proven at least" : "gap, proven at least";
  return histogram(campaign.severity, "Bugs by " + told, { infinite: campaign.isModel ? "∞" : "fails", title: told, none: "No bug was found." });
}

function placesPart(campaign) {
  const own = campaign.tested, outcomes = own.outcomes.map(([text, ...numbers]) => ({ text, own: numbers }));
  const width = campaign.isModel ? 460 : 350;
  const parts = [["How deep: " + (campaign.isModel ? "step of the run" : "steps of the walk"), histogram(own.depth, "Tested states by depth", { unknown: "no walk", width })]];
  if (!campaign.isModel) parts.push(["Distance to the goal, at least", histogram(own.distance, "Tested states by distance to the goal", { infinite: "∞", unknown: "?", width })]);
  parts.push(["How the policy's runs end", outcomes.length ? barChart(outcomes, "Tested states by the end of the run", null, width) : h("p", { class: "soft" }, "There are no runs.")]);
  const exact = !campaign.isModel && campaign.rows > 0 ? `The exact distance is known of ${count(own.exact)} states. ` : "";
  return [h("p", { class: "small soft" }, exact, "The bars show where the tested states lie; nothing is said of states elsewhere."),
    h("div", { class: "grid" }, parts.map(([title, chart]) => h("div", { class: parts.length > 2 ? "w4" : "w6" }, h("h3", {}, title), chart))),
    legend([["-bug", "bug"], ["-fine", "proven to be no bug"], ["-open", "undecided"]])];
}

function tasksPart(campaign) {
  const rows = campaign.tested.tasks;
  if (!rows.length) return null;
  const number = (value) => h("td", { class: "n" }, count(value));
  const table = (some) => h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Tasks" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, campaign.isModel ? "model" : "task"),
    ["variables", campaign.isModel ? "labels" : "operators", "states", "tested", "bugs", campaign.isModel ? "not bugs" : "optimal or unsolvable", "unknown"].map((title) => h("th", { class: "n", scope: "col" }, title)))),
    h("tbody", {}, some.map((own) => h("tr", {}, h("td", {}, link({ view: "records", c: campaign.number, task: own.name }, name(cut(own.name, 80)))), number(own.variables), number(own.operators), number(own.states), number(own.tested), number(own.bugs), number(own.optimal + own.unsolvable), number(own.unknown))))));
  return card(campaign.isModel ? "Models" : "Tasks", "w12", table(rows.slice(0, 12)), rows.length > 12 && h("details", {}, h("summary", {}, `all ${rows.length}`), table(rows.slice(12))));
}

function effortPart(campaign) {
  const own = campaign.effort;
  return pairs([...Object.entries(own.seconds).map(([stage, time]) => [stage, seconds(time)]), ["policy calls", count(own.calls)], ["runs", count(own.runs)],
    own.expansions ? ["expansions", count(own.expansions)] : ["", null], ["evaluations", count(own.evaluations)], ["asked again", count(own.askedAgain)]]);
}

function again(campaign) {
  if (!campaign.commands.length) return h("p", {}, "The campaign was in memory only; Campaign.save keeps one.");
  const told = ["the same campaign again", "the same states, perhaps with another policy", "check every witness again", "this report"];
  return campaign.commands.map((text, k) => [h("p", { class: "small soft" }, told[k]), command(text)]);
}
