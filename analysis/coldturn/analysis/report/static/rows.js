// The map's rows: only those in sight are elements.
import { byId, el, svg } from "./dom.js";
import { isCalm, markOf, namedInFull, placeOf, verdictOf, verdictWords } from "./data.js";
import { drawBar, sharesOf, wholeOf } from "./bars.js";
import { count, percent, share, size, visible } from "./format.js";

const OVERSCAN = 8;
const MOST_PRINTED = 400;
const MOST_NAME = 20;

export function rowList({ choose, open }) {
  const box = byId("rows");
  const all = byId("rows-all");
  const drawn = new Map();
  let view = null;
  let shown = [];
  let chosen = null;
  let scale = "same";
  let isAsSent = true;
  let height = 28;
  let isWaiting = false;
  let isPrinting = false;

  box.addEventListener("scroll", () => soon(draw), { passive: true });
  new ResizeObserver(() => soon(redraw)).observe(box);
  all.addEventListener("click", (event) => {
    const row = event.target.closest("[role=option]");
    if (row === null) return;
    choose(Number(row.dataset.at));
    open();
  });
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  return { show, select, chosenPlace };

  function show(nextView, nextShown, { scale: nextScale, order }) {
    [view, shown, scale, isAsSent] = [nextView, nextShown, nextScale, order === ""];
    byId("empty").hidden = shown.length > 0;
    byId("map").classList.toggle("has-reported", view.hasReported);
    byId("map").classList.toggle("has-turns", view.hasTurns);
    redraw();
  }

  function select(at, { into = true } = {}) {
    const before = chosen;
    chosen = at;
    for (const one of [before, at]) drawn.get(one)?.setAttribute("aria-selected", String(one === chosen));
    if (at === null) {
      box.removeAttribute("aria-activedescendant");
      return;
    }
    if (into) bringIntoSight(chosenPlace());
    box.setAttribute("aria-activedescendant", `row-${at}`);
  }

  function chosenPlace() {
    return chosen === null ? -1 : shown.indexOf(chosen);
  }

  function bringIntoSight(place) {
    if (place < 0) return;
    const top = place * height;
    if (top < box.scrollTop) box.scrollTop = Math.max(0, top - height);
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * height - box.clientHeight;
    draw();
  }

  function soon(work) {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      work();
    });
  }

  function redraw() {
    if (view === null) return;
    height = parseFloat(getComputedStyle(box).getPropertyValue("--row-height")) || 28;
    all.style.height = `${shown.length * height}px`;
    drawn.clear();
    all.replaceChildren();
    draw();
    drawAxis();
  }

  function draw() {
    if (view === null) return;
    const first = isPrinting ? 0 : Math.max(0, Math.floor(box.scrollTop / height) - OVERSCAN);
    const last = isPrinting ? Math.min(shown.length, MOST_PRINTED) : Math.min(shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + OVERSCAN);
    const wanted = new Set(shown.slice(first, last));
    for (const [at, node] of drawn) {
      if (wanted.has(at)) continue;
      node.remove();
      drawn.delete(at);
    }
    const width = barWidth();
    for (let place = first; place < last; place += 1) {
      if (!drawn.has(shown[place])) drawn.set(shown[place], all.appendChild(rowNode(shown[place], place, width)));
    }
  }

  function rowNode(at, place, width) {
    const row = view.rows[at];
    const verdict = verdictOf(row);
    const bar = svg("svg", { class: "bar", width, height: 16, "aria-hidden": "true" });
    const isNext = isAsSent && place > 0 && view.rows[shown[place - 1]].conversation !== row.conversation;
    const first = view.sources > 1 ? `first · ${tail(row.source.split("/").at(-1))}` : "first";
    const cause = row.finding?.cause ?? (row.parent === null ? first : "");
    const node = el(
      "div",
      {
        role: "option",
        id: `row-${at}`,
        class: `row ${isCalm(row) ? "calm" : "loud"} ${verdict}${isNext ? " next" : ""}`,
        "data-at": at,
        "aria-selected": String(at === chosen),
        "aria-setsize": shown.length,
        "aria-posinset": place + 1,
        "aria-label": rowWords(row),
      },
      el("span", { class: "number" }, `${row.number}`, el("small", {}, placeOf(row))),
      bar,
      el("span", { class: "hit" }, percent(share(row.read_estimated, row.input_estimated), 0) ?? "–"),
      el("span", { class: "rep" }, percent(share(row.read_reported, row.input_reported), 0) ?? "–"),
      el("span", { class: "what", title: visible(cause) }, row.finding === null ? null : el("span", { class: `verdict ${verdict}` }, markOf(verdict)), visible(cause)),
    );
    node.style.transform = `translateY(${place * height}px)`;
    drawBar(bar, view, at, { width, height: 16, scale });
    return node;
  }

  // Sharp bars need whole pixels, so their width is the column's as laid out.
  function barWidth() {
    const axis = byId("axis");
    return Math.max(60, Math.floor(axis.clientWidth || box.clientWidth - 24));
  }

  function drawAxis() {
    byId("axis").textContent = scale === "row" ? "each prompt in full" : `0 to ${size(wholeOf(view, null, scale))}`;
  }

  function print(starts) {
    isPrinting = starts;
    redraw();
  }
}

// Names in a folder are alike in front.
function tail(name) {
  return name.length > MOST_NAME ? `…${name.slice(-MOST_NAME)}` : name;
}

function rowWords(row) {
  const { reused } = sharesOf(row);
  const verdict = verdictWords(verdictOf(row));
  const what = row.finding === null ? verdict : `${verdict}, ${row.finding.cause}${row.finding.zone ? ` in ${row.finding.zone}` : ""}`;
  const lost = row.finding?.lost_tokens_estimated ? `, ${count(row.finding.lost_tokens_estimated)} tokens lost, estimated` : "";
  return `${namedInFull(row)}: ${what}${lost}; ${percent(share(reused, row.bytes), 0) ?? "0 %"} reusable of ${size(row.bytes)}`;
}
