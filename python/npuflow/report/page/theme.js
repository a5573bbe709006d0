// Light and dark: as the system has it until the button says otherwise.
const asked = window.matchMedia("(prefers-color-scheme: dark)");
const inks = new Map();

// A colour of colours.css by its name.
function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return inks.get(name);
}

function kept() {
  try {
    return localStorage.getItem("npuflow-theme");
  } catch {
    return null; // a page without storage, as from a file in some browsers
  }
}

function setTheme(theme, keep) {
  document.documentElement.setAttribute("data-theme", theme);
  byId("theme").textContent = theme === "dark" ? "light" : "dark";
  byId("theme").title = `show the page ${theme === "dark" ? "light" : "dark"}`;
  inks.clear();
  if (!keep) return;
  try {
    localStorage.setItem("npuflow-theme", theme);
  } catch {
    // then it is not remembered
  }
}

// `redraw` is called when colours have changed.
function listenToTheme(redraw) {
  const change = (theme, keep) => {
    setTheme(theme, keep);
    redraw();
  };
  setTheme(kept() || (asked.matches ? "dark" : "light"), false);
  byId("theme").addEventListener("click", () =>
    change(document.documentElement.getAttribute("data-theme") === "dark" ? "light" : "dark", true));
  asked.addEventListener("change", () => {
    if (!kept()) change(asked.matches ? "dark" : "light", false);
  });
}
