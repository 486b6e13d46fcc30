// The data of the page, unpacked as it is needed.
import { byId } from "./dom.js";

export const ZONES = ["tools", "system", "tail", "history", "transient", "settings", "none"];
const CALM = new Set(["planned", "broken_harmless", "intact", "cold_start"]);
const UNPLANNED = new Set(["broken", "unknown"]);
const WORDS = {
  broken: "broken",
  unknown: "broken, cause unknown",
  planned: "planned",
  broken_harmless: "harmless",
  intact: "prefix held",
  cold_start: "first of its conversation",
  ttl_suspected: "lifetime suspected",
  provider_side_suspected: "provider's side suspected",
};
const MARKS = { broken: "◆", unknown: "◆", planned: "○", broken_harmless: "○", ttl_suspected: "◇", provider_side_suspected: "◇" };
const CACHED = 600;
const LEAST_SHARE = 0.06;

export const report = JSON.parse(byId("report-data").textContent);

export const parts = {
  bytes: report.parts.bytes,
  zone: report.parts.zone.map(word),
  key: report.parts.key,
  kind: report.parts.kind,
};

export const views = report.views.map(viewOf);

export function word(place) {
  return place === null || place === undefined ? null : report.words[place];
}

export function keyOf(part) {
  return word(parts.key[part]);
}

// Ids of a row's parts. A row's runs may point into its parent's, and that one's into its own parent's.
export function partsOf(view, at) {
  const known = view.unpacked.get(at);
  if (known !== undefined) return known;
  const [needsParent, ...runs] = view.runs[at];
  const base = needsParent ? partsOf(view, view.rows[at].parent) : [];
  const ids = [];
  for (let place = 0; place < runs.length; place += 3) {
    const [kind, first, length] = [runs[place], runs[place + 1], runs[place + 2]];
    for (let step = 0; step < length; step += 1) ids.push(kind ? base[first + step] : first + step);
  }
  if (view.unpacked.size >= CACHED) view.unpacked.delete(view.unpacked.keys().next().value);
  view.unpacked.set(at, ids);
  return ids;
}

export function verdictOf(row) {
  if (row.finding !== null) return row.finding.verdict;
  return row.parent === null ? "cold_start" : "intact";
}

export function isUnplanned(row) {
  return UNPLANNED.has(verdictOf(row));
}

// Whether it is a finding behind which the prompt's text is the same.
export function isTextless(row) {
  return row.finding !== null && (!row.finding.zone || row.finding.zone === "none" || row.finding.zone === "settings");
}

export function isCalm(row) {
  return CALM.has(verdictOf(row));
}

export function verdictWords(verdict) {
  return WORDS[verdict] ?? verdict.replaceAll("_", " ");
}

export function markOf(verdict) {
  return MARKS[verdict] ?? "";
}

export function placeOf(row) {
  return row.turn === null ? "" : `${row.turn}.${row.step ?? "?"}`;
}

export function namedInFull(row) {
  const step = row.step === null ? "" : `, step ${row.step}`;
  return `Request ${row.number}${row.turn === null ? "" : `, turn ${row.turn}${step}`}`;
}

function viewOf(raw) {
  const rows = raw.rows.map((values, at) => rowOf(values, raw.findings[at] ?? null));
  const sizes = rows.map((row) => row.bytes);
  const [usual, median] = [quantile(sizes, 0.9), quantile(sizes, 0.5)];
  const largest = Math.max(quantile(sizes, 1), 1);
  return {
    ...raw,
    rows,
    unpacked: new Map(),
    usual,
    largest,
    scale: scaleFor(median, usual, largest),
    sources: new Set(rows.map((row) => row.source)).size,
    hasTurns: rows.some((row) => row.turn !== null),
    hasReported: rows.some((row) => row.read_reported !== null),
  };
}

// One scale as long as most rows can be read on it.
function scaleFor(median, usual, largest) {
  if (median >= LEAST_SHARE * largest) return "same";
  return median >= LEAST_SHARE * usual ? "usual" : "row";
}

function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor((sorted.length - 1) * share)] || 1;
}

function rowOf(values, finding) {
  const row = Object.fromEntries(report.row_keys.map((key, place) => [key, values[place]]));
  row.source = word(row.source);
  row.rules = word(row.rules);
  row.flags ||= [];
  row.settings ||= [];
  row.unseen ||= [];
  row.finding = finding === null ? null : { ...finding, remedy: word(finding.remedy) };
  row.words = null;
  return row;
}
