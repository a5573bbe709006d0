// What orders load, and the orders that have names: as `npuflow order` has them, for a page that is on its own.

"use strict";
const DATA = /*DATA*/null;
const GROUPS = [2, 3, 4, 8];
const range = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

const panelsOf = ([row, column]) => [`r${row}`, `c${column}`];

// For each tile, the panels that it loads and what is there behind it, the next to go first.
function walk(tiles, { capacity, policy }) {
  const uses = new Map();
  tiles.forEach((tile, step) => panelsOf(tile).forEach(p => uses.set(p, [...(uses.get(p) ?? []), step])));
  const nextUse = (p, step) => uses.get(p).find(use => use > step) ?? Infinity;
  const latestFirst = (panels, step) => [...panels].sort((p, q) => nextUse(q, step) - nextUse(p, step) || 0);
  let there = [];
  return tiles.map((tile, step) => {
    const needed = panelsOf(tile), loaded = needed.filter(p => !there.includes(p));
    const others = there.filter(p => !needed.includes(p));
    there = [...others.slice(Math.max(0, others.length + 2 - capacity)), ...needed];
    if (policy === "belady") there = latestFirst(there, step);
    return { loaded, there };
  });
}

function grouped({ rows, columns }, size, turns) {
  const made = [];
  for (let first = 0, group = 0; first < rows; first += size, group++) {
    const across = range(0, columns);
    if (turns && group % 2) across.reverse();
    for (const column of across) for (const row of range(first, Math.min(first + size, rows))) made.push([row, column]);
  }
  return made;
}

function along({ rows, columns }, tileAt) {
  let side = 1;
  while (side < Math.max(rows, columns)) side *= 2;
  return range(0, side * side).map(place => tileAt(side, place)).filter(([row, column]) => row < rows && column < columns);
}

function zTile(side, place) {
  let row = 0, column = 0;
  for (let bit = 0; 1 << bit < side; bit++) {
    column |= (place >> (2 * bit) & 1) << bit;
    row |= (place >> (2 * bit + 1) & 1) << bit;
  }
  return [row, column];
}

function hilbertTile(side, place) {
  let row = 0, column = 0;
  for (let half = 1; half < side; half *= 2, place >>= 2) {
    const lower = place >> 1 & 1, right = (place ^ lower) & 1;
    if (!right) {
      if (lower) [row, column] = [half - 1 - row, half - 1 - column];
      [row, column] = [column, row];
    }
    row += half * lower;
    column += half * right;
  }
  return [row, column];
}

function namedOrders(grid) {
  const made = { "row-major": grouped(grid, 1, false), snake: grouped(grid, 1, true), z: along(grid, zTile),
                 hilbert: along(grid, hilbertTile) };
  for (const size of GROUPS.filter(size => size < grid.rows)) {
    made[`grouped-${size}`] = grouped(grid, size, false);
    made[`grouped-snake-${size}`] = grouped(grid, size, true);
  }
  return made;
}

const loadsOf = (tiles, how) => walk(tiles, how).reduce((sum, step) => sum + step.loaded.length, 0);

// Each panel once; and a load makes no more tiles possible than there are panels of the other kind beside it.
function loadsBound({ rows, columns, capacity }) {
  const filled = Math.floor(capacity / 2) * (capacity - Math.floor(capacity / 2));
  return Math.max(rows + columns, capacity + Math.ceil(Math.max(0, rows * columns - filled) / (capacity - 1)));
}

// What is known of the best order: from the search before the page was made, else from the orders with names.
function knownBest(problem, orders) {
  const found = DATA.optima[`${problem.rows}x${problem.columns}/${problem.capacity}/${problem.policy}`];
  if (found) return { ...found, name: found.loads === found.bound ? "optimum" : "best known" };
  const loads = Object.values(orders).map(tiles => loadsOf(tiles, problem));
  const least = Math.min(...loads), bound = loadsBound(problem);
  return { loads: least, bound, order: Object.values(orders)[loads.indexOf(least)],
           name: least === bound ? "optimum" : "best known" };
}
