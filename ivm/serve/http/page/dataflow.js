// The page of a dataflow: of one view, or of all.

const MOST_NODES = 500;
const NODES = "SELECT * EXCLUDE (views), views[1:5] AS views, len(views) AS users FROM ivm_dataflow";

const CHANNEL = "channel ";

/** The nodes at one moment, of several shards added up, and with those that send what comes by channels; `at` in milliseconds. */
async function nodesOf(view, signal) {
  const found = new Map(), pending = [view], asked = new Set();
  while (pending.length) {
    const name = pending.pop();
    asked.add(name);
    const rows = name === null ? await sql(NODES, [], signal) : await sql(`${NODES} WHERE list_contains(views, ?)`, [name], signal);
    for (const row of added(rows)) found.set(row.node, row);
    const channels = [...found.values()].filter((node) => node.operator.startsWith(CHANNEL)).map((node) => node.operator.slice(CHANNEL.length));
    if (view !== null) pending.push(...channels.filter((each) => !asked.has(each) && !pending.includes(each)));
  }
  const nodes = [...found.values()].sort((a, b) => a.node.localeCompare(b.node, "en", { numeric: true }));
  const ends = new Map();
  for (const node of nodes) {
    if (ends.has(node.operator)) node.reads = [ends.get(node.operator)];
    if (node.operator.startsWith("view ")) ends.set(CHANNEL + node.operator.slice(5), node.node);
  }
  return { at: performance.now(), nodes };
}

/** Rows of shards, which have the same nodes, as one for each node. */
function added(rows) {
  const found = new Map();
  for (const row of rows) {
    const known = found.get(row.node);
    if (!known) found.set(row.node, row);
    else for (const name of ["updates_in", "updates_out", "visited", "millis", "rows", "bytes"]) known[name] = Number(known[name]) + Number(row[name]);
  }
  return found.values();
}

/** The same with rates by what has changed since: updates a second that come and go out, and the part of a second that it took. */
function withRates(before, now) {
  const known = new Map(before?.nodes.map((node) => [node.node, node])), seconds = (now.at - before?.at) / 1e3;
  return now.nodes.map((node) => {
    const old = known.get(node.node);
    const since = (name) => old ? Math.max(0, node[name] - old[name]) / seconds : null;
    return { ...node, came: since("updates_in"), out: since("updates_out"), busy: old ? since("millis") / 1e3 : null };
  });
}

async function dataflow(main, view, signal) {
  if (view === null) {
    const [{ nodes, views }] = await sql("SELECT (SELECT count(DISTINCT node) FROM ivm_dataflow WHERE within = '') AS nodes, (SELECT count(*) FROM ivm_views) AS views", [], signal);
    if (!views) return main.append(make("p", { className: "quiet" }, "There is no view yet that is maintained."));
    if (nodes > MOST_NODES) {
      return main.append(make("p", { id: "too-many" }, `The dataflow has ${counted(nodes)} nodes of ${several(views, "view")}, which is too much to look at. Pick a view, and its Dataflow.`));
    }
  }
  const into = make("div", { className: "graph", id: "graph" }), details = make("div", { id: "node", "aria-live": "polite" });
  let shown = [], last = null, wait = SOON;
  const graph = new Graph(into, () => detail());
  const detail = () => details.replaceChildren(...(graph.chosen ? described(graph.chosen, shown) : [make("p", { className: "quiet" }, "Click a node for what it does, and what it comes from.")]));
  const button = (label, title, onclick) => make("button", { title, "aria-label": title, onclick }, label);
  const keys = Object.entries(KINDS).map(([kind, words]) => make("span", { className: "key" }, make("i", { style: `--of: var(--${kind})` }), words));
  main.append(make("div", { className: "tools" }, button("−", "Smaller", () => graph.closer(1 / 1.25)), button("+", "Larger", () => graph.closer(1.25)),
    button("Fit", "All of it", () => graph.fit()), ...keys, make("span", { className: "quiet" }, "dotted: is looked up; a number: views that share it")), into, details);
  into.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    graph.closer(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });
  await again(() => wait, signal, async () => {
    const now = await nodesOf(view, signal);
    shown = withRates(last, now);
    wait = last ? OFTEN : SOON;
    last = now;
    graph.show(shown.filter((node) => !node.within));
    detail();
  });
}

/** What is known of a node, and of what is within it if it is a loop. */
function described(id, nodes) {
  const node = nodes.find((each) => each.node === id);
  if (!node) return [make("p", { className: "quiet" }, "It is not there any more.")];
  const row = (each) => ({
    operator: each.operator, "updates/s in": rate(each.came), "updates/s out": rate(each.out), busy: each.busy === null ? "–" : percent(each.busy),
    "updates in": counted(each.updates_in), "updates out": counted(each.updates_out), visited: counted(each.visited), time: millis(each.millis),
    rows: counted(each.rows), bytes: size(each.bytes),
  });
  const numbers = Object.fromEntries(Object.keys(row(node)).slice(1).map((name) => [name, asNumber((value) => value)]));
  const within = nodes.filter((each) => each.within === id);
  return [
    make("h2", {}, node.operator), node.what ? make("p", {}, node.what) : null,
    make("p", {}, node.users > 1 ? "Shared by " : "Of ", viewLinks(node.views, node.users)),
    table([row(node)], numbers),
    ...(within.length ? [make("h2", {}, "Within the loop"), table(within.map(row), numbers)] : []),
  ].filter(Boolean);
}
