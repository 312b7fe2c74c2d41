// Which rows a view shows, and in which order. Orders are made once for each column and kept; a filter is one pass.

const SORTS = {
  id: (c) => (a, b) => c.column.task[a] - c.column.task[b] || c.column.number[a] - c.column.number[b],
  verdict: (c) => byWord(c, "verdict"), kind: (c) => byWord(c, "kind"), run: (c) => byNumber(c.column.cost),
  gap: (c) => byNumber(c.column.low), best: (c) => byNumber(c.column.upper), family: (c) => byNumber(c.familyOf),
  source: (c) => byWord(c, "source"),
};

function byNumber(values) {
  // What is no number comes last in both directions of a table that people read from the top.
  return (a, b) => {
    const x = values[a], y = values[b];
    return x === y ? a - b : Number.isNaN(x) ? (Number.isNaN(y) ? a - b : -1) : Number.isNaN(y) ? 1 : x - y;
  };
}

function byWord(campaign, column) {
  const words = campaign.words[column], places = campaign.column[column];
  const order = words.map((_, k) => k).sort((a, b) => String(words[a] || "~").localeCompare(String(words[b] || "~")));
  const rank = new Uint32Array(words.length);
  order.forEach((place, k) => { rank[place] = k; });
  return (a, b) => rank[places[a]] - rank[places[b]] || a - b;
}

function orderBy(campaign, sort) {
  const down = sort.startsWith("-"), key = down ? sort.slice(1) : sort;
  campaign.orders ||= {};
  if (!SORTS[key]) return null;
  campaign.orders[key] ||= Uint32Array.from({ length: campaign.rows }, (_, row) => row).sort(SORTS[key](campaign));
  if (!down) return campaign.orders[key];
  campaign.orders[sort] ||= campaign.orders[key].slice().reverse();
  return campaign.orders[sort];
}

// The rows of a view, in order. `states` are those of `loadStates` where facts are searched, else null.
function rowsOf(campaign, view, states) {
  const passes = [];
  for (const key of ["verdict", "kind", "task", "outcome", "oracle"]) {
    if (!view[key]) continue;
    const place = campaign.words[key].indexOf(view[key]), column = campaign.column[key];
    passes.push((row) => column[row] === place);
  }
  if (view.clean) {
    const fine = campaign.words.verdict.map((word) => CLASS[word] === "fine"), column = campaign.column.verdict;
    passes.push((row) => !fine[column[row]]);
  }
  if (view.family) {
    const inside = new Uint8Array(campaign.rows), k = Number(view.family) - 1;
    if (campaign.families[k]) for (const row of campaign.rowsOfFamily(k)) inside[row] = 1;
    passes.push((row) => inside[row] === 1);
  }
  const least = Number(view.gap);
  if (view.gap && !Number.isNaN(least)) passes.push((row) => campaign.column.low[row] >= least);
  if (view.q) passes.push(textPass(campaign, view.q.toLowerCase(), states));
  const order = orderBy(campaign, view.sort || "id") || orderBy(campaign, "id");
  const found = new Uint32Array(campaign.rows);
  let size = 0;
  next: for (let k = 0; k < order.length; k++) {
    const row = order[k];
    for (const pass of passes) if (!pass(row)) continue next;
    found[size++] = row;
  }
  return found.subarray(0, size);
}

// Ids, names, and the facts of the state.
function textPass(campaign, text, states) {
  const hits = {};
  for (const column of ["task", "kind", "outcome", "oracle", "source", "signature"])
    hits[column] = campaign.words[column].map((word) => word !== null && word.toLowerCase().includes(text));
  const family = campaign.families.map((own) => (own.signature + " " + own.sentence).toLowerCase().includes(text));
  const held = states ? rowsWithFact(campaign, text, states) : null;
  const columns = Object.entries(hits).filter(([, own]) => own.some(Boolean)).map(([key, own]) => [campaign.column[key], own]);
  const numbered = text.match(/^(.*?):?(\d+)$/);
  return (row) => {
    if (held && held[row]) return true;
    for (const [places, own] of columns) if (own[places[row]]) return true;
    const k = campaign.familyOf[row];
    if (k >= 0 && family[k]) return true;
    return numbered !== null && campaign.id(row).toLowerCase().includes(text);
  };
}

function rowsWithFact(campaign, text, states) {
  const held = new Uint8Array(campaign.rows), known = new Map();
  for (const block of states) {
    for (let variable = 0; variable < block.width; variable++) {
      const key = block.task + ":" + variable;
      if (!known.has(key)) known.set(key, new Map());
      const own = known.get(key), from = variable * block.count;
      if (block.content.facts && !own.size) {
        let some = false;
        block.content.facts[variable].forEach((_, value) => {
          const hit = (factText(block.content, variable, value) || "").toLowerCase().includes(text);
          own.set(value, hit);
          some ||= hit;
        });
        own.some = some;
      }
      if (own.some === false) continue;
      for (let k = 0; k < block.count; k++) {
        const value = block.matrix[from + k];
        if (!own.has(value)) own.set(value, (factText(block.content, variable, value) || "").toLowerCase().includes(text));
        if (own.get(value)) held[block.first + k] = 1;
      }
    }
  }
  return held;
}
