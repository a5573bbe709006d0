// What there is to show: each sequence as one timeline over its parts, each function or part by itself.
const RUNS = [
  ...DATA.sequences.map(one => ({ name: one.name, label: `@${one.name}: ${callsText(one)}`, sequence: one })),
  ...DATA.functions.map(one => ({ name: one.name, label: labelOf(one), function: one })),
];

function callsText({ calls }) {
  return calls.length === 1 ? "1 call of a part" : `${calls.length} calls of parts`;
}

function labelOf({ name, part_of: owner, kinds }) {
  return `${owner ? "\u2003" : ""}@${name}${kinds ? `: ${kinds}` : ""}`;
}

function callsOf(run) {
  if (run.function) return [[run.function, 0, true]];
  const byName = new Map(DATA.functions.map(one => [one.name, one]));
  return run.sequence.calls.map(([name, us, launched]) =>
    [byName.get(name), us * byName.get(name).timeline.cycles_per_us, launched]);
}

function showRun(run) {
  const one = run.function, shown = one || run.sequence, calls = callsOf(run);
  byId("run").selectedIndex = RUNS.indexOf(run);
  byId("title").textContent = byId("title").title = shown.heading;
  facts("facts", shown.facts);
  showParts(run.sequence, open);
  byId("tables").hidden = byId("places").hidden = !one;
  now.run = run;
  const timeline = timelineOf(calls, endOf(calls.at(-1)));
  if (run.sequence) timeline.memories.unshift(...heldBetween(run.sequence.between, timeline.perUs));
  setTimeline(timeline);
  showBusy(shown.busy);
  showEnergy(shown.energy);
  if (one) showTables(one);
  drawPlaces();
}

// What is drawn to the width of the window.
function drawPlaces() {
  drawRoofline(DATA.roofline, open);
  if (!now.run.function) return;
  drawArray(now.run.function.array);
  drawMemories(now.run.function.memories);
}

function open(name) {
  const run = RUNS.find(one => one.function && one.name === name);
  if (run) showRun(run);
}

for (const run of RUNS) element(byId("run"), "option", run.label);
byId("chooser").hidden = RUNS.length < 2;
byId("run").addEventListener("change", event => showRun(RUNS[event.target.selectedIndex]));
window.addEventListener("resize", drawPlaces);
legend("legend", [...Object.entries(KINDS).map(([kind, text]) => [colourOf(kind), text]), ["change", "change of part"]]
  .filter(([kind]) => kind !== "change" || DATA.sequences.length));
listenToTimeline();
listenToOverview();
listenToMemory(() => now.timeline);
listenToKeys();
listenToTheme(paint);
showRun(RUNS[0]);
