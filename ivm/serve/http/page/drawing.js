// What pages are made of: elements, numbers as people read them, tables.

const at = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http:" + "//www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const failed = new Map();
/** Say what went wrong with something, until it goes well (null). */
function fail(what, error) {
  if (error) failed.set(what, error.message); else failed.delete(what);
  at("error").textContent = [...new Set(failed.values())].join("\n");
  at("error").hidden = !failed.size;
}

const counted = (count) => Number(count).toLocaleString("en-US");
const several = (count, word) => `${counted(count)} ${word}${Number(count) === 1 ? "" : "s"}`;
const percent = (part) => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;
const millis = (ms) => ms === null || ms === undefined ? "–" : `${Number(ms).toFixed(ms < 10 ? 2 : 0)} ms`;
const rate = (perSecond) => perSecond === null ? "–" : perSecond >= 1e4 ? `${counted(Math.round(perSecond / 1e3))}k/s`
  : perSecond >= 100 || Number.isInteger(perSecond) ? `${counted(Math.round(perSecond))}/s` : `${perSecond.toFixed(1)}/s`;
function size(bytes) {
  let left = Number(bytes);
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (left < 1000) return unit === "B" ? `${left} B` : `${left.toFixed(1)} ${unit}`;
    left /= 1000;
  }
  return `${left.toFixed(1)} TB`;
}
const cut = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

const isNumber = (value) => typeof value === "number" || value instanceof Exact;
const shownText = (value) => value === null ? "NULL" : typeof value === "object" && !(value instanceof Exact) ? JSON.stringify(value, plain) : String(value);
const plain = (_, value) => value instanceof Exact ? value.text : value;

/** Rows as a table; `cells` gives for some columns what is shown in the place of a value. */
function table(rows, cells = {}) {
  if (!rows.length) return make("p", { className: "quiet" }, "no rows");
  const names = Object.keys(rows[0]);
  const numeric = new Set(names.filter((name) => rows.some((row) => isNumber(row[name])) || cells[name]?.numeric));
  const head = make("tr", {}, ...names.map((name) => make("th", { className: numeric.has(name) ? "number" : "" }, name)));
  const lines = rows.map((row) => make("tr", { className: row._diff < 0 || row._deleted ? "gone" : "" }, ...names.map((name) => {
    const value = row[name], shown = cells[name] ? cells[name](value, row) : shownText(value);
    return make("td", { className: `${value === null ? "null " : ""}${numeric.has(name) ? "number" : ""}` }, shown);
  })));
  return make("div", { className: "wide" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines)));
}
const asNumber = (show) => Object.assign(show, { numeric: true });
const viewPath = (name, page = "") => `#/view/${encodeURIComponent(name)}${page && `/${page}`}`;
function viewLinks(names, all = names.length) {
  const links = names.slice(0, 4).flatMap((name, place) => [place ? ", " : "", make("a", { href: viewPath(name) }, name)]);
  if (all > 4) links.push(` and ${counted(all - 4)} more`);
  return make("span", {}, ...links);
}
