// The array: tiles where they are, as large as the window allows, and links as wide as their traffic.
const TILE_HIGH = 56, TILE_GAP = 28;

function drawArray(array) {
  const root = byId("array"), tiles = array.tiles;
  if (!tiles.length) return root.replaceChildren();
  const count = 1 + Math.max(...tiles.map(tile => tile[1])), columns = 1 + Math.max(...tiles.map(tile => tile[2]));
  const width = Math.max(300, root.clientWidth), gap = Math.min(34, width / columns / 5);
  const wide = Math.min(158, (width - gap) / columns - gap), high = wide < 60 ? 42 : TILE_HIGH;
  const place = tile => [gap + tile[2] * (wide + gap), TILE_GAP + tile[1] * (high + TILE_GAP)];
  const right = columns * (wide + gap) + gap, bottom = count * (high + TILE_GAP) + TILE_GAP;
  const svg = drawing("array", right, bottom, "the array and its traffic");
  const byName = new Map(tiles.map(tile => [tile[0], place(tile)]));
  drawLinks(svg, array.links, byName, { wide, high, gap });
  for (const tile of tiles) drawTile(svg, tile, place(tile), { wide, high }, array.links);
}

function drawLinks(svg, links, byName, { wide, high, gap }) {
  const most = links.reduce((most, link) => Math.max(most, link[2]), 1);
  for (const [from, to, bytes, text] of links) {
    const a = byName.get(from), b = byName.get(to);
    if (!a || !b) continue;
    const outward = b[1] > a[1], side = outward ? 0.8 : 0.2, bend = outward ? gap : -gap;
    const x1 = a[0] + wide * side, x2 = b[0] + wide * side;
    const y1 = outward ? a[1] + high : a[1], y2 = outward ? b[1] : b[1] + high;
    const isFar = Math.abs(a[1] - b[1]) > high + TILE_GAP + 1 && x1 === x2;
    const middle = isFar ? `C ${x1 + bend * 1.6} ${y1}, ${x2 + bend * 1.6} ${y2},` : "L";
    shape(svg, "path", { d: `M ${x1} ${y1} ${middle} ${x2} ${y2}`, fill: "none", class: "link",
      stroke: `var(--${outward ? "written" : "read"})`, "stroke-opacity": 0.6,
      "stroke-width": (1 + 5 * bytes / most).toFixed(2) }, `${from} to ${to}: ${text}`);
  }
}

function drawTile(svg, [name, , , busy, engine], [x, y], { wide, high }, links) {
  const sum = side => links.reduce((total, link) => total + (link[side] === name ? link[2] : 0), 0);
  const moved = `in ${bytesText(sum(1))}, out ${bytesText(sum(0))}`;
  const title = `${name}: ${engine} is ${shareText(busy)} busy, ${moved}`;
  shape(svg, "rect", { x, y, width: wide, height: high, rx: 4, fill: "var(--back)" });
  shape(svg, "rect", { x, y, width: wide, height: high, rx: 4, class: "tile", stroke: "var(--soft)",
    fill: `rgba(var(--busy), ${(0.45 * busy).toFixed(3)})` }, title);
  const short = name.replace("memory tile", "L2").replace("tile ", "").replace("shim", "s"), isNarrow = wide < 90;
  label(svg, x + 6, y + 17, isNarrow ? short : name, { "font-weight": 600, "pointer-events": "none" });
  label(svg, x + 6, y + 32, isNarrow ? shareText(busy) : `${shareText(busy)} busy`, { "pointer-events": "none" });
  if (wide > 140) label(svg, x + 6, y + 47, moved, { class: "soft", "pointer-events": "none" });
}
