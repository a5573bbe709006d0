// Texts, tables and bars of a function or a sequence, and the layout of its memories.
function showTables(one) {
  table("traffic", ["", "read", "written", "compulsory", "lower bound"], one.traffic, [0]);
  table("losses", ["", "", "saves", "", "a run with"], one.losses, [1, 4]);
  table("engines", ["", "busy", "the busiest", "what they do, on average"], one.engines, [0, 2, 3]);
  byId("dataflows").hidden = !one.dataflow;
  byId("dataflow").replaceChildren();
  if (one.dataflow) showTree(byId("dataflow"), one.dataflow);
  table("links", ["", "bytes, overheads included", "taken"], one.links, [0]);
}

// What took energy, of a function or a sequence; nothing where the device says nothing of it.
function showEnergy(energy) {
  byId("energies").hidden = !energy;
  table("energy", ["", "energy", "of all", "for"], energy || [], [0, 3]);
  for (const line of [...byId("energy").rows].slice(1)) {
    const bar = element(line.cells[2], "span", undefined, { class: "share" });
    element(bar, "i", "", { style: `width:${parseFloat(line.cells[2].textContent)}%` });
  }
}

// A node of a fused group's dataflow: what comes down to it and goes back up on its edge, or from op to op on the core,
// and those below it.
function showTree(parent, { what, reads, writes, children }) {
  const node = element(parent, "li"), edge = element(node, "div", undefined, { class: "edge" });
  const box = element(node, "div", undefined, { class: children.length ? "node" : "node op" });
  for (const [text, stays] of reads) if (!stays) element(edge, "span", `\u2193 ${text}`, { class: "read" });
  for (const [text, stays] of writes) if (!stays) element(edge, "span", `\u2191 ${text}`, { class: "written" });
  for (const [text, stays] of reads) if (stays) element(box, "span", `\u2192 ${text}`, { class: "kept" });
  element(box, "b", what);
  for (const [text, stays] of writes) if (stays) element(box, "span", `${text} \u2192`, { class: "kept" });
  const below = children.length ? element(node, "ul") : undefined;
  for (const child of children) showTree(below, child);
}

// How busy each kind of engine is on average, and the busiest of its kind.
function showBusy(busy) {
  const root = byId("busy");
  root.replaceChildren();
  const order = now.timeline.kinds;
  for (const [kind, share, most] of [...busy].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]))) {
    element(root, "span", kind);
    element(element(root, "i"), "i", "", { style: `width:${100 * share}%` });
    const busiest = most > share + 0.005 ? `, the busiest ${shareText(most)}` : "";
    element(root, "span", shareText(share) + busiest);
  }
}

function showParts(sequence, open) {
  byId("parts-section").hidden = !sequence;
  if (!sequence) return;
  const last = sequence.heads.length - 1;
  table("parts", sequence.heads, sequence.rows, [0, last]);
  for (const line of [...byId("parts").rows].slice(1)) {
    const cell = line.cells[0], name = cell.textContent;
    if (!DATA.functions.some(one => one.name === name)) continue;
    cell.replaceChildren();
    element(cell, "a", `@${name}`, { href: "#title" }).addEventListener("click", () => open(name));
  }
}

// One bar per layout, blocks at their addresses.
function drawMemories(maps) {
  const root = byId("memories"), colours = new Map();
  root.replaceChildren();
  const width = Math.max(300, root.clientWidth);
  for (const map of maps) {
    const box = element(root, "div", undefined, { class: "map" });
    element(box, "div", map.title);
    const size = { viewBox: `0 0 ${width} 50`, width, height: 50 };
    const svg = shape(box, "svg", { ...size, role: "img", "aria-label": map.title });
    shape(svg, "rect", { x: 0, y: 0, width, height: 32, fill: "var(--panel)", stroke: "var(--line)" });
    for (const block of map.blocks) drawBlock(svg, block, map.size, width, colours);
    for (const at of map.banks) {
      const x = at / map.size * width;
      const dashed = { stroke: "var(--ink)", "stroke-dasharray": "2 3" };
      shape(svg, "line", { x1: x, x2: x, y1: 0, y2: 36, ...dashed, class: "bank" }, `a bank begins at byte ${at}`);
    }
  }
}

function drawBlock(svg, [tensor, address, size, slot], whole, width, colours) {
  if (!colours.has(tensor)) colours.set(tensor, `var(--tensor-${colours.size % TENSORS})`);
  const x = address / whole * width, wide = Math.max(1, size / whole * width);
  const painted = { fill: colours.get(tensor), stroke: "var(--back)" };
  const said = `${tensor} ${slot}: bytes ${address} to ${address + size - 1}`;
  shape(svg, "rect", { x, y: 0, width: wide, height: 32, ...painted, class: "block" }, said);
  const texts = [`${tensor}, ${slot}`, tensor, tensor.split(" ")[0]].filter(text => 6.2 * text.length + 8 < wide);
  if (texts.length) label(svg, x + 5, 20, texts[0], { "pointer-events": "none", style: "fill: var(--on-tensor)" });
  if (wide > 48) label(svg, x + 1, 46, `0x${address.toString(16)}`, { class: "soft" });
}
