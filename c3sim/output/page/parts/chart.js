// The main view: scatter, lines or heat map on a canvas; hovering, clicking and walking through its points.
const VIEWS = { scatter: "Scatter", lines: "Lines", heatmap: "Heat map" };
const chart = { view: D.start.view, settings: {}, spots: [], hot: -1, current: -1 };
const canvas = byId("chart");
const REACH = 14; // pixels from the pointer to a point

/** Columns that a side of the present view may show. */
function allowedColumns(side) {
  const axes = D.columns.filter((column) => column.role !== "output" && distinct(column).length > 0);
  if (chart.view === "heatmap") return side === "colour" ? OUTPUTS : axes.filter(varies);
  if (chart.view === "lines") return side === "x" ? axes.filter((column) => column.numeric && varies(column)) : side === "y" ? OUTPUTS : SIDES;
  return side === "colour" ? [...SIDES, ...OUTPUTS] : [...axes.filter(varies), ...OUTPUTS];
}

const setting = (side) => COLUMNS.get(chart.settings[chart.view][side]);

function buildViews() {
  for (const view of Object.keys(D.start.views)) {
    chart.settings[view] = { ...D.start.views[view], front: false, pick: "best" };
    byId("views").append(make("button", { type: "button", "data-view": view, onclick: () => showView(view) }, VIEWS[view]));
  }
  if (!chart.settings[chart.view]) return false;
  const front = ["x", "y"].every((side) => COLUMNS.get(chart.settings.scatter[side]).role === "output");
  chart.settings.scatter.front = front;
  for (const side of ["x", "y", "colour"]) {
    byId(side).addEventListener("change", (event) => {
      chart.settings[chart.view][side] = event.target.value;
      delete chart.settings[chart.view][`log${side}`];
      showView(chart.view);
    });
  }
  for (const name of ["logx", "logy", "front"]) {
    byId(name).addEventListener("change", (event) => { chart.settings[chart.view][name] = event.target.checked; drawChart(); });
  }
  byId("of").addEventListener("change", (event) => { chart.settings.heatmap.of = event.target.value; drawChart(); });
  byId("pick").addEventListener("change", (event) => { chart.settings[chart.view].pick = event.target.value; drawChart(); });
  return true;
}

function showView(view) {
  chart.view = view;
  const now = chart.settings[view];
  for (const button of byId("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  for (const side of ["x", "y", "colour"]) {
    const options = allowedColumns(side).map((column) => make("option", { value: column.name }, column.label));
    byId(side).replaceChildren(...options);
    byId(side).value = now[side] ?? "";
  }
  for (const side of ["x", "y"]) {
    const column = setting(side);
    now[`log${side}`] ??= column.log;
    byId(`log${side}`).parentElement.hidden = view === "heatmap" || !column.numeric || distinct(column)[0] <= 0;
    byId(`log${side}`).checked = now[`log${side}`];
  }
  byId("colour-name").textContent = view === "heatmap" ? "value" : "colour";
  byId("pick-label").hidden = view !== "heatmap";
  byId("of-label").hidden = true; // until a heat map has something to keep apart
  byId("pick").value = now.pick;
  byId("front").parentElement.hidden = view !== "scatter" || !["x", "y"].every((side) => setting(side).role === "output");
  byId("front").checked = now.front;
  chart.hot = -1;
  hideTip();
  drawChart();
}

function drawChart() {
  if (!chart.settings[chart.view]) return;
  const { width, height } = canvas.getBoundingClientRect();
  if (!width) return;
  const g = cleared(canvas, width, height);
  const rows = shown.filter((row) => !failed(row));
  byId("empty").hidden = shown.length > 0;
  chart.spots = [];
  const box = { left: chart.view === "heatmap" ? 92 : 74, right: width - 14, top: 12, bottom: height - 50 };
  const draw = { scatter: drawScatter, lines: drawLines, heatmap: drawHeatmap }[chart.view];
  draw(g, box, rows);
  drawRings();
  const counted = `${rows.length} points`;
  canvas.setAttribute("aria-label", `${VIEWS[chart.view]}: ${setting("y").label} against ${setting("x").label}, ${counted}`);
}

/** An empty canvas of that size in CSS pixels, and its context. */
function cleared(target, width, height) {
  const ratio = window.devicePixelRatio || 1;
  target.width = Math.round(width * ratio);
  target.height = Math.round(height * ratio);
  const g = target.getContext("2d");
  g.scale(ratio, ratio);
  return g;
}

/** The open point and the one under the pointer, on a canvas of their own: thousands of points need not be drawn again. */
function drawRings() {
  const { width, height } = canvas.getBoundingClientRect();
  const g = cleared(byId("rings"), width, height);
  ring(g, chart.current, theme.accent);
  ring(g, chart.hot, theme.ink);
}

function ring(g, row, colour) {
  const spot = chart.spots.find((each) => each.row === row || each.held?.includes(row));
  if (!spot) return;
  g.lineWidth = 2.5;
  g.strokeStyle = colour;
  g.beginPath();
  if (spot.w) g.rect(spot.x - spot.w / 2 + 1, spot.y - spot.h / 2 + 1, spot.w - 2, spot.h - 2);
  else g.arc(spot.x, spot.y, 9, 0, 2 * Math.PI);
  g.stroke();
}

function sides(box) {
  const now = chart.settings[chart.view];
  const log = (side) => now[`log${side}`] && distinct(setting(side))[0] > 0;
  return [makeScale(setting("x"), shown, box.left, box.right, log("x")), makeScale(setting("y"), shown, box.bottom, box.top, log("y"))];
}

function drawScatter(g, box, rows) {
  const [x, y] = sides(box);
  const colours = makeColours(setting("colour"), rows);
  drawAxes(g, box, x, y, true);
  placeSpots(rows, x, y);
  const front = chart.settings.scatter.front && x.column.role === "output" && y.column.role === "output";
  if (front) drawFront(g, x, y, rows);
  drawMarks(g, colours, rows.length > 2000 ? 3 : 4.5);
  drawFailed(g, box, x);
  drawLegend(colours, [...(front ? [{ colour: theme.ink, line: true, label: "Pareto front" }] : []), ...failedEntry()]);
  byId("said").textContent = "";
}

function placeSpots(rows, x, y) {
  for (const row of rows) {
    const [a, b] = [valueOf(x.column, row), valueOf(y.column, row)];
    if (x.ok(a) && y.ok(b)) chart.spots.push({ row, x: x.at(a), y: y.at(b) });
  }
}

function drawMarks(g, colours, radius) {
  const groups = new Map();
  for (const spot of chart.spots) {
    const style = colours.of(spot.row);
    if (!groups.has(style)) groups.set(style, []);
    groups.get(style).push(spot);
  }
  g.globalAlpha = chart.spots.length > 2000 ? 0.7 : 0.9;
  for (const [style, spots] of groups) {
    const stamp = makeStamp(style, radius);
    for (const spot of spots) g.drawImage(stamp, spot.x - stamp.half, spot.y - stamp.half, 2 * stamp.half, 2 * stamp.half);
  }
  g.globalAlpha = 1;
}

function drawFront(g, x, y, rows) {
  const front = paretoFront(rows.filter((row) => x.ok(valueOf(x.column, row)) && y.ok(valueOf(y.column, row))), x.column, y.column);
  let before = null;
  g.beginPath();
  front.forEach((row, number) => {
    const [px, py] = [x.at(valueOf(x.column, row)), y.at(valueOf(y.column, row))];
    if (!number) g.moveTo(px, py);
    else if (x.column.better === "higher") { g.lineTo(before[0], py); g.lineTo(px, py); } else { g.lineTo(px, before[1]); g.lineTo(px, py); }
    before = [px, py];
  });
  g.lineWidth = 1.6;
  g.strokeStyle = theme.ink;
  g.stroke();
}

/** Points that failed have no value: crosses along the lower edge, where x is known. */
function drawFailed(g, box, x) {
  const rows = shown.filter(failed);
  g.beginPath();
  for (const row of rows) {
    const value = x.column.role === "output" ? null : valueOf(x.column, row);
    const at = value === null ? box.right - 8 : x.at(value);
    if (at === undefined || Number.isNaN(at)) continue;
    const spot = { row, x: at, y: box.bottom - 8 };
    chart.spots.push(spot);
    for (const d of [-4, 4]) { g.moveTo(spot.x - 4, spot.y - d); g.lineTo(spot.x + 4, spot.y + d); }
  }
  g.lineWidth = 2;
  g.strokeStyle = theme.bad;
  g.stroke();
}

const failedEntry = () => (shown.some(failed) ? [{ colour: theme.bad, shape: "cross", label: "failed (at the lower edge)" }] : []);

function drawLines(g, box, rows) {
  const [x, y] = sides(box);
  const colours = makeColours(setting("colour"), rows);
  drawAxes(g, box, x, y, true);
  placeSpots(rows, x, y);
  const others = SIDES.filter((column) => column !== x.column);
  const lines = new Map();
  for (const spot of chart.spots) {
    const key = others.map((column) => column.codes[spot.row]).join();
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push(spot);
  }
  g.lineWidth = lines.size > 40 ? 1 : 1.8;
  g.globalAlpha = lines.size > 40 ? 0.55 : 1;
  for (const spots of lines.values()) {
    spots.sort((a, b) => a.x - b.x);
    const style = colours.of(spots[0].row);
    g.beginPath();
    spots.forEach((spot, number) => (number ? g.lineTo(spot.x, spot.y) : g.moveTo(spot.x, spot.y)));
    g.setLineDash(style.dash);
    g.strokeStyle = style.colour;
    g.stroke();
  }
  g.setLineDash([]);
  g.globalAlpha = 1;
  drawMarks(g, colours, rows.length > 600 ? 2.5 : 4.5);
  drawFailed(g, box, x);
  drawLegend(colours, failedEntry());
  byId("said").textContent = `${lines.size} line${lines.size === 1 ? "" : "s"}: one for each combination of the other axes.`;
}

/** What a heat map keeps apart: the values of the groups (strategy, scenario) that are on no side. */
function apart(row) {
  const { x, y } = chart.settings.heatmap;
  return D.columns.filter((column) => column.role === "group" && varies(column) && column.name !== x && column.name !== y)
    .map((column) => text(column, valueOf(column, row))).join(", ");
}

/** The rows of what is shown of it: what was chosen, or what the best point belongs to; "": all, mixed. */
function onlyOf(rows, value) {
  const every = [...new Set(shown.map(apart))];
  const now = chart.settings.heatmap;
  if (now.of !== "" && !every.includes(now.of)) now.of = rows.length ? apart(pickOf(rows, value, "best")) : every[0];
  byId("of").replaceChildren(...every.map((name) => make("option", { value: name }, name)), make("option", { value: "" }, "all, mixed"));
  byId("of").value = now.of;
  byId("of-label").hidden = every.length < 2;
  return now.of === "" ? shown : shown.filter((row) => apart(row) === now.of);
}

/** Of the rows of a cell the one that it shows: a real point, so that a click can open it. */
function pickOf(rows, value, pick) {
  const ordered = rows.filter((row) => valueOf(value, row) !== null).sort((a, b) => sign(value) * (valueOf(value, b) - valueOf(value, a)) || a - b);
  if (!ordered.length) return rows[0];
  return ordered[pick === "best" ? 0 : pick === "worst" ? ordered.length - 1 : Math.floor((ordered.length - 1) / 2)];
}

function drawHeatmap(g, box, rows) {
  const [xc, yc, value] = ["x", "y", "colour"].map(setting);
  const only = onlyOf(rows, value);
  const spread = (column, start, stop) => {
    const asWords = { ...column, numeric: false, values: distinct(column) };
    const scale = wordScale(asWords, shown, start, stop);
    const ticks = scale.ticks.map(([place, each]) => [place, column.numeric ? written(each / column.factor) : each]);
    return { ...scale, column, ticks, step: Math.abs(stop - start) / Math.max(ticks.length, 1) };
  };
  const [x, y] = [spread(xc, box.left, box.right), spread(yc, box.bottom, box.top)];
  const cells = new Map();
  let most = 1;
  for (const row of only) {
    const key = `${xc.codes[row]},${yc.codes[row]}`;
    if (!cells.has(key)) cells.set(key, []);
    most = Math.max(most, cells.get(key).push(row));
  }
  const pick = chart.settings.heatmap.pick;
  const picked = [...cells.values()].map((held) => [pickOf(held, value, pick), held]).filter(([row]) => x.ok(valueOf(xc, row)) && y.ok(valueOf(yc, row)));
  const colours = rampColours(value, picked.map(([row]) => row));
  g.textAlign = "center"; g.textBaseline = "middle"; g.font = "12px system-ui, sans-serif";
  for (const [row, held] of picked) {
    const spot = { row, held, x: x.at(valueOf(xc, row)), y: y.at(valueOf(yc, row)), w: x.step, h: y.step };
    chart.spots.push(spot);
    const found = valueOf(value, row);
    const colour = found === null ? null : rampColour(colours.share(found), colours.ramp);
    g.fillStyle = colour ?? theme.faint;
    g.fillRect(spot.x - spot.w / 2 + 0.5, spot.y - spot.h / 2 + 0.5, spot.w - 1, spot.h - 1);
    if (spot.w < 36 || spot.h < 15) continue;
    g.fillStyle = colour ? inkOn(colour) : theme.bad;
    g.fillText(found === null ? "✕" : written(Number((found / value.factor).toPrecision(3))), spot.x, spot.y);
  }
  drawAxes(g, box, x, y, false);
  drawLegend(colours, shown.some(failed) ? [{ colour: theme.bad, shape: "cross", label: "failed" }] : []);
  byId("said").textContent = most > 1 ? `Cells hold up to ${most} points; each shows its ${pick} one.` : "";
}

/** The spot under the pointer. */
function spotAt(px, py) {
  let best = null, least = REACH * REACH;
  for (const spot of chart.spots) {
    if (spot.w) {
      if (Math.abs(px - spot.x) <= spot.w / 2 && Math.abs(py - spot.y) <= spot.h / 2) return spot;
      continue;
    }
    const far = (spot.x - px) ** 2 + (spot.y - py) ** 2;
    if (far < least) [best, least] = [spot, far];
  }
  return best;
}
