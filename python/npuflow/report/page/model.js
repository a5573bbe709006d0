// From the page's data to what is drawn: calls one behind the other, each engine's slices in arrays.
// Of a sequence whose parts are called often, so many slices are kept; what is later is in the overview alone.
const MOST_SLICES = 2000000;

class Lane {
  constructor(name, tile, kind, place) {
    Object.assign(this, { name, tile, kind, place, begins: [], ends: [], words: [] });
  }

  // The first slice that ends behind a cycle.
  firstBehind(cycle, low = 0) {
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] > cycle) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

// `calls` are [function, first cycle], in order; gaps between them are changes from one part to another.
function timelineOf(calls, cycles) {
  const perUs = calls[0][0].timeline.cycles_per_us;
  const made = { cycles, perUs, isWhole: true, words: [], phases: [], shown: [], overview: [] };
  const lanes = new Map(), memories = new Map(), wordsOf = new Map();
  let end = 0, room = MOST_SLICES;
  for (const [one, begin] of calls) {
    const data = one.timeline, size = data.engines.reduce((sum, engine) => sum + engine[4].length / 3, 0);
    addPhases(made.phases, one, begin, end);
    end = begin + data.cycles;
    made.overview.push({ begin, end, known: begin + data.overview.known, shares: data.overview.shares });
    if (size > room || data.begin > 0 || data.covered < data.cycles) made.isWhole = false;
    if (size > room) continue;
    room -= size;
    if (!wordsOf.has(one)) {
      wordsOf.set(one, made.words.length);
      for (const word of data.words) made.words.push(word);
    }
    if (data.covered > data.begin) made.shown.push([begin + data.begin, begin + data.covered]);
    for (const engine of data.engines) addSlices(lanes, engine, begin, wordsOf.get(one));
    for (const memory of data.memories) addHeld(memories, memory, begin);
  }
  const all = [...lanes.values()].sort((a, b) => compared(a.place, b.place));
  made.kinds = [...new Set(all.map(lane => lane.kind))];
  made.lanes = all.filter(lane => lane.ends.length);
  made.memories = [...memories.values()];
  return made;
}

function compared(a, b) {
  const differing = a.findIndex((number, i) => number !== b[i]);
  return differing < 0 ? 0 : a[differing] - b[differing];
}

function addPhases(phases, one, begin, before) {
  const { launch, cycles } = one.timeline;
  if (begin > before + 1) phases.push({ kind: "change", name: "change", begin: before, end: begin });
  if (launch) phases.push({ kind: "launch", name: "launch", begin, end: begin + launch });
  phases.push({ kind: "part", name: `@${one.name}`, begin: begin + launch, end: begin + cycles });
}

function addSlices(lanes, [name, tile, kind, place, row], begin, firstWord) {
  if (!lanes.has(name)) lanes.set(name, new Lane(name, tile, kind, place));
  const lane = lanes.get(name);
  for (let i = 0, at = begin; i < row.length; i += 3) {
    lane.words.push(firstWord + row[i]);
    lane.begins.push(at + row[i + 1]);
    at += row[i + 1] + row[i + 2];
    lane.ends.push(at);
  }
}

function addHeld(memories, { name, size, tensors, held }, begin) {
  if (!memories.has(name)) memories.set(name, { name, size, top: 1, held: [] });
  const memory = memories.get(name);
  for (let i = 0, at = begin; i < held.length; i += 5) {
    at += held[i + 3];
    const [tensor, address, bytes, , cycles] = held.slice(i, i + 5);
    memory.held.push({ tensor: tensors[tensor], address, bytes, begin: at, end: at + cycles });
    memory.top = Math.max(memory.top, address + bytes);
  }
}
