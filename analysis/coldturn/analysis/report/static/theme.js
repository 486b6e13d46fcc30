// Dark or light: the system's choice until somebody chooses otherwise.
import { byId } from "./dom.js";

const KEY = "coldturn-theme";

export function themeButton() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = remembered();
  if (stored !== null) document.documentElement.dataset.theme = stored;
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const tell = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Dark colours");
  };
  system.addEventListener("change", tell);
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    tell();
  });
  tell();
}

// A page from a file may have nowhere to remember things.
function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is closed.
  }
}
