// The page wired together.
function changed() {
  hideTip();
  chart.hot = -1;
  drawChart();
  fillTable();
}

function writeHead() {
  byId("title").textContent = D.title;
  byId("description").textContent = D.description;
  const withRuns = Object.values(D.runs).filter((run) => run.tracks).length;
  const wrong = Object.keys(D.errors).length;
  const parts = [
    D.node && `node ${D.node}`, `${TOTAL} points${wrong ? `, ${wrong} failed` : ""}`, `c3sim ${D.version}`, D.hash && `results ${D.hash}`,
  ].filter(Boolean);
  const lines = byId("provenance");
  lines.textContent = `${parts.join(" · ")}. `;
  if (withRuns === 0) lines.append("No point has a timeline in this page; each shows the command that gives it. ");
  else if (withRuns < TOTAL - wrong) {
    lines.append(`${withRuns} points have a timeline: the best and worst of each scenario and strategy, Pareto fronts, and some spread over the rest; the others show the command that gives it. `);
  }
  if (D.command) lines.append("Made by ", make("code", {}, D.command), ".");
}

function themeNow() {
  return document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function setTheme(name) {
  if (name) {
    document.documentElement.dataset.theme = name;
    try { localStorage.setItem("c3sim-theme", name); } catch { /* a browser may keep nothing for files */ }
  }
  byId("theme").setAttribute("aria-pressed", String(themeNow() === "dark"));
  readTheme();
  drawChart();
}

function start() {
  let kept = null;
  try { kept = localStorage.getItem("c3sim-theme"); } catch { /* as above */ }
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  readTheme();
  writeHead();
  buildTable();
  const any = buildViews();
  buildFilters();
  byId("theme").addEventListener("click", () => setTheme(themeNow() === "dark" ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
  byId("reset").addEventListener("click", () => { buildFilters(); applyFilters(); });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  applyFilters();
  if (any) showView(chart.view);
  else document.querySelector("main section").hidden = true;
  setTheme();
  watchChart();
  watchPanel();
  new ResizeObserver(() => drawChart()).observe(canvas);
  openNamed();
  addEventListener("hashchange", openNamed);
}

start();
