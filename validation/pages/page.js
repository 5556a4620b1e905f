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
