// A request as a bar: zones by colour; reusable solid, sent again hatched, new pale; the break marked.
import { svg } from "./dom.js";
import { isCalm, isTextless, parts, partsOf } from "./data.js";

const LEAST_PART = 4;
const LEAST_RUN = 0.25;

export function drawBar(target, view, at, { width, height, scale }) {
  const row = view.rows[at];
  const whole = wholeOf(view, row, scale);
  const pixels = whole > 0 ? (width - 1) / whole : 0;
  const { runs, edges } = runsOf(view, at, pixels, whole);
  const nodes = runs.filter((run) => run.width >= LEAST_RUN).flatMap((run) => runNodes(run, height));
  if (edges.length > 0) {
    nodes.push(svg("path", { class: "edge", d: edges.map((x) => `M${round(x)} 0V${height}`).join("") }));
  }
  if (row.finding !== null && row.common !== null && row.common <= whole && !isTextless(row)) nodes.push(mark(row.common * pixels, height, isCalm(row)));
  if (row.bytes > whole) nodes.push(svg("path", { class: "more", d: `M${width - 6} 2L${width} ${height / 2}L${width - 6} ${height - 2}Z` }));
  target.replaceChildren(...nodes);
}

// The bytes that a full bar stands for.
export function wholeOf(view, row, scale) {
  return { row: row?.bytes, usual: view.usual }[scale] ?? view.largest;
}

// What of a row is reusable, sent again and new, in bytes.
export function sharesOf(row) {
  const held = Math.min(row.common ?? 0, row.bytes);
  // Without a change of text, what is lost is lost from the end of what stands equal.
  const reused = isTextless(row) && !isCalm(row) ? Math.max(0, held - lostBytes(row)) : held;
  const again = Math.min(lostBytes(row), row.bytes - reused);
  return { reused, again, fresh: row.bytes - reused - again };
}

// A finding in time or settings may tell tokens alone.
function lostBytes(row) {
  const { lost_bytes: bytes = 0, lost_tokens_estimated: tokens = 0 } = row.finding ?? {};
  return bytes > 0 || !isTextless(row) || !row.input_estimated ? bytes : Math.round((row.bytes * tokens) / row.input_estimated);
}

export function stateAt(row, offset) {
  const { reused, again } = sharesOf(row);
  if (offset < reused) return "reused";
  return offset < reused + again ? "again" : "fresh";
}

function runsOf(view, at, pixels, most) {
  const row = view.rows[at];
  const { reused, again } = sharesOf(row);
  const cuts = [reused, reused + again];
  const runs = [];
  const edges = [];
  let start = 0;
  for (const part of partsOf(view, at)) {
    if (start >= most) break;
    const end = Math.min(start + parts.bytes[part], most);
    if (start > 0 && parts.bytes[part] * pixels >= LEAST_PART) edges.push(start * pixels);
    let from = start;
    for (const cut of [...cuts.filter((one) => one > start && one < end), end]) {
      append(runs, parts.zone[part], stateAt(row, from), from, cut, pixels);
      from = cut;
    }
    start = end;
  }
  return { runs, edges };
}

function append(runs, zone, how, from, to, pixels) {
  const last = runs.at(-1);
  if (last !== undefined && last.zone === zone && last.how === how) {
    last.width = to * pixels - last.x;
  } else if (to > from) {
    runs.push({ zone, how, x: from * pixels, width: (to - from) * pixels });
  }
}

function runNodes(run, height) {
  const box = { x: round(run.x), y: 0, width: round(run.width), height };
  const own = svg("rect", { ...box, class: `zone-${run.zone} ${run.how}` });
  return run.how === "again" ? [own, svg("rect", { ...box, fill: "url(#hatch)" })] : [own];
}

function mark(x, height, calm) {
  const at = round(Math.max(x, 0.75));
  return svg(
    "g",
    { class: `mark ${calm ? "calm" : "loud"}` },
    svg("path", { class: "halo", d: `M${at} 0V${height}` }),
    svg("path", { class: "line", d: `M${at} 0V${height}` }),
    svg("path", { class: "flag", d: `M${at - 4} -3H${at + 4}L${at} 3Z` }),
  );
}

function round(value) {
  return Math.round(value * 100) / 100;
}
