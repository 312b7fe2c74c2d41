// Light, dark, or as the system has it.

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  const button = by("theme"), label = theme[0].toUpperCase() + theme.slice(1);
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = label;
  button.setAttribute("aria-label", label + ": colours " + (theme === "auto" ? "as the system has them" : "of this report"));
  button.dataset.theme = theme;
  try { localStorage.setItem("misstep-theme", theme); } catch { /* A page from a file may have no storage. */ }
}

function startTheme() {
  let kept = null;
  try { kept = localStorage.getItem("misstep-theme"); } catch { /* as above */ }
  setTheme(THEMES.includes(kept) ? kept : "auto");
  by("theme").addEventListener("click", (event) => setTheme(THEMES[(THEMES.indexOf(event.target.dataset.theme) + 1) % 3]));
}
