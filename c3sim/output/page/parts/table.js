// The table of points: sorted, in pages. And what the pointer and the keys do on the chart.
const sorting = { name: "point", down: false, page: 0, every: false };
let ordered = [];

function tableColumns() {
  return D.columns.filter((column) => (column.role === "output" ? sorting.every || !column.name.startsWith("tasks.") : sorting.every || varies(column)));
}

function buildTable() {
  byId("every").addEventListener("change", (event) => { sorting.every = event.target.checked; fillTable(); });
  byId("rows").addEventListener("change", () => { sorting.page = 0; fillTable(); });
  byId("before").addEventListener("click", () => { sorting.page--; fillTable(); });
  byId("after").addEventListener("click", () => { sorting.page++; fillTable(); });
  byId("csv").addEventListener("click", saveCsv);
}

function sortBy(name) {
  sorting.down = sorting.name === name ? !sorting.down : false;
  sorting.name = name;
  sorting.page = 0;
  fillTable();
  byId("points").querySelector(`[data-name="${CSS.escape(name)}"]`)?.focus();
}

function fillTable() {
  const column = COLUMNS.get(sorting.name);
  const key = column ? (row) => valueOf(column, row) : (row) => D.points[row];
  const compare = (a, b) => {
    const [p, q] = [key(a), key(b)];
    if (p === null || q === null) return (p === null) - (q === null); // what is missing comes last either way
    return (typeof p === "string" ? p.localeCompare(q, "en", { numeric: true }) : p - q) * (sorting.down ? -1 : 1);
  };
  ordered = [...shown].sort((a, b) => compare(a, b) || a - b);
  const many = Number(byId("rows").value);
  const pages = Math.max(1, Math.ceil(ordered.length / many));
  sorting.page = Math.min(Math.max(sorting.page, 0), pages - 1);
  const columns = tableColumns();
  byId("points").tHead.replaceChildren(make("tr", {}, head("point", "point"), ...columns.map((each) => head(each.name, title(each), each.numeric))));
  const rows = ordered.slice(sorting.page * many, (sorting.page + 1) * many);
  byId("points").tBodies[0].replaceChildren(...rows.map((row) => tableRow(row, columns)));
  byId("page").textContent = `page ${sorting.page + 1} of ${pages}`;
  byId("before").disabled = sorting.page === 0;
  byId("after").disabled = sorting.page === pages - 1;
}

function head(name, words, numeric = false) {
  const on = sorting.name === name;
  const arrow = on ? (sorting.down ? " ▼" : " ▲") : "";
  const sort = on ? (sorting.down ? "descending" : "ascending") : "none";
  return make("th", { scope: "col", "aria-sort": sort, class: numeric ? "number" : "" },
    make("button", { type: "button", "data-name": name, onclick: () => sortBy(name) }, words + arrow));
}

function tableRow(row, columns) {
  const open = make("button", { type: "button", class: "link point", "aria-label": `Open point ${D.points[row]}` }, String(D.points[row]));
  const cells = columns.filter((column) => !(failed(row) && column.role === "output")).map((column) => {
    const value = valueOf(column, row);
    const shownValue = column.numeric && value !== null ? written(value / column.factor) : text(column, value);
    return make("td", { class: column.numeric ? "number" : "" }, shownValue);
  });
  if (failed(row)) cells.push(make("td", { class: "bad", colspan: columns.filter((column) => column.role === "output").length || 1 }, `failed: ${D.errors[row]}`));
  const line = make("tr", { class: row === chart.current ? "current" : "", "data-row": row, onclick: (event) => openPanel(row, event.currentTarget.querySelector("button")) });
  line.append(make("td", {}, open), ...cells);
  return line;
}

function saveCsv() {
  // a text that begins like a formula would be one in a spreadsheet
  const plain = (value) => (typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value));
  const quote = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const names = ["point", ...D.columns.map((column) => column.name), "error"];
  const lines = ordered.map((row) => [D.points[row], ...D.columns.map((column) => valueOf(column, row) ?? ""), D.errors[row] ?? ""]);
  const csv = [names, ...lines].map((line) => line.map((value) => quote(plain(value))).join(",")).join("\n") + "\n";
  const link = make("a", { download: `${D.title}.csv`, href: URL.createObjectURL(new Blob([csv], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Pointer and keys on the chart.
const tip = byId("tip");
const hideTip = () => { tip.hidden = true; };

function showTip(spot, px, py) {
  const values = [...SIDES, ...OUTPUTS].flatMap((column) => [make("dt", {}, column.label), make("dd", {}, text(column, valueOf(column, spot.row)))]);
  const wrong = failed(spot.row) ? [make("p", { class: "bad" }, `failed: ${D.errors[spot.row]}`)] : [];
  const many = spot.held?.length > 1 ? [make("p", { class: "soft" }, `one of ${spot.held.length} points of this cell`)] : [];
  tip.replaceChildren(make("strong", {}, `Point ${D.points[spot.row]}`), ...wrong, ...many, make("dl", {}, ...(failed(spot.row) ? values.slice(0, 2 * SIDES.length) : values)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = px + 16 + width > innerWidth ? px - width - 16 : px + 16;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(py + 14, innerHeight - height - 4))}px`;
}

function heat(spot, px, py) {
  const row = spot ? spot.row : -1;
  if (row !== chart.hot) { chart.hot = row; drawRings(); }
  if (spot) showTip(spot, px, py);
  else hideTip();
}

function watchChart() {
  const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointermove", (event) => heat(spotAt(...local(event)), event.clientX, event.clientY));
  canvas.addEventListener("pointerleave", () => heat(null));
  canvas.addEventListener("click", (event) => {
    const spot = spotAt(...local(event));
    if (spot) openPanel(spot.row, canvas);
  });
  canvas.addEventListener("blur", () => heat(null));
  canvas.addEventListener("keydown", walk);
}

/** Arrow keys go through the points from left to right; Enter opens the one, Escape lets it go. */
function walk(event) {
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1, Home: -Infinity, End: Infinity };
  if (event.key === "Enter" && chart.hot >= 0) { openPanel(chart.hot, canvas); event.preventDefault(); return; }
  if (event.key === "Escape" && chart.hot >= 0) { heat(null); event.stopPropagation(); return; }
  if (!(event.key in steps) || !chart.spots.length) return;
  event.preventDefault();
  const upright = event.key === "ArrowUp" || event.key === "ArrowDown";
  const spots = [...chart.spots].sort((a, b) => (upright ? b.y - a.y || a.x - b.x : a.x - b.x || b.y - a.y) || a.row - b.row);
  const now = spots.findIndex((spot) => spot.row === chart.hot);
  const next = now < 0 ? 0 : Math.min(Math.max(now + steps[event.key], 0), spots.length - 1);
  const spot = spots[next];
  const box = canvas.getBoundingClientRect();
  heat(spot, box.left + spot.x, box.top + spot.y);
  byId("live").textContent = `Point ${D.points[spot.row]}: ${pointName(spot.row)}; ${setting("y").label} ${text(setting("y"), valueOf(setting("y"), spot.row))}`;
}
