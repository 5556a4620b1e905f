// A point opened: its values, its timeline, where the time of each task went, and the command that runs it again.
const panel = byId("panel");
let opener = null;

function openPanel(row, from) {
  if (from) opener = from;
  chart.current = row;
  hideTip();
  fillPanel(row);
  panel.hidden = false;
  history.replaceState(null, "", `#point-${D.points[row]}`); // an address that opens this point again
  document.body.classList.add("open");
  fillTable();
  drawRings();
  panel.scrollTop = 0;
  panel.focus({ preventScroll: true });
}

function closePanel() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.body.classList.remove("open");
  history.replaceState(null, "", location.pathname + location.search);
  const row = chart.current;
  chart.current = -1;
  fillTable();
  drawRings();
  const again = opener && opener.isConnected ? opener : byId("points").querySelector(`tr[data-row="${row}"] button`) ?? canvas;
  again.focus({ preventScroll: true });
}

function watchPanel() {
  byId("close").addEventListener("click", closePanel);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") closePanel(); });
  const step = (by) => () => {
    const place = ordered.indexOf(chart.current) + by;
    if (place < 0 || place >= ordered.length) return;
    const many = Number(byId("rows").value);
    sorting.page = Math.floor(place / many);
    openPanel(ordered[place]);
  };
  byId("previous").addEventListener("click", step(-1));
  byId("next").addEventListener("click", step(1));
}

/** Opens the point that the address names. */
function openNamed() {
  const found = /^#point-(\d+)$/.exec(location.hash);
  const row = found ? D.points.indexOf(Number(found[1])) : -1;
  if (row >= 0) openPanel(row, canvas);
}

function fillPanel(row) {
  byId("panel-title").textContent = `Point ${D.points[row]}`;
  const run = D.runs[row];
  const parts = [make("p", {}, pointName(row))];
  if (failed(row)) parts.push(make("p", { class: "bad" }, `This point failed: ${D.errors[row]}`));
  if (run?.problem) parts.push(make("p", { class: "bad" }, `It ${run.problem}.`));
  if (run?.differs) {
    parts.push(make("p", { class: "bad" }, `Run again for this page, c3sim ${D.version} gives a wall time of ${written(run.wall * 1e6)} us; the results say ${written(run.differs * 1e6)} us. The picture below is of the new run.`));
  }
  if (run?.tracks) {
    const [unit, length] = timeUnit(run.wall * 1e9);
    const time = (seconds) => `${written((seconds * 1e9) / length)} ${unit}`;
    parts.push(make("p", {}, `exposed communication ${time(run.exposed)}; compute stretched by ${time(run.stretched)}`));
    parts.push(make("h3", {}, "Timeline"), timeline(run), make("h3", {}, "Where the time went"), account(run, D.causes));
    for (const note of run.notes) parts.push(make("p", { class: "soft" }, `note: ${note}`));
  } else if (isMean(row)) {
    parts.push(make("p", { class: "soft" }, `The mean over ${D.members.join(", ")}: no run of its own. The commands below run each of them.`));
  } else if (!failed(row) && !run) {
    parts.push(make("p", { class: "soft" }, "This point has no timeline in this page; the commands below give it."));
  }
  parts.push(...again(row), make("h3", {}, "All values"), values(row));
  byId("panel-body").replaceChildren(...parts);
}

function values(row) {
  const columns = D.columns.filter((column) => !(failed(row) && column.role === "output"));
  return make("dl", {}, ...columns.flatMap((column) => [make("dt", { title: column.name }, column.label), make("dd", {}, text(column, valueOf(column, row)))]));
}

/** What a point stands for: its scenario, or all of which it is the mean. */
function scenariosOf(row) {
  const scenario = COLUMNS.get("scenario") ? valueOf(COLUMNS.get("scenario"), row) : "";
  return isMean(row) ? D.members : [scenario];
}

function isMean(row) {
  return D.members.length > 0 && COLUMNS.get("scenario") !== undefined && !D.members.includes(valueOf(COLUMNS.get("scenario"), row));
}

/** The arguments that name a point in one scenario: those of the scenario, its strategy, its axes. */
function argumentsOf(row, scenario) {
  const strategy = COLUMNS.get("strategy") ? ` --strategy ${valueOf(COLUMNS.get("strategy"), row)}` : "";
  const axes = D.columns.filter((column) => column.arguments && column.codes[row] >= 0).map((column) => ` ${column.arguments[column.codes[row]]}`);
  return D.bases[scenario] + strategy + axes.join("");
}

function again(row) {
  const given = scenariosOf(row).filter((scenario) => D.bases[scenario] !== undefined).map((scenario) => argumentsOf(row, scenario));
  if (!given.length) return [];
  const missing = given.some((words) => words.includes("FILE.yaml")) ? [make("p", { class: "soft" }, "FILE.yaml stands for a file of your own that is not packaged.")] : [];
  return [make("h3", {}, "Run it again"), ...given.flatMap((words) => [command(`c3sim explain ${words}`), command(`c3sim run ${words} --plot timeline.png`)]), ...missing];
}

function command(words) {
  const button = make("button", { type: "button", "aria-label": `Copy: ${words.slice(0, 40)}…` }, "Copy");
  const code = make("code", {}, words);
  button.addEventListener("click", async () => {
    let done = false;
    try { await navigator.clipboard.writeText(words); done = true; } catch { /* not allowed: selected below */ }
    if (!done) { getSelection().selectAllChildren(code); done = document.execCommand("copy"); }
    button.textContent = done ? "Copied" : "Selected";
    byId("live").textContent = done ? "Command copied" : "Command selected";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return make("div", { class: "command" }, code, button);
}
