// Everything that a view shows as a file, made inside the page.

const TITLES = ["id", "task", "number", "verdict", "kind", "gap_low", "gap_high", "lower_bound", "upper_bound", "outcome", "cost", "steps", "depth", "oracle", "source", "family", "faults", "at", "seconds"];
// What the columns of the loss hold: of a model there is no gap.
const titlesOf = (campaign) => TITLES.map((title) => (campaign.isModel ? title.replace("gap_", "radius_") : title));

function csvOf(campaign, rows) {
  const own = campaign.column, lines = [titlesOf(campaign).join(",")];
  const number = (value) => (Number.isNaN(value) ? "" : value === Infinity ? "inf" : String(value));
  for (const row of rows)
    lines.push([
      cell(campaign.id(row)), cell(campaign.word("task", row)), own.number[row], cell(campaign.word("verdict", row)), cell(campaign.word("kind", row)),
      number(own.low[row]), number(own.high[row]), number(own.lower[row]), number(own.upper[row]), cell(campaign.word("outcome", row)), number(own.cost[row]),
      own.steps[row], own.depth[row] < 0 ? "" : own.depth[row], cell(campaign.word("oracle", row)), cell(campaign.word("source", row)),
      cell(campaign.word("signature", row)), own.faults[row], number(own.at[row]), own.seconds[row].toFixed(6),
    ].join(","));
  return lines.join("\r\n") + "\r\n";
}

function cell(text) {
  if (text === null || text === undefined) return "";
  // A spreadsheet would take such a beginning for a formula.
  const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

function download(text, file) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const anchor = h("a", { href: url, download: file });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
