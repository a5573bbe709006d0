// The page itself: fields, tiles, path, replay and export.

const MOST_TILES = 576, PAUSE_MS = 260;
const NUMBERS = ["m", "n", "k", "tm", "tn", "bytes", "capacity"];
const at = id => document.getElementById(id);
let problem = null;      // rows, columns, capacity, policy, and the sizes behind them
let order = [], done = 0; // tiles as [row, column]; those from `done` on are undone, or to be replayed
let timer = null;

// -- the problem, from the fields

function readProblem() {
  const sizes = Object.fromEntries(NUMBERS.map(id => [id, Number(at(id).value)]));
  const wrong = NUMBERS.find(id => !Number.isSafeInteger(sizes[id]) || sizes[id] < 1);
  if (wrong) return `${at(wrong).parentElement.textContent.trim().split(" ")[0]} must be a whole number, 1 at least`;
  const rows = Math.ceil(sizes.m / sizes.tm), columns = Math.ceil(sizes.n / sizes.tn);
  if (rows * columns > MOST_TILES) return `${rows}x${columns} tiles are more than the ${MOST_TILES} that fit the page: take larger tiles`;
  if (sizes.capacity < 2) return "a tile takes two panels: give room for 2 at least";
  return { ...sizes, rows, columns, capacity: Math.min(sizes.capacity, rows + columns), policy: at("policy").value };
}

function restart() {
  stop();
  const read = readProblem();
  at("problem").textContent = typeof read === "string" ? read : "";
  if (typeof read === "string") return;
  problem = read;
  problem.orders = namedOrders(problem);
  problem.best = knownBest(problem, problem.orders);
  [order, done] = [[], 0];
  const names = { [problem.best.name]: problem.best.order, ...problem.orders };
  at("named").replaceChildren(...Object.entries(names).map(([name, tiles]) =>
    new Option(`${name} (${loadsOf(tiles, problem)} loads)`, name)));
  at("exported").value = "";
  drawBoard();
  show();
}

// -- going through the tiles

function take(row, column) {
  stop();
  const taken = order.slice(0, done);
  if (taken.some(([i, j]) => i === row && j === column)) return;
  const isNext = done < order.length && order[done][0] === row && order[done][1] === column;
  if (!isNext) order = [...taken, [row, column]];
  done += 1;
  show();
}

function move(to) {
  done = Math.max(0, Math.min(order.length, to));
  show();
}

function chosenOrder() {
  const name = at("named").value;
  return name === problem.best.name ? problem.best.order : problem.orders[name];
}

function begin(tiles, shown) {
  stop();
  [order, done] = [tiles, shown];
  show();
}

function play() {
  begin(chosenOrder(), 0);
  timer = setInterval(() => done < order.length ? move(done + 1) : stop(), PAUSE_MS);
}

function stepOn() {
  stop();
  if (order !== chosenOrder()) begin(chosenOrder(), 0);
  move(done + 1);
}

function stop() {
  clearInterval(timer);
  timer = null;
}

// -- drawing

const svg = (name, attributes, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.textContent = text;
  return made;
};
const side = () => Math.max(18, Math.min(64, Math.floor(560 / Math.max(problem.rows, problem.columns))));
const HEAD = 34;
const centre = ([row, column]) => [HEAD + (column + 0.5) * side(), HEAD + (row + 0.5) * side()];

function box(kind, id, x, y, width, height, label) {
  const group = svg("g", { class: kind, id });
  group.append(svg("rect", { x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 3 }));
  group.append(svg("text", { x: x + width / 2, y: y + height / 2 + 4 }, label));
  return group;
}

function drawBoard() {
  const { rows, columns } = problem, s = side();
  const board = svg("svg", { width: HEAD + columns * s + 2, height: HEAD + rows * s + 2, role: "group", "aria-label": "tiles" });
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" });
  marker.append(svg("path", { d: "M0 0L8 4L0 8z", fill: "#b3541e" }));
  const defs = svg("defs", {});
  defs.append(marker);
  board.append(defs);
  range(0, columns).forEach(j => board.append(box("panel column", `c${j}`, HEAD + j * s, 0, s, HEAD, s > 24 ? `c${j}` : "")));
  range(0, rows).forEach(i => board.append(box("panel row", `r${i}`, 0, HEAD + i * s, HEAD, s, s > 15 ? `r${i}` : "")));
  for (const i of range(0, rows)) for (const j of range(0, columns)) {
    const tile = box("tile", `tile-${i}-${j}`, HEAD + j * s, HEAD + i * s, s, s, "");
    tile.setAttribute("tabindex", i + j ? -1 : 0);
    tile.setAttribute("role", "button");
    tile.addEventListener("click", () => { focusTile(i, j); take(i, j); });
    tile.addEventListener("keydown", event => tileKey(event, i, j));
    board.append(tile);
  }
  board.append(svg("g", { id: "paths" }));
  at("board").replaceChildren(board);
}

function focusTile(row, column) {
  const tile = at(`tile-${row}-${column}`);
  if (!tile) return;
  document.querySelectorAll(".tile").forEach(other => other.setAttribute("tabindex", -1));
  tile.setAttribute("tabindex", 0);
  tile.focus();
}

function tileKey(event, row, column) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (steps[event.key]) focusTile(row + steps[event.key][0], column + steps[event.key][1]);
  else if (event.key === "Enter" || event.key === " ") take(row, column);
  else return;
  event.preventDefault();
}

// Lines between the centres of tiles that follow each other; more than one arrow per tile would hide the numbers.
function drawPath() {
  const lines = range(1, done).map(step => {
    const [x1, y1] = centre(order[step - 1]), [x2, y2] = centre(order[step]), length = Math.hypot(x2 - x1, y2 - y1);
    const cut = Math.min(side() * 0.28, length / 3), [dx, dy] = [(x2 - x1) / length * cut, (y2 - y1) / length * cut];
    return svg("path", { class: "path", "marker-end": "url(#arrow)", d: `M${x1 + dx} ${y1 + dy}L${x2 - dx} ${y2 - dy}` });
  });
  at("paths").replaceChildren(...lines);
}

function byteText(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"], unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${Number((bytes / 1024 ** unit).toPrecision(4))} ${units[unit]}`;
}

const panelBytes = panel => (panel[0] === "r" ? problem.tm : problem.tn) * problem.k * problem.bytes;

function show() {
  const steps = walk(order, problem), there = new Set(done ? steps[done - 1].there : []);
  const loaded = steps.slice(0, done).flatMap(step => step.loaded), { best } = problem;
  document.querySelectorAll(".panel").forEach(panel => panel.classList.toggle("there", there.has(panel.id)));
  document.querySelectorAll(".tile").forEach(tile => {
    tile.setAttribute("class", "tile");
    tile.querySelector("text").textContent = "";
  });
  steps.slice(0, done).forEach((step, index) => {
    const tile = at(`tile-${order[index][0]}-${order[index][1]}`), last = index === done - 1 ? " last" : "";
    tile.setAttribute("class", `tile done ${["", "one", "two"][step.loaded.length]}${last}`);
    tile.setAttribute("aria-label", `tile ${order[index].join(", ")}: number ${index + 1}, ${step.loaded.length} loads`);
    if (side() > 20) tile.querySelector("text").textContent = index + 1;
  });
  drawPath();
  at("loads").innerHTML = `<b>${loaded.length}</b> panels`;
  at("tiles").textContent = `${done} of ${problem.rows * problem.columns}`;
  at("best-label").textContent = best.name;
  at("best").innerHTML = `<b>${best.loads}</b> panels for all tiles`;
  at("bound").innerHTML = `<b>${best.bound}</b> panels: no order takes fewer`;
  at("moved").textContent = byteText(loaded.reduce((sum, panel) => sum + panelBytes(panel), 0));
  const names = [...there].map(p => `<span class="${p[0] === "r" ? "row" : "column"}">${p}: ${byteText(panelBytes(p))}</span>`);
  at("cache").innerHTML = names.join("") + '<span class="free">free</span>'.repeat(problem.capacity - there.size);
  at("policy-note").textContent = problem.policy === "lru" ? "Panels in the order of their last use; the first one goes next."
    : "Panels by their next use in the order as far as it is known; the first one goes next. What is undone is known until another tile is taken.";
  at("undo").disabled = done === 0;
  at("redo").disabled = done === order.length;
}

// -- export

function exported() {
  const { rows, columns, capacity, policy, m, n, k, tm, tn } = problem, tiles = order.slice(0, done);
  const isRowMajor = JSON.stringify(tiles) === JSON.stringify(problem.orders["row-major"]);
  const strategy = isRowMajor ? `#npu.strategy<{tile_l2 = [${tm}, ${tn}, ${k}]}>` : null;
  const note = isRowMajor ? "put it on the matmul as npu.strategy: its blocks go row by row, as this order does"
    : tiles.length < rows * columns ? `${rows * columns - tiles.length} tiles are missing: a strategy has all of them`
    : "a matmul's strategy has no field for this order: its blocks go row by row";
  const loads = walk(tiles, problem).map(step => step.loaded.length);
  return JSON.stringify({ gemm: [m, n, k], tile: [tm, tn], grid: [rows, columns], capacity, policy,
    loads: loads.reduce((sum, one) => sum + one, 0), loads_per_step: loads, tiles, strategy, note });
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([exported()], { type: "application/json" }));
  link.download = "order.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

// -- what the page begins with

function begins() {
  const { rows, columns, capacity, policy } = DATA.start, tile = 64;
  const values = { m: rows * tile, n: columns * tile, k: 512, tm: tile, tn: tile, bytes: 2, capacity };
  Object.entries(values).forEach(([id, value]) => { at(id).value = value; });
  at("policy").value = policy;
  restart();
}

[...NUMBERS, "policy"].forEach(id => at(id).addEventListener("change", restart));
const CLICKS = { undo: () => { stop(); move(done - 1); }, redo: () => { stop(); move(done + 1); }, clear: () => begin([], 0),
                 play, step: stepOn, whole: () => begin(chosenOrder(), chosenOrder().length),
                 export: () => { at("exported").value = exported(); }, download: save };
Object.entries(CLICKS).forEach(([id, act]) => at(id).addEventListener("click", act));
document.addEventListener("keydown", event => {
  if (event.target.matches("input, select, textarea") || event.altKey || event.metaKey) return;
  const key = event.key.toLowerCase();
  const wanted = event.ctrlKey ? { z: "undo", y: "redo" }[key] : { u: "undo", r: "redo", c: "clear" }[key];
  if (!wanted) return;
  event.preventDefault();
  CLICKS[wanted]();
});
begins();
