// The page to try statements.

const TYPED = "statement";

function statements(main, signal) {
  const text = make("textarea", { id: "sql", spellcheck: false, placeholder: "SELECT .., run by Ctrl-Enter", value: sessionStorage.getItem(TYPED) ?? "" });
  text.setAttribute("aria-label", "SQL");
  const took = make("span", { id: "took", className: "quiet" }), answer = make("div", { id: "answer" });
  const run = async (before) => {
    const begun = performance.now();
    sessionStorage.setItem(TYPED, text.value);
    took.textContent = "running";
    try {
      const rows = await sql(before + text.value, [], signal);
      const some = rows.length > ROWS ? `, of which ${ROWS} are shown` : "";
      took.textContent = `${several(rows.length, "row")}${some}, ${millis(performance.now() - begun)}`;
      const isText = rows.length && Object.keys(rows[0]).join() === "explain";
      answer.replaceChildren(isText ? make("pre", {}, rows.map((row) => row.explain).join("\n")) : table(rows.slice(0, ROWS)));
      await listNames();
    } catch (error) {
      if (signal.aborted) return;
      took.textContent = "";
      answer.replaceChildren(make("pre", { className: "error" }, error.message));
    }
  };
  text.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(""); }
  };
  main.append(text, make("div", { className: "tools" }, make("button", { id: "run", onclick: () => run("") }, "Run"), make("button", { id: "explain", onclick: () => run("EXPLAIN ") }, "EXPLAIN"), took), answer);
  text.focus();
}
