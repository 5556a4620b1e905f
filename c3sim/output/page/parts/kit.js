// What every page needs: elements, numbers as text.
const byId = (id) => document.getElementById(id);
const SERIES = 7; // colours

/** An element with attributes, its children texts or elements; text never becomes markup. */
function make(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (value === true) found.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) found.setAttribute(name, value);
  }
  found.append(...children);
  return found;
}

/** Four significant figures without an exponent where that can be read. */
function written(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size >= 1e6 || size < 1e-4) return Number(value.toPrecision(4)).toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}
