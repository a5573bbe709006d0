// What part of the run is on the screen, in cycles, and where that is.
const LABEL = 170, LEAST_CYCLES = 4;

const view = { from: 0, to: 1, whole: 1, width: 800, changed: () => {} };

const placeOf = cycle => LABEL + (cycle - view.from) / (view.to - view.from) * (view.width - LABEL);
const cycleAt = x => view.from + (x - LABEL) / (view.width - LABEL) * (view.to - view.from);

function show(from, to) {
  const span = Math.max(LEAST_CYCLES, Math.min(to - from, view.whole));
  view.from = Math.max(0, Math.min(from, view.whole - span));
  view.to = view.from + span;
  view.changed();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function pan(share) {
  const by = share * (view.to - view.from);
  show(view.from + by, view.to + by);
}

// Both ends with some room beside them.
function fit(begin, end) {
  const room = Math.max(2, (end - begin) * 0.1);
  show(begin - room, end + room);
}
