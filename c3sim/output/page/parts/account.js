// Where the time of each task went.
const FELT = 0.0005; // a share that is not written as 0.0 %

/** From the isolated time to the concurrent one: a row for each cause, its bar beginning where the one before ended. */
function account(run, means) {
  const [unit, length] = timeUnit(run.end);
  const body = make("tbody");
  for (const [name, task] of Object.entries(run.explained)) {
    const causes = Object.entries({ ...task.causes, left_over: task.left_over }).filter(([cause, share]) => cause === "left_over" || Math.abs(share) >= FELT);
    let sum = 1, top = 1;
    for (const [, share] of causes) { sum += share; top = Math.max(top, sum); }
    const place = (from, to, kind) => {
      const bar = make("div", { class: kind });
      bar.style.left = `${(100 * Math.min(from, to)) / top}%`;
      bar.style.width = `${(100 * Math.abs(to - from)) / top}%`;
      return make("td", { class: "track", "aria-hidden": "true" }, bar);
    };
    const line = (words, share, bar, kind = "") => {
      const time = (share * task.isolated * 1e9) / length;
      const sized = Math.abs(time) < 0.5 * 10 ** -3 ? "0.000" : time.toFixed(3);
      body.append(make("tr", { class: kind }, make("td", {}, ...words), make("td", { class: "number" }, (100 * share).toFixed(1).replace(/^-0\.0$/, "0.0")), make("td", { class: "number" }, sized), bar));
    };
    line([`${name}: alone`], 1, place(0, 1, "alone"));
    sum = 1;
    for (const [cause, share] of causes) {
      const words = cause === "left_over" ? "left over" : cause.replaceAll("_", " ");
      const felt = Math.abs(share) >= FELT;
      line([`${share < 0 && felt ? "−" : "+"} ${words}`, ...(felt ? [make("small", {}, means[cause] ?? "")] : [])], share, felt ? place(sum, sum + share, share < 0 ? "less" : "more") : make("td"));
      sum += share;
    }
    line([`= ${name} with the others, ${(task.time / task.isolated).toFixed(2)}x`], task.time / task.isolated, place(0, sum, "whole"), "total");
  }
  const heads = [["what", ""], ["share of alone (%)", "number"], [`time (${unit})`, "number"], ["", "track"]].map(([words, kind]) => make("th", { scope: "col", class: kind }, words));
  return make("table", { id: "account", class: "account" }, make("thead", {}, make("tr", {}, ...heads)), body);
}
