// Where the nodes of a graph stand: in layers from left to right, each right of all that it reads.

const BOX = { width: 200, height: 76, across: 56, down: 16, thin: 8 };

/**
 * Places for `nodes`, each `{id, from: [ids]}` and after those that it names. Gives `places`, x and y by id, `bends`, the
 * points on the way of an edge that passes other layers, by `from>layer`, and the `width` and `height` of all.
 */
function laidOut(nodes) {
  const known = new Set(nodes.map((node) => node.id));
  const from = new Map(nodes.map((node) => [node.id, [...new Set(node.from.filter((id) => known.has(id)))]]));
  const layer = layersOf(nodes, from);
  const layers = Array.from({ length: Math.max(0, ...layer.values()) + 1 }, () => []);
  const items = new Map(), link = (a, b) => { a.right.push(b); b.left.push(a); };
  const item = (key, number, height) => {
    if (!items.has(key)) {
      const made = { key, height, left: [], right: [], y: 0 };
      items.set(key, made);
      layers[number].push(made);
    }
    return items.get(key);
  };
  for (const node of nodes) {
    const own = item(node.id, layer.get(node.id), BOX.height);
    for (const source of from.get(node.id)) {
      let before = items.get(source);
      for (let number = layer.get(source) + 1; number < layer.get(node.id); number++) {
        const bend = item(`${source}>${number}`, number, BOX.thin);
        if (!before.right.includes(bend)) link(before, bend);
        before = bend;
      }
      link(before, own);
    }
  }
  untangle(layers);
  settle(layers);
  const top = Math.min(0, ...[...items.values()].map((each) => each.y - each.height / 2));
  const places = new Map(), bends = new Map();
  layers.forEach((each, number) => each.forEach((one) => {
    (known.has(one.key) ? places : bends).set(one.key, { x: number * (BOX.width + BOX.across), y: one.y - top });
  }));
  const bottom = Math.max(0, ...[...items.values()].map((each) => each.y - top + each.height / 2));
  return { places, bends, layer, width: layers.length * (BOX.width + BOX.across) - BOX.across, height: bottom };
}

/** One more than that of all that a node reads; what reads nothing stands just before its first reader. */
function layersOf(nodes, from) {
  const layer = new Map(), first = new Map();
  for (const node of nodes) {
    layer.set(node.id, Math.max(-1, ...from.get(node.id).map((id) => layer.get(id))) + 1);
    for (const id of from.get(node.id)) first.set(id, Math.min(first.get(id) ?? Infinity, layer.get(node.id)));
  }
  for (const node of nodes) if (!from.get(node.id).length && first.has(node.id)) layer.set(node.id, first.get(node.id) - 1);
  return layer;
}

/** Order each layer by where its neighbours stand, to and fro, so that few edges cross. */
function untangle(layers) {
  const number = () => layers.forEach((each) => each.forEach((one, place) => { one.place = place / each.length; }));
  number();
  for (let round = 0; round < 8; round++) {
    const side = round % 2 ? "right" : "left";
    for (const each of round % 2 ? layers.toReversed() : layers) {
      each.forEach((one) => { one.wish = one[side].length ? mean(one[side].map((other) => other.place)) : one.place; });
      each.sort((a, b) => a.wish - b.wish);
      each.forEach((one, place) => { one.place = place / each.length; });
    }
  }
}

/** Heights: each as near as may be to its neighbours, in the order of its layer, none upon another. */
function settle(layers) {
  for (const each of layers) spread(each, each.map((_, place) => place * (BOX.height + BOX.down)));
  for (let round = 0; round < 10; round++) {
    for (const each of round % 2 ? layers.toReversed() : layers) {
      spread(each, each.map((one) => {
        const around = [...one.left, ...one.right].map((other) => other.y);
        return around.length ? mean(around) : one.y;
      }));
    }
  }
}

/** The nearest heights to those that are wished for which keep order and distance: blocks that meet move as one. */
function spread(each, wished) {
  const blocks = [];
  let above = 0;
  each.forEach((one, place) => {
    if (place) above += (each[place - 1].height + one.height) / 2 + BOX.down;
    one.above = above;
    let block = { sum: wished[place] - above, count: 1 };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).count >= block.sum / block.count) {
      const last = blocks.pop();
      block = { sum: last.sum + block.sum, count: last.count + block.count };
    }
    blocks.push(block);
  });
  let place = 0;
  for (const block of blocks) {
    for (let left = block.count; left; left--, place++) each[place].y = each[place].above + block.sum / block.count;
  }
}
const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
