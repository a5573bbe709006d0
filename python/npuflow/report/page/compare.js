// Two runs side by side: a block for each function, with what differs; bars to the left are less, to the right more.
const state = { filter: "", all: false };

function growthBar(parent, { section, first, second }) {
  const bar = element(parent, "span", undefined, { class: "growth" });
  const share = Math.max(-1, Math.min(1, (second - first) / Math.max(Math.abs(first), Math.abs(second), 1e-300)));
  const side = share < 0 ? "down" : "up";
  const kind = section === "busy" ? `${side} neither` : side;
  element(bar, "i", "", { class: kind, style: `width:${50 * Math.abs(share)}%` });
}

const isWorse = ({ section, name, first, second }) => section !== "busy" && second > first;

function numberRow(table, number) {
  const line = element(table, "tr"), [first, second, growth] = number.texts;
  element(line, "td", number.name, { class: "left" });
  element(line, "td", first);
  element(line, "td", second);
  const colour = number.first === number.second || number.section === "busy" ? "" : isWorse(number) ? "more" : "less";
  element(line, "td", growth, { class: colour });
  growthBar(element(line, "td"), number);
}

// Two files by the ends of their paths from where these differ.
function apart(...files) {
  const parts = files.map(file => file.split("/")), least = Math.min(...parts.map(one => one.length)) - 1;
  let same = 0;
  while (same < least && parts[0][same] === parts[1][same]) same++;
  return parts.map(one => one.slice(same).join("/"));
}

function showPair(parent, pair, files) {
  const block = element(parent, "details", undefined, pair.is_change ? { open: "" } : {}), time = pair.numbers[0];
  const head = element(block, "summary", `${pair.signature}: `);
  element(head, "b", `${time.texts[0]} \u2192 ${time.texts[1]}`);
  if (time.first !== time.second) element(head, "b", ` ${time.texts[2]}`, { class: isWorse(time) ? "more" : "less" });
  const box = element(element(block, "div", undefined, { class: "across" }), "table");
  const heads = element(box, "tr");
  ["", ...files, "", ""].forEach((text, i) => element(heads, "th", text, i ? {} : { class: "left" }));
  for (const { name, first, second } of pair.texts) {
    const line = element(box, "tr");
    for (const [i, text] of [name, first || "\u2013", second || "\u2013", "", ""].entries())
      element(line, "td", text, i ? {} : { class: "left" });
  }
  let section = "";
  for (const number of pair.numbers) {
    if (!state.all && number.first === number.second) continue;
    if (number.section !== section && number.section !== "time")
      element(element(box, "tr", undefined, { class: "section" }), "td", number.section, { class: "left", colspan: 5 });
    section = number.section;
    numberRow(box, number);
  }
  if (pair.parts) showPairing(block, pair.parts, files);
}

function showPairing(parent, { runs, only_first, only_second }, files) {
  const left = run => run.signature.toLowerCase().includes(state.filter.toLowerCase());
  for (const pair of runs) if ((pair.is_change || state.all) && left(pair)) showPair(parent, pair, files);
  const same = runs.filter(pair => !pair.is_change && left(pair)).map(pair => `@${pair.name}`);
  if (same.length && !state.all) element(parent, "p", `Nothing differs in ${same.join(", ")}.`, { class: "note" });
  for (const [file, runs] of [[files[0], only_first], [files[1], only_second]])
    for (const run of runs.filter(left)) element(parent, "p", `Only in ${file}: ${run.signature}`);
}

function showAll() {
  byId("runs").replaceChildren();
  showPairing(byId("runs"), DATA, apart(DATA.first.file, DATA.second.file));
}

function either(key) {
  const { first, second } = DATA;
  return first[key] === second[key] ? first[key] : `${first[key]} \u2192 ${second[key]}`;
}

byId("title").textContent = `${DATA.first.file} \u2192 ${DATA.second.file}`;
facts("facts", [["device", either("device")], ["pipeline", either("pipeline")]]);
byId("summary").textContent = DATA.summary;
byId("filter").addEventListener("input", event => {
  state.filter = event.target.value;
  showAll();
});
byId("all").addEventListener("change", event => {
  state.all = event.target.checked;
  showAll();
});
listenToTheme(() => {});
showAll();
