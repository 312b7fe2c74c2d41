// Reads the report and shows the view that the address names.

let report = null;
let shownOnce = false;

const VIEWS = [["overview", "Overview"], ["families", "Families"], ["records", "Records"]];

function navigation(view) {
  const links = [];
  if (report.comparison) links.push([{ view: "compare" }, "Comparison", view.view === "compare"]);
  if (report.comparison && view.view !== "compare") links.push([{ view: "overview", c: view.c }, cut(report.campaigns[view.c].label, 30), view.view === "overview"]);
  for (const [key, text] of VIEWS) {
    if (report.comparison && (view.view === "compare" || key === "overview")) continue;
    links.push([{ view: key, c: view.c }, text, view.view === key || (key === "records" && view.view === "record")]);
  }
  by("nav").replaceChildren(...links.map(([to, text, here]) => h("a", { href: address(to), "aria-current": here ? "page" : null }, text)));
}

async function show() {
  const view = readView(), campaign = report.campaigns[view.c];
  navigation(view);
  let page;
  try {
    if (view.view === "compare" && report.comparison) page = compareView(view);
    else if (view.view === "families") page = familiesView(campaign);
    else if (view.view === "records") { records.campaign = campaign; page = await recordsView(campaign, view); }
    else if (view.view === "record") page = await recordView(campaign, view);
    else page = overviewView(campaign);
  } catch (error) {
    page = h("div", {}, h("h1", {}, "This view cannot be shown"), h("p", { class: "note" }, String(error)));
    console.error(error);
  }
  if (address(readView()) !== address(view) && view.view !== "records") return; // somebody was faster
  by("main").replaceChildren(page);
  document.title = page.querySelector("h1").textContent.slice(0, 120) + " · misstep report";
  if (view.view === "records" && records.redraw) records.redraw();
  if (view.view !== "record") current = null;
  if (shownOnce) { scrollTo(0, 0); by("main").focus({ preventScroll: true }); }
  if (records.focus && by("search")) { records.focus = false; by("search").focus(); }
  shownOnce = true;
  document.documentElement.dataset.shown = view.view;
}

async function start() {
  startTheme();
  startKeys();
  try {
    const head = await piece("head");
    report = head;
    report.campaigns = head.campaigns.map((own, number) => new Campaign(own, number));
    await Promise.all(report.campaigns.map((own) => own.load()));
  } catch (error) {
    by("main").replaceChildren(h("h1", {}, "The report cannot be read"), h("p", {}, "The file is damaged, or this browser is too old (it needs DecompressionStream, in all browsers since 2023)."), h("p", { class: "soft" }, String(error)));
    console.error(error);
    return;
  }
  by("footer").replaceChildren(h("p", {}, `Made by misstep ${report.version} on ${report.made}. Every bug in this report is proven by a witness that "misstep replay" checks again. The page asks nobody for anything.`));
  addEventListener("hashchange", show);
  await show();
  document.documentElement.dataset.ready = "1";
  performance.mark("ready");
}

start();
