// The pages of a view and of a table.

const ROWS = 200, TOLD = 50;

async function relation(main, kind, name, page, signal) {
  const entry = names.find((each) => each.name === name && each.kind === kind);
  if (!entry) return main.append(make("p", { className: "error" }, `There is no ${kind} ${name}.`));
  main.append(make("h1", {}, name));
  if (kind === "view" && entry.maintained) {
    const tab = (label, to) => make("a", { href: viewPath(name, to), ...(to === page ? { "aria-current": "page" } : {}) }, label);
    main.append(make("div", { className: "tabs" }, tab("Rows", ""), tab("Dataflow", "dataflow"), tab("EXPLAIN", "explain")));
  }
  if (page === "dataflow") return dataflow(main, name, signal);
  if (page === "explain") return explained(main, entry, signal);
  return rowsOf(main, entry, signal);
}

async function rowsOf(main, entry, signal) {
  const path = `/${entry.kind}s/${encodeURIComponent(entry.name)}`;
  const shown = make("div", { id: "rows" }), count = make("p", { className: "quiet", id: "count" }), changes = make("div", { id: "changes" });
  const columns = Object.entries(entry.columns).map(([column, type]) => `${column} ${type}`).join(", ");
  const key = entry.primary_key?.length ? `; primary key ${entry.primary_key.join(", ")}` : "";
  const told = entry.maintained ? make("div", {}, make("h2", {}, "Changes"), changes) : null;
  main.append(make("p", { className: "quiet" }, columns + key), make("div", { className: "pair" }, ...[make("div", {}, make("h2", {}, "Rows"), count, shown), told].filter(Boolean)));
  const show = async () => {
    const rows = await read(`${path}?limit=${ROWS}`, signal);
    count.textContent = rows.length < ROWS ? several(rows.length, "row") : `the first ${ROWS} rows`;
    shown.replaceChildren(table(rows));
  };
  if (!entry.maintained) return again(5000, signal, show);
  changes.append(make("p", { className: "quiet" }, "none since this page was opened"));
  const known = [];
  let from = "";
  return again(1000, signal, async (well) => {
    const asked = `${path}/changes?every=200ms${from}`;
    from = "";  // if that time is gone, the next try begins with what there is then
    for await (const event of events(asked, signal)) {
      if (event.kind === "end" && event.data.kind === "ViewDroppedError") {
        fail(go, new Error(event.data.error));
        return false;
      }
      if (event.kind === "end") throw new Error(event.data.error);
      from = `&from_time=${event.id}`;
      known.unshift(...event.data.toReversed());
      known.length = Math.min(known.length, TOLD);
      await show();
      well();
      if (known.length) changes.replaceChildren(table(known));
    }
  }, 0);
}

/** EXPLAIN's sections, each to be opened. */
async function explained(main, entry, signal) {
  const text = (await sql(`EXPLAIN ${entry.sql}`, [], signal)).map((row) => row.explain).join("\n");
  const sections = text.split(/^(?=\w[\w ]*:$)/m).map((section) => [section.slice(0, section.indexOf(":")), section.slice(section.indexOf("\n") + 1)]);
  const closed = new Set(["logical", "optimized"]);
  main.append(make("pre", { id: "query" }, entry.sql), ...sections.map(([title, body]) =>
    make("details", { open: !closed.has(title) }, make("summary", {}, title), make("pre", {}, body.replace(/^ {2}/gm, "").trimEnd()))));
}
