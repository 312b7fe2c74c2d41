// What the run costs on its way: cost so far, and for each state the least total that is still possible (cost so far
// plus the bounds on the cheapest way on). A decision that raises the lower end of that range loses something for good.

// Bounds on the cheapest way from each state of the run, from what the report knows; every one of them is proven.
async function boundsAlong(campaign, row, detail, states) {
  const own = campaign.column, rows = await campaign.rowsByState(detail.taskNumber);
  const costs = totals(detail.task, detail.run), reached = campaign.word("outcome", row) === "goal";
  let same = 0;
  while (detail.plan && same < detail.plan.length && detail.plan[same] === detail.run[same]) same++;
  return states.map((state, k) => {
    const other = rows.get(state.join(",")), known = other === undefined ? null : other;
    let low = Math.max(0, own.lower[row] - costs[k]), high = Infinity;
    if (known !== null) { low = Math.max(low, own.lower[known]); high = Math.min(high, own.upper[known]); }
    if (k === 0) { low = own.lower[row]; high = own.upper[row]; }
    if (reached) high = Math.min(high, costs.at(-1) - costs[k]);
    if (detail.plan && k <= same) high = Math.min(high, detail.planCost - costs[k]);
    return { low: Number.isNaN(low) ? 0 : low, high: Number.isNaN(high) ? Infinity : high };
  });
}

function totals(task, operators) {
  const costs = [0];
  for (const operator of operators) costs.push(costs.at(-1) + costOf(task, operator));
  return costs;
}

function surface(detail, bounds, best) {
  const costs = totals(detail.task, detail.run), width = isNarrow() ? 440 : 1080, height = 250, left = 46, right = 12, top = 10, bottom = 36;
  const finite = bounds.map(({ high }, k) => (high === Infinity ? costs[k] : costs[k] + high));
  const most = Math.max(...finite, ...costs, ...bounds.map(({ low }, k) => (low === Infinity ? 0 : costs[k] + low)), Number.isFinite(best) ? best : 0, 1);
  const marks = ticks(most), last = Math.max(1, costs.length - 1);
  const x = (k) => left + ((width - left - right) * k) / last, y = (value) => height - bottom - ((height - bottom - top) * value) / Math.max(marks.at(-1), most);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Cost so far and least possible total along the run" });
  for (const mark of marks) chart.append(svg("line", { class: mark ? "guide" : "axis", x1: left, x2: width - right, y1: y(mark), y2: y(mark) }), svg("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, count(mark)));
  const every = Math.max(1, Math.ceil((costs.length * 36) / width));
  costs.forEach((_, k) => { if (k % every === 0) chart.append(svg("text", { x: x(k), y: height - bottom + 15, "text-anchor": "middle" }, String(k))); });
  if (Number.isFinite(best)) chart.append(svg("line", { class: "best", x1: left, x2: width - right, y1: y(best), y2: y(best) }));
  bounds.forEach(({ low, high }, k) => {
    if (low === Infinity) return;
    const from = y(costs[k] + low), to = high === Infinity ? top : y(costs[k] + high);
    const told = svg("title", {}, `step ${k}: at least ${count(costs[k] + low)}, ` + (high === Infinity ? "no upper bound known" : `at most ${count(costs[k] + high)}`));
    if (high === Infinity) chart.append(svg("circle", { class: "dot", cx: x(k), cy: from, r: 3 }, told));
    else chart.append(svg("line", { class: "span", x1: x(k), x2: x(k), y1: from, y2: to }, told));
  });
  chart.append(svg("path", { class: "cost", d: costs.map((cost, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(cost).toFixed(1)}`).join("") }));
  for (const fault of detail.faults || []) if (fault.step < costs.length) chart.append(svg("circle", { class: "fault", cx: x(fault.step), cy: y(costs[fault.step]), r: 5 }, svg("title", {}, `fault at step ${fault.step}, loses ${interval(...fault.loss)}`)));
  chart.append(svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "step of the run"));
  return chart;
}
