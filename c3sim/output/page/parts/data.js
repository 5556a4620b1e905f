// The results, and how values are written. A row is a position in the table; a point is its number.
const D = JSON.parse(document.getElementById("data").textContent);
const COLUMNS = new Map(D.columns.map((column) => [column.name, column]));
const TOTAL = D.points.length;

/** The value of a column in a row: an SI number, a text, or null. */
function valueOf(column, row) {
  if (column.numbers) return column.numbers[row];
  const code = column.codes[row];
  return code < 0 ? null : column.values[code];
}

/** Every value that a column has, once: numbers in ascending order. */
function distinct(column) {
  if (!column.numbers) return column.values;
  column.sorted ??= [...new Set(column.numbers.filter((value) => value !== null))].sort((a, b) => a - b);
  return column.sorted;
}

/** A value with its unit. */
function text(column, value) {
  if (value === null || value === undefined) return "–";
  if (!column.numeric) return String(value);
  return `${written(value / column.factor)} ${column.unit}`.trim();
}

const title = (column) => (column.unit ? `${column.label} (${column.unit})` : column.label);
const varies = (column) => distinct(column).length > 1;
const SIDES = D.columns.filter((column) => column.role !== "output" && varies(column));
const OUTPUTS = D.columns.filter((column) => column.numbers);
const failed = (row) => D.errors[row] !== undefined;
/** More is better: 1, less is better: -1; where neither is said, more. */
const sign = (column) => (column.better === "lower" ? -1 : 1);

/** What a point is, in a few words. */
function pointName(row) {
  const words = SIDES.map((column) => (column.numeric ? `${column.label} ${text(column, valueOf(column, row))}` : valueOf(column, row)));
  return words.join(", ") || `point ${D.points[row]}`;
}

/** Rows that no other beats in one of two outputs and equals or beats in the other, along x. */
function paretoFront(rows, x, y) {
  const better = (column, row) => -sign(column) * valueOf(column, row);
  const ordered = rows
    .filter((row) => valueOf(x, row) !== null && valueOf(y, row) !== null)
    .sort((a, b) => better(x, a) - better(x, b) || better(y, a) - better(y, b) || a - b);
  let best = Infinity;
  const front = [];
  for (const row of ordered) {
    if (better(y, row) < best) {
      best = better(y, row);
      front.push(row);
    }
  }
  return front.sort((a, b) => valueOf(x, a) - valueOf(x, b));
}
