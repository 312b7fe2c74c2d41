// A run beside a plan: rows [step of the run or null, step of the plan or null, shared], along a longest common
// subsequence of operators. Where both are too long for that, only the common beginning and end are matched.

const MOST_ALIGNED = 4e6;

function aligned(run, plan) {
  let begin = 0;
  while (begin < run.length && begin < plan.length && run[begin] === plan[begin]) begin++;
  const rows = [];
  for (let k = 0; k < begin; k++) rows.push([k, k, true]);
  const n = run.length - begin, m = plan.length - begin;
  const pairsFound = n * m <= MOST_ALIGNED ? common(run, plan, begin, n, m) : [];
  let i = begin, j = begin;
  for (const [nextI, nextJ] of [...pairsFound, [run.length, plan.length]]) {
    while (i < nextI || j < nextJ) {
      rows.push([i < nextI ? i : null, j < nextJ ? j : null, false]);
      if (i < nextI) i++;
      if (j < nextJ) j++;
    }
    if (nextI < run.length && nextJ < plan.length) rows.push([i++, j++, true]);
  }
  return rows;
}

function common(run, plan, begin, n, m) {
  const width = m + 1, length = new Uint32Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      length[i * width + j] = run[begin + i] === plan[begin + j] ? length[(i + 1) * width + j + 1] + 1 : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
  const found = [];
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (run[begin + i] === plan[begin + j]) found.push([begin + i++, begin + j++]);
    else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) i++;
    else j++;
  }
  return found;
}
