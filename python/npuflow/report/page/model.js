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

// The cycles at a function's beginning that a call doesn't have: of a phase without a launch of its own, those of one.
function cutOf([one, , launched]) {
  return launched ? 0 : one.timeline.launch;
}

function endOf(call) {
  return call[1] + call[0].timeline.cycles - cutOf(call);
}

// `calls` are [function, first cycle, whether it is launched], in order; gaps between them are changes of parts.
function timelineOf(calls, cycles) {
  const perUs = calls[0][0].timeline.cycles_per_us;
  const made = { cycles, perUs, words: [], phases: [], shown: [], unknown: [], uncounted: [], shares: new Map() };
  const lanes = new Map(), memories = new Map(), wordsOf = new Map();
  let end = 0, room = MOST_SLICES;
  for (const call of calls) {
    const [one, first] = call, data = one.timeline, cut = cutOf(call), begin = first - cut;
    const size = data.engines.reduce((sum, engine) => sum + engine[4].length / 3, 0);
    addPhases(made.phases, one, first, data.launch - cut, end);
    end = endOf(call);
    addShares(made.shares, data, cut, begin / cycles, data.cycles / cycles);
    if (data.overview.known < data.cycles) made.uncounted.push([begin + data.overview.known, end]);
    if (size > room) {
      made.unknown.push([first, end]);
      continue;
    }
    room -= size;
    if (!wordsOf.has(one)) {
      wordsOf.set(one, made.words.length);
      for (const word of data.words) made.words.push(word);
    }
    const from = Math.max(cut, data.begin);
    if (data.covered > from) made.shown.push([begin + from, begin + data.covered]);
    if (data.begin > cut) made.unknown.push([first, begin + data.begin]);
    if (data.covered < data.cycles) made.unknown.push([begin + data.covered, end]);
    for (const engine of data.engines) addSlices(lanes, engine, begin, first, wordsOf.get(one));
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

function addPhases(phases, one, begin, launch, before) {
  if (begin > before + 1) phases.push({ kind: "change", name: "change", begin: before, end: begin });
  if (launch) phases.push({ kind: "launch", name: "launch", begin, end: begin + launch });
  const work = one.timeline.cycles - one.timeline.launch;
  phases.push({ kind: "part", name: `@${one.name}`, begin: begin + launch, end: begin + launch + work });
}

// What a call's pieces have in each column of the overview, those of the first `cut` cycles left out; place and length
// are shares of the whole run.
function addShares(shares, data, cut, begin, length) {
  for (const [kind, pieces] of Object.entries(data.overview.shares)) {
    if (!shares.has(kind)) shares.set(kind, new Float64Array(COLUMNS));
    const columns = shares.get(kind), each = length * COLUMNS / pieces.length;
    const first = (begin + length * cut / data.cycles) * COLUMNS;
    pieces.forEach((share, i) => {
      const at = begin * COLUMNS + i * each, from = Math.max(first, at), to = Math.min(COLUMNS, at + each);
      for (let column = Math.floor(from); share && column < to; column++)
        columns[column] += share * (Math.min(to, column + 1) - Math.max(from, column));
    });
  }
}

// What ends before the call's `first` cycle is a launch that it doesn't have.
function addSlices(lanes, [name, tile, kind, place, row], begin, first, firstWord) {
  if (!lanes.has(name)) lanes.set(name, new Lane(name, tile, kind, place));
  const lane = lanes.get(name);
  for (let i = 0, at = begin; i < row.length; i += 3) {
    const from = at + row[i + 1];
    at = from + row[i + 2];
    if (at <= first && from < first) continue;
    lane.words.push(firstWord + row[i]);
    lane.begins.push(Math.max(first, from));
    lane.ends.push(at);
  }
}

// What parts hand over, in DRAM or memory tiles, as memories.
function heldBetween(memories, perUs) {
  return memories.map(({ name, size, held }) => {
    const memory = { name, size, top: 1, bottom: size, held: [] };
    for (const [tensor, address, bytes, begin, end] of held) {
      hold(memory, { tensor, address, bytes, begin: begin * perUs, end: end * perUs });
    }
    return memory;
  });
}

function addHeld(memories, { name, size, tensors, held }, begin) {
  if (!memories.has(name)) memories.set(name, { name, size, top: 1, bottom: size, held: [] });
  const memory = memories.get(name);
  for (let i = 0, at = begin; i < held.length; i += 5) {
    at += held[i + 3];
    const [tensor, address, bytes, , cycles] = held.slice(i, i + 5);
    hold(memory, { tensor: tensors[tensor], address, bytes, begin: at, end: at + cycles });
  }
}

function hold(memory, block) {
  memory.held.push(block);
  memory.top = Math.max(memory.top, block.address + block.bytes);
  memory.bottom = Math.min(memory.bottom, block.address);
}
