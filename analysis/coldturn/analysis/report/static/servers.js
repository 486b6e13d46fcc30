// MCP servers with every version of their catalogue, and tools that prompts define for nothing.
import { byId, el, replace } from "./dom.js";
import { marked } from "./detail.js";
import { count, counted, foreign, size, visible } from "./format.js";

const MOST_NAMES = 30;
const MOST_TOOLS = 15;

export function drawServers(view) {
  const nothing = view.servers.length === 0 && view.tools.length === 0;
  byId("servers").hidden = nothing;
  document.querySelector('nav a[href="#servers"]').hidden = nothing;
  replace(byId("servers-body"), view.servers.length ? serverPanel(view.servers) : null, view.tools.length ? toolPanel(view) : null);
}

function serverPanel(servers) {
  const hasTiers = servers.some((server) => server.tiers.length > 0);
  const heads = ["server", "tools", ...(hasTiers ? ["tier", "bytes in the prompt, at most"] : ["bytes of its list"]), "calls", "versions of its list"];
  return el(
    "div",
    { class: "panel" },
    el("h3", { id: "server-table-title" }, "MCP servers"),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "servers", "aria-labelledby": "server-table-title" },
        el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col", class: /^(tools|bytes|calls)/.test(head) ? "number" : null }, head)))),
        el("tbody", {}, ...servers.map((server) => serverRow(server, hasTiers))),
      ),
    ),
  );
}

function serverRow(server, hasTiers) {
  const last = server.versions.at(-1);
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, foreign(server.name)),
    el("td", { class: "number" }, last === undefined ? "unknown" : count(last.tools)),
    hasTiers ? el("td", {}, server.tiers.join(" → ") || "unknown") : null,
    el("td", { class: "number" }, size(hasTiers ? server.prompt_bytes : (last?.bytes ?? null))),
    el("td", { class: "number" }, count(server.calls)),
    el("td", {}, versions(server.versions)),
  );
}

function versions(all) {
  if (all.length === 0) return el("span", { class: "quiet" }, "no list in this input");
  if (all.length === 1) return el("span", { class: "quiet" }, `1, never changed`);
  return el(
    "details",
    {},
    el("summary", {}, counted(all.length, "version")),
    el("ol", { class: "versions" }, ...all.map((one, place) => version(one, all[place - 1]))),
  );
}

function version(one, before) {
  const grown = before?.bytes && one.bytes ? ` (${one.bytes >= before.bytes ? "+" : "−"}${size(Math.abs(one.bytes - before.bytes))})` : "";
  return el(
    "li",
    {},
    el("p", {}, el("b", {}, `Version ${one.number}`), ` · ${one.when} · ${counted(one.tools, "tool")}`, one.bytes === null ? null : ` · ${size(one.bytes)}${grown}`),
    changed("added", one.added),
    changed("removed", one.removed),
    ...one.changed.map(edit),
  );
}

function changed(word, names) {
  if (names.length === 0) return null;
  const shown = names.slice(0, MOST_NAMES).flatMap((name, at) => [at ? ", " : null, foreign(name, "code")]);
  return el("p", { class: word }, `${word}: `, ...shown, names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : null);
}

function edit(one) {
  const name = el("p", { class: "changed" }, "changed: ", foreign(one.name, "code"));
  if (one.was === null && one.now === null) return name;
  const [was, now] = marked(one.was ?? "", one.now ?? "");
  const text = (pieces, tag) => pieces.map(([same, piece]) => (same ? visible(piece) : el(tag, {}, visible(piece))));
  return el(
    "div",
    {},
    name,
    el(
      "div",
      { class: "change" },
      el("div", { class: "was" }, el("span", { class: "side" }, "was"), el("pre", { dir: "ltr", tabindex: "0", "aria-label": "was" }, el("span", { class: "before" }, visible(one.before)), ...text(was, "del"))),
      el("div", { class: "now" }, el("span", { class: "side" }, "now"), el("pre", { dir: "ltr", tabindex: "0", "aria-label": "now" }, el("span", { class: "before" }, visible(one.before)), ...text(now, "ins"))),
    ),
  );
}

function toolPanel(view) {
  const idle = view.tools.filter(([, , , calls]) => calls === 0);
  const wasted = idle.reduce((sum, [, bytes, shownIn]) => sum + bytes * shownIn, 0);
  const all = view.tools.length;
  const title = idle.length === 0 ? `All ${counted(all, "tool")} that prompts define were called` : `${count(idle.length)} of ${counted(all, "tool")} that prompts define were never called`;
  const list = el("div", { class: "scroll" });
  const open = (limit) => replace(list, toolTable(idle.slice(0, limit)), idle.length > limit ? el("button", { type: "button", class: "link", onclick: () => open(idle.length) }, `Show ${count(idle.length - limit)} more`) : null);
  if (idle.length > 0) open(MOST_TOOLS);
  return el(
    "div",
    { class: "panel" },
    el("h3", { id: "tool-table-title" }, title),
    idle.length === 0 ? null : el("p", { class: "quiet" }, `Their definitions took ${size(wasted)} of ${size(view.totals.bytes)} sent in all. A definition costs in each request, cached or not, and moves the prefix when it changes.`),
    idle.length === 0 ? null : list,
  );
}

function toolTable(tools) {
  return el(
    "table",
    { "aria-labelledby": "tool-table-title" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "tool"), ...["bytes", "in requests", "bytes sent in all"].map((head) => el("th", { scope: "col", class: "number" }, head)))),
    el(
      "tbody",
      {},
      ...tools.map(([name, bytes, shownIn]) =>
        el("tr", {}, el("th", { scope: "row" }, foreign(name, "code")), el("td", { class: "number" }, count(bytes)), el("td", { class: "number" }, count(shownIn)), el("td", { class: "number" }, size(bytes * shownIn))),
      ),
    ),
  );
}
