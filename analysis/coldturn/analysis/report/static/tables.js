// Replays side by side: policies, or one policy with each of its choices made otherwise.
import { byId, el, replace, svg } from "./dom.js";
import { report, views } from "./data.js";
import { count, foreign, percent, signed } from "./format.js";

export function drawTables(showView) {
  const box = byId("policies-body");
  if (box === null) return;
  replace(box, ...report.tables.map((table, at) => (table.base === null ? comparison(table, at, showView) : ablation(table, at, showView))));
}

function comparison(table, at, showView) {
  const most = Math.max(...table.rows.map((row) => row.uncached_tokens_estimated ?? 0), 1);
  const heads = ["policy", "uncached tokens, estimated", "", "hit rate, estimated", "ceiling, estimated", "input tokens, estimated", "requests", "extra steps", "breaks, unplanned", "planned"];
  return panel(
    table,
    at,
    `Policies on ${short(table.source)}`,
    "Uncached tokens lead: a hit rate alone flatters a big prefix that is sent each time.",
    heads,
    [...table.rows].map((row) => [
      policyName(row.policy, row.policy, table, showView),
      number(count(row.uncached_tokens_estimated)),
      el("td", { class: "bar-cell" }, bar(0, (row.uncached_tokens_estimated ?? 0) / most, "cost")),
      number(percent(row.hit_rate_estimated) ?? "unknown"),
      number(percent(row.hit_rate_ceiling_estimated) ?? "unknown"),
      number(count(row.input_tokens_estimated)),
      number(count(row.requests)),
      number(count(row.extra_steps)),
      number(count(row.unplanned)),
      number(count(row.planned)),
    ]),
  );
}

function ablation(table, at, showView) {
  const [base, ...flips] = table.rows;
  const least = Math.min(0, ...flips.map((row) => row.uncached_tokens_delta_estimated));
  const most = Math.max(1, ...flips.map((row) => row.uncached_tokens_delta_estimated));
  const place = (value) => (value - least) / (most - least);
  const heads = ["choice made otherwise", "uncached tokens, estimated", "more, estimated", "", "hit rate, estimated", "points", "breaks, unplanned", "extra steps"];
  return panel(
    table,
    at,
    `Which choice of ${table.base} is worth how much`,
    `Each row is ${table.base} with one choice made otherwise, on ${short(table.source)}. Rows do not add up. A minus costs tokens here and is chosen for another reason.`,
    heads,
    [
      [policyName(base.policy, base.policy, table, showView), number(count(base.uncached_tokens_estimated)), number(""), el("td", { class: "bar-cell" }), number(percent(base.hit_rate_estimated) ?? "unknown"), number(""), number(count(base.unplanned)), number(count(base.extra_steps))],
      ...flips.map((row) => [
        policyName(row.policy, row.choice, table, showView),
        number(count(row.uncached_tokens_estimated)),
        number(signed(row.uncached_tokens_delta_estimated)),
        el("td", { class: "bar-cell" }, bar(place(0), place(row.uncached_tokens_delta_estimated), row.uncached_tokens_delta_estimated < 0 ? "gain" : "cost")),
        number(percent(row.hit_rate_estimated) ?? "unknown"),
        number(row.hit_rate_delta_estimated === null ? "unknown" : `${row.hit_rate_delta_estimated < 0 ? "−" : "+"}${Math.abs(row.hit_rate_delta_estimated * 100).toFixed(2)}`),
        number(count(row.unplanned)),
        number(count(row.extra_steps)),
      ]),
    ],
  );
}

function panel(table, at, title, words, heads, rows) {
  return el(
    "div",
    { class: "panel" },
    el("h3", { id: `table-${at}` }, foreign(title)),
    el("p", { class: "quiet" }, foreign(words), table.rules ? ` Estimated by the rule ${table.rules}.` : null),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": `table-${at}` },
      el(
        "table",
        { class: "policies", "aria-labelledby": `table-${at}` },
        el("thead", {}, el("tr", {}, ...heads.map((head, place) => (head === "" ? el("td", {}) : el("th", { scope: "col", class: place ? "number" : null }, head))))),
        el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells))),
      ),
    ),
  );
}

function policyName(policy, words, table, showView) {
  const at = views.findIndex((view) => view.name === policy || view.name.startsWith(`${policy} · `));
  const text = foreign(words ?? policy);
  return el("th", { scope: "row" }, at < 0 ? text : el("button", { type: "button", class: "link", title: "Show its requests", onclick: () => showView(at) }, text));
}

function short(path) {
  return path.split("/").at(-1);
}

function number(text) {
  return el("td", { class: text === "unknown" ? "number unknown" : "number" }, text);
}

function bar(from, to, kind) {
  const [start, end] = [Math.min(from, to), Math.max(from, to)];
  return svg(
    "svg",
    { class: "worth", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    start === end ? null : svg("rect", { class: kind, x: start * 100, y: 0, width: Math.max((end - start) * 100, 0.6), height: 10 }),
    from > 0 ? svg("path", { class: "zero", d: `M${from * 100} 0V10` }) : null,
  );
}
