// The timeline on the screen: what is shown, what is selected, and what the mouse and the boxes do.
const now = { timeline: null, chosen: null };

function setTimeline(timeline) {
  now.timeline = timeline;
  view.whole = timeline.cycles || 1;
  setLanes(timeline.lanes);
  setMemories(timeline.memories);
  setSearch(timeline, search.text);
  byId("found").textContent = foundText();
  byId("timeline-note").textContent = noteOf(timeline);
  choose(null);
  fitShown();
}

function noteOf(timeline) {
  const count = timeline.lanes.reduce((sum, lane) => sum + lane.ends.length, 0);
  const all = timeText(timeline.cycles, timeline.perUs);
  if (timeline.isWhole) return `All ${count} events of ${all}.`;
  const shown = timeline.shown.reduce((sum, [begin, end]) => sum + end - begin, 0);
  return `${count} events, ${shareText(shown / timeline.cycles)} of ${all} (underlined in the overview); `
    + "npuflow run --window=1ms:1.2ms shows another part event by event.";
}

// What is kept event by event: all of it, or from its beginning to its end.
function fitShown() {
  const { shown, cycles, isWhole } = now.timeline;
  if (isWhole || !shown.length) show(0, cycles);
  else show(shown[0][0], shown[shown.length - 1][1]);
}

function paint() {
  const { timeline } = now, lanes = byId("lanes"), total = HEAD + ROW * rows.list.length + 4;
  lanes.style.height = `${Math.min(total, Math.max(220, Math.round(window.innerHeight * 0.6)))}px`;
  view.width = lanes.clientWidth;
  const height = lanes.clientHeight, pen = cleared(byId("timeline"), view.width, height);
  byId("filler").style.height = `${Math.max(0, total - height)}px`;
  const first = Math.floor(lanes.scrollTop / ROW), offset = lanes.scrollTop - first * ROW;
  const last = Math.min(rows.list.length, first + Math.ceil(height / ROW) + 1);
  const bottom = Math.min(height, HEAD + (rows.list.length - first) * ROW - offset);
  paintAxis(pen, timeline, bottom);
  const unknown = unknownPlaces(timeline), topOf = i => HEAD + (i - first) * ROW - offset;
  pen.fillStyle = ink("panel");
  for (let i = first; i < last; i++) if (!rows.list[i].lane) pen.fillRect(0, topOf(i), view.width, ROW - 1);
  paintUnknown(pen, unknown, HEAD, bottom);
  let drawn = 0;
  for (let i = first; i < last; i++) drawn += paintRow(pen, rows.list[i], topOf(i));
  paintUnknownText(pen, unknown, HEAD, bottom);
  paintHead(pen, timeline);
  byId("timeline").setAttribute("data-drawn", drawn);
  const count = rows.lanes.length;
  byId("filtered").textContent = rows.filter.trim() ? `${rows.left} of ${count}` : `${count} rows`;
  paintOverview(timeline);
  paintMemory();
}

function paintHead(pen, timeline) {
  pen.fillStyle = ink("back");
  pen.fillRect(0, 0, view.width, HEAD - 1);
  paintAxis(pen, timeline, AXIS);
  pen.fillStyle = ink("soft");
  pen.fillText("run", 4, AXIS + 12);
  paintPhases(pen, timeline, AXIS, PHASES - 3);
}

function paintRow(pen, row, top) {
  const style = { words: now.timeline.words, chosen: now.chosen, matches: search.matches, named: true };
  if (row.lane) {
    pen.fillStyle = ink("soft");
    clippedText(pen, row.lane.name, 18, top);
    return paintLane(pen, row.lane, top + 1, ROW - 3, style);
  }
  pen.fillStyle = ink("ink");
  clippedText(pen, `${row.isOpen ? "\u25be" : "\u25b8"} ${row.group} (${row.lanes.length})`, 4, top);
  if (row.isOpen) return 0;
  // Closed: what computes above, what moves data below.
  const half = (ROW - 3) / 2, closed = { ...style, named: false, skipWaits: true };
  return row.lanes.reduce((sum, lane) =>
    sum + paintLane(pen, lane, top + 1 + (lane.place[3] ? half : 0), half, closed), 0);
}

function clippedText(pen, text, left, top) {
  pen.save();
  pen.beginPath();
  pen.rect(0, top, LABEL - 6, ROW);
  pen.clip();
  pen.fillText(text, left, top + 11.5);
  pen.restore();
}

function choose(slice) {
  now.chosen = slice;
  byId("chosen").textContent = slice ? textOf(slice) : "Nothing is selected: a click on a slice selects it.";
}

function textOf({ lane, index }) {
  const { words, perUs } = now.timeline, [name, , step, bytes] = words[lane.words[index]];
  const begin = lane.begins[index], cycles = lane.ends[index] - begin;
  const moved = bytes ? `, ${bytesText(bytes)}, ${(bytes / cycles).toFixed(2)} bytes per cycle` : "";
  const what = step === name ? name : `${name} (${step})`;
  return `${lane.name}: ${what}, at ${timeText(begin, perUs)} for ${timeText(cycles, perUs)}, ${cycles} cycles${moved}`;
}

function rowAt(event) {
  const box = byId("timeline").getBoundingClientRect(), y = event.clientY - box.top;
  return y < HEAD ? null : rows.list[Math.floor((y - HEAD + byId("lanes").scrollTop) / ROW)] || null;
}

function sliceAt(event) {
  const row = rowAt(event), x = event.clientX - byId("timeline").getBoundingClientRect().left;
  if (!row || x < LABEL) return null;
  const slack = (view.to - view.from) / (view.width - LABEL), cycle = cycleAt(x);
  for (const lane of row.lane ? [row.lane] : row.isOpen ? [] : row.lanes) {
    const index = lane.firstBehind(cycle - slack);
    if (index < lane.ends.length && lane.begins[index] <= cycle + slack) return { lane, index };
  }
  return null;
}

// Selects a slice and brings it onto the screen.
function reveal(slice) {
  choose(slice);
  const row = rowOf(slice.lane), lanes = byId("lanes");
  if (row >= 0) lanes.scrollTop = Math.max(0, (row + 1) * ROW - (lanes.clientHeight - HEAD) / 2);
  const begin = slice.lane.begins[slice.index], end = slice.lane.ends[slice.index];
  const middle = (begin + end) / 2, half = (view.to - view.from) / 2;
  if (begin < view.from || end > view.to) show(middle - half, middle + half);
  else view.changed();
}

function goTo(step) {
  const hit = nextHit(step);
  if (hit) reveal(hit);
  byId("found").textContent = foundText();
}

function listenToTimeline() {
  const canvas = byId("timeline"), lanes = byId("lanes");
  let grabbed = null;
  view.changed = paint;
  lanes.addEventListener("scroll", paint);
  window.addEventListener("resize", paint);
  canvas.addEventListener("wheel", event => {
    if (event.deltaX && !event.deltaY) pan(Math.sign(event.deltaX) * 0.1);
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, cycleAt(Math.max(LABEL, event.clientX - canvas.getBoundingClientRect().left)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => {
    grabbed = { x: event.clientX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
    lanes.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    view.pointer = event.clientX - box.left;
    if (!grabbed) return showTip(event, tipOf(event));
    grabbed.moved = grabbed.moved || Math.abs(event.clientX - grabbed.x) > 3;
    const by = (grabbed.x - event.clientX) * (grabbed.to - grabbed.from) / (view.width - LABEL);
    if (grabbed.moved) show(grabbed.from + by, grabbed.to + by);
  });
  canvas.addEventListener("pointerup", event => {
    if (grabbed && !grabbed.moved) click(event);
    grabbed = null;
  });
  canvas.addEventListener("pointercancel", () => { grabbed = null; });
  canvas.addEventListener("pointerleave", event => {
    view.pointer = undefined;
    showTip(event, "");
  });
  canvas.addEventListener("dblclick", fitShown);
  listenToBoxes();
}

function tipOf(event) {
  const slice = sliceAt(event), phase = phaseAt(event);
  if (slice) return textOf(slice);
  return phase ? `${phase.name}: ${timeText(phase.end - phase.begin, now.timeline.perUs)}` : "";
}

function phaseAt(event) {
  const box = byId("timeline").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  if (y < AXIS || y >= HEAD || x < LABEL) return undefined;
  return now.timeline.phases.find(one => one.begin <= cycleAt(x) && cycleAt(x) <= one.end);
}

function click(event) {
  const row = rowAt(event), x = event.clientX - byId("timeline").getBoundingClientRect().left, phase = phaseAt(event);
  if (phase) return show(phase.begin, phase.end);
  if (row && row.group !== undefined && (x < LABEL || row.isOpen)) toggle(row.group);
  else choose(sliceAt(event));
  paint();
}

function listenToBoxes() {
  const on = (id, kind, does) => byId(id).addEventListener(kind, event => {
    does(event.target);
    paint();
  });
  const again = () => {
    setSearch(now.timeline, search.text);
    byId("found").textContent = foundText();
  };
  on("filter", "input", box => {
    rows.filter = box.value;
    layRows();
    again();
  });
  on("search", "input", box => {
    search.text = box.value;
    again();
  });
  on("grouping", "change", box => {
    rows.grouping = box.value;
    openFirst();
  });
  on("collapse", "click", () => openAll(false));
  on("expand", "click", () => openAll(true));
  on("whole", "click", () => show(0, view.whole));
  on("previous", "click", () => goTo(-1));
  on("next", "click", () => goTo(1));
}
