// The chosen request: what broke, where, what it was and is now, what to do, and its parts.
import { byId, el, replace, svg } from "./dom.js";
import { isTextless, keyOf, markOf, namedInFull, parts, partsOf, report, verdictOf, verdictWords, word } from "./data.js";
import { drawBar, sharesOf, stateAt } from "./bars.js";
import { count, counted, foreign, moment, percent, share, signed, size, visible } from "./format.js";

const MOST_PARTS = 400;
const LARGEST_GRID = 250_000;
const LEAST_KEPT = 4;
const BAR_HEIGHT = 18;
const PADDING = 34;
const STATES = { reused: "reusable", again: "sent again", fresh: "new" };

export function drawDetail(view, at, { close, choose }) {
  const box = byId("detail");
  if (at === null) {
    replace(box, el("p", { class: "hint" }, "Choose a request to see what it reuses, what changed, and what to do."));
    return;
  }
  const row = view.rows[at];
  const bar = svg("svg", { class: "bar", height: BAR_HEIGHT, "aria-hidden": "true" });
  replace(
    box,
    heading(view, row, close),
    summary(row),
    bar,
    shares(row),
    row.finding === null ? null : change(row.finding),
    row.finding === null ? null : remedy(row.finding),
    row.finding === null ? null : place(row.finding),
    others(row.finding),
    tokens(row),
    about(view, row, choose),
    partList(view, at),
  );
  box.scrollTop = 0;
  const width = box.clientWidth - PADDING;
  if (width <= 0) return;
  bar.setAttribute("width", width);
  drawBar(bar, view, at, { width, height: BAR_HEIGHT, scale: "row" });
}

function heading(view, row, close) {
  const verdict = verdictOf(row);
  return el(
    "header",
    {},
    el("h3", {}, namedInFull(row)),
    el("button", { type: "button", class: "close no-print", "aria-label": "Close the chosen request", onclick: close }, "×"),
    el(
      "p",
      { class: "verdict-line" },
      el("span", { class: `verdict pill ${verdict}` }, `${markOf(verdict)} ${verdictWords(verdict)}`.trim()),
      row.finding === null || row.finding.cause === verdict ? null : [" ", foreign(row.finding.cause, "code", { class: "cause-name" })],
      row.finding?.confidence && row.finding.confidence !== "unknown" ? el("span", { class: "quiet" }, ` ${row.finding.confidence}`) : null,
    ),
  );
}

function summary(row) {
  const found = row.finding;
  if (found === null) {
    const words = row.parent === null ? "Nothing before it to compare with: all of it is new." : "All of the request that it continues is repeated byte for byte.";
    return el("p", {}, words);
  }
  const lost = found.lost_tokens_estimated ? `About ${counted(found.lost_tokens_estimated, "token")} lost, estimated` : "Nothing that could be read from a cache was lost";
  if (isTextless(row)) {
    return [el("p", {}, `The prompt's text is that of the request it continues. ${lost}.`, amount(found)), evidence(found)];
  }
  const again = found.lost_tokens_estimated && found.lost_bytes ? `: ${size(found.lost_bytes)} that the older request held stand behind the change` : "";
  return [
    el("p", {}, "Differs in ", el("i", { class: `swatch zone-${found.zone}`, "aria-hidden": "true" }), `${found.zone}: `, foreign(found.segment ?? "", "strong"), found.section ? [", under ", foreign(found.section, "q")] : null, `. ${lost}${again}.`, amount(found)),
    evidence(found),
  ];
}

function evidence(found) {
  return found.evidence ? el("p", { class: "quiet" }, "Because: ", foreign(found.evidence), ".") : null;
}

function amount(found) {
  if (found.cost_amount_estimated === undefined) return null;
  return ` At dated prices about ${found.cost_amount_estimated.toPrecision(2)} ${found.currency ?? ""}, estimated.`;
}

function shares(row) {
  const { reused, again, fresh } = sharesOf(row);
  const one = (key, bytes) => el("li", { class: key }, el("b", {}, size(bytes)), ` ${STATES[key]}`, bytes && row.bytes ? el("span", { class: "quiet" }, ` ${percent(share(bytes, row.bytes), 0)}`) : null);
  return el("ul", { class: "shares" }, one("reused", reused), one("again", again), one("fresh", fresh), isTextless(row) && again > 0 ? el("li", { class: "quiet" }, "estimated, from tokens") : null, row.exact ? null : el("li", { class: "quiet" }, "to the end of the last equal block; the recording tells no more"));
}

function change(found) {
  if (found.was === undefined && found.now === undefined) {
    if (!found.zone || !found.segment) return null;
    return el("p", { class: "quiet" }, report.content ? "The text is not in this input." : "Texts were left out of this report.");
  }
  const before = visible(found.before ?? "");
  const [was, now] = marked(found.was ?? "", found.now ?? "");
  return el(
    "div",
    { class: "change" },
    line("was", before, was, "del"),
    line("now", before, now, "ins"),
  );
}

function line(name, before, pieces, tag) {
  const text = pieces.map(([same, piece]) => (same ? visible(piece) : el(tag, {}, visible(piece))));
  return el("div", { class: name }, el("span", { class: "side" }, name), el("pre", { dir: "ltr", tabindex: "0", "aria-label": name }, el("span", { class: "before" }, before), ...text));
}

// Both texts as runs, equal or not. Slivers in common count as changed, and all of it when little is common.
export function marked(was, now) {
  const older = [...was];
  const newer = [...now];
  let blocks = older.length * newer.length > LARGEST_GRID ? endInCommon(older, newer) : blocksInCommon(older, newer);
  blocks = blocks.filter((block) => block.length >= LEAST_KEPT);
  const kept = blocks.reduce((sum, block) => sum + block.length, 0);
  if (kept * 2 < Math.min(older.length, newer.length)) blocks = [];
  const sides = [runs(older, blocks, "a"), runs(newer, blocks, "b")];
  if (older.length === newer.length && blocks.length > 0) sides.forEach((side, at) => endsElsewhere(side, sides[1 - at]));
  return sides;
}

// Windows of one length are cut: what only one of them still shows at its end is no change.
function endsElsewhere(side, other) {
  const [last, facing] = [side.at(-1), other.at(-1)];
  if (!last[0] && facing[0]) last[0] = true;
}

function runs(signs, blocks, side) {
  const found = [];
  let at = 0;
  for (const block of [...blocks, { [side]: signs.length, length: 0 }]) {
    if (block[side] > at) found.push([false, signs.slice(at, block[side]).join("")]);
    if (block.length > 0) found.push([true, signs.slice(block[side], block[side] + block.length).join("")]);
    at = block[side] + block.length;
  }
  return found;
}

function endInCommon(older, newer) {
  let length = 0;
  while (length < Math.min(older.length, newer.length) && older.at(-1 - length) === newer.at(-1 - length)) length += 1;
  return [{ a: older.length - length, b: newer.length - length, length }];
}

function blocksInCommon(older, newer) {
  const width = newer.length + 1;
  const table = new Uint16Array((older.length + 1) * width);
  for (let a = older.length - 1; a >= 0; a -= 1) {
    for (let b = newer.length - 1; b >= 0; b -= 1) {
      table[a * width + b] = older[a] === newer[b] ? table[(a + 1) * width + b + 1] + 1 : Math.max(table[(a + 1) * width + b], table[a * width + b + 1]);
    }
  }
  const blocks = [];
  let [a, b] = [0, 0];
  while (a < older.length && b < newer.length) {
    if (older[a] === newer[b]) {
      const last = blocks.at(-1);
      if (last !== undefined && last.a + last.length === a && last.b + last.length === b) last.length += 1;
      else blocks.push({ a, b, length: 1 });
      a += 1;
      b += 1;
    } else if (table[(a + 1) * width + b] >= table[a * width + b + 1]) a += 1;
    else b += 1;
  }
  return blocks;
}

function remedy(found) {
  if (!found.remedy) return null;
  return el("div", { class: "remedy" }, el("h4", {}, "What to do"), el("p", {}, found.remedy), el("p", { class: "quiet" }, "More: ", el("code", {}, `coldturn docs ${found.cause}`)));
}

function place(found) {
  const gone = found.side === "parent" ? " of the older request, gone from this one" : "";
  const pairs = [
    ["Path", found.path ? [foreign(found.path, "code"), gone] : null],
    ["Section", found.section ? foreign(found.section) : null],
    ["Prompt byte", found.offset ?? null],
    ["Byte of the block", found.block_offset ?? null],
    ["Byte of the body", found.wire_offset ?? null],
    ["Change", found.delta_bytes ? `${signed(found.delta_bytes)} bytes` : null],
    ["Names", found.names?.length ? names(found.names) : null],
    ["Kinds", found.kinds?.length ? found.kinds.join(", ") : null],
    ["Tiers lost", found.tiers_lost?.length ? found.tiers_lost.join(", ") : null],
    ["Provider says", found.vendor ? foreign([found.vendor.reason, found.vendor.score].filter(Boolean).join(" · ")) : null],
  ];
  const shown = pairs.filter(([, value]) => value !== null);
  if (shown.length === 0) return null;
  return section("Where", definitions(shown.map(([name, value]) => [name, typeof value === "number" ? count(value) : value])));
}

function names(all) {
  const shown = all.slice(0, 12).flatMap((name, at) => [at ? ", " : null, foreign(name, "code")]);
  return all.length > 12 ? [...shown, ` and ${all.length - 12} more`] : shown;
}

function others(found) {
  const later = found?.later ?? [];
  const beside = found?.alongside ?? [];
  if (later.length === 0 && beside.length === 0) return null;
  return section(
    "Behind and beside it",
    el(
      "ul",
      { class: "later" },
      ...later.map((one) => el("li", {}, foreign(one.cause, "code"), one.zone ? ` in ${one.zone}` : "", one.path ? [" ", foreign(one.path, "code", { class: "quiet" })] : null, " would break it next")),
      ...beside.map((one) => el("li", {}, foreign(one.cause ?? one, "code"), " fits as well", one.evidence ? [": ", foreign(one.evidence)] : null)),
    ),
  );
}

function tokens(row) {
  const rate = (part, whole) => (percent(share(part, whole)) === null ? "" : ` (${percent(share(part, whole))})`);
  return section(
    "Tokens",
    definitions([
      ["Input, estimated", count(row.input_estimated)],
      ["Ceiling, estimated", `${count(row.ceiling_estimated)}${rate(row.ceiling_estimated, row.input_estimated)}`],
      ["By rules, estimated", [`${count(row.read_estimated)}${rate(row.read_estimated, row.input_estimated)}`, row.rules ? el("span", { class: "quiet" }, ` ${row.rules}`) : null]],
      ["Input, reported", count(row.input_reported)],
      ["Read, reported", `${count(row.read_reported)}${rate(row.read_reported, row.input_reported)}`],
      ["Written, reported", count(row.written_reported)],
    ]),
  );
}

function about(view, row, choose) {
  const conversation = view.conversations[row.conversation];
  const model = [conversation.surface, conversation.model].filter(Boolean).join(" · ");
  const pairs = [
    ["Compared with", row.parent === null ? null : el("button", { type: "button", class: "link", onclick: () => choose(row.parent) }, `request ${view.rows[row.parent].number}`)],
    ["Source", foreign(row.entry === null ? row.source : `${row.source}, entry ${row.entry}`)],
    ["Model", model ? foreign(model) : null],
    ["Sent", row.started === null ? null : moment(row.started)],
    ["Fidelity", conversation.fidelity && conversation.fidelity !== "wire" ? conversation.fidelity : null],
    ["Not recorded", row.unseen.length ? `${row.unseen.join(", ")}: a change there cannot be seen` : null],
    ["Settings differ", row.settings.length ? row.settings.join(", ") : null],
    ["Flags", row.flags.length ? row.flags.join(", ") : null],
  ];
  return section("Request", definitions(pairs.filter(([, value]) => value !== null)));
}

function partList(view, at) {
  const row = view.rows[at];
  const ids = partsOf(view, at);
  const body = el("div", { class: "parts" });
  const open = (limit) => {
    let start = 0;
    const items = ids.slice(0, limit).map((part) => {
      const item = partItem(row, part, start);
      start += parts.bytes[part];
      return item;
    });
    const left = ids.length - items.length;
    replace(body, el("ol", {}, ...items), left > 0 ? el("button", { type: "button", class: "link", onclick: () => open(ids.length) }, `Show ${count(left)} more`) : null);
  };
  const details = el("details", { class: "part-list" }, el("summary", {}, `${counted(ids.length, "part")} of the prompt, ${size(row.bytes)}`), body);
  details.addEventListener("toggle", () => details.open && open(MOST_PARTS));
  return details;
}

function partItem(row, part, start) {
  const how = stateAt(row, start);
  const isCut = how === "reused" && start + parts.bytes[part] > sharesOf(row).reused;
  return el(
    "li",
    { class: isCut ? "again" : how },
    el("i", { class: `swatch zone-${parts.zone[part]}`, "aria-hidden": "true" }),
    foreign(keyOf(part) ?? "", "span", { class: "key" }),
    el("span", { class: "bytes" }, size(parts.bytes[part])),
    el("span", { class: "state" }, isCut ? "differs" : STATES[how]),
  );
}

function section(title, ...content) {
  return el("section", {}, el("h4", {}, title), ...content);
}

function definitions(pairs) {
  return el("dl", { class: "pairs" }, ...pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: value === "unknown" ? "unknown" : null }, value))));
}
