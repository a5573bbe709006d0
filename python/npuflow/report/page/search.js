// Slices that a text is found in, by their names and their engines', and going from one to the next.
const search = { text: "", matches: null, hits: [], at: -1 };

// `matches` says of each word whether it is found; hits are slices in order of time.
function setSearch(timeline, text) {
  const words = wordsIn(text);
  Object.assign(search, { text, matches: null, hits: [], at: -1 });
  if (!words.length) return;
  const inWords = timeline.words.map(([name, kind, step]) => hasAll(`${name} ${KINDS[kind]} ${step}`, words));
  search.matches = inWords;
  for (const { lanes, group } of rows.list) {
    if (group === undefined) continue;
    for (const lane of lanes)
      lane.words.forEach((word, index) => {
        if (inWords[word]) search.hits.push({ lane, index });
      });
  }
  search.hits.sort((a, b) => a.lane.begins[a.index] - b.lane.begins[b.index]);
}

// The next or previous hit, going round; null where there is none. At first the next to what is shown.
function nextHit(step) {
  const count = search.hits.length;
  if (!count) return null;
  const first = () => search.hits.findIndex(hit => hit.lane.ends[hit.index] > view.from);
  search.at = search.at < 0 && step > 0 ? Math.max(0, first()) : (search.at + step + count) % count;
  return search.hits[search.at];
}

function foundText() {
  if (!search.text.trim()) return "";
  if (!search.hits.length) return "nothing found";
  return search.at < 0 ? `${search.hits.length} found` : `${search.at + 1} of ${search.hits.length}`;
}
