// Following operators from a state, as the task says: conditions are read in the old state, the last effect wins.

function applied(task, state, operator) {
  const after = state.slice();
  for (const [conditions, variable, value] of task.operators[operator][2])
    if (conditions.every(([own, wanted]) => state[own] === wanted)) after[variable] = value;
  return after;
}

function followed(task, state, operators) {
  const states = [state];
  for (const operator of operators) states.push(applied(task, states.at(-1), operator));
  return states;
}

const nameOf = (task, operator) => (task.operators ? task.operators[operator][0] : task.labels[operator]);
const costOf = (task, operator) => task.operators[operator][1];

// What a step makes true and false, in words.
function changedFacts(task, before, after) {
  const plus = [], minus = [];
  for (let v = 0; v < after.length; v++) {
    if (before[v] === after[v]) continue;
    const old = factText(task, v, before[v]), now = factText(task, v, after[v]);
    if (old !== null) minus.push(old);
    if (now !== null) plus.push(now);
  }
  return { plus, minus };
}
