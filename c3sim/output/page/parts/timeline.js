// One run: its tasks, what occupied each track, and what each resource was used for.
const SVG = "http://www.w3.org/2000/svg";

function draw(tag, attributes = {}, ...children) {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...children);
  return found;
}

const GUTTER = 134; // for the names of tracks

/** The unit in which times up to *longest* [ns] read well. */
const timeUnit = (longest) => (longest >= 2e9 ? ["s", 1e9] : longest >= 5e5 ? ["ms", 1e6] : ["us", 1e3]);
const kindColour = (number) => (number < 0 ? "var(--soft)" : `var(--series-${number % SERIES})`);
const LANES = 24; // tasks that each have a lane; of more, the rows of the streams say what ran

function timeline(run) {
  const [width, left, right] = [680, GUTTER, 8]; // pixels
  const names = Object.keys(run.tasks);
  const [unit, length] = timeUnit(run.end);
  const at = (ns) => left + (ns / (run.axis ?? run.end)) * (width - left - right);
  const picture = draw("svg", { role: "img", "aria-label": `timeline of ${names.join(", ")} over ${written(run.end / length)} ${unit}` });
  let y = 0;
  if (names.length <= LANES) for (const name of names) y = lane(picture, at, y, name, run.tasks[name], run.kinds, unit, length);
  y = tracks(picture, run, at, y + 4, names, unit, length);
  const panels = [];
  for (const counter of run.counters) {
    panels.push([counter, y + 16]);
    y = counterPanel(picture, run, counter, at, y, width - right);
  }
  y = timeAxis(picture, run, at, y, unit, length);
  picture.setAttribute("viewBox", `0 0 ${width} ${y}`);
  const readout = make("p", { id: "readout", class: "soft readout" }, "Move the pointer over the picture to read values.");
  watchTimeline(picture, run, panels, at, y, readout, names, unit, length);
  const keys = run.kinds.map((kind, number) => {
    const square = make("span", { class: "key" });
    square.style.background = kindColour(number);
    return make("span", {}, square, kind);
  });
  const notes = [make("span", {}, "thin line: waiting to start"), make("span", {}, "light bar: the task alone"), make("span", {}, "dashed: capacity or limit")];
  return make("div", {}, make("p", { class: "tasks" }, ...keys, ...notes), picture, readout);
}

function label(x, y, words, kind = "", anchor = "start") {
  return draw("text", { x, y, class: kind, "text-anchor": anchor }, words);
}

function lane(picture, at, y, name, [start, end, alone, kind], kinds, unit, length) {
  const told = `${written(end / length)} ${unit}, ${(end / alone).toFixed(2)}x its ${written(alone / length)} ${unit} alone`;
  const words = draw("text", { x: 2, y: y + 13 }, draw("tspan", { class: "strong" }, name), draw("tspan", { dx: 8 }, `${kinds[kind]}: ${told}`));
  picture.append(words);
  const fill = `fill:${kindColour(kind)}`;
  if (start > 0) picture.append(draw("rect", { x: at(0), y: y + 24, width: at(start) - at(0), height: 3, style: fill }));
  picture.append(draw("rect", { x: at(start), y: y + 19, width: Math.max(at(end) - at(start), 1), height: 13, style: fill }));
  picture.append(draw("rect", { x: at(0), y: y + 35, width: Math.max(at(alone) - at(0), 1), height: 4, style: `${fill};opacity:.55` }));
  return y + 46;
}

function tracks(picture, run, at, y, names, unit, length) {
  if (!run.tracks.length) return y;
  picture.append(label(2, y + 12, "What ran on each queue and engine" + (run.left_out ? ` (${run.left_out} more spans are not drawn)` : ""), "strong"));
  y += 18;
  for (const [name, spans] of run.tracks) {
    picture.append(draw("line", { x1: at(0), x2: at(run.end), y1: y + 13.5, y2: y + 13.5, class: "rule" }));
    for (const [start, end, task, what, detail] of spans) {
      const told = `${what}${task >= 0 && what !== names[task] ? ` of ${names[task]}` : ""}: ${written(start / length)} to ${written(end / length)} ${unit}${detail ? `; ${detail}` : ""}`;
      picture.append(draw("rect", { x: at(start), y: y + 2, width: Math.max(at(end) - at(start), 0.8), height: 10, style: `fill:${kindColour(task < 0 ? task : run.tasks[names[task]][3])};stroke:var(--paper);stroke-width:${spans.length > 100 ? 0 : 0.5}` }, draw("title", {}, told)));
    }
    if (name) picture.append(label(GUTTER - 6, y + 11, run.tracks.every(([each]) => !each || each.startsWith("gpu0.")) ? name.slice(5) : name, "", "end"));
    y += 14;
  }
  return y + 6;
}

function counterPanel(picture, run, counter, at, y, edge) {
  const [height, floor] = [44, y + 16 + 44];
  const top = Math.max(...counter.values, counter.maximum ?? 0) || 1;
  const low = counter.line ? Math.max(0, Math.min(...counter.values) - 0.1 * top) : 0;
  const up = (value) => floor - ((value - low) / (1.08 * top - low)) * height;
  let mean = 0;
  counter.times.forEach((time, number) => { mean += counter.values[number] * ((counter.times[number + 1] ?? run.end) - time); });
  mean /= run.end - (counter.times[0] ?? 0) || 1;
  const share = counter.maximum ? `, ${Math.round((100 * mean) / counter.maximum)} % of ${counter.limit} ${written(counter.maximum)}` : "";
  const keys = (counter.parts ?? []).flatMap((name, number) => [draw("tspan", { dx: 8, style: `fill:${counter.colours[number]}` }, "■"), draw("tspan", { dx: 3, class: "label" }, name)]);
  picture.append(draw("text", { x: 2, y: y + 12 }, draw("tspan", { class: "strong" }, counter.title), ...keys), label(edge, y + 12, `mean ${written(mean)} ${counter.unit}${share}`, "", "end"));
  const outline = (values, below) => {
    const forth = [], back = [];
    counter.times.forEach((time, number) => {
      const until = at(Math.min(counter.times[number + 1] ?? run.end, run.end));
      forth.push(`${at(time).toFixed(1)},${up(values[number]).toFixed(1)}`, `${until.toFixed(1)},${up(values[number]).toFixed(1)}`);
      if (below) back.unshift(`${until.toFixed(1)},${up(below[number]).toFixed(1)}`, `${at(time).toFixed(1)},${up(below[number]).toFixed(1)}`);
    });
    return [...forth, ...back].join(" ");
  };
  if (!counter.line) {
    let below = counter.values.map(() => 0);
    for (const [part, values] of Object.entries(counter.by)) {
      const sum = below.map((value, number) => value + values[number]);
      picture.append(draw("polygon", { points: outline(sum, below), style: `fill:${counter.colours?.[part] ?? kindColour(Number(part))};opacity:.85` }));
      below = sum;
    }
    picture.append(draw("polygon", { points: outline(counter.values, below), class: "rest" }));
  }
  picture.append(draw("polyline", { points: outline(counter.values), class: "steps" }));
  picture.append(draw("line", { x1: at(0), x2: at(run.end), y1: floor, y2: floor, class: "axis" }));
  if (counter.maximum) picture.append(draw("line", { x1: at(0), x2: at(run.end), y1: up(counter.maximum), y2: up(counter.maximum), class: "limit" }));
  return floor + 8;
}

function timeAxis(picture, run, at, y, unit, length) {
  const rough = run.end / length / 6;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * size).find((each) => each >= rough);
  for (let number = 0; number * step * length <= run.end; number++) {
    const x = at(number * step * length);
    picture.append(draw("line", { x1: x, x2: x, y1: y, y2: y + 4, class: "axis" }), label(x, y + 15, written(Number((number * step).toPrecision(9))), "", number ? "middle" : "start"));
  }
  picture.append(label(at(run.end / 2), y + 29, `time since all streams were released (${unit})`, "label", "middle"));
  return y + 34;
}

function watchTimeline(picture, run, panels, at, bottom, readout, names, unit, length) {
  const cursor = draw("line", { y1: 0, y2: bottom - 34, class: "cursor", visibility: "hidden" });
  picture.append(cursor);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    const ns = Math.min(Math.max(((x - at(0)) / (at(run.end) - at(0))) * run.end, 0), run.end);
    cursor.setAttribute("x1", at(ns));
    cursor.setAttribute("x2", at(ns));
    cursor.setAttribute("visibility", "visible");
    const said = panels.map(([counter]) => {
      const step = counter.times.findLastIndex((time) => time <= ns);
      if (step < 0) return "";
      const parts = Object.entries(counter.by).filter(([, values]) => values[step]).map(([part, values]) => `${(counter.parts ?? run.kinds)[part]} ${written(values[step])}`);
      return `${counter.title} ${written(counter.values[step])} ${counter.unit}${parts.length > 1 ? ` (${parts.join(", ")})` : ""}`;
    });
    readout.textContent = [`at ${written(ns / length)} ${unit}`, ...said.filter(Boolean)].join("; ");
  });
}
