// From the page's data to what is drawn: calls one behind the other, each engine's slices in arrays.
// Of a sequence whose parts are called often, so many slices are kept; what is later is in the overview alone.
const MOST_SLICES = 2000000;
const COLUMNS = 600; // of the overview, however many calls there are

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
  const made = { cycles, perUs, words: [], phases: [], shown: [], unknown: [], uncounted: [], shares: new Map() };
  const lanes = new Map(), memories = new Map(), wordsOf = new Map();
  let end = 0, room = MOST_SLICES;
  for (const [one, begin] of calls) {
    const data = one.timeline, size = data.engines.reduce((sum, engine) => sum + engine[4].length / 3, 0);
    addPhases(made.phases, one, begin, end);
    end = begin + data.cycles;
    addShares(made.shares, data, begin / cycles, data.cycles / cycles);
    if (data.overview.known < data.cycles) made.uncounted.push([begin + data.overview.known, end]);
    if (size > room) {
      made.unknown.push([begin, end]);
      continue;
    }
    room -= size;
    if (!wordsOf.has(one)) {
      wordsOf.set(one, made.words.length);
      for (const word of data.words) made.words.push(word);
    }
    if (data.covered > data.begin) made.shown.push([begin + data.begin, begin + data.covered]);
    if (data.begin > 0) made.unknown.push([begin, begin + data.begin]);
    if (data.covered < data.cycles) made.unknown.push([begin + data.covered, end]);
    for (const engine of data.engines) addSlices(lanes, engine, begin, wordsOf.get(one));
    for (const memory of data.memories) addHeld(memories, memory, begin);
  }
  const all = [...lanes.values()].sort((a, b) => compared(a.place, b.place));
  made.isWhole = !made.unknown.length;
  made.kinds = [...new Set([...all.map(lane => lane.kind), ...made.shares.keys()])];
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

// What a call's pieces have in each column of the overview; place and length are shares of the whole run.
function addShares(shares, data, begin, length) {
  for (const [kind, pieces] of Object.entries(data.overview.shares)) {
    if (!shares.has(kind)) shares.set(kind, new Float64Array(COLUMNS));
    const columns = shares.get(kind), each = length * COLUMNS / pieces.length;
    pieces.forEach((share, i) => {
      const from = begin * COLUMNS + i * each, to = Math.min(COLUMNS, from + each);
      for (let column = Math.floor(from); share && column < to; column++)
        columns[column] += share * (Math.min(to, column + 1) - Math.max(from, column));
    });
  }
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
