// Small charts. Each says in its label what it shows, and each bar its numbers when it is pointed at.

const KINDS = ["bug", "fine", "open"], KIND_WORDS = ["bugs", "no bugs", "undecided"];

// On a phone a chart has fewer units in width, so that its letters stay as large as the text around it.
const isNarrow = () => matchMedia("(max-width: 760px)").matches;

// Marks of an axis from 0 to at least `most`: round numbers, five at most.
function ticks(most) {
  const raw = Math.max(most, 1e-9) / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((own) => own * power).find((own) => own >= raw);
  const found = [];
  for (let k = 0; k * step < most + step * 0.999; k++) found.push(Number((k * step).toPrecision(6)));
  return found;
}

// Bars of whole numbers: what `histogram` in overview.py made.
function histogram(data, label, options) {
  const bars = data.bars.map(([from, to, ...own]) => ({ text: from === to ? count(from) : count(from) + "–" + count(to), own }));
  const sum = (own) => own.reduce((a, b) => a + b, 0);
  if (sum(data.infinite)) bars.push({ text: options.infinite || "∞", own: data.infinite, apart: true });
  if (sum(data.unknown) && options.unknown) bars.push({ text: options.unknown, own: data.unknown, apart: true });
  if (!bars.length) return h("p", { class: "soft" }, options.none || "There is nothing to show.");
  return barChart(bars, label, options.title, options.width);
}

function barChart(bars, label, title, wanted = 460) {
  const width = isNarrow() ? Math.min(wanted, 350) : wanted, letter = isNarrow() ? 8.2 : 6.4, height = 190, left = 42, bottom = isNarrow() ? 40 : 34, top = 8;
  const most = Math.max(...bars.map((bar) => bar.own.reduce((a, b) => a + b, 0)), 1);
  const marks = ticks(most).filter((mark) => Number.isInteger(mark)), scale = (height - bottom - top) / Math.max(marks.at(-1), most);
  const room = (width - left - 6) / bars.length, thick = Math.min(room * 0.78, 44);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const mark of marks) {
    const y = height - bottom - mark * scale;
    chart.append(svg("line", { class: mark ? "guide" : "axis", x1: left, x2: width, y1: y, y2: y }),
      svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, count(mark)));
  }
  const every = Math.max(1, Math.ceil((Math.max(...bars.map((bar) => bar.text.length)) * letter + 8) / room));
  bars.forEach((bar, k) => {
    const x = left + k * room + (room - thick) / 2;
    let y = height - bottom;
    const told = KIND_WORDS.map((word, i) => bar.own[i] ? count(bar.own[i]) + " " + word : null).filter(Boolean).join(", ");
    const group = svg("g", {}, svg("title", {}, bar.text + ": " + (told || "0")));
    bar.own.forEach((own, i) => {
      if (!own) return;
      const tall = Math.max(own * scale, 1);
      y -= tall;
      group.append(svg("rect", { class: KINDS[i], x, y, width: thick, height: tall, rx: Math.min(2, tall / 2) }));
    });
    chart.append(group);
    if (k % every === 0 || bar.apart) chart.append(svg("text", { x: Math.min(x + thick / 2, width - bar.text.length * letter / 2), y: height - bottom + 15, "text-anchor": "middle" }, bar.text));
  });
  if (title) chart.append(svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, title));
  return chart;
}

function legend(entries) {
  return h("ul", { class: "legend" }, entries.map(([kind, text]) => h("li", { class: "k" + kind }, text)));
}

// Step functions, each a list of [time, number].
function curves(series, label, axis) {
  const width = isNarrow() ? 350 : 460, height = 200, left = 46, bottom = isNarrow() ? 40 : 34, top = 8, right = 20;
  const own = series.filter(([, points]) => points.length);
  if (!own.length) return h("p", { class: "soft" }, "No bug was proven.");
  const longest = Math.max(...own.map(([, points]) => points.at(-1)[0]), 0.001), most = Math.max(...own.map(([, points]) => points.at(-1)[1]));
  const marks = ticks(most).filter((mark) => Number.isInteger(mark)), times = ticks(longest);
  const x = (time) => left + ((width - left - right) * time) / times.at(-1), y = (number) => height - bottom - ((height - bottom - top) * number) / Math.max(marks.at(-1), most);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const mark of marks) chart.append(svg("line", { class: mark ? "guide" : "axis", x1: left, x2: width - right, y1: y(mark), y2: y(mark) }), svg("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, count(mark)));
  for (const time of times) chart.append(svg("text", { x: x(time), y: height - bottom + 15, "text-anchor": "middle" }, String(time)));
  own.forEach(([title, points], k) => {
    let path = `M${x(0).toFixed(1)} ${y(0).toFixed(1)}`;
    for (const [time, number] of points) path += `H${x(time).toFixed(1)}V${y(number).toFixed(1)}`;
    chart.append(svg("path", { class: "curve k" + (k % 6), d: path + `H${x(longest).toFixed(1)}` }, svg("title", {}, title + ": " + plural(points.at(-1)[1], "bug"))));
  });
  chart.append(svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, axis));
  return h("div", {}, chart, own.length > 1 && legend(own.map(([title], k) => [k % 6, title])));
}
