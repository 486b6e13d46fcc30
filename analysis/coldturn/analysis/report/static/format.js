// Figures and foreign text as people read them.
import { el } from "./dom.js";

const CONTROL = {
  "\n": "⏎", "\r": "␍", "\t": "⇥", "\0": "␀", "\x1b": "␛", "\x7f": "␡",
};
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const LONGEST = 400;

export function count(number) {
  return number === null || number === undefined ? "unknown" : number.toLocaleString("en-US");
}

export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function signed(number) {
  return `${number > 0 ? "+" : number < 0 ? "−" : "±"}${count(Math.abs(number))}`;
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "unknown";
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

// Only nothing prints as 0 and only everything as 100.
export function percent(rate, digits = 1) {
  if (rate === null || rate === undefined) return null;
  if (rate === 0) return "0 %";
  if (rate === 1) return "100 %";
  const unit = 10 ** -digits;
  return `${Math.min(Math.max(rate * 100, unit), 100 - unit).toFixed(digits)} %`;
}

export function share(part, whole) {
  return part === null || part === undefined || !whole ? null : part / whole;
}

// Every sign can be seen, and none can turn the line around.
export function visible(text, longest = LONGEST) {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(HIDDEN, (sign) => CONTROL[sign] ?? `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

export function foreign(text, tag = "bdi", attributes = {}) {
  return el(tag, { dir: tag === "bdi" ? null : "auto", ...attributes }, visible(String(text)));
}

export function moment(seconds) {
  return new Date(seconds * 1000).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}
