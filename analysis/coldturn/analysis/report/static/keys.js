// The keyboard: rows, breaks, search, help.
import { byId } from "./dom.js";

export function listenToKeys(act) {
  const byKey = {
    j: () => act.step(1),
    ArrowDown: () => act.step(1),
    k: () => act.step(-1),
    ArrowUp: () => act.step(-1),
    n: () => act.stepBreak(1),
    p: () => act.stepBreak(-1),
    Home: () => act.end(0),
    End: () => act.end(1),
    PageDown: () => act.step(10),
    PageUp: () => act.step(-10),
    Enter: () => act.open(),
    "/": () => act.search(),
    "?": () => byId("help").showModal(),
    Escape: () => act.leave(),
  };
  const inList = new Set(["ArrowDown", "ArrowUp", "Home", "End", "PageDown", "PageUp", "Enter"]);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const isTyping = event.target.closest?.("input, select, textarea") !== null && event.target.closest !== undefined;
    if (isTyping && event.key !== "Escape") return;
    if (inList.has(event.key) && event.target !== byId("rows")) return;
    const action = byKey[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  byId("help-open").addEventListener("click", () => byId("help").showModal());
}
