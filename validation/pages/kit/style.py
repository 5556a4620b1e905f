"""How the page looks, in light and in dark, and its script. Colours: Okabe and Ito, told apart by
colour-blind readers.
"""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; --paper: #ffffff; --raised: #f5f6f7; --ink: #1b1f24; --soft: #59636e; --line: #d0d7de;
  --held: #b04a00; --fitted: #0072b2; --good: #00684a; --bad: #b3261e; --gap: #7a5a00; --band: #0072b226; --link: #0a58a8;
  --max: #0072b2; --sum: #9a4f7d; --constant: #00684a; --third: #7a5a00; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --raised: #1e2329; --ink: #e6e9ec; --soft: #a3acb6;
  --line: #3a424b; --held: #f0913a; --fitted: #56b4e9; --good: #3ecf9a; --bad: #ff8a80; --gap: #e9c04a; --band: #56b4e92e;
  --link: #7cc4f5; --max: #56b4e9; --sum: #e0a3c6; --constant: #3ecf9a; --third: #e9c04a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 1rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .2rem 0; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; } h3 { font-size: 1rem; margin: .2rem 0; }
p { margin: .35rem 0; max-width: 62rem; overflow-wrap: anywhere; } .soft, caption { color: var(--soft); } a { color: var(--link); }
nav a { margin-right: 1rem; }
#suites { font-size: .88rem; }
.verdict { font-weight: 700; padding: .1rem .6rem; border-radius: .3rem; border: 2px solid currentColor; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 700; } .gap { color: var(--gap); }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .2rem 0; }
th, td { padding: .18rem .7rem .18rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } .number { text-align: right; white-space: nowrap; }
.tight { white-space: nowrap; }
.grid { display: grid; align-items: start; grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); gap: 1rem; }
.two { grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); }
figure { margin: 0; min-width: 0; padding: .7rem; background: var(--raised); border-radius: .4rem; }
figcaption { font-size: .85rem; color: var(--soft); } svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .label { fill: var(--ink); }
svg .axis { stroke: var(--soft); fill: none; } svg .rule { stroke: var(--line); fill: none; }
svg .diagonal { stroke: var(--ink); fill: none; } svg .band { fill: var(--band); stroke: none; }
svg .held { fill: var(--held); stroke: var(--held); fill-opacity: .75; }
svg .fitted { fill: none; stroke: var(--fitted); stroke-width: 1.4; }
svg .max { fill: var(--max); stroke: var(--max); } svg .sum { fill: var(--sum); stroke: var(--sum); }
svg .constant { fill: var(--constant); stroke: var(--constant); }
svg .c0 { fill: var(--held); } svg .c1 { fill: var(--fitted); } svg .c2 { fill: var(--constant); } svg .c3 { fill: var(--sum); }
svg .measured { stroke: var(--ink); stroke-width: 2.5; } svg .area { fill: var(--fitted); fill-opacity: .45; stroke: none; }
.key svg { display: inline-block; width: 1.1rem; height: .8rem; vertical-align: baseline; } .key span { margin-right: 1.2rem; }
input { font: inherit; padding: .25rem .5rem; width: 22rem; max-width: 100%; color: var(--ink); background: var(--paper);
  border: 1px solid var(--soft); border-radius: .3rem; }
code { font-size: .92em; overflow-wrap: anywhere; } .source { min-width: 20rem; overflow-wrap: anywhere; font-size: .88rem; }
"""

SCRIPT = """
const field = document.getElementById("filter");
const rows = document.querySelectorAll("#parameters tbody tr");
const count = document.getElementById("count");
function show() {
  const words = field.value.toLowerCase().split(" ").filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const found = words.every((word) => row.textContent.toLowerCase().includes(word));
    row.hidden = !found;
    shown += found;
  }
  count.textContent = shown + " of " + rows.length;
}
field.addEventListener("input", show);
show();
"""
