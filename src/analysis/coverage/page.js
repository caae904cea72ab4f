// src/analysis/coverage/page.js: all files, or the lines of one, with their coverage.
const state = { file: null, at: 0 };
const KINDS = ["lines", "branches", "blocks", "functions"];

function bar(row, [yes, known]) {
  const share = known ? 100 * yes / known : 0;
  const part = cell(row, known ? `${share.toFixed(1)} % ${yes}/${known}` : "", known ? "bar" : "bar none");
  part.style.setProperty("--part", `${share}%`);
}

function row(kind, open) {
  const made = document.createElement("div");
  made.className = `row ${kind}`;
  if (open) made.addEventListener("click", open);
  made.open = open;
  return made;
}

function overview(list) {
  const head = row("sum title");
  for (const kind of [...KINDS, "file"]) cell(head, kind);
  list.push(head);
  for (const [number, file] of data.files.entries()) {
    const one = row("sum", () => show(number));
    for (const sum of file.sums) bar(one, sum);
    cell(one, file.name || "no source is known", "text");
    list.push(one);
    for (const [name, line, called, blocks] of file.functions) {
      const of = row("sum function" + (called === false ? " never" : ""), () => show(number, line));
      cell(of, ""); cell(of, "");
      bar(of, blocks);
      cell(of, "");
      cell(of, `    ${name}`, "text");
      list.push(of);
    }
  }
}

const way = ([to, taken]) => `→ ${to || "elsewhere"} ${taken === null ? "?" : taken ? "✓" : "✗"}`;

function lines(file, list) {
  for (const [number, text, executed, ways = [], is_new] of file.lines) {
    const kind = executed === undefined ? "" : is_new ? "yes new" : executed === null ? "unknown" : executed ? "yes" : "no";
    const one = row(`line ${kind}`);
    cell(one, String(number));
    cell(one, text ?? "", "text");
    cell(one, ways.map(way).join("  "), "note");
    one.dataset.number = number;
    one.dataset.missed = ways.some(([, taken]) => taken === false) && executed ? 1 : 0;
    list.push(one);
  }
}

function draw() {
  const list = [], file = data.files[state.file];
  element("all").hidden = element("function").hidden = !file;
  if (file) {
    element("title").textContent = file.name;
    element("about").textContent = file.sums.map(([yes, known, unknown], number) => `${yes} of ${known} ${KINDS[number]}` + (unknown ? ` (${unknown} unknown)` : "")).join(", ");
    element("function").replaceChildren(...file.functions.map(([name, line]) => new Option(name, line)));
    lines(file, list);
  } else {
    const sums = KINDS.map((_, kind) => data.files.reduce(([yes, known], { sums }) => [yes + sums[kind][0], known + sums[kind][1]], [0, 0]));
    element("title").textContent = "Coverage";
    element("about").textContent = sums.map(([yes, known], number) => `${yes} of ${known} ${KINDS[number]}`).join(", ");
    overview(list);
  }
  element("rows").replaceChildren(...list);
  find();
  go(state.at, false);
}

function show(file, line = null) {
  state.file = file;
  state.at = 0;
  draw();
  if (line !== null) to_line(line);
}

function to_line(line) {
  const all = [...rows()], number = all.findIndex(row => Number(row.dataset.number) >= line);
  go(number < 0 ? all.length - 1 : number, true, "start");
}

const CONTROLS = ["SELECT", "BUTTON"], NEXT = "center";
const KEYS = {
  j: () => go(state.at + 1), k: () => go(state.at - 1), Enter: () => rows()[state.at]?.open?.(),
  m: () => next(state.file === null ? has("never") : has("no")), b: () => next(row => row.dataset.missed === "1"),
  n: () => next(has("new")), N: () => next(has("found")), a: () => show(null), "/": () => element("search").focus(),
};
element("all").addEventListener("click", () => show(null));
element("function").addEventListener("change", event => to_line(Number(event.target.value)));
draw();
