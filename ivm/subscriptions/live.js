// A view in a notebook: its table, drawn again when it has changed, with what is new lit up for a moment.

const MOMENT = 1500;

function render({ model, el }) {
  const shown = document.createElement("div");
  const rows = () => [...shown.querySelectorAll("tbody tr")];
  const draw = () => {
    const before = new Set(rows().map((row) => row.textContent)), isFirst = !shown.firstChild;
    shown.innerHTML = model.get("drawn");
    for (const row of isFirst ? [] : rows().filter((each) => !before.has(each.textContent))) {
      row.animate([{ backgroundColor: "#f2b93488" }, { backgroundColor: "transparent" }], MOMENT);
    }
  };
  el.append(shown);
  model.on("change:drawn", draw);
  draw();
  return () => model.off("change:drawn", draw);
}

export default { render };
