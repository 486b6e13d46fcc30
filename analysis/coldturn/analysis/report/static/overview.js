// What the requests add up to: three rates that stay apart, their course, and breaks by cause.
import { byId, el, replace, svg } from "./dom.js";
import { isUnplanned, markOf, verdictOf, verdictWords } from "./data.js";
import { count, counted, foreign, percent, share, size } from "./format.js";

const HEIGHT = 214;
const PAD = { left: 48, right: 8, top: 10, bottom: 30 };
const SERIES = [
  { key: "ceiling", words: "ceiling, estimated", part: "ceiling_estimated", whole: "input_estimated" },
  { key: "rules", words: "by rules, estimated", part: "read_estimated", whole: "input_estimated" },
  { key: "reported", words: "reported", part: "read_reported", whole: "input_reported" },
];

export function drawOverview(view, filterCause, choose) {
  drawHeadline(view);
  drawRates(view);
  drawTotals(view);
  drawCauses(view, filterCause);
  drawChart(view, choose);
}

function drawHeadline(view) {
  const broken = view.rows.filter(isUnplanned);
  const lost = broken.reduce((sum, row) => sum + (row.finding.lost_tokens_estimated ?? 0), 0);
  const requests = counted(view.rows.length, "request");
  if (broken.length === 0) {
    replace(byId("headline"), el("strong", { class: "good" }, "No unplanned break"), ` in ${requests}.`);
    return;
  }
  replace(
    byId("headline"),
    el("strong", { class: "bad" }, counted(broken.length, "unplanned break")),
    ` in ${requests}, about `,
    el("strong", {}, `${count(lost)} tokens`),
    " lost (estimated).",
  );
}

function drawRates(view) {
  const totals = view.totals;
  const rules = totals.rules.length === 0 ? "no rules known for these requests" : totals.rules.join(", ");
  replace(
    byId("rates"),
    rate("Ceiling", "estimated", totals.hit_rate_ceiling_estimated, "a cache without bounds", "ceiling"),
    rate("By rules", "estimated", totals.hit_rate_estimated, rules, "rules"),
    rate("Reported", "by the provider", totals.hit_rate_reported, "read from cache, of all input", "reported"),
  );
}

function rate(name, how, value, words, key) {
  const shown = percent(value);
  return el(
    "div",
    { class: `rate ${key}` },
    el("dt", {}, el("i", { class: `swatch line-${key}`, "aria-hidden": "true" }), name, " ", el("span", {}, how)),
    el("dd", {}, shown === null ? el("b", { class: "unknown" }, "unknown") : el("b", {}, shown), el("small", {}, words)),
  );
}

function drawTotals(view) {
  const totals = view.totals;
  const verdicts = view.rows.map(verdictOf);
  const how = (verdict) => verdicts.filter((one) => one === verdict).length;
  const uncached =
    totals.input_estimated === null || totals.read_estimated === null
      ? null
      : totals.input_estimated - totals.read_estimated;
  replace(
    byId("totals"),
    total("Input, estimated", totals.input_estimated, "tokens"),
    total("Uncached, estimated", uncached, "tokens"),
    total("Input, reported", totals.input_reported, "tokens"),
    total("Prompt bytes", null, "", size(totals.bytes)),
    total("Breaks, unplanned", view.rows.filter(isUnplanned).length, ""),
    total("Breaks, planned", how("planned"), ""),
    total("Harmless differences", how("broken_harmless"), ""),
    total("Conversations", view.conversations.length, ""),
  );
}

function total(name, value, unit, ready = null) {
  const unknown = value === null && ready === null;
  return el(
    "div",
    {},
    el("dt", {}, name),
    el("dd", { class: unknown ? "unknown" : null }, ready ?? count(value), unknown || unit === "" ? null : el("small", {}, ` ${unit}`)),
  );
}

function drawCauses(view, filterCause) {
  const groups = new Map();
  for (const row of view.rows.filter((one) => one.finding !== null)) {
    const verdict = verdictOf(row);
    const group = groups.get(`${row.finding.cause}\n${verdict}`) ?? { cause: row.finding.cause, verdict, rows: 0, lost: 0, unplanned: isUnplanned(row) };
    group.rows += 1;
    group.lost += row.finding.lost_tokens_estimated ?? 0;
    groups.set(`${row.finding.cause}\n${verdict}`, group);
  }
  byId("causes-panel").hidden = groups.size === 0;
  const all = [...groups.values()].sort((one, other) => other.unplanned - one.unplanned || other.lost - one.lost);
  const sum = all.filter((one) => one.unplanned).reduce((total, one) => total + one.lost, 0);
  replace(
    byId("causes"),
    el(
      "table",
      { class: "causes", "aria-labelledby": "causes-title" },
      el("thead", {}, el("tr", {}, ...["cause", "verdict", "breaks", "tokens lost, estimated", "share of unplanned"].map((head, place) => el("th", { scope: "col", class: place > 1 ? "number" : null }, head)))),
      el("tbody", {}, ...all.map((one) => causeRow(one, sum, filterCause))),
    ),
  );
}

function causeRow(group, sum, filterCause) {
  const part = group.unplanned && sum > 0 ? group.lost / sum : null;
  return el(
    "tr",
    { class: group.unplanned ? "loud" : "calm" },
    el("th", { scope: "row" }, el("button", { type: "button", class: "link cause", "aria-label": `Show only ${group.cause}`, onclick: () => filterCause(group.cause) }, foreign(group.cause))),
    el("td", {}, el("span", { class: `verdict ${group.verdict}` }, `${markOf(group.verdict)} ${verdictWords(group.verdict)}`)),
    el("td", { class: "number" }, count(group.rows)),
    el("td", { class: "number" }, count(group.lost)),
    el("td", { class: "number share" }, part === null ? el("span", { class: "unknown" }, "–") : [meter(part), el("span", {}, percent(part, 0))]),
  );
}

function meter(part) {
  return svg(
    "svg",
    { class: "meter", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "all", width: 100, height: 8 }),
    svg("rect", { class: "part", width: Math.max(part * 100, 0.8), height: 8 }),
  );
}

export function drawChart(view, choose) {
  const box = byId("rate-chart");
  const width = Math.max(box.clientWidth, 240);
  const inner = width - PAD.left - PAD.right;
  const bins = Math.max(1, Math.min(view.rows.length, Math.floor(inner / 3)));
  const x = (bin) => PAD.left + (bins === 1 ? inner / 2 : (bin * inner) / (bins - 1));
  const y = (rate) => PAD.top + (1 - rate) * (HEIGHT - PAD.top - PAD.bottom);
  const chart = svg("svg", { width, height: HEIGHT, role: "img", "aria-label": chartWords(view) }, grid(y, width), breakTicks(view, bins, x), axisWords(view, width));
  const shown = SERIES.map((one) => ({ ...one, values: binned(view, one, bins) })).filter((one) => one.values.some((value) => value !== null));
  const starts = sourceStarts(view, bins);
  for (const one of shown) chart.append(line(one, starts, x, y));
  chart.addEventListener("click", (event) => {
    const at = Math.round(((event.offsetX - PAD.left) / inner) * (view.rows.length - 1));
    choose(Math.min(Math.max(at, 0), view.rows.length - 1));
  });
  box.replaceChildren(chart);
  const step = view.rows.length > bins ? `, about ${Math.round(view.rows.length / bins)} requests to a point` : "";
  byId("rate-caption").textContent = `Hit rate, request by request${step}`;
  replace(
    byId("rate-legend"),
    ...shown.map((one) => el("li", {}, el("i", { class: `swatch line-${one.key}`, "aria-hidden": "true" }), one.words)),
    el("li", {}, el("i", { class: "swatch tick-loud", "aria-hidden": "true" }), "unplanned break"),
    view.rows.some((row) => verdictOf(row) === "planned") ? el("li", {}, el("i", { class: "swatch tick-calm", "aria-hidden": "true" }), "planned break") : null,
  );
}

function chartWords(view) {
  const said = SERIES.map((one) => {
    const value = percent(view.totals[{ ceiling: "hit_rate_ceiling_estimated", rules: "hit_rate_estimated", reported: "hit_rate_reported" }[one.key]]);
    return `${one.words} ${value ?? "unknown"}`;
  });
  return `Hit rate over ${counted(view.rows.length, "request")}; in all: ${said.join(", ")}`;
}

function binned(view, series, bins) {
  const sums = Array.from({ length: bins }, () => ({ part: 0, whole: 0 }));
  view.rows.forEach((row, at) => {
    if (row[series.part] === null || row[series.whole] === null) return;
    const sum = sums[Math.min(bins - 1, Math.floor((at * bins) / view.rows.length))];
    sum.part += row[series.part];
    sum.whole += row[series.whole];
  });
  return sums.map((sum) => share(sum.part, sum.whole));
}

// Bins with which another file begins: what one file read says nothing of the next one's course.
function sourceStarts(view, bins) {
  const starts = new Set();
  view.rows.forEach((row, at) => {
    if (at > 0 && row.source !== view.rows[at - 1].source) starts.add(Math.min(bins - 1, Math.floor((at * bins) / view.rows.length)));
  });
  return starts;
}

function line(series, starts, x, y) {
  let path = "";
  let isOpen = false;
  const dots = [];
  series.values.forEach((value, bin) => {
    if (starts.has(bin)) isOpen = false;
    if (value === null) {
      isOpen = false;
      return;
    }
    path += `${isOpen ? "L" : "M"}${x(bin).toFixed(1)} ${y(value).toFixed(1)}`;
    const isAlone = !isOpen && ((series.values[bin + 1] ?? null) === null || starts.has(bin + 1));
    isOpen = true;
    if (series.key === "reported" || isAlone) dots.push(svg("circle", { class: `dot-${series.key}`, cx: x(bin).toFixed(1), cy: y(value).toFixed(1), r: series.values.length > 120 ? 1.6 : 2.6 }));
  });
  return svg("g", {}, svg("path", { class: `line line-${series.key}`, d: path }), ...dots);
}

function grid(y, width) {
  return svg(
    "g",
    { class: "grid" },
    ...[0, 0.25, 0.5, 0.75, 1].map((rate) => svg("path", { d: `M${PAD.left} ${y(rate)}H${width - PAD.right}` })),
    ...[0, 0.5, 1].map((rate) => svg("text", { x: PAD.left - 7, y: y(rate) + 4, "text-anchor": "end" }, `${rate * 100} %`)),
  );
}

function breakTicks(view, bins, x) {
  const kinds = new Map();
  view.rows.forEach((row, at) => {
    if (row.finding === null) return;
    const bin = Math.min(bins - 1, Math.floor((at * bins) / view.rows.length));
    if (isUnplanned(row)) kinds.set(bin, "loud");
    else if (verdictOf(row) === "planned" && !kinds.has(bin)) kinds.set(bin, "calm");
  });
  const top = HEIGHT - PAD.bottom + 4;
  return svg("g", {}, ...[...kinds].map(([bin, kind]) => svg("path", { class: `tick ${kind}`, d: `M${x(bin).toFixed(1)} ${top}v8` })));
}

function axisWords(view, width) {
  const last = view.rows.length - 1;
  if (view.sources > 1) {
    const words = `${counted(view.rows.length, "request")} of ${counted(view.sources, "file")}, one file behind the other`;
    return svg("g", { class: "grid" }, svg("text", { x: PAD.left, y: HEIGHT - 4 }, words));
  }
  return svg(
    "g",
    { class: "grid" },
    svg("text", { x: PAD.left, y: HEIGHT - 4 }, `request ${view.rows[0]?.number ?? 0}`),
    last > 0 ? svg("text", { x: width - PAD.right, y: HEIGHT - 4, "text-anchor": "end" }, `${view.rows[last].number}`) : null,
  );
}
