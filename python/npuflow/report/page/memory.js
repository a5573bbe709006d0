// What a memory held: addresses upward, time as in the timeline above.
const HELD_HEIGHT = 170, TENSORS = 8;

const memory = { all: [], chosen: null, colours: new Map() };

function setMemories(all) {
  const select = byId("memory"), before = memory.chosen && memory.chosen.name;
  memory.all = all;
  memory.chosen = all.find(one => one.name === before) || all[0] || null;
  memory.colours.clear();
  select.replaceChildren();
  for (const one of all) element(select, "option", one.name, one === memory.chosen ? { selected: "" } : {});
  byId("memory-section").hidden = !all.length;
}

function tensorColour(tensor) {
  if (!memory.colours.has(tensor)) memory.colours.set(tensor, `tensor-${memory.colours.size % TENSORS}`);
  return memory.colours.get(tensor);
}

function paintMemory() {
  const one = memory.chosen;
  if (!one) return;
  const pen = cleared(byId("held"), view.width, HELD_HEIGHT);
  const { top, bottom } = one;
  const y = address => HELD_HEIGHT - 4 - (address - bottom) / (top - bottom) * (HELD_HEIGHT - 12);
  pen.fillStyle = ink("soft");
  pen.strokeStyle = ink("line");
  for (const address of [bottom, (bottom + top) / 2, top]) {
    pen.fillText(`${bytesText(address)}`, 4, Math.min(HELD_HEIGHT - 4, Math.max(12, y(address) + 4)));
    pen.beginPath();
    pen.moveTo(LABEL - 4, y(address));
    pen.lineTo(view.width, y(address));
    pen.stroke();
  }
  let drawn = 0;
  for (const block of one.held) {
    const left = Math.max(placeOf(block.begin), LABEL), right = Math.min(placeOf(block.end), view.width);
    if (block.end < view.from || block.begin > view.to) continue;
    const above = y(block.address + block.bytes), high = Math.max(1, y(block.address) - above - 1);
    const wide = Math.max(right - left - 0.5, 0.75);
    pen.fillStyle = ink(tensorColour(block.tensor));
    pen.fillRect(left, above, wide, high);
    if (wide > 30 && high > 12) paintName(pen, block.tensor, left, above, wide, ink("on-tensor"));
    drawn += 1;
  }
  byId("held").setAttribute("data-drawn", drawn);
  const from = bottom ? `from ${bytesText(bottom)} ` : "";
  byId("memory-note").textContent = `addresses ${from}up to ${bytesText(top)} of ${bytesText(one.size)}; `
    + "each block from its first write to its last read";
}

function blockAt(x, y) {
  const one = memory.chosen, cycle = cycleAt(x), slack = (view.to - view.from) / (view.width - LABEL);
  const address = one.bottom + (HELD_HEIGHT - 4 - y) / (HELD_HEIGHT - 12) * (one.top - one.bottom);
  return one.held.find(block => block.begin - slack <= cycle && cycle <= block.end + slack
    && block.address <= address && address < block.address + block.bytes);
}

function listenToMemory(timelineNow) {
  const canvas = byId("held");
  byId("memory").addEventListener("change", event => {
    memory.chosen = memory.all[event.target.selectedIndex];
    paintMemory();
  });
  canvas.addEventListener("mousemove", event => {
    const box = canvas.getBoundingClientRect(), block = blockAt(event.clientX - box.left, event.clientY - box.top);
    const perUs = timelineNow().perUs;
    showTip(event, block && `${block.tensor}: bytes ${block.address} to ${block.address + block.bytes - 1}\n`
      + `${timeText(block.begin, perUs)} to ${timeText(block.end, perUs)}`);
  });
  canvas.addEventListener("mouseleave", event => showTip(event, ""));
}
