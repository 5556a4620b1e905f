// Which rows are shown. Texts, and numbers with few values, are picked from a list; other numbers by a range.
const FEW = 12;
const filters = { allowed: new Map(), ranges: new Map(), output: null, failed: true, ok: true };
let shown = [];

function passes(row) {
  if (failed(row) ? !filters.failed : !filters.ok) return false;
  for (const [name, codes] of filters.allowed) if (!codes.has(COLUMNS.get(name).codes[row])) return false;
  for (const [name, [low, high]] of filters.ranges) {
    const code = COLUMNS.get(name).codes[row];
    if (code < low || code > high) return false;
  }
  if (filters.output && !failed(row)) {
    const { column, above, limit } = filters.output;
    const value = valueOf(column, row);
    if (value === null || (above ? value < limit : value > limit)) return false;
  }
  return true;
}

function applyFilters() {
  shown = [];
  for (let row = 0; row < TOTAL; row++) if (passes(row)) shown.push(row);
  const wrong = shown.filter(failed).length;
  byId("count").textContent = `${shown.length} of ${TOTAL} points` + (wrong ? `, ${wrong} failed` : "");
  changed();
}

function buildFilters() {
  const fields = byId("fields");
  fields.replaceChildren();
  Object.assign(filters, { allowed: new Map(), ranges: new Map(), output: null, failed: true, ok: true });
  for (const column of SIDES) fields.append(column.numeric && column.values.length > FEW ? rangeField(column) : listField(column));
  if (Object.keys(D.errors).length) fields.append(statusField());
  if (OUTPUTS.length) fields.append(outputField());
}

const field = (name, ...inner) => make("fieldset", {}, make("legend", {}, name), ...inner);

function listField(column) {
  const many = new Array(column.values.length).fill(0);
  for (const code of column.codes) if (code >= 0) many[code]++;
  const boxes = column.values.map((value, code) => make("input", { type: "checkbox", checked: true, value: code, name: column.name }));
  const update = () => {
    const codes = boxes.filter((box) => box.checked).map((box) => Number(box.value));
    if (codes.length === boxes.length) filters.allowed.delete(column.name);
    else filters.allowed.set(column.name, new Set(codes));
    applyFilters();
  };
  const all = (on) => () => {
    boxes.forEach((box) => { box.checked = on; });
    update();
  };
  const labels = boxes.map((box, code) =>
    make("label", {}, box, text(column, column.values[code]), make("span", { class: "many" }, String(many[code]))));
  const list = make("div", { class: "choices", onchange: update }, ...labels);
  const which = boxes.length > 2
    ? [make("button", { type: "button", class: "link", onclick: all(true), "aria-label": `all of ${column.label}` }, "all"),
       make("button", { type: "button", class: "link", onclick: all(false), "aria-label": `none of ${column.label}` }, "none")]
    : [];
  return field(column.label, list, ...which);
}

function rangeField(column) {
  const last = column.values.length - 1;
  const slider = (value, name) => make("input", { type: "range", min: 0, max: last, value, "aria-label": `${column.label}, ${name}` });
  const [low, high] = [slider(0, "from"), slider(last, "to")];
  const said = make("output");
  const say = () => {
    const ends = [Number(low.value), Number(high.value)].sort((a, b) => a - b);
    said.textContent = `${text(column, column.values[ends[0]])} to ${text(column, column.values[ends[1]])}`;
    [low, high].forEach((each) => each.setAttribute("aria-valuetext", text(column, column.values[Number(each.value)])));
    return ends;
  };
  const update = () => {
    const ends = say();
    if (ends[0] === 0 && ends[1] === last) filters.ranges.delete(column.name);
    else filters.ranges.set(column.name, ends);
    applyFilters();
  };
  say();
  const inner = make("div", { class: "range", oninput: update }, "from", low, "to", high, said);
  return field(column.label, inner);
}

function statusField() {
  const count = Object.keys(D.errors).length;
  const box = (name, words, many) =>
    make("label", {}, make("input", { type: "checkbox", checked: true, name }), words, make("span", { class: "many" }, String(many)));
  const update = (event) => {
    filters[event.target.name] = event.target.checked;
    applyFilters();
  };
  return field("outcome", make("div", { class: "choices", onchange: update }, box("ok", "ran", TOTAL - count), box("failed", "failed", count)));
}

function outputField() {
  const which = make("select", { "aria-label": "output to limit" }, ...OUTPUTS.map((column) => make("option", { value: column.name }, title(column))));
  which.value = D.start.output ?? OUTPUTS[0].name;
  const way = make("select", { "aria-label": "direction of the limit" }, make("option", { value: "above" }, "at least"), make("option", { value: "below" }, "at most"));
  const limit = make("input", { type: "number", step: "any", "aria-label": "limit" });
  const update = () => {
    const column = COLUMNS.get(which.value);
    filters.output = limit.value === "" ? null : { column, above: way.value === "above", limit: Number(limit.value) * column.factor };
    applyFilters();
  };
  return field("limit an output", make("div", { class: "controls", oninput: update }, which, way, limit));
}
