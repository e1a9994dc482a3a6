// Which page is shown, and what stands around it.

const LISTED = 300;
let names = [], drawn = "", leave = () => {};

async function listNames() {
  const [views, tables] = [await read("/views"), await read("/tables")];
  names = [...views.map((each) => ({ ...each, kind: "view" })), ...tables.map((each) => ({ ...each, kind: "table" }))];
  showNames();
}

function showNames() {
  const wanted = at("find").value.trim().toLowerCase(), path = location.hash;
  const group = (kind, title) => {
    const found = names.filter((each) => each.kind === kind && each.name.toLowerCase().includes(wanted));
    if (!found.length) return [];
    const more = found.length > LISTED ? [make("p", { className: "quiet" }, `and ${counted(found.length - LISTED)} more: find them by name`)] : [];
    return [make("h2", {}, `${title} (${counted(found.length)})`), ...found.slice(0, LISTED).map((each) => {
      const to = `#/${kind}/${encodeURIComponent(each.name)}`, isShown = path === to || path.startsWith(`${to}/`);
      return make("a", { href: to, title: each.name, ...(isShown ? { "aria-current": "page" } : {}) },
        make("span", {}, each.name), make("small", {}, each.rows === null ? "not maintained" : counted(each.rows)));
    }), ...more];
  };
  const shown = [...group("view", "Views"), ...group("table", "Tables")];
  const before = drawn;
  drawn = wanted + shown.map((each) => each.outerHTML).join("");
  if (drawn === before) return;  // whoever points at one of them is not disturbed
  at("names").replaceChildren(...(shown.length ? shown : [make("p", { className: "quiet" }, wanted ? "nothing of that name" : "nothing yet")]));
}

/** Show the page that the address names: #/, #/dataflow, #/sql, #/table/NAME, #/view/NAME and its dataflow or explain. */
async function go() {
  leave();
  const leaving = new AbortController(), main = make("div");
  leave = () => leaving.abort();
  at("main").replaceChildren(main);
  fail(go, null);
  showNames();
  for (const link of at("pages").children) {
    if (link.hash === (location.hash || "#/")) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  try {
    const [kind = "", name = "", page = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
    if (kind === "view" || kind === "table") {
      if (!names.some((each) => each.name === name)) await listNames();
      await relation(main, kind, name, page, leaving.signal);
    } else if (kind === "dataflow") await dataflow(main, null, leaving.signal);
    else if (kind === "sql") statements(main, leaving.signal);
    else await overview(main, leaving.signal);
  } catch (error) {
    if (!leaving.signal.aborted) fail(go, error);
  }
}

async function begin() {
  addEventListener("hashchange", go);
  at("find").oninput = showNames;
  const forever = new AbortController().signal;
  const me = await read("/me");
  at("who").textContent = me.role === "write" ? me.name : `${me.name}, who may only read`;
  again(5000, forever, listNames);
  again(OFTEN, forever, async () => {
    const [{ time, p50 }] = await sql("SELECT max(time) AS time, quantile_cont(millis, 0.5) AS p50 FROM ivm_commits");
    at("commits").textContent = time === null ? "no commits yet" : `time ${counted(time)}, a commit takes ${millis(p50)}`;
  });
  await go();
}
begin().catch((error) => fail(begin, error));
