// The whole run: a strip for each kind of engine, as strong as it is busy, and a frame around what is on the screen.
const STRIP = 11, OVERVIEW_HEAD = 16;

// Kinds of engines that do anything, in the order of the rows.
function kindsOf(timeline) {
  return timeline.kinds.filter(kind => (timeline.shares.get(kind) || []).some(Boolean));
}

function paintOverview(timeline) {
  const canvas = byId("overview"), kinds = kindsOf(timeline);
  const height = OVERVIEW_HEAD + STRIP * kinds.length + 4, room = view.width - LABEL;
  const pen = cleared(canvas, view.width, height), x = cycle => LABEL + cycle / timeline.cycles * room;
  kinds.forEach((kind, row) => {
    const top = OVERVIEW_HEAD + row * STRIP;
    pen.fillStyle = ink("soft");
    pen.fillText(kind, 4, top + 9);
    paintStrip(pen, timeline.shares.get(kind), top, room);
  });
  for (const [begin, end] of timeline.uncounted)
    paintHatch(pen, x(begin), OVERVIEW_HEAD, x(end) - x(begin), height - OVERVIEW_HEAD, ink("soft"));
  for (const { kind, begin, end } of timeline.phases) {
    const left = x(begin), wide = x(end) - left;
    pen.fillStyle = ink(kind);
    pen.fillRect(left, 2, Math.max(wide, 0.5), OVERVIEW_HEAD - 5);
    if (kind !== "part" && wide > 4) paintHatch(pen, left, 2, wide, OVERVIEW_HEAD - 5, ink(`on-${kind}`));
  }
  pen.fillStyle = ink("soft");
  pen.fillText(timeText(timeline.cycles, timeline.perUs), 4, 11);
  paintDetail(pen, timeline, x);
  pen.strokeStyle = ink("ink");
  pen.lineWidth = 2;
  pen.strokeRect(x(view.from), 1, Math.max(x(view.to) - x(view.from), 3), height - 2);
  pen.lineWidth = 1;
  canvas.setAttribute("data-kinds", kinds.length);
}

function paintStrip(pen, shares, top, room) {
  const wide = room / shares.length;
  shares.forEach((share, i) => {
    if (!share) return;
    pen.fillStyle = `rgba(${ink("busy")}, ${(0.15 + 0.85 * Math.min(1, share / 100)).toFixed(2)})`;
    pen.fillRect(LABEL + i * wide, top + 1, wide, STRIP - 2);
  });
}

// A line under what is kept event by event, where that isn't all.
function paintDetail(pen, timeline, x) {
  pen.fillStyle = ink("accent");
  for (const [begin, end] of timeline.shown)
    pen.fillRect(x(begin), OVERVIEW_HEAD - 3, Math.max(x(end) - x(begin), 2), 2);
}

function listenToOverview() {
  const canvas = byId("overview");
  let grabbed = null;
  const cycle = event =>
    (event.clientX - canvas.getBoundingClientRect().left - LABEL) / (view.width - LABEL) * view.whole;
  canvas.addEventListener("pointerdown", event => {
    const at = cycle(event);
    grabbed = { at, from: view.from, to: view.to, moves: at >= view.from && at <= view.to };
    canvas.setPointerCapture(event.pointerId);
    if (!grabbed.moves) show(at - (view.to - view.from) / 2, at + (view.to - view.from) / 2);
  });
  canvas.addEventListener("pointermove", event => {
    if (!grabbed) return;
    const at = cycle(event), by = at - grabbed.at;
    if (grabbed.moves) show(grabbed.from + by, grabbed.to + by);
    else if (Math.abs(by) > view.whole / 200) show(Math.min(at, grabbed.at), Math.max(at, grabbed.at));
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { grabbed = null; });
}
