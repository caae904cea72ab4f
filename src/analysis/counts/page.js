// src/analysis/counts/page.js: the lines and instructions of functions, with how often each was executed.
const state = { number: 0, lines: true, unfolded: new Set(), all: false, at: 0 };

const shown = count => count === null ? "?" : count.toLocaleString("en");

function branch(way, total, to) {
  const share = total ? 100 * way / total : 0;
  const percent = total ? ` (${Number.isInteger(share) ? share : share.toFixed(1)} %)` : "";
  return `${shown(way)} of ${shown(total)}${percent} → ${to}`;
}

function add(list, { count, number, text, notes = [], kind = "", why = "", key = null, most, spent, total }) {
  const row = document.createElement("div");
  row.className = `row ${kind}` + (count === 0 ? " never" : "");
  // With --latency, the share of the time determines the heat.
  const timed = total !== undefined, share = spent && total ? spent.ns / total : 0;
  const hot = timed ? Math.sqrt(share) : count && most ? Math.log(1 + count) / Math.log(1 + most) : 0;
  if (hot) row.style.setProperty("--hot", hot.toFixed(3));
  if (timed) cell(row, spent ? `${(100 * share).toFixed(1)} %  ${spent.shown}` : "", "heat");
  cell(row, count === undefined ? "" : shown(count), timed ? "" : "heat");
  cell(row, number === undefined ? "" : String(number), "number");
  cell(row, text, "text");
  if (timed && spent) row.title = `${spent.each} each`;
  cell(row, why || notes.join("; "), why ? "why" : "note");
  row.dataset.hot = timed ? share : count ?? -1;
  row.dataset.branch = notes.length;
  if (key !== null) row.addEventListener("click", () => { state.unfolded.has(key) ? state.unfolded.delete(key) : state.unfolded.add(key); draw(); });
  list.push(row);
}

function lines(one, list) {
  const total = one.time?.total;
  for (const file of one.files) {
    add(list, { text: file.name, kind: "title", total });
    for (const line of file.lines) {
      const notes = [...(line.branches || []).map(way => branch(way.jumps, way.count, way.to ?? "outside")), ...(line.notes || [])];
      const inlined = line.text === null ? (line.inlined || []).map(([name, count]) => `${name}() ${shown(count)}`) : [];
      add(list, { count: line.count, number: line.line, text: [line.text ?? "", ...inlined].join("  "), notes, why: line.count === null ? line.reason : "", most: one.most, spent: line.spent, total });
    }
  }
}

function instructions(one, list) {
  const total = one.time?.total;
  one.parts.forEach((part, number) => {
    add(list, { text: part.title, kind: "title", total });
    let open = [], folded = null;
    for (const insn of part.instructions) {
      const frames = insn.frames.slice(1);
      let same = 0;
      while (same < open.length && same < frames.length && open[same] === frames[same]) same++;
      open = open.slice(0, same);
      if (folded !== null && folded >= same) folded = null;
      while (open.length < frames.length && folded === null) {
        const key = `${number}:${insn.offset}:${open.length}`;
        const unfolded = state.all !== state.unfolded.has(key);
        const inside = "  ".repeat(open.length);
        add(list, { count: insn.count, number: insn.offset, text: `${inside}${unfolded ? "▾" : "▸"} ${frames[open.length]}`, kind: "frame", key, most: one.most, total });
        if (!unfolded) folded = open.length;
        open.push(frames[open.length]);
      }
      if (folded !== null) { open = frames; continue; }
      const notes = insn.ways.map(way => branch(way.count, insn.count, way.to ?? "outside"));
      add(list, { count: insn.count, number: insn.offset, text: `${"  ".repeat(frames.length)}${insn.text}   ${insn.place}`, notes, why: insn.count === null ? insn.reason : "", most: one.most, spent: insn.spent, total });
    }
  });
}

function draw() {
  const one = data.functions[state.number], list = [];
  element("title").textContent = one.title;
  element("about").textContent = one.time ? `${one.about}; ${one.time.about}` : one.about;
  element("rows").classList.toggle("timed", Boolean(one.time));
  const by_lines = one.parts.length === 0 || state.lines && one.files.length > 0;
  by_lines ? lines(one, list) : instructions(one, list);
  element("rows").replaceChildren(...list);
  element("lines").setAttribute("aria-pressed", by_lines);
  element("instructions").setAttribute("aria-pressed", !by_lines);
  find();
  go(state.at, false);
}

function hottest() {
  const heat = [...rows()].map(row => Number(row.dataset.hot));
  go(heat.indexOf(Math.max(...heat)));
}

function show(by_lines) { state.lines = by_lines; state.at = 0; draw(); }

const CONTROLS = ["SELECT"], NEXT = "nearest";
const KEYS = {
  j: () => go(state.at + 1), k: () => go(state.at - 1), h: hottest, v: () => show(!state.lines),
  b: () => next(row => Number(row.dataset.branch) > 0), n: () => next(has("found")),
  u: () => { state.all = !state.all; state.unfolded.clear(); draw(); },
  "/": () => element("search").focus(),
};
element("lines").addEventListener("click", () => show(true));
element("instructions").addEventListener("click", () => show(false));
for (const [number, one] of data.functions.entries()) element("function").append(new Option(one.title.split(",")[0] + `, ${one.about.split(";")[0]}`, number));
element("function").hidden = data.functions.length < 2;
element("function").addEventListener("change", event => { state.number = Number(event.target.value); state.at = 0; draw(); });
draw();
