// Which rows are shown, and the fragment of the address that says so.
import { isUnplanned, verdictOf, views } from "./data.js";

const NOTHING = { view: "0", row: "", q: "", cause: "", verdict: "", zone: "", conversation: "", scale: "", order: "" };

export const FILTERS = ["q", "cause", "verdict", "zone", "conversation"];
export const state = { ...NOTHING };

export function currentView() {
  return views[Number(state.view)] ?? views[0];
}

export function currentRow() {
  const row = currentView().rows[Number(state.row)];
  return state.row === "" || row === undefined ? null : row;
}

export function isFiltered() {
  return FILTERS.some((name) => state[name] !== "");
}

export function clearFilters() {
  for (const name of FILTERS) state[name] = "";
}

export function matching(view) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  view.rows.forEach((row, at) => {
    if (fits(row) && words.every((one) => wordsOf(row).includes(one))) found.push(at);
  });
  if (state.order === "cost") found.sort((one, other) => costOf(view.rows[other]) - costOf(view.rows[one]));
  return found;
}

function costOf(row) {
  return row.finding?.lost_tokens_estimated ?? 0;
}

export function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  // An anchor of a section is no state.
  const isState = [...given.keys()].some((key) => key in NOTHING);
  if (!isState) return false;
  for (const key of Object.keys(NOTHING)) state[key] = given.get(key) ?? NOTHING[key];
  if (views[Number(state.view)] === undefined) state.view = "0";
  return true;
}

export function writeFragment() {
  const changed = Object.entries(state).filter(([key, value]) => value !== NOTHING[key]);
  const fragment = new URLSearchParams(changed).toString();
  history.replaceState(null, "", `#${fragment}`);
}

function fits(row) {
  const found = row.finding;
  return (
    (state.conversation === "" || row.conversation === Number(state.conversation)) &&
    (state.cause === "" || causesOf(row).includes(state.cause)) &&
    (state.zone === "" || zonesOf(found).includes(state.zone)) &&
    (state.verdict === "" || (state.verdict === "unplanned" ? isUnplanned(row) : verdictOf(row) === state.verdict))
  );
}

export function causesOf(row) {
  return row.finding === null ? [] : [row.finding.cause, ...(row.finding.later ?? []).map((later) => later.cause)];
}

export function zonesOf(found) {
  return found === null ? [] : [found.zone, ...(found.later ?? []).map((later) => later.zone)].filter(Boolean);
}

function wordsOf(row) {
  if (row.words === null) {
    const found = row.finding ?? {};
    row.words = [
      `#${row.number}`, row.number, row.source, verdictOf(row), ...causesOf(row), ...zonesOf(row.finding), found.segment,
      found.path, found.section, ...(found.names ?? []), found.was, found.now, ...row.settings,
    ].filter((one) => one !== null && one !== undefined).join("\n").toLowerCase();
  }
  return row.words;
}
