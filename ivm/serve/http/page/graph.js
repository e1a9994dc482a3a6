// A dataflow as a graph: what flows where, what takes time, what holds rows, what is shared.

const KINDS = { table: "table", view: "view", state: "holds rows", flow: "passes on" };
const comesIn = (node) => /^(table|channel) /.test(node.operator);
const kindOf = (node) => node.operator.startsWith("table ") ? "table" : node.operator.startsWith("view ") ? "view"
  : Number(node.bytes) > 0 ? "state" : "flow";

const MANY = 60;

/** Draws nodes into an element, and again what has changed of them. `choose` is told the node that is clicked. */
class Graph {
  constructor(into, choose) {
    this.into = into;
    this.choose = choose;
    this.drawn = new Map();
    this.edges = [];
    this.zoom = null;
  }

  /** Show nodes, by what `ivm_dataflow` says of them, with `out`, `busy` and `came`, rates or null. */
  show(nodes) {
    const before = [...this.drawn.keys()].join();
    this.nodes = new Map(nodes.map((node) => [node.node, node]));
    if (before !== nodes.map((node) => node.node).join() || !before) this.build(nodes);
    const most = Math.max(0.01, ...nodes.map((node) => node.busy ?? 0));
    for (const node of nodes) this.update(node, most);
    for (const edge of this.edges) {
      const flow = edge.looked ? 0 : this.nodes.get(edge.from).out ?? 0;
      edge.path.classList.toggle("flows", flow > 0);
      edge.path.style.strokeWidth = 1.2 + Math.log10(1 + flow) * 1.1;
      edge.title.textContent = edge.looked ? `looked up in ${this.nodes.get(edge.from).operator}` : rate(flow);
    }
  }

  build(nodes) {
    const layout = laidOut(nodes.map((node) => ({ id: node.node, from: [...node.reads, ...node.looks_up] })));
    const edge = (g, from, to, looked) => {
      const title = draw("title"), path = draw("path", { class: looked ? "edge looked" : "edge", d: wayOf(layout, from, to) }, title);
      this.edges.push({ from, to, looked, path, title });
      g.append(path);
    };
    const lines = draw("g"), boxes = draw("g");
    this.edges = [];
    this.drawn.clear();
    for (const node of nodes) {
      for (const from of node.looks_up) if (layout.places.has(from)) edge(lines, from, node.node, true);
      for (const from of node.reads) if (layout.places.has(from)) edge(lines, from, node.node, false);
      boxes.append(this.box(node, layout.places.get(node.node)));
    }
    this.width = layout.width + 24;
    this.height = layout.height + 24;
    const box = `-12 -12 ${this.width} ${this.height}`;
    this.svg = draw("svg", { viewBox: box, role: "group", "aria-label": "Dataflow" }, lines, boxes);
    this.into.replaceChildren(this.svg);
    if (this.zoom === null) this.begin(nodes.length); else this.scale(this.zoom);
    this.mark(null);
  }

  box(node, place) {
    const parts = { title: draw("title"), heat: draw("rect", { class: "heat", width: BOX.width, height: BOX.height, rx: 6 }) };
    const line = (name, y) => { parts[name] = draw("text", { x: 12, y, class: name }); return parts[name]; };
    const made = draw("g", { transform: `translate(${place.x} ${place.y - BOX.height / 2})`, tabindex: 0, role: "button", "data-node": node.node },
      parts.title, draw("rect", { class: "box", width: BOX.width, height: BOX.height, rx: 6 }), parts.heat,
      draw("rect", { class: "kind", width: 4, height: BOX.height, rx: 2 }), line("name", 18), line("what", 33), line("flow", 49), line("held", 64));
    if (node.users > 1) {
      const x = BOX.width - 15;
      made.append(draw("rect", { class: "kind", x: x - 12, y: 7, width: 24, height: 14, rx: 7 }), draw("text", { x, y: 17.5, class: "many" }, counted(node.users)));
    }
    made.onclick = () => this.mark(node.node);
    made.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.mark(node.node); } };
    this.drawn.set(node.node, { made, parts });
    return made;
  }

  update(node, most) {
    const { made, parts } = this.drawn.get(node.node), kind = kindOf(node);
    made.setAttribute("class", ["node", kind, ...["chosen", "off"].filter((each) => made.classList.contains(each))].join(" "));
    parts.name.textContent = cut(node.operator, node.users > 1 ? 19 : 23);
    parts.what.textContent = cut(node.what, 30);
    const flow = comesIn(node) ? rate(node.out) : `${rate(node.came)} in, ${rate(node.out)} out`;
    parts.flow.textContent = node.out === null ? `${counted(node.updates_out)} updates so far` : !node.came && !node.out ? "idle"
      : node.busy > 0.0005 ? `${flow}, ${percent(node.busy)}` : flow;
    const rows = Number(node.rows) ? `${several(node.rows, "row")}, ` : "";
    parts.held.textContent = Number(node.bytes) ? rows + size(node.bytes) : "";
    parts.heat.style.opacity = Math.min(0.35, 0.35 * (node.busy ?? 0) / most);
    parts.title.textContent = `${node.operator}\n${node.what}\n${several(node.users, "view")}`;
  }

  /** Choose a node: what it comes from and what comes of it stands out. None: nothing is chosen. */
  mark(id) {
    this.chosen = id === this.chosen ? null : id;
    const near = this.chosen === null ? null : this.around(this.chosen);
    for (const [each, { made }] of this.drawn) {
      made.classList.toggle("chosen", each === this.chosen);
      made.classList.toggle("off", near !== null && !near.has(each));
    }
    for (const edge of this.edges) edge.path.classList.toggle("off", near !== null && !(near.has(edge.from) && near.has(edge.to)));
    this.choose(this.chosen);
  }

  around(id) {
    const found = new Set([id]);
    for (const [next, last] of [["to", "from"], ["from", "to"]]) {
      const pending = [id];
      while (pending.length) {
        const one = pending.pop();
        for (const edge of this.edges) {
          if (edge[last] === one && !found.has(edge[next])) { found.add(edge[next]); pending.push(edge[next]); }
        }
      }
    }
    return found;
  }

  /** Few nodes are shown so that they can be read, many so that all are seen. */
  begin(count) {
    const wide = this.into.clientWidth / this.width;
    if (count > MANY) this.fit(); else this.scale(Math.min(1, Math.max(0.72, wide)));
    this.into.scrollTop = (this.into.scrollHeight - this.into.clientHeight) / 2;
  }

  scale(zoom) {
    this.zoom = Math.min(2, Math.max(0.08, zoom));
    this.svg.setAttribute("width", this.width * this.zoom);
    this.svg.setAttribute("height", this.height * this.zoom);
  }

  /** Larger or smaller, with what is in the middle where it is. */
  closer(by) {
    const { into } = this, x = into.scrollLeft + into.clientWidth / 2, y = into.scrollTop + into.clientHeight / 2, before = this.zoom;
    this.scale(before * by);
    into.scrollTo(x * this.zoom / before - into.clientWidth / 2, y * this.zoom / before - into.clientHeight / 2);
  }
  fit() {
    const high = 0.72 * innerHeight - 4;
    this.scale(Math.min(1, this.into.clientWidth / this.width, high / this.height));
  }
}

/** The way of an edge: from the right side of a box to the left side of another, round those in between. */
function wayOf({ places, bends, layer }, from, to) {
  const start = places.get(from), end = places.get(to);
  const points = [{ x: start.x + BOX.width, y: start.y }];
  for (let number = layer.get(from) + 1; number < layer.get(to); number++) {
    const { x, y } = bends.get(`${from}>${number}`);
    points.push({ x, y }, { x: x + BOX.width, y });
  }
  points.push({ x: end.x, y: end.y });
  let d = `M${points[0].x} ${points[0].y}`;
  for (let place = 1; place < points.length; place++) {
    const a = points[place - 1], b = points[place], half = (a.x + b.x) / 2;
    d += ` C${half} ${a.y} ${half} ${b.y} ${b.x} ${b.y}`;
  }
  return d;
}
