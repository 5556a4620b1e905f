// The laboratory's page: draws what the server sends, and copies texts. Controls are the server's.
const lab = (() => {
  const at = (name) => document.querySelector(`[data-part=${name}]`);
  const WHEN = ["now", "pinned"];

  /** Another place and text of sliders: [number, place, text, whether it is set]; what has the focus keeps its text. */
  function knobs(states) {
    for (const [number, place, text, set] of states) {
      const [slider, field] = byId(`c${number}`)?.querySelectorAll("input") ?? [];
      if (!slider) continue;
      if (slider !== document.activeElement) slider.value = place;
      slider.setAttribute("aria-valuetext", text);
      field.value = text;
      slider.parentElement.classList.toggle("changed", set);
    }
  }

  function figures(data) {
    const pinned = data.runs.length > 1;
    const heads = ["", "now", "band, 5 to 95 %", ...(pinned ? ["pinned", "difference"] : [])];
    const head = make("tr", {}, ...heads.map((words, number) => make("th", { scope: "col", class: number ? "number" : "" }, words)));
    const rows = data.rows.map((row) => make("tr", { "data-figure": row.name },
      make("th", { scope: "row" }, row.label), make("td", { class: "number now" }, row.now),
      make("td", { class: "number soft" }, row.band ?? ""),
      ...(pinned ? [make("td", { class: "number" }, row.pinned), make("td", { class: "number" }, row.difference)] : [])));
    return make("div", { class: "wide" }, make("table", { class: "figures" }, make("caption", { class: "unseen" }, "figures of the run"), make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  /** A run's pictures; two of them share one axis of time. */
  function drawing(data, number) {
    const run = data.runs[number], several = data.runs.length > 1;
    const picture = timeline(run);
    picture.className = "timeline";
    picture.querySelector("#readout").removeAttribute("id");
    const parts = [make("h2", {}, several ? `Timeline, ${WHEN[number]}` : "Timeline"), make("p", { class: "soft" }, data.titles[number]), picture];
    if (Object.keys(run.explained).length) {
      const table = account(run, data.means);
      table.removeAttribute("id");
      parts.push(make("h2", {}, several ? `Where the time went, ${WHEN[number]}` : "Where the time went"), make("div", { class: "wide" }, table));
    }
    return make("section", { "data-run": WHEN[number], "aria-label": several ? `run ${WHEN[number]}` : "run" }, ...parts);
  }

  function classes(rows) {
    if (!rows.length) return [];
    const head = make("tr", {}, ...["operator class", "busy", "only it runs"].map((words, number) => make("th", { scope: "col", class: number ? "number" : "" }, words)));
    const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", { class: "number" }, cell))));
    return [make("h2", {}, "Where the time went"), make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))];
  }

  function show(data) {
    const desk = at("desk");
    history.replaceState(null, "", `${location.pathname}?${data.query}`); // loading it again shows the same
    if (data.problem) {
      at("said").textContent = "This cannot be run.";
      const old = desk.querySelector(".alert");
      const alert = make("div", { class: "alert", role: "alert" }, ...data.problem.split("\n").map((line) => make("p", {}, line)));
      if (old) old.replaceWith(alert); else desk.prepend(alert);
      desk.classList.add("stale");
      return;
    }
    desk.classList.remove("stale");
    at("said").textContent = data.said;
    const warnings = data.warnings.map((text) => make("p", { class: "warning" }, make("strong", {}, "Careful: "), text));
    const remarks = data.remarks.map((text) => make("p", { class: "soft" }, text));
    desk.replaceChildren(...warnings, figures(data), ...remarks,
      make("div", { class: data.runs.length > 1 ? "beside" : "" }, ...data.runs.map((_, number) => drawing(data, number))),
      ...classes(data.classes),
      make("p", { class: "soft" }, "The same on the command line: ", make("code", { "data-part": "command" }, data.command)));
  }

  const say = (text) => { at("live").textContent = text; };

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
    const note = make("p", { class: "toast", "aria-hidden": "true" }, `${what} copied`);
    document.body.append(note);
    setTimeout(() => note.remove(), 1600);
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

  return { knobs, show, copy, say, theme };
})();
