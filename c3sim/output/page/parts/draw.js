// Marks on a canvas, and the colours of series. Series differ in marker and dashes too, not in colour alone.
const MARKERS = ["circle", "square", "triangle", "diamond", "down", "plus", "cross"];
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
let theme = {};

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  theme = Object.fromEntries(["paper", "raised", "ink", "soft", "line", "faint", "accent", "bad"].map((name) => [name, get(name)]));
  theme.series = Array.from({ length: SERIES }, (_, number) => get(`series-${number}`));
}

/** Adds a marker to the current path. */
function markPath(g, shape, x, y, r) {
  if (shape === "circle") { g.moveTo(x + r, y); g.arc(x, y, r, 0, 2 * Math.PI); return; }
  const q = 0.9 * r;
  const corners = {
    square: [[-q, -q], [q, -q], [q, q], [-q, q]],
    triangle: [[0, -1.15 * r], [1.05 * r, 0.8 * r], [-1.05 * r, 0.8 * r]],
    down: [[0, 1.15 * r], [1.05 * r, -0.8 * r], [-1.05 * r, -0.8 * r]],
    diamond: [[0, -1.25 * r], [1.25 * r, 0], [0, 1.25 * r], [-1.25 * r, 0]],
    plus: [[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]].map(([a, b]) => [a * r, b * r]),
    cross: [[0, -0.55], [0.6, -1.15], [1.15, -0.6], [0.55, 0], [1.15, 0.6], [0.6, 1.15], [0, 0.55], [-0.6, 1.15], [-1.15, 0.6], [-0.55, 0], [-1.15, -0.6], [-0.6, -1.15]].map(([a, b]) => [a * r, b * r]),
  }[shape];
  corners.forEach(([dx, dy], number) => (number ? g.lineTo(x + dx, y + dy) : g.moveTo(x + dx, y + dy)));
  g.closePath();
}

/** A marker drawn once, to be stamped at many places; *half* its size in CSS pixels. */
function makeStamp(style, radius) {
  const stamp = document.createElement("canvas");
  stamp.half = Math.ceil(1.4 * radius) + 1;
  const ratio = 2 * (window.devicePixelRatio || 1);
  stamp.width = stamp.height = 2 * stamp.half * ratio;
  const g = stamp.getContext("2d");
  g.scale(ratio, ratio);
  g.beginPath();
  markPath(g, style.shape, stamp.half, stamp.half, radius);
  g.fillStyle = style.colour;
  g.fill();
  if (style.edged) { g.lineWidth = 0.8; g.strokeStyle = theme.soft; g.stroke(); }
  return stamp;
}

/** How a column colours rows: of(row) gives {colour, shape, dash, group}; entries for the legend. */
function makeColours(column, rows) {
  const plain = { colour: theme.series[0], shape: "circle", dash: [], group: 0 };
  if (!column) return { of: () => plain, entries: [] };
  if (column.numeric && distinct(column).length > SERIES) return rampColours(column, rows);
  const styles = new Map(distinct(column).map((value, number) => [value, {
    colour: theme.series[number % SERIES], shape: MARKERS[(number + Math.floor(number / SERIES)) % MARKERS.length],
    dash: DASHES[number % DASHES.length], group: number,
  }]));
  const used = new Set(rows.map((row) => valueOf(column, row)));
  return {
    column,
    of: (row) => styles.get(valueOf(column, row)) ?? { ...plain, colour: theme.soft },
    entries: [...styles].filter(([value]) => used.has(value)).map(([value, style]) => ({ ...style, label: text(column, value) })),
  };
}

function rampColours(column, rows) {
  const values = rows.map((row) => valueOf(column, row)).filter((value) => value !== null);
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  const diverges = low < column.middle && column.middle < high;
  if (diverges) { // as far to either side, so that the middle of the scale is that of the values
    const reach = Math.max(column.middle - low, high - column.middle);
    [low, high] = [column.middle - reach, column.middle + reach];
  }
  const ramp = diverges ? D.diverging : D.ramp;
  const share = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const cache = new Map();
  const style = (value) => {
    const step = Math.round(share(value) * 64);
    if (!cache.has(step)) cache.set(step, { colour: rampColour(step / 64, ramp), shape: "circle", dash: [], group: step, edged: true });
    return cache.get(step);
  };
  const none = { colour: theme.soft, shape: "circle", dash: [], group: -1 };
  return { column, low, high, share, ramp, of: (row) => { const v = valueOf(column, row); return v === null ? none : style(v); }, entries: null };
}

function drawLegend(colours, extra = []) {
  const legend = byId("legend");
  legend.replaceChildren();
  if (!colours.column) return;
  legend.append(make("strong", {}, title(colours.column)));
  if (colours.entries === null) {
    if (colours.low > colours.high) return;
    const stops = colours.ramp.map((colour, number) => `${colour} ${(100 * number) / (colours.ramp.length - 1)}%`).join(", ");
    const bar = make("span", { class: "ramp", role: "img", "aria-label": "colour scale" });
    bar.style.background = `linear-gradient(to right, ${stops})`;
    legend.append(make("span", {}, text(colours.column, colours.low), bar, text(colours.column, colours.high)));
  } else {
    for (const entry of colours.entries) legend.append(make("span", {}, markIcon(entry), entry.label));
  }
  for (const entry of extra) legend.append(make("span", {}, markIcon(entry), entry.label));
}

/** The marker of a legend entry as a small picture. */
function markIcon({ colour, shape, line }) {
  const icon = document.createElement("canvas");
  icon.width = icon.height = 36;
  icon.style.cssText = "width:18px;height:18px;flex:none";
  const g = icon.getContext("2d");
  g.scale(2, 2);
  g.beginPath();
  if (line) { g.moveTo(1, 9); g.lineTo(17, 9); g.strokeStyle = colour; g.lineWidth = 1.6; g.stroke(); return icon; }
  markPath(g, shape, 9, 9, 5);
  g.fillStyle = colour;
  g.fill();
  return icon;
}

/** Axes, ticks and their labels. *box*: left, right, top, bottom in pixels. */
function drawAxes(g, box, x, y, gridded) {
  g.font = "12px system-ui, sans-serif";
  g.lineWidth = 1;
  g.strokeStyle = theme.line;
  g.beginPath();
  if (gridded) for (const [place] of y.ticks) { g.moveTo(box.left, Math.round(place) + 0.5); g.lineTo(box.right, Math.round(place) + 0.5); }
  g.stroke();
  g.strokeStyle = theme.soft;
  g.beginPath();
  g.moveTo(box.left + 0.5, box.top); g.lineTo(box.left + 0.5, box.bottom + 0.5); g.lineTo(box.right, box.bottom + 0.5);
  g.stroke();
  g.fillStyle = theme.ink;
  g.textAlign = "center"; g.textBaseline = "top";
  const most = (box.right - box.left) / Math.max(x.ticks.length, 1);
  let free = -Infinity;
  for (const [place, label] of x.ticks) {
    const short = clipped(g, label, x.column.numeric ? 200 : Math.max(most - 6, 30));
    const half = g.measureText(short).width / 2;
    if (place - half < free) continue;
    g.fillText(short, place, box.bottom + 6);
    free = place + half + 6;
  }
  g.textAlign = "right"; g.textBaseline = "middle";
  for (const [place, label] of y.ticks) g.fillText(clipped(g, label, box.left - 26), box.left - 6, place);
  g.fillStyle = theme.soft;
  g.textAlign = "center"; g.textBaseline = "bottom";
  g.fillText(clipped(g, titled(x), box.right - box.left), (box.left + box.right) / 2, box.bottom + 42);
  g.save();
  g.translate(13, (box.top + box.bottom) / 2);
  g.rotate(-Math.PI / 2);
  g.textBaseline = "middle";
  g.fillText(clipped(g, titled(y), box.bottom - box.top), 0, 0);
  g.restore();
}

const titled = (scale) => title(scale.column) + (scale.column.role === "output" && scale.column.better ? `, ${scale.column.better} is better` : "");

function clipped(g, words, width) {
  if (g.measureText(words).width <= width) return words;
  let short = words;
  while (short.length > 1 && g.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return `${short}…`;
}
