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

const LEAST = 0.002; // relative: four figures of a counter's values are kept
let patterns = 0;

const CLOSEST = 200; // times that a part of a run is drawn wider

/** The picture of a run with buttons, keys and drags that choose the part of the time that is drawn. */
function timeline(run) {
  const readout = make("p", { id: "readout", class: "soft readout" }, "Move the pointer over the picture to read values; drag over a part of it to see it closer.");
  const stage = make("div", { class: "zoom", tabindex: "0", role: "group", "aria-label": "timeline; plus, minus and arrow keys choose the part of it that is drawn, 0 draws all" });
  const whole = run.axis ?? run.end; // runs that are compared share one axis
  let part = [0, whole];
  let all = !run.step; // a step is one page high; what resources were used for is shown on demand
  const show = (from, to) => {
    const wide = Math.min(whole, Math.max(to - from, whole / CLOSEST));
    const begin = Math.min(Math.max(0, from), whole - wide);
    part = [begin, begin + wide];
    stage.replaceChildren(runPicture(run, part, show, readout, all));
  };
  const closer = (times, move = 0) => {
    const wide = part[1] - part[0], middle = (part[0] + part[1]) / 2 + move * wide;
    show(middle - wide / times / 2, middle + wide / times / 2);
  };
  const steps = { "+": () => closer(2), "-": () => closer(0.5), ArrowLeft: () => closer(1, -0.25), ArrowRight: () => closer(1, 0.25), 0: () => show(0, whole) };
  stage.addEventListener("keydown", (event) => { if (steps[event.key] && !event.ctrlKey && !event.metaKey) { steps[event.key](); event.preventDefault(); event.stopPropagation(); } });
  const button = (words, key, told) => make("button", { type: "button", "aria-label": told, onclick: steps[key] }, words);
  show(0, whole);
  const keys = run.kinds.map((kind, number) => {
    const square = make("span", { class: "key" });
    square.style.background = kindColour(number);
    return make("span", {}, square, kind);
  });
  const many = Object.keys(run.tasks).length > LANES;
  const notes = [!many && "thin line: waiting to start", !many && Object.values(run.tasks).some(([, , alone]) => alone !== null) && "light bar: the task alone", run.step?.alone.length && "shaded: exposed communication", run.counters.length > 0 && "dashed: capacity or limit"].filter(Boolean).map((words) => make("span", {}, words));
  const zoom = make("span", { class: "controls" }, button("+", "+", "closer"), button("\u2212", "-", "wider"), button("\u2190", "ArrowLeft", "earlier"), button("\u2192", "ArrowRight", "later"), button("all", "0", "the whole time"));
  if (run.step && run.counters.length) zoom.append(make("button", { type: "button", "aria-pressed": "false", onclick: (event) => { all = !all; event.target.setAttribute("aria-pressed", String(all)); show(...part); } }, "resources"));
  return make("div", {}, make("p", { class: "tasks" }, ...keys, ...notes), zoom, stage, readout);
}

function runPicture(run, [from, to], show, readout, all) {
  const [width, left, right] = [680, GUTTER, 8]; // pixels
  const names = Object.keys(run.tasks);
  const [unit, length] = timeUnit(run.end);
  const at = (ns) => left + ((Math.min(Math.max(ns, from), to) - from) / (to - from)) * (width - left - right);
  at.from = from;
  at.to = to;
  const picture = draw("svg", { role: "img", "aria-label": `timeline of ${names.length > LANES ? `${names.length} tasks` : names.join(", ")} over ${written(run.end / length)} ${unit}` });
  let y = run.step ? parts(picture, run, left, width - right) : 0;
  if (run.step) y = wholeStep(picture, run, left, width - right, y);
  if (names.length <= LANES) for (const name of names) y = lane(picture, at, y, name, run.tasks[name], run.kinds, unit, length);
  y = tracks(picture, run, at, y + 4, names, unit, length);
  const panels = [];
  for (const counter of all ? run.counters : []) {
    panels.push([counter, y + 16]);
    y = counterPanel(picture, run, counter, at, y, width - right);
  }
  y = timeAxis(picture, at, y, unit, length);
  picture.setAttribute("viewBox", `0 0 ${width} ${y}`);
  watchTimeline(picture, run, panels, at, y, readout, length, unit, show);
  return picture;
}

/** One bar: where the time of a step went, class by class, then communication alone and idle. */
function parts(picture, run, left, edge) {
  picture.append(label(2, 12, "Where the step went", "strong"));
  const all = run.step.parts.reduce((sum, [, , time]) => sum + time, 0);
  let x = left;
  for (const [name, kind, time] of run.step.parts) {
    const wide = (time / all) * (edge - left), share = `${((100 * time) / all).toFixed(1)} %`;
    const fill = kind < 0 ? "var(--line)" : kindColour(kind);
    const alone = name === "communication alone";
    picture.append(draw("rect", { x, y: 18, width: Math.max(wide - 0.6, 0.6), height: 16, style: `fill:${fill};opacity:${alone ? 0.6 : 1}` }, draw("title", {}, `${name}: ${share}`)));
    const words = [`${name} ${share}`, share].find((each) => 6.2 * each.length < wide);
    if (words) picture.append(label(x + wide / 2, 47, words, "label", "middle"));
    x += wide;
  }
  return 56;
}

const STAGE = ["forward", "backward", "optimizer", "bubbles", "waits"]; // parts of a stage, and their colours
const STAGE_FILLS = ["var(--series-0)", "var(--series-3)", "var(--series-5)", "var(--line)", "var(--soft)"];

/** Communication of each group of GPUs, busy and exposed, and a bar for each stage of a pipeline; both by the wall time. */
function wholeStep(picture, run, left, edge, y) {
  const [wall, colour] = [run.wall * 1e9, kindColour(run.kinds.indexOf("communication"))];
  const [groups, stages] = [run.step.groups ?? [], run.step.stages ?? []];
  const bar = (from, time, at, fill, told, opacity = 1) => picture.append(draw("rect", { x: left + (from / wall) * (edge - left), y: at, width: Math.max((time / wall) * (edge - left), 0.5), height: 9, style: `fill:${fill};opacity:${opacity}` }, draw("title", {}, told)));
  const share = (time) => `${((100 * time) / wall).toFixed(1)} %`;
  if (groups.length) picture.append(label(2, y + 11, "Communication by group: exposed, and beside operators", "strong"));
  y += groups.length ? 16 : 0;
  for (const [name, busy, exposed] of groups) {
    bar(0, busy, y + 1, colour, `${name}: runs ${share(busy)} of the wall`, 0.35);
    bar(0, exposed, y + 1, colour, `${name}: exposed ${share(exposed)} of the wall`);
    picture.append(label(left - 6, y + 9, name, "", "end"), label(left + (Math.max(busy, exposed) / wall) * (edge - left) + 4, y + 9, `${share(exposed)} of the wall exposed`, "label"));
    y += 13;
  }
  if (stages.length) {
    const keys = STAGE.flatMap((name, number) => [draw("tspan", { dx: 8, style: `fill:${STAGE_FILLS[number]}` }, "■"), draw("tspan", { dx: 3, class: "label" }, name)]);
    picture.append(draw("text", { x: 2, y: y + 15 }, draw("tspan", { class: "strong" }, "Stages"), ...keys));
    y += 20;
  }
  for (const [number, ...times] of stages) {
    let from = 0;
    times.forEach((time, part) => { bar(from, time, y + 1, STAGE_FILLS[part], `stage ${number}, ${STAGE[part]}: ${share(time)} of the wall`); from += time; });
    picture.append(label(left - 6, y + 9, String(number), "", "end"));
    y += 12;
  }
  return y + (groups.length || stages.length ? 6 : 0);
}

function label(x, y, words, kind = "", anchor = "start") {
  return draw("text", { x, y, class: kind, "text-anchor": anchor }, words);
}

function lane(picture, at, y, name, [start, end, alone, kind], kinds, unit, length) {
  const waited = start > 0 ? `waited ${written(start / length)} ${unit}, ` : "";
  const against = alone === null ? "" : `: in all ${(end / alone).toFixed(2)}x its ${written(alone / length)} ${unit} alone`; // a first look does not know it
  const told = `${waited}ran ${written((end - start) / length)} ${unit}${against}`;
  const words = draw("text", { x: 2, y: y + 13 }, draw("tspan", { class: "strong" }, name), draw("tspan", { dx: 8 }, `${kinds[kind]}, ${told}`));
  picture.append(words);
  const fill = `fill:${kindColour(kind)}`;
  if (start > 0) picture.append(draw("rect", { x: at(0), y: y + 24, width: at(start) - at(0), height: 3, style: fill }));
  picture.append(draw("rect", { x: at(start), y: y + 19, width: Math.max(at(end) - at(start), 1), height: 13, style: fill }));
  if (alone !== null) picture.append(draw("rect", { x: at(0), y: y + 35, width: Math.max(at(alone) - at(0), 1), height: 4, style: `${fill};opacity:.55` }));
  return y + 46;
}

function tracks(picture, run, at, y, names, unit, length) {
  if (!run.tracks.length) return y;
  picture.append(label(2, y + 12, "What ran on each queue and engine" + (run.left_out ? ` (${run.left_out} more spans are not drawn)` : ""), "strong"));
  y += 18;
  const shown = ([start, end]) => end > at.from && start < at.to;
  for (const [start, end] of (run.step?.alone ?? []).filter(shown)) {
    picture.append(draw("rect", { x: at(start), y, width: Math.max(at(end) - at(start), 0.3), height: 14 * run.tracks.length, style: `fill:${kindColour(run.kinds.indexOf("communication"))};opacity:.22` }));
  }
  for (const time of (run.step?.folds ?? []).filter((each) => shown([each, each]))) {
    picture.append(draw("line", { x1: at(time), x2: at(time), y1: y - 2, y2: y + 14 * run.tracks.length + 10, class: "limit" }), label(at(time) - 3, y + 14 * run.tracks.length + 10, `${run.step.left} layers more`, "label", "end"));
  }
  for (const [name, spans] of run.tracks) {
    picture.append(draw("line", { x1: at(at.from), x2: at(at.to), y1: y + 13.5, y2: y + 13.5, class: "rule" }));
    for (const [start, end, task, what, detail] of spans.filter(shown)) {
      const told = `${what}${task >= 0 && what !== names[task] ? ` of ${names[task]}` : ""}: ${written(start / length)} to ${written(end / length)} ${unit}${detail ? `; ${detail}` : ""}`;
      picture.append(draw("rect", { x: at(start), y: y + 2, width: Math.max(at(end) - at(start), 0.8), height: 10, style: `fill:${kindColour(task < 0 ? task : run.tasks[names[task]][3])};stroke:var(--paper);stroke-width:${spans.length > 100 ? 0 : 0.5}` }, draw("title", {}, told)));
    }
    if (name) picture.append(label(GUTTER - 6, y + 11, run.tracks.every(([each]) => !each || each.startsWith("gpu0.")) ? name.slice(5).replace("stream.", "") : name.replace(".stream.", "."), "", "end"));
    y += 14;
  }
  return y + (run.step?.folds?.length ? 16 : 6);
}

function counterPanel(picture, run, counter, at, y, edge) {
  const [height, floor] = [44, y + 16 + 44];
  const top = Math.max(...counter.values, counter.maximum ?? 0) || 1;
  const low = counter.line ? Math.max(0, Math.min(...counter.values) - 0.1 * top) : 0;
  const up = (value) => floor - ((value - low) / (1.08 * top - low)) * height;
  const until = (number) => Math.min(counter.times[number + 1] ?? run.end, run.end, at.to);
  const seen = counter.times.map((time, number) => Math.max(time, at.from) < until(number));
  const begin = Math.max(counter.times[0] ?? 0, at.from);
  let mean = 0;
  counter.times.forEach((time, number) => { if (seen[number]) mean += counter.values[number] * (until(number) - Math.max(time, at.from)); });
  mean /= at.to - begin || 1;
  const shares = Object.values(counter.by).reduce((sum, values) => sum.map((all, number) => all + values[number]), counter.values.map(() => 0));
  const shared = !counter.line && shares.some((all, number) => all > counter.values[number] * (1 + LEAST)) ? "; striped: shared" : "";
  const share = counter.maximum ? `, ${Math.round((100 * mean) / counter.maximum)} % of ${counter.limit} ${written(counter.maximum)}` : "";
  const keys = (counter.parts ?? []).flatMap((name, number) => [draw("tspan", { dx: 8, style: `fill:${counter.colours[number]}` }, "■"), draw("tspan", { dx: 3, class: "label" }, name)]);
  picture.append(draw("text", { x: 2, y: y + 12 }, draw("tspan", { class: "strong" }, counter.title), ...keys), label(edge, y + 12, `mean ${written(mean)} ${counter.unit}${share}${shared}`, "", "end"));
  const outline = (values, below) => {
    const forth = [], back = [];
    counter.times.forEach((time, number) => {
      if (!seen[number]) return;
      const end = at(until(number)).toFixed(1);
      forth.push(`${at(time).toFixed(1)},${up(values[number]).toFixed(1)}`, `${end},${up(values[number]).toFixed(1)}`);
      if (below) back.unshift(`${end},${up(below[number]).toFixed(1)}`, `${at(time).toFixed(1)},${up(below[number]).toFixed(1)}`);
    });
    return [...forth, ...back].join(" ");
  };
  if (!counter.line) {
    let below = counter.values.map(() => 0);
    for (const [part, values] of Object.entries(counter.by)) {
      const colour = counter.colours?.[part] ?? kindColour(Number(part));
      const sum = below.map((value, number) => (shared ? Math.min(counter.values[number], value + values[number]) : value + values[number]));
      picture.append(draw("polygon", { points: outline(sum, below), style: `fill:${colour};opacity:.85` }));
      // what it shares with those below counts once: it reaches down into them
      const down = below.map((value, number) => Math.min(value, Math.max(0, counter.values[number] - values[number])));
      if (shared && down.some((value, number) => value < below[number])) picture.append(...stripes(colour, outline(below, down)));
      below = sum;
    }
    picture.append(draw("polygon", { points: outline(counter.values, below), class: "rest" }));
  }
  picture.append(draw("polyline", { points: outline(counter.values), class: "steps" }));
  picture.append(draw("line", { x1: at(at.from), x2: at(at.to), y1: floor, y2: floor, class: "axis" }));
  if (counter.maximum) picture.append(draw("line", { x1: at(at.from), x2: at(at.to), y1: up(counter.maximum), y2: up(counter.maximum), class: "limit" }));
  return floor + 8;
}

/** An area in stripes of *colour*, through which what is below can be seen. */
function stripes(colour, points) {
  const id = `stripes-${patterns++}`;
  const stripe = draw("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, draw("rect", { width: 2.5, height: 5, style: `fill:${colour}` }));
  return [draw("defs", {}, stripe), draw("polygon", { points, style: `fill:url(#${id})` })];
}

function timeAxis(picture, at, y, unit, length) {
  const rough = (at.to - at.from) / length / 6;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * size).find((each) => each >= rough);
  for (let number = Math.ceil(at.from / length / step - 1e-9); number * step * length <= at.to; number++) {
    const x = at(number * step * length);
    picture.append(draw("line", { x1: x, x2: x, y1: y, y2: y + 4, class: "axis" }), label(x, y + 15, written(Number((number * step).toPrecision(9))), "", number ? "middle" : "start"));
  }
  picture.append(label((at(at.from) + at(at.to)) / 2, y + 29, `time since all streams were released (${unit})`, "label", "middle"));
  return y + 34;
}

function watchTimeline(picture, run, panels, at, bottom, readout, length, unit, show) {
  const line = () => draw("line", { y1: 0, y2: bottom - 34, class: "cursor", visibility: "hidden" });
  const cursor = line(), begin = line();
  picture.append(cursor, begin);
  let held = null; // the time at which a drag began
  const timeOf = (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    const share = (x - at(at.from)) / (at(at.to) - at(at.from));
    return at.from + Math.min(Math.max(share, 0), 1) * (at.to - at.from);
  };
  const put = (mark, ns) => {
    mark.setAttribute("x1", at(ns));
    mark.setAttribute("x2", at(ns));
    mark.setAttribute("visibility", "visible");
  };
  picture.addEventListener("pointerdown", (event) => {
    held = timeOf(event);
    put(begin, held);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointerup", (event) => {
    const [first, last] = [held ?? 0, timeOf(event)].sort((a, b) => a - b);
    begin.setAttribute("visibility", "hidden");
    const far = held !== null && last - first > 0.01 * (at.to - at.from);
    held = null;
    if (far) show(first, last);
  });
  picture.addEventListener("dblclick", () => show(0, run.end));
  picture.addEventListener("pointermove", (event) => {
    const ns = timeOf(event);
    put(cursor, ns);
    const said = panels.map(([counter]) => {
      const step = counter.times.findLastIndex((time) => time <= ns);
      if (step < 0) return "";
      const parts = Object.entries(counter.by).filter(([, values]) => values[step]).map(([part, values]) => `${(counter.parts ?? run.kinds)[part]} ${written(values[step])}`);
      return `${counter.title} ${written(counter.values[step])} ${counter.unit}${parts.length > 1 ? ` (${parts.join(", ")})` : ""}`;
    });
    readout.textContent = [`at ${written(ns / length)} ${unit}`, ...said.filter(Boolean)].join("; ");
  });
}
