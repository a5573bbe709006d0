// The timeline's canvas: an axis and phases that stay on top, under them the rows that are scrolled to.
const ROW = 16, AXIS = 20, PHASES = 18, HEAD = AXIS + PHASES;
const KINDS = {
  compute: "kernel", send: "send", receive: "receive", control: "control", acquire: "wait", launch: "launch",
};
const colourOf = kind => (kind === "acquire" ? "wait" : kind);

// Slices narrower than a pixel are drawn once per pixel. Returns how many were drawn.
function paintLane(pen, lane, top, height, style) {
  const { words, chosen, matches } = style;
  let drawn = 0;
  for (let i = lane.firstBehind(view.from); i < lane.ends.length && lane.begins[i] < view.to; i++) {
    const left = Math.max(placeOf(lane.begins[i]), LABEL), right = Math.min(placeOf(lane.ends[i]), view.width);
    const [name, kind] = words[lane.words[i]], isThin = kind === "acquire";
    if (isThin && style.skipWaits) continue;
    pen.globalAlpha = matches && !matches[lane.words[i]] ? 0.25 : 1;
    pen.fillStyle = ink(colourOf(kind));
    const wide = right - left > 4 ? right - left - 1 : Math.max(right - left, 0.75); // neighbours stay apart
    pen.fillRect(left, isThin ? top + height / 2 - 1.5 : top, wide, isThin ? 3 : height);
    if (kind === "launch") paintHatch(pen, left, top, wide, height, ink("on-launch"));
    if (!isThin && style.named && wide > 30) paintName(pen, name, left, top, wide, ink(`on-${colourOf(kind)}`));
    if (chosen && chosen.lane === lane && chosen.index === i) paintFrame(pen, left, top, wide, height);
    drawn += 1;
    if (right - left < 0.5) i = Math.max(i, lane.firstBehind(cycleAt(left + 0.75), i) - 1);
  }
  pen.globalAlpha = 1;
  return drawn;
}

function paintName(pen, text, left, top, wide, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, wide - 3, ROW + 2);
  pen.clip();
  pen.fillStyle = colour;
  pen.fillText(text, left + 4, top + 10.5);
  pen.restore();
}

function paintFrame(pen, left, top, wide, height) {
  pen.globalAlpha = 1;
  pen.lineWidth = 2;
  pen.strokeStyle = ink("ink");
  pen.strokeRect(left - 1, top - 1, wide + 2, height + 2);
  pen.lineWidth = 1;
}

function paintHatch(pen, left, top, wide, height, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, wide, height);
  pen.clip();
  pen.globalAlpha *= 0.3;
  pen.strokeStyle = colour;
  pen.beginPath();
  for (let x = left - (left % 8) - height; x < left + wide; x += 8) {
    pen.moveTo(x, top + height);
    pen.lineTo(x + height, top);
  }
  pen.stroke();
  pen.restore();
}

function paintAxis(pen, timeline, bottom) {
  pen.fillStyle = ink("soft");
  pen.strokeStyle = ink("line");
  for (const at of marks(view.from / timeline.perUs, view.to / timeline.perUs, (view.width - LABEL) / 110)) {
    const place = Math.round(placeOf(at * timeline.perUs)) + 0.5;
    if (place < LABEL) continue;
    pen.beginPath();
    pen.moveTo(place, AXIS - 6);
    pen.lineTo(place, bottom);
    pen.stroke();
    pen.fillText(quantity(+at.toPrecision(9) / 1e6, "s"), place + 3, 13);
  }
}

function paintPhases(pen, timeline, top, height) {
  for (const { kind, name, begin, end } of timeline.phases) {
    const left = Math.max(placeOf(begin), LABEL), right = Math.min(placeOf(end), view.width);
    if (right <= left) continue;
    pen.fillStyle = ink(kind);
    pen.fillRect(left, top, right - left, height);
    if (right - left < 4) continue;
    if (kind !== "part") paintHatch(pen, left, top, right - left, height, ink(`on-${kind}`));
    pen.strokeStyle = ink("soft");
    pen.strokeRect(left + 0.5, top + 0.5, Math.max(right - left - 1, 0.5), height - 1);
    const text = kind === "part" ? name : `${name} ${timeText(end - begin, timeline.perUs)}`;
    if (right - left > 24) paintName(pen, text, left, top, right - left, ink(`on-${kind}`));
  }
}

// Where no events are kept the rows are empty, which must not look like idleness: from left to right, on the screen.
function unknownPlaces(timeline) {
  const places = timeline.unknown.filter(([begin, end]) => end > view.from && begin < view.to)
    .map(([begin, end]) => [Math.max(placeOf(begin), LABEL), Math.min(placeOf(end), view.width)]);
  return places.filter(([left, right]) => right - left >= 1);
}

function paintUnknown(pen, places, top, bottom) {
  for (const [left, right] of places) {
    pen.fillStyle = ink("panel");
    pen.fillRect(left, top, right - left, bottom - top);
    paintHatch(pen, left, top, right - left, bottom - top, ink("soft"));
  }
}

// On top of the rows.
function paintUnknownText(pen, places, top, bottom) {
  const text = "not kept event by event: npuflow run --window shows it", wide = pen.measureText(text).width + 12;
  for (const [left, right] of places) {
    if (right - left < wide + 8) continue;
    const x = (left + right - wide) / 2, y = (top + bottom) / 2 - ROW / 2;
    pen.fillStyle = ink("back");
    pen.fillRect(x, y, wide, ROW + 4);
    pen.fillStyle = ink("ink");
    pen.fillText(text, x + 6, y + 14);
  }
}
