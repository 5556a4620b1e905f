// The page of one run: its timeline alone.
function begin() {
  const run = D.run;
  const [unit, length] = timeUnit(run.wall * 1e9);
  const time = (seconds) => `${written((seconds * 1e9) / length)} ${unit}`;
  const stretched = run.stretched === null ? "" : `; compute stretched by ${time(run.stretched)}`;
  byId("title").textContent = D.title;
  byId("provenance").textContent = `c3sim ${D.version}`;
  byId("run").append(make("p", {}, `wall ${time(run.wall)}; exposed communication ${time(run.exposed)}${stretched}`), timeline(run));
  for (const note of run.notes) byId("run").append(make("p", { class: "soft" }, `note: ${note}`));
}

begin();
