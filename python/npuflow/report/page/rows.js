// The rows of the timeline: groups that open and close, lanes in them, and which of both a filter leaves.
const MOST_OPEN = 60; // lanes that are shown at first; of more, only the first group is open

const rows = { lanes: [], list: [], open: new Set(), grouping: "tile", filter: "" };

function setLanes(lanes) {
  rows.lanes = lanes;
  openFirst();
}

function openFirst() {
  const names = [...grouped().keys()];
  rows.open = new Set(rows.lanes.length > MOST_OPEN ? names.slice(0, 1) : names);
  layRows();
}

function grouped() {
  const groups = new Map();
  for (const lane of rows.lanes) {
    const name = rows.grouping === "tile" ? lane.tile : lane.kind;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(lane);
  }
  return groups;
}

const wordsIn = text => text.toLowerCase().split(/\s+/).filter(Boolean);
const hasAll = (text, words) => words.every(word => text.toLowerCase().includes(word));

// Fills `rows.list`; all groups are open while there is a filter.
function layRows() {
  const words = wordsIn(rows.filter);
  rows.list = [];
  rows.left = 0;
  for (const [name, all] of grouped()) {
    const lanes = all.filter(lane => hasAll(`${lane.tile} ${lane.kind} ${lane.name}`, words));
    if (!lanes.length) continue;
    const isOpen = words.length > 0 || rows.open.has(name);
    rows.list.push({ group: name, lanes, isOpen, size: all.length });
    if (isOpen) for (const lane of lanes) rows.list.push({ lane });
    rows.left += lanes.length;
  }
}

function toggle(group) {
  if (!rows.open.delete(group)) rows.open.add(group);
  layRows();
}

function openAll(isOpen) {
  rows.open = new Set(isOpen ? grouped().keys() : []);
  layRows();
}

// The row of a lane, its group opened; -1 where the filter leaves it out.
function rowOf(lane) {
  const find = () => rows.list.findIndex(row => row.lane === lane);
  if (find() < 0) {
    rows.open.add(rows.grouping === "tile" ? lane.tile : lane.kind);
    layRows();
  }
  return find();
}
