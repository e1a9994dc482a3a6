// The first page: commits and their latency, who is slow, where memory goes.

const RECENT = "SELECT time, updates, millis FROM ivm_commits ORDER BY time DESC LIMIT 200";
const ARRANGEMENTS = "SELECT arrangement, kind, rows, bytes, views[1:5] AS views, len(views) AS users FROM ivm_arrangements WHERE kind <> 'process' ORDER BY bytes DESC LIMIT 60";
const MOST_VIEWS = 25;
const SHADES = ["--accent", "--view", "--state", "--heat", "--flow", "--quiet"];

/** A bar for each commit, by how long it took; heights are logarithms. */
function latencies(commits) {
  if (!commits.length) return make("p", { className: "quiet" }, "no commits yet");
  const width = 800, height = 130, most = Math.max(1, ...commits.map((each) => each.millis)), least = most / 1000;
  const up = (ms) => (height - 20) * Math.max(0.01, Math.log10(Math.max(ms, least) / least) / 3);
  const chart = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "How long the last commits took" });
  commits.toReversed().forEach((each, place) => {
    const wide = width / Math.max(60, commits.length);
    chart.append(draw("rect", { x: place * wide, y: height - up(each.millis), width: Math.max(1, wide - 1), height: up(each.millis) },
      draw("title", {}, `time ${each.time}: ${several(each.updates, "update")}, ${millis(each.millis)}`)));
  });
  const slowest = commits.reduce((a, b) => a.millis > b.millis ? a : b);
  return make("div", {}, chart, make("small", {}, `the last ${several(commits.length, "commit")}, newest right; the slowest took ${millis(slowest.millis)}, at time ${slowest.time}; a third of the height is a factor of ten`));
}

/** Views, those first whose operators took most of the time since the last look. */
function busiest(before, now) {
  const seconds = now.at - (before?.at ?? now.at);
  const rows = Object.values(now.views).map((each) => {
    const old = before?.views[each.view], since = (name) => old ? Math.max(0, each[name] - old[name]) / seconds : null;
    return { view: each.view, rows: each.rows, "changes/s": since("changes"), busy: old ? since("millis") / 1e3 : null, "total ms": each.millis, state: each.state_bytes, alone: each.alone };
  });
  rows.sort((a, b) => b.busy - a.busy || b["total ms"] - a["total ms"]);
  return make("div", {}, table(rows.slice(0, MOST_VIEWS), {
    view: (name) => make("a", { href: viewPath(name) }, name), rows: asNumber(counted), "changes/s": asNumber((value) => value === null ? "–" : value.toFixed(1)),
    busy: asNumber((value) => value === null ? "–" : percent(value)), "total ms": asNumber((value) => value.toFixed(1)), state: asNumber(size), alone: asNumber(size),
  }), make("small", {}, `${rows.length > MOST_VIEWS ? `the first ${MOST_VIEWS} of ${several(rows.length, "view")}; ` : ""}busy: of a second, in its operators; state: all that it needs; alone: what no other view needs`));
}

/** Memory by kind as a bar, and by arrangement. */
function memory(kinds, held) {
  const parts = Object.entries(kinds).filter(([kind, bytes]) => bytes > 0 && kind !== "process");
  const sum = parts.reduce((all, [, bytes]) => all + bytes, 0);
  const shade = (place) => `var(${SHADES[place % SHADES.length]})`;
  return make("div", {},
    make("div", { className: "bar" }, ...parts.map(([kind, bytes], place) => make("span", { title: `${kind} ${size(bytes)}`, style: `width: ${100 * bytes / sum}%; background: ${shade(place)}` }))),
    make("p", {}, ...parts.map(([kind, bytes], place) => make("span", { className: "key" }, make("i", { style: `--of: ${shade(place)}` }), `${kind} ${size(bytes)}`)),
      make("span", { className: "quiet" }, `and ${size(kinds.process ?? 0)} that the process holds beside`)),
    table(held.map(({ arrangement, kind, rows, bytes, views, users }) => ({ arrangement, kind, rows, bytes, views: { views, users } })),
      { rows: asNumber(counted), bytes: asNumber(size), views: ({ views, users }) => viewLinks(views, users) }));
}

async function overview(main, signal) {
  const tiles = make("div", { className: "tiles", id: "tiles" }), commits = make("div", { id: "latency" });
  const views = make("div", { id: "busiest" }), arrangements = make("div", { id: "memory" });
  main.append(tiles, make("h2", {}, "Commits"), commits, make("h2", {}, "Views"), views, make("h2", {}, "Memory"), arrangements);
  let before = null, wait = SOON;
  await again(() => wait, signal, async () => {
    const [now, recent, held] = [await read("/top", signal), await sql(RECENT, [], signal), await sql(ARRANGEMENTS, [], signal)];
    const per = (count) => count / now.seconds, sum = Object.values(now.memory).reduce((all, each) => all + each, 0);
    const tile = (name, value) => make("div", {}, make("b", {}, value), name);
    tiles.replaceChildren(tile("time", now.commits.time === null ? "–" : counted(now.commits.time)), tile("commits", rate(per(now.commits.commits))), tile("updates", rate(per(now.commits.updates))),
      tile("commit, p50", millis(now.commits.p50)), tile("commit, p99", millis(now.commits.p99)), tile("memory", size(sum)),
      tile("views", counted(Object.keys(now.views).length)), tile("listening", counted(now.listening.listening)));
    commits.replaceChildren(latencies(recent));
    views.replaceChildren(busiest(before, now));
    arrangements.replaceChildren(memory(now.memory, held));
    wait = before ? OFTEN : SOON;
    before = now;
  });
}
