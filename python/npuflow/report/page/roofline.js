// The device's roofs and the file's ops under them; both axes are logarithmic.
const ROOF_HIGH = 360, ROOF_LEFT = 74, ROOF_RIGHT = 28, ROOF_BELOW = 34, LABELLED = 14;
const LABEL_ROOM = 120, LETTER = 7, LINE = 11;
const POINT_HEADS = ["function", "op", "types", "ops per byte", "without moving twice", "rate", "without the launch"];
const ROOFLINE_NOTE = "Filled: without the launch; hollow: with it. The thin line to the right ends where nothing "
  + "would be moved twice; what needs no DRAM stands at the right edge. A click shows the function.";
const NO_POINTS = "No op of this file computes anything that could be counted.";

function drawRoofline(roofline, open) {
  const { points, peaks, bytes_per_second: dram } = roofline, used = new Set(points.map(point => point[2]));
  byId("roofline-note").textContent = points.length ? ROOFLINE_NOTE : NO_POINTS;
  table("points", [...POINT_HEADS, "of its roof"], points.map(point => pointRow(point, roofline)), [0, 1, 2]);
  const width = Math.min(1100, Math.max(420, byId("roofline").clientWidth));
  const xs = points.flatMap(point => [point[3], point[4]]).filter(at => at !== null);
  const ys = points.flatMap(point => [point[5], point[6]]);
  const isUsed = name => used.has(name) || !points.length || (used.has("") && name.startsWith("vector"));
  const roofs = peaks.filter(([name]) => isUsed(name));
  const tops = roofs.map(([, rate]) => rate);
  const ridge = Math.max(...tops) / dram;
  const [left, right] = [decade(Math.min(...xs, ridge / 100), -1), decade(Math.max(...xs, ridge * 4), 1)];
  const [low, high] = [decade(Math.min(...ys, ...tops.map(top => top / 100)), -1), decade(Math.max(...tops) * 1.5, 1)];
  const wide = (width - ROOF_LEFT - ROOF_RIGHT) / Math.log10(right / left);
  const x = at => ROOF_LEFT + Math.log10((at ?? right) / left) * wide;
  const floor = ROOF_HIGH - ROOF_BELOW;
  const y = at => floor - Math.log10(at / low) / Math.log10(high / low) * (floor - 12);
  const svg = drawing("roofline", width, ROOF_HIGH, "roofline of the device with the ops of the file");
  drawGrid(svg, { x, y, left, right, low, high, width });
  const taken = drawRoofs(svg, { x, y, left, right, low, high, width }, dram, roofs);
  for (const [, , , at, , rate, busy] of points) {
    taken.push({ left: x(at) - 5, right: x(at) + 5, top: y(busy) - 5, bottom: y(rate) + 5 });
  }
  const scales = { x, y, width, taken };
  for (const point of points) drawPoint(svg, scales, point, points.length <= LABELLED, open);
}

const decade = (value, side) => 10 ** (side < 0 ? Math.floor(Math.log10(value)) : Math.ceil(Math.log10(value)));

function roofOf(types, intensity, { peaks, bytes_per_second: dram }) {
  const compute = peaks.find(([name]) => name === (types || "vector, 32 bits"));
  return Math.min(intensity * dram, compute ? compute[1] : Infinity);
}

function pointRow(point, roofline) {
  const [name, op, types, intensity, compulsory, rate, busy] = point;
  const share = shareText(busy / roofOf(types, intensity ?? Infinity, roofline));
  const [moved, least] = [intensity, compulsory].map(number => number?.toPrecision(4) ?? "no DRAM");
  return [`@${name}`, op, types || "vector", moved, least, quantity(rate, "ops/s"), quantity(busy, "ops/s"), share];
}

function drawGrid(svg, { x, y, left, right, low, high, width }) {
  for (let at = left; at <= right * 1.01; at *= 10) {
    shape(svg, "line", { x1: x(at), x2: x(at), y1: y(low), y2: y(high), stroke: "var(--line)" });
    label(svg, x(at), y(low) + 14, `${+at.toPrecision(3)}`, { class: "soft", "text-anchor": "middle" });
  }
  for (let at = low; at <= high * 1.01; at *= 10) {
    shape(svg, "line", { x1: x(left), x2: x(right), y1: y(at), y2: y(at), stroke: "var(--line)" });
    label(svg, ROOF_LEFT - 6, y(at) + 4, quantity(at, "ops/s"), { class: "soft", "text-anchor": "end" });
  }
  const middle = { class: "soft", "text-anchor": "middle" };
  label(svg, (width + ROOF_LEFT) / 2, ROOF_HIGH - 4, "operations per byte of DRAM", middle);
}

// Returns the boxes of the lines, and of what is written beside them: other texts have no room there.
function drawRoofs(svg, { x, y, left, right, low, width }, dram, roofs) {
  const most = Math.max(...roofs.map(([, rate]) => rate)), from = Math.max(left, low / dram);
  const line = { class: "roof", stroke: "var(--ink)", "stroke-width": 1.5 };
  const said = `DRAM: ${quantity(dram, "B/s")}`, [x1, x2, y1, y2] = [x(from), x(most / dram), y(from * dram), y(most)];
  shape(svg, "line", { x1, y1, x2, y2, ...line }, said);
  const slope = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI;
  const along = `translate(${(x1 + x2) / 2} ${(y1 + y2) / 2}) rotate(${slope})`;
  label(svg, 0, -5, said, { transform: along, "text-anchor": "middle" });  // above is nothing else
  const byRate = [...roofs].sort((a, b) => b[1] - a[1]);
  const taken = byRate.map(([, rate]) => ({ left: x(rate / dram), right: x(right), top: y(rate), bottom: y(rate) }));
  byRate.forEach(([name, rate], i) => {
    const said = `${name}: ${quantity(rate, "ops/s")}`, own = y(rate);
    shape(svg, "line", { x1: x(rate / dram), y1: own, x2: x(right), y2: own, ...line }, said);
    const at = i && own - y(byRate[i - 1][1]) < LINE + 4 ? own + LINE + 1 : own - 4;
    // Pointing at a line tells as well, where there is no room on it.
    for (let end = width - ROOF_RIGHT - 4; end - LETTER * said.length > x(rate / dram); end -= LETTER) {
      const box = boxOf(end - LETTER * said.length, at, said);
      if (taken.some(one => overlap(one, box))) continue;
      taken.push(box);
      return label(svg, end, at, said, { "text-anchor": "end" });
    }
  });
  return taken;
}

// Where a text beginning at `left` stands, its line at `at`.
const boxOf = (left, at, text) => ({ left, right: left + LETTER * text.length, top: at - 9, bottom: at + 2 });
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top <= b.bottom && b.top <= a.bottom;

function drawPoint(svg, { x, y, width, taken }, point, isLabelled, open) {
  const [name, op, types, intensity, compulsory, rate, busy] = point;
  const colour = `var(--${op ? "control" : types ? "compute" : "send"})`;
  const moved = intensity === null ? "needs no DRAM" : `${intensity.toPrecision(4)} operations per byte, `
    + `${compulsory.toPrecision(4)} without moving anything twice`;
  const rates = `${quantity(busy, "ops/s")}, ${quantity(rate, "ops/s")} with the launch`;
  const title = `@${name} ${op}\n${moved}\n${rates}`;
  const group = shape(svg, "g", { class: "point", "data-run": name }, title);
  shape(group, "line", { x1: x(intensity), x2: x(compulsory), y1: y(busy), y2: y(busy), stroke: colour });
  const dashed = { stroke: colour, "stroke-dasharray": "2 3" };
  shape(group, "line", { x1: x(intensity), x2: x(intensity), y1: y(busy), y2: y(rate), ...dashed });
  shape(group, "circle", { cx: x(intensity), cy: y(rate), r: 4, fill: "var(--back)", stroke: colour });
  shape(group, "circle", { cx: x(intensity), cy: y(busy), r: 5, fill: colour, stroke: "var(--back)" });
  const atEdge = x(intensity) > width - LABEL_ROOM, beside = { "text-anchor": atEdge ? "end" : "start" };
  const text = op || `@${name}`, side = x(intensity) + (atEdge ? -8 : 8);
  if (isLabelled) {
    const left = atEdge ? side - LETTER * text.length : side;
    label(group, side, freeBeside(taken, left, y(busy), text), text, beside);
  }
  group.addEventListener("click", () => open(name));
}

// The line nearest to a point at `y` where a text beginning at `left` covers nothing that is there.
function freeBeside(taken, left, y, text) {
  const lines = [...Array(12).keys()].flatMap(i => [y - 6 - i * LINE, y + 15 + i * LINE]);
  const isFree = at => at > LINE && at < ROOF_HIGH - ROOF_BELOW
    && !taken.some(one => overlap(one, boxOf(left, at, text)));
  const at = lines.find(isFree) ?? lines[0];
  taken.push(boxOf(left, at, text));
  return at;
}
