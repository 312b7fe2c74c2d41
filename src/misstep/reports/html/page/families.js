// Families of bugs, those with most bugs first.

const FAMILIES_AT_ONCE = 40;

function familiesView(campaign) {
  const own = campaign.families;
  const list = h("div", {}, own.slice(0, FAMILIES_AT_ONCE).map((family, k) => familyCard(campaign, family, k)));
  const more = own.length > FAMILIES_AT_ONCE && h("button", { type: "button", onclick: (event) => {
    event.target.remove();
    list.append(...own.slice(FAMILIES_AT_ONCE).map((family, k) => familyCard(campaign, family, k + FAMILIES_AT_ONCE)));
  } }, `Show ${count(own.length - FAMILIES_AT_ONCE)} more families`);
  const bugs = campaign.counts.bugs, inside = campaign.familyOf.reduce((sum, k) => sum + (k >= 0), 0);
  return h("div", {}, h("h1", {}, "Families of bugs"),
    h("p", { class: "lead" }, own.length ? `${count(inside)} of ${count(bugs)} bugs come from ${plural(own.length, "family", "families")}: the bugs of a family have the same fault.`
      : bugs ? "No fault is proven, so the bugs have no families." : "There is no bug."), list, more || null,
    campaign.folder && own.some((family) => family.measured === null && !family.remainder) && [h("p", { class: "small soft" }, "measure in fresh states how often the policy makes these faults"), command(`misstep explain ${quoted(campaign.folder)} --measure`)]);
}

function familyCard(campaign, family, k) {
  const figure = (title, text) => h("div", {}, h("dt", {}, title), h("dd", {}, text));
  const example = family.example === null ? null : campaign.id(family.example);
  return h("section", { class: "card family", "aria-label": "Family " + (k + 1) },
    h("h2", {}, name(cut(family.signature, 300))),
    h("p", {}, "The policy ", withNames(family.sentence), "."),
    h("dl", { class: "figures" }, figure("bugs", count(family.count)), figure(campaign.isModel ? "models" : "tasks", count(family.tasks)),
      !campaign.isModel && family.worst !== null && figure("worst gap", count(family.worst)), !campaign.isModel && family.failing > 0 && figure("miss the goal", count(family.failing))),
    (family.measured !== null || !family.remainder) && h("p", { class: "small" + (family.measured === null ? " soft" : "") }, family.measured === null ? "How often this is so in other states was not measured." : family.measured[0].toUpperCase() + family.measured.slice(1) + "."),
    h("p", {}, link({ view: "records", c: campaign.number, family: k + 1, sort: "-gap" }, `See its ${plural(family.count, "bug")}`),
      example !== null && [" · ", link({ view: "record", c: campaign.number, id: example, back: address({ view: "records", c: campaign.number, family: k + 1, sort: "-gap" }).slice(1) }, "the worst one, ", name(cut(example, 60)))]));
}

// A sentence in which names stand between backticks.
const withNames = (text) => text.split("`").map((part, k) => (k % 2 ? name(part) : part));
