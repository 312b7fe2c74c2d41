// Numbers and words as people read them.

const whole = new Intl.NumberFormat("en");

function count(number) {
  if (number === null || Number.isNaN(number)) return "–";
  if (number === Infinity) return "∞";
  return whole.format(number);
}

function plural(number, one, many) {
  return count(number) + " " + (number === 1 ? one : many || one + "s");
}

function percent(part, all) {
  if (!all) return "–";
  const share = (100 * part) / all;
  if (part && share < 1) return "below 1%";
  return part < all && share > 99 ? "above 99%" : Math.round(share) + "%";
}

// "3", "2 to 5", "at least 3", "infinite"; nulls of JSON are infinite as well.
function interval(low, high) {
  if (Number.isNaN(low)) return "–";
  const from = low === null ? Infinity : low, to = high === null ? Infinity : high;
  if (from === Infinity) return "infinite";
  if (from === to) return count(from);
  return to === Infinity ? "at least " + count(from) : count(from) + " to " + count(to);
}

function seconds(number) {
  if (number < 0.0005) return "0 s";
  if (number < 10) return number.toFixed(number < 1 ? 3 : 1) + " s";
  if (number < 120) return Math.round(number) + " s";
  return number < 7200 ? Math.round(number / 60) + " min" : (number / 3600).toFixed(1) + " h";
}

const CLASS = { BUG: "bug", OPTIMAL: "fine", "NOT A BUG": "fine", UNSOLVABLE: "fine", UNKNOWN: "open", FLAKY: "open" };
const WORD = { BUG: "bug", OPTIMAL: "optimal", "NOT A BUG": "not a bug", UNSOLVABLE: "unsolvable", UNKNOWN: "unknown", FLAKY: "flaky" };

function badge(verdict) {
  return h("span", { class: "badge " + (CLASS[verdict] || "") }, WORD[verdict] || verdict);
}
