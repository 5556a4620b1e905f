// The laboratory's page: draws what the server sends, and copies texts. Controls are the server's.
const lab = (() => {
  const at = (name) => document.querySelector(`[data-part=${name}]`);
  const WHEN = ["now", "pinned"];

  /** Another place and text of sliders: [number, place, text, whether it is set]; what has the focus keeps its text. Of a list whether it is set. */
  function knobs(states) {
    for (const [number, place, text, set] of states) {
      const box = byId(`c${number}`), [slider, field] = box?.querySelectorAll("input") ?? [];
      box?.closest(".row")?.classList.toggle("changed", set);
      if (!slider) continue;
      if (slider !== document.activeElement) slider.value = place;
      slider.setAttribute("aria-valuetext", text);
      field.value = text;
      slider.parentElement.classList.toggle("changed", set);
    }
  }

  function figures(data) {
    const pinned = data.runs.length > 1;
    const heads = ["figure", "now", "band, 5 to 95 %", ...(pinned ? ["pinned", "difference"] : [])];
    const head = make("tr", {}, ...heads.map((words, number) => make("th", { scope: "col", class: number ? "number" : "" }, words)));
    const rows = data.rows.map((row) => make("tr", { "data-figure": row.name },
      make("th", { scope: "row" }, row.label), make("td", { class: "number now" }, row.now),
      make("td", { class: "number soft" }, row.band ?? ""),
      ...(pinned ? [make("td", { class: "number" }, row.pinned), make("td", { class: "number" }, row.difference)] : [])));
    return make("div", { class: "wide" }, make("table", { class: "figures" }, make("caption", { class: "unseen" }, "figures of the run"), make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  /** A section of one run, under a title that says which where there are two. */
  function section(data, number, title, ...parts) {
    const words = data.runs.length > 1 ? `${title}, ${WHEN[number]}` : title;
    return make("section", { "data-run": WHEN[number], "aria-label": words }, make("h2", {}, words), ...parts);
  }

  /** When what ran; two runs share one axis of time. */
  function drawing(data, number) {
    const picture = timeline(data.runs[number]);
    picture.className = "timeline";
    picture.querySelector("#readout").removeAttribute("id");
    const rest = data.look && number === 0 ? [pending("The use of resources and where the time went are being computed.")] : [];
    return section(data, number, "Timeline", make("p", { class: "soft" }, data.titles[number]), picture, ...rest);
  }

  function causes(data, number) {
    const table = account(data.runs[number], data.means);
    table.removeAttribute("id");
    return section(data, number, "Where the time went", make("div", { class: "wide" }, table));
  }

  /** A table of texts, the first of each row its head. */
  function grid(heads, rows) {
    const head = make("tr", {}, ...heads.map((words, number) => make("th", { scope: "col", class: number ? "number" : "" }, words)));
    const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", { class: "number" }, cell))));
    return make("div", { class: "wide" }, make("table", { class: "grid" }, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  /** Of an iteration, or of many tasks: where the whole went. */
  function parts(data, number) {
    const { heads, rows, explained } = data.runs[number].parts;
    return section(data, number, "Where the time went", grid(heads, rows), make("p", { class: "soft" }, explained));
  }

  const classes = (rows) => (rows.length ? [make("h2", {}, "Operators"), grid(["class", "busy", "only it runs"], rows)] : []);

  /** What follows: named in a line, which counts what goes on. */
  function coming(names) {
    return names.length ? [make("p", { class: "soft", "data-part": "coming" }, `follows: ${names.join(", then ")} `, make("span", { "data-part": "counts" }))] : [];
  }

  function counts([what, done, total]) {
    const place = at("counts");
    if (place) place.replaceChildren(make("progress", { value: done, max: total, "aria-label": what }), ` ${what}: ${done} of ${total} runs`);
  }

  /** Nothing of the run before stands beside words about the next one. */
  function busy(words) {
    at("said").textContent = words;
    waiting(true);
    at("desk").replaceChildren(...coming(["wall time and timeline", "the rest"]), pending("The figures and pictures are being computed."));
  }

  /** While something is missing the page keeps its height, so that nothing jumps, and says that it is busy. */
  function waiting(on) {
    const desk = at("desk");
    if (on && !desk.style.minHeight) desk.style.minHeight = `${desk.offsetHeight}px`;
    if (!on) desk.style.minHeight = "";
    desk.setAttribute("aria-busy", String(on));
  }

  const pending = (words) => make("p", { class: "pending" }, words);

  /** Of both runs one beside the other; *has*: of which of them there is any. */
  function beside(data, draw, has = () => true) {
    const parts = data.runs.flatMap((run, number) => (has(run) ? [draw(data, number)] : []));
    return make("div", { class: "beside" }, ...parts);
  }

  function show(data) {
    const desk = at("desk");
    history.replaceState(null, "", `${location.pathname}?${data.query}`); // loading it again shows the same
    waiting(Boolean(data.look));
    if (data.problem) {
      at("said").textContent = "This cannot be run.";
      desk.replaceChildren(make("div", { class: "alert", role: "alert" }, ...data.problem.split("\n").map((line) => make("p", {}, line))));
      return;
    }
    at("said").textContent = data.said;
    const warnings = data.warnings.map((text) => make("p", { class: "warning" }, make("strong", {}, "Careful: "), text));
    const remarks = [...(data.without ? [`no band: ${data.without}`] : []), ...data.remarks].map((text) => make("p", { class: "soft" }, text));
    desk.replaceChildren(...warnings, figures(data), ...coming(data.coming), ...remarks,
      beside(data, drawing), beside(data, causes, (run) => Object.keys(run.explained).length),
      beside(data, parts, (run) => run.parts),
      ...classes(data.classes), make("h2", {}, "Words"), ...data.keys.map((text) => make("p", { class: "soft" }, text)),
      make("p", { class: "soft" }, "The same on the command line: ", make("code", { "data-part": "command" }, data.command)));
  }

  /** For eyes and ears. */
  function say(text) {
    at("live").textContent = text;
    const note = make("p", { class: "toast", "aria-hidden": "true" }, text);
    document.body.append(note);
    setTimeout(() => note.remove(), 1600);
  }

  async function copy([what, text]) {
    try { await navigator.clipboard.writeText(text); } catch {
      const field = make("textarea", { "aria-label": what, class: "unseen" });
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    document.documentElement.dataset.copied = text;
    say(`${what} copied`);
  }

  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  function theme() {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("c3sim-theme", document.documentElement.dataset.theme); } catch { /* a browser may keep nothing */ }
    pressed();
  }

  function pressed() { document.querySelector(".theme")?.setAttribute("aria-pressed", String(dark())); }

  try { const kept = localStorage.getItem("c3sim-theme"); if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept; } catch { /* as above */ }

  /** Names of parameters to choose from: an identifier of their list would be the server's. */
  function names() {
    const list = at("paths"), field = document.querySelector("[data-list=paths]");
    if (list && field) field.setAttribute("list", list.id);
    pressed();
  }
  new MutationObserver(names).observe(document.documentElement, { childList: true, subtree: true });

  return { knobs, show, counts, busy, copy, say, theme };
})();
