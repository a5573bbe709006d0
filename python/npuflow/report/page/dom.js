// Elements, and drawings made of them.
const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);

function element(parent, name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return parent.appendChild(made);
}

function shape(parent, name, attributes, title) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (title !== undefined) made.appendChild(document.createElementNS(SVG, "title")).textContent = title;
  return parent.appendChild(made);
}

function label(parent, x, y, text, attributes = {}) {
  shape(parent, "text", { x, y, ...attributes }).textContent = text;
}

// A drawing as wide as its place.
function drawing(id, width, height, title) {
  const root = byId(id);
  root.replaceChildren();
  return shape(root, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title });
}

function table(id, heads, rows, left) {
  const made = byId(id), side = i => (left.includes(i) ? { class: "left" } : {});
  made.replaceChildren();
  const head = element(made, "tr");
  heads.forEach((text, i) => element(head, "th", text, side(i)));
  for (const row of rows) {
    const line = element(made, "tr");
    row.forEach((text, i) => element(line, "td", text, side(i)));
  }
}

function facts(id, pairs) {
  const made = byId(id);
  made.replaceChildren();
  for (const [name, text] of pairs) {
    element(made, "dt", name);
    element(made, "dd", text);
  }
}

function legend(id, entries) {
  const made = byId(id);
  made.replaceChildren();
  for (const [colour, text] of entries) {
    const item = element(made, "span");
    element(item, "i", "", { style: `background:var(--${colour})` });
    item.append(text);
  }
}

// A canvas of a size in CSS pixels, cleared; what is drawn on it is as sharp as the screen.
function cleared(canvas, width, height) {
  const scale = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.height = `${height}px`;
  canvas.style.width = `${width}px`;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = ink("back");
  pen.fillRect(0, 0, width, height);
  return pen;
}

function showTip(event, text) {
  const tip = byId("tip");
  tip.style.display = text ? "block" : "none";
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8))}px`;
}
