// A derivation in words: a proof that a cheaper plan exists, without the plan itself.

function argumentPart(detail) {
  const items = [];
  let operators = [];
  const flush = () => { if (operators.length) items.push(h("li", {}, "Apply ", operators.map((own, k) => [k ? ", " : "", name("(" + own + ")")]), ".")); operators = []; };
  for (const step of detail.argument) {
    if (step.operator !== undefined) { operators.push(step.name); continue; }
    flush();
    const worth = step.value > 0 ? `at least ${step.value} more` : step.value < 0 ? `at most ${-step.value} less` : "no less";
    const reasons = (step.factors || []).filter((own) => own.value).map((own) => `${own.value > 0 ? "+" : ""}${own.value} by ${own.variables.map((v) => (detail.task.facts[v][0] || "").replace("Atom ", "")).join(", ")}`);
    items.push(h("li", {}, "Compare with the state ", name(factsOf(detail.task, step.state).slice(0, 40).join(", ")), `: a plan from there costs ${worth} than one from here`, reasons.length ? ", because of " + reasons.join("; ") : "", "."));
  }
  flush();
  items.push(h("li", {}, "The goal is reached there."));
  return card("The argument", "w12", h("p", {}, detail.planCost === undefined ? "No plan is at hand" : `The plan costs ${count(detail.planCost)}`, `, but one of cost ${count(detail.bound)} at most exists:`), h("ol", { class: "argument" }, items));
}
