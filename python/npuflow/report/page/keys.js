// Keys, as in Perfetto.
const ZOOM = 0.7, MOVE = 0.15;

function fitChosen() {
  if (now.chosen) fit(now.chosen.lane.begins[now.chosen.index], now.chosen.lane.ends[now.chosen.index]);
  else fitShown();
}

const underPointer = () => (view.pointer > LABEL ? cycleAt(view.pointer) : undefined);

const KEYS = {
  w: () => zoom(ZOOM, underPointer()),
  s: () => zoom(1 / ZOOM, underPointer()),
  a: () => pan(-MOVE),
  d: () => pan(MOVE),
  f: fitChosen,
  0: () => show(0, view.whole),
  "/": () => byId("search").focus(),
  "?": () => byId("help").showModal(),
  Escape: () => {
    choose(null);
    paint();
  },
};

function pressed(event) {
  const box = event.target.closest("input, select, textarea, dialog");
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && event.target !== byId("search")) {
    event.preventDefault();
    byId("search").focus();
  } else if (box) {
    if (event.key === "Escape") box.blur();
    if (event.key === "Enter" && box === byId("search")) goTo(event.shiftKey ? -1 : 1);
  } else if (!event.ctrlKey && !event.metaKey && !event.altKey && Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
}

function listenToKeys() {
  document.addEventListener("keydown", pressed);
  byId("keys").addEventListener("click", KEYS["?"]);
}
