// From values to pixels, and round ticks.

/** A scale of *column* over *rows*: at(value) in pixels, ticks [[pixel, label]]. Texts stand one after the other. */
function makeScale(column, rows, start, stop, log) {
  if (!column.numeric) return wordScale(column, rows, start, stop);
  const values = rows.map((row) => valueOf(column, row)).filter((value) => value !== null && (!log || value > 0));
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  if (low > high) [low, high] = [log ? 1 : 0, log ? 10 : 1];
  const f = log ? Math.log10 : (value) => value;
  let [a, b] = [f(low / column.factor), f(high / column.factor)];
  if (a === b) { const some = Math.abs(a) * 0.1 || 0.5; a -= some; b += some; }
  const room = 0.06 * (b - a);
  [a, b] = [a - room, b + room];
  const at = (value) => start + ((f(value / column.factor) - a) / (b - a)) * (stop - start);
  return { column, log, at, ok: (value) => value !== null && (!log || value > 0), ticks: ticksOf(column, rows, a, b, log, at, Math.abs(stop - start)) };
}

function wordScale(column, rows, start, stop) {
  const used = new Set(rows.map((row) => valueOf(column, row)));
  const words = column.values.filter((word) => used.has(word));
  const step = (stop - start) / Math.max(words.length, 1);
  const places = new Map(words.map((word, number) => [word, start + (number + 0.5) * step]));
  return { column, at: (value) => places.get(value), ok: (value) => places.has(value), ticks: words.map((word) => [places.get(word), word]) };
}

function ticksOf(column, rows, a, b, log, at, length) {
  const gap = 34;
  const place = (values) => values.map((value) => [at(value * column.factor), written(Number(value.toPrecision(9)))]);
  const apart = (ticks) => {
    const kept = [];
    for (const tick of ticks) if (!kept.length || Math.abs(tick[0] - kept[kept.length - 1][0]) >= gap) kept.push(tick);
    return kept;
  };
  if (column.role === "axis") {
    const used = [...new Set(rows.map((row) => valueOf(column, row)))].filter((value) => value !== null && (!log || value > 0)).sort((p, q) => p - q);
    if (used.length <= 10) return apart(place(used.map((value) => value / column.factor)));
  }
  if (log) {
    const found = [];
    for (let decade = Math.floor(a); decade <= Math.ceil(b); decade++) {
      for (const digit of b - a > 3 ? [1] : [1, 2, 5]) {
        const value = digit * 10 ** decade;
        if (Math.log10(value) >= a && Math.log10(value) <= b) found.push(value);
      }
    }
    if (found.length > 1) return apart(place(found));
    [a, b] = [10 ** a, 10 ** b];
  }
  const rough = (b - a) / Math.max(2, Math.min(7, length / 70));
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * size).find((each) => each >= rough * 0.999);
  const found = [];
  for (let number = Math.ceil(a / step); number * step <= b + 1e-9 * step; number++) found.push(number * step);
  return place(found);
}

/** The colour of a share in [0, 1] along a ramp. */
function rampColour(share, ramp) {
  const steps = ramp.length - 1;
  const place = Math.min(Math.max(share, 0), 1) * steps;
  const below = Math.min(Math.floor(place), steps - 1);
  const channel = (hex, number) => parseInt(hex.slice(1 + 2 * number, 3 + 2 * number), 16);
  const mix = [0, 1, 2].map((n) => Math.round(channel(ramp[below], n) + (place - below) * (channel(ramp[below + 1], n) - channel(ramp[below], n))));
  return `rgb(${mix})`;
}

/** Black or white, whichever can be read on a colour written as rgb(r,g,b). */
function inkOn(colour) {
  const [r, g, b] = colour.match(/\d+/g).map((each) => { const s = each / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}
