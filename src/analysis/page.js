// src/analysis/page.js: the code that the scripts of all pages share. Each page defines `state`, `KEYS`,
// `CONTROLS`, the elements that take letters themselves, and `NEXT`, where the sought row is placed.
const data = JSON.parse(document.getElementById("data").textContent);
const element = id => document.getElementById(id);
element("missing").textContent = data.missing;
element("missing").hidden = !data.missing;

function cell(row, text, kind) {
  const part = document.createElement("span");
  part.textContent = text;
  if (kind) part.className = kind;
  row.append(part);
  return part;
}

const rows = () => element("rows").children;
const has = kind => row => row.classList.contains(kind);

function find() {
  const wanted = element("search").value.toLowerCase();
  for (const row of rows()) row.classList.toggle("found", wanted !== "" && row.textContent.toLowerCase().includes(wanted));
}

function go(to, scrolls = true, block = "nearest") {
  const all = rows();
  if (all.length === 0) return;
  all[state.at]?.classList.remove("at");
  state.at = Math.max(0, Math.min(all.length - 1, to));
  all[state.at].classList.add("at");
  if (scrolls) all[state.at].scrollIntoView({ block });
}

function next(test) {
  const all = rows();
  for (let step = 1; step <= all.length; step++) {
    const number = (state.at + step) % all.length;
    if (test(all[number])) return go(number, true, NEXT);
  }
}

document.addEventListener("keydown", event => {
  if (event.target.id === "search") {
    if (event.key === "Enter") { event.target.blur(); next(has("found")); }
    if (event.key === "Escape") { event.target.value = ""; find(); event.target.blur(); }
    return;
  }
  const does = KEYS[event.key];
  if (!does || event.ctrlKey || event.metaKey || event.altKey || CONTROLS.includes(event.target.tagName)) return;
  event.preventDefault();
  does();
});
element("search").addEventListener("input", find);
