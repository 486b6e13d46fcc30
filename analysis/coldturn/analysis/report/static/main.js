// What the page does: state in, pictures out.
import { byId, el, option, replace } from "./dom.js";
import { isUnplanned, markOf, namedInFull, report, verdictOf, verdictWords, views, ZONES } from "./data.js";
import { clearFilters, currentRow, currentView, FILTERS, isFiltered, matching, readFragment, state, writeFragment, causesOf, zonesOf } from "./filters.js";
import { drawChart, drawOverview } from "./overview.js";
import { drawDetail } from "./detail.js";
import { rowList } from "./rows.js";
import { drawServers } from "./servers.js";
import { drawTables } from "./tables.js";
import { themeButton } from "./theme.js";
import { listenToKeys } from "./keys.js";
import { count, counted, foreign } from "./format.js";

const MOST_PRINTED_BREAKS = 100;
const FEW_ERRORS = 12;
const TYPING_PAUSE = 120;
const HEADER = 64;

let shown = [];
const isNarrow = matchMedia("(max-width: 1099px)");
const list = rowList({ choose, open: openDetail });

function start() {
  if (views.length === 0) return;
  const hasState = readFragment();
  themeButton();
  drawViewPicker();
  drawLegend();
  drawTables(showView);
  drawErrors();
  listen();
  drawView();
  if (!hasState && !isNarrow.matches) chooseCostliest();
  if (currentRow() !== null && hasState) {
    byId("map").scrollIntoView();
    openDetail({ focus: false });
  }
}

function drawView() {
  const view = currentView();
  drawOverview(view, filterCause, (at) => {
    choose(at);
    byId("map").scrollIntoView();
  });
  drawFilters(view);
  drawServers(view);
  drawPrint(view);
  drawRows();
}

function drawRows() {
  const view = currentView();
  shown = matching(view);
  list.show(view, shown, { scale: state.scale || view.scale, order: state.order });
  const chosen = currentRow() === null ? null : Number(state.row);
  list.select(chosen);
  drawChosen(chosen);
  const breaks = shown.filter((at) => isUnplanned(view.rows[at])).length;
  byId("shown").textContent = `${isFiltered() ? `${count(shown.length)} of ` : ""}${counted(view.rows.length, "request")}, ${counted(breaks, "unplanned break")}`;
  byId("clear").hidden = !isFiltered();
  drawUnseen(view);
}

// What a recording did not keep is not empty.
function drawUnseen(view) {
  const lacking = view.rows.filter((row) => row.unseen.length > 0);
  const zones = [...new Set(lacking.flatMap((row) => row.unseen))].join(" and ");
  byId("unseen").hidden = lacking.length === 0;
  byId("unseen").textContent = `The recording did not keep ${zones} of ${counted(lacking.length, "request")}: their bars lack them, and a change there cannot be seen.`;
}

function choose(at) {
  state.row = at === null ? "" : String(at);
  if (at !== null && !shown.includes(at)) {
    clearFilters();
    drawFilters(currentView());
    drawRows();
  }
  list.select(at);
  drawChosen(at);
  writeFragment();
}

function drawChosen(at) {
  drawDetail(currentView(), at, { close: closeDetail, choose });
  byId("detail").setAttribute("aria-label", at === null ? "Chosen request" : `Chosen request: ${namedInFull(currentView().rows[at])}`);
}

function openDetail({ focus = true } = {}) {
  if (currentRow() === null) return;
  document.body.classList.add("detail-open");
  // The sheet had no width while it was away.
  drawChosen(Number(state.row));
  if (focus && isNarrow.matches) byId("detail").focus();
}

function closeDetail() {
  document.body.classList.remove("detail-open");
  choose(null);
  byId("rows").focus({ preventScroll: true });
}

// The first break of the cause that costs most.
function chooseCostliest() {
  const rows = currentView().rows;
  const costs = new Map();
  for (const row of rows.filter(isUnplanned)) costs.set(row.finding.cause, (costs.get(row.finding.cause) ?? 0) + (row.finding.lost_bytes ?? 0));
  if (costs.size === 0) return;
  const [cause] = [...costs].reduce((most, one) => (one[1] > most[1] ? one : most));
  const at = rows.findIndex((row) => isUnplanned(row) && row.finding.cause === cause);
  state.row = String(at);
  list.select(at);
  drawChosen(at);
}

function showView(at) {
  state.view = String(at);
  state.row = "";
  clearFilters();
  byId("view").value = state.view;
  drawView();
  writeFragment();
  byId("overview").scrollIntoView();
}

function filterCause(cause) {
  clearFilters();
  state.cause = cause;
  drawFilters(currentView());
  drawRows();
  if (shown.length > 0) choose(shown[0]);
  writeFragment();
  byId("map").scrollIntoView();
}

function step(by) {
  if (shown.length === 0) return;
  const place = list.chosenPlace();
  const next = place < 0 ? 0 : Math.min(Math.max(place + by, 0), shown.length - 1);
  choose(shown[next]);
  lookAtChosen();
}

function stepBreak(by) {
  const rows = currentView().rows;
  let place = list.chosenPlace() + by;
  if (place < 0 && by < 0) place = -1;
  while (place >= 0 && place < shown.length && rows[shown[place]].finding === null) place += by;
  if (place >= 0 && place < shown.length) choose(shown[place]);
  lookAtChosen();
}

// A key may be pressed anywhere on the page: what it chose has to be seen.
function lookAtChosen() {
  if (list.chosenPlace() < 0) return;
  const node = byId(`row-${state.row}`);
  const { top, bottom } = node.getBoundingClientRect();
  if (top < byId("rows").getBoundingClientRect().top || top < HEADER || bottom > innerHeight) node.scrollIntoView({ block: "center" });
}

function leave() {
  if (document.body.classList.contains("detail-open") && isNarrow.matches) closeDetail();
  else if (isFiltered()) {
    clearFilters();
    drawFilters(currentView());
    drawRows();
    writeFragment();
  } else choose(null);
  document.activeElement?.blur?.();
  byId("rows").focus({ preventScroll: true });
}

function listen() {
  let timer = 0;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", () => {
    takeFilters();
    clearTimeout(timer);
    timer = setTimeout(applyFilters, TYPING_PAUSE);
  });
  byId("clear").addEventListener("click", () => {
    clearFilters();
    drawFilters(currentView());
    drawRows();
    writeFragment();
  });
  byId("view").addEventListener("change", () => showView(Number(byId("view").value)));
  addEventListener("hashchange", () => {
    if (!readFragment()) return;
    byId("view").value = state.view;
    drawView();
    openDetail({ focus: false });
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    drawChart(currentView(), choose);
    drawChosen(currentRow() === null ? null : Number(state.row));
  });
  listenToKeys({ step, stepBreak, leave, open: openDetail, search: () => byId("q").focus(), end: (last) => shown.length > 0 && choose(shown[last ? shown.length - 1 : 0]) });
}

function applyFilters() {
  drawRows();
  writeFragment();
}

function takeFilters() {
  for (const name of FILTERS) state[name] = byId(name).value;
  state.order = byId("order").value;
  state.scale = byId("scale").value === currentView().scale ? "" : byId("scale").value;
}

function drawViewPicker() {
  byId("view-picker").hidden = views.length < 2;
  replace(byId("view"), ...views.map((view, at) => option(String(at), `${view.name} (${count(view.rows.length)})`, String(at) === state.view)));
}

function drawFilters(view) {
  const tally = (values) => values.reduce((counts, value) => counts.set(value, (counts.get(value) ?? 0) + 1), new Map());
  const causes = [...tally(view.rows.flatMap((row) => [...new Set(causesOf(row))]))].sort((one, other) => other[1] - one[1]);
  const zones = tally(view.rows.flatMap((row) => [...new Set(zonesOf(row.finding))]));
  const verdicts = tally(view.rows.map(verdictOf));
  fill("cause", [["", "every cause"], ...causes.map(([cause, rows]) => [cause, `${cause} (${rows})`])]);
  fill("zone", [["", "every zone"], ...ZONES.filter((zone) => zones.has(zone)).map((zone) => [zone, `${zone} (${zones.get(zone)})`])]);
  fill("verdict", [["", "every request"], ["unplanned", `unplanned breaks (${view.rows.filter(isUnplanned).length})`], ...[...verdicts].map(([verdict, rows]) => [verdict, `${verdictWords(verdict)} (${rows})`])]);
  fill("conversation", [["", `all ${count(view.conversations.length)}`], ...view.conversations.map((one, at) => [String(at), `${at + 1}: ${one.source.split("/").at(-1).slice(0, 60)} · ${one.model ?? "?"} (${one.requests})`])]);
  byId("conversation").closest("label").hidden = view.conversations.length < 2;
  byId("q").value = state.q;
  byId("order").value = state.order;
  byId("scale").value = state.scale || view.scale;
}

function fill(id, choices) {
  replace(byId(id), ...choices.map(([value, text]) => option(value, text, value === state[id])));
}

function drawLegend() {
  const used = new Set(report.parts.zone.map((place) => report.words[place]));
  const swatch = (name) => el("i", { class: `swatch ${name}`, "aria-hidden": "true" });
  replace(
    byId("map-legend"),
    ...ZONES.filter((zone) => used.has(zone)).map((zone) => el("li", {}, swatch(`zone-${zone}`), zone)),
    el("li", { class: "gap" }, swatch("how-reused"), "reusable"),
    el("li", {}, swatch("how-again"), "sent again"),
    el("li", {}, swatch("how-fresh"), "new"),
    el("li", { class: "gap" }, el("span", { class: "verdict broken" }, "◆"), " break"),
    el("li", {}, el("span", { class: "verdict planned" }, "○"), " planned or harmless"),
    views.some((view) => view.rows.some((row) => markOf(verdictOf(row)) === "◇")) ? el("li", {}, el("span", { class: "verdict ttl_suspected" }, "◇"), " suspected") : null,
  );
}

function drawErrors(limit = FEW_ERRORS) {
  byId("notes").hidden = report.errors.length === 0 && views.every((view) => view.notes.length === 0);
  const notes = views.flatMap((view) => view.notes.map((note) => `${view.name}: ${note}`));
  replace(
    byId("notes-body"),
    ...report.errors.slice(0, limit).map((error) => el("li", {}, foreign(error.message.startsWith(error.source) ? error.message : `${error.source}${error.entry === null ? "" : `, entry ${error.entry}`}: ${error.message}`))),
    report.errors.length > limit ? el("li", {}, el("button", { type: "button", class: "link", onclick: () => drawErrors(report.errors.length) }, `Show ${count(report.errors.length - limit)} more`)) : null,
    ...[...new Set(notes)].map((note) => el("li", {}, foreign(note))),
  );
}

function drawPrint(view) {
  const broken = view.rows.filter(isUnplanned).slice(0, MOST_PRINTED_BREAKS);
  replace(
    byId("print-breaks"),
    broken.length === 0
      ? null
      : el(
          "table",
          {},
          el("thead", {}, el("tr", {}, ...["request", "cause", "place", "tokens lost, estimated", "what to do"].map((head) => el("th", { scope: "col" }, head)))),
          el("tbody", {}, ...broken.map((row) => el("tr", {}, el("td", {}, `${row.number}`), el("td", {}, row.finding.cause), el("td", {}, foreign(`${row.finding.zone ?? ""}: ${row.finding.segment ?? ""} ${row.finding.path ?? ""}`)), el("td", {}, count(row.finding.lost_tokens_estimated)), el("td", {}, row.finding.remedy ?? "")))),
        ),
  );
}

start();
