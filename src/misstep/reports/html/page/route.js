// The view is in the fragment of the address, so that a link opens the same view.

function readView() {
  const given = new URLSearchParams(location.hash.slice(1));
  const view = Object.fromEntries(given);
  view.view ||= report.comparison ? "compare" : "overview";
  view.c = Math.min(Math.max(0, Math.floor(Number(view.c)) || 0), report.campaigns.length - 1);
  return view;
}

function address(view) {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(view)) {
    const standard = value === "" || value === null || value === undefined || value === false || (key === "c" && Number(value) === 0);
    if (!standard) given.set(key, value);
  }
  return "#" + given;
}

const go = (view) => { location.hash = address(view); };

// While somebody types, the address follows without a new entry in the history.
const replaceView = (view) => history.replaceState(null, "", address(view));

const link = (view, ...children) => h("a", { href: address(view) }, ...children);
