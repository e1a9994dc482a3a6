// What the server is asked, and how it answers.

/** A number of which a double would lose digits, as it was written. */
class Exact {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
  valueOf() { return Number(this.text); }
}
const parsed = (text) => JSON.parse(text, (_, value, written) =>
  typeof value === "number" && written?.source !== undefined && String(value) !== written.source ? new Exact(written.source) : value);

const SAID = "authorization";
let coming = null;

/** Ask who somebody is, once for all requests that were refused. `tried` is what these have said. */
function comeIn(tried) {
  if (sessionStorage.getItem(SAID) !== tried) return Promise.resolve();
  coming ??= new Promise((done) => {
    const door = at("door");
    at("door-said").hidden = tried === null;
    door.oncancel = (event) => event.preventDefault();
    door.onclose = () => {
      const name = at("door-name").value, secret = at("door-secret").value;
      const both = new TextEncoder().encode(`${name}:${secret}`);
      sessionStorage.setItem(SAID, name ? `Basic ${btoa(String.fromCodePoint(...both))}` : `Bearer ${secret.trim()}`);
      at("door-secret").value = "";
      done();
    };
    door.showModal();
  }).finally(() => { coming = null; });
  return coming;
}

async function ask(path, options = {}) {
  for (;;) {
    const said = sessionStorage.getItem(SAID);
    const headers = said ? { ...options.headers, Authorization: said } : options.headers;
    const answer = await fetch(path, { ...options, headers, credentials: "omit" });
    if (answer.ok) return answer;
    const text = await answer.text();
    if (answer.status !== 401) throw new Error(errorIn(text) ?? `${answer.status} ${answer.statusText}`);
    await comeIn(said);
  }
}
function errorIn(text) {
  try { return JSON.parse(text).error; } catch { return undefined; }
}
const read = async (path, signal) => parsed(await (await ask(path, { signal })).text());
const sql = async (text, params = [], signal = undefined) => parsed(await (await ask("/sql", {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sql: text, params }), signal,
})).text());

/** The server-sent events of a path, one after the other. */
async function* events(path, signal) {
  const answer = await ask(path, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const told = Object.fromEntries(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      if (told.data) yield { kind: told.event, id: told.id, data: parsed(told.data) };
    }
  }
}

/** So often what changes is looked at, in milliseconds; the second time sooner, since rates are what has changed in between. */
const OFTEN = 2000, SOON = 800;
const pause = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

/**
 * Do something again and again while its page is shown; what goes wrong is said, and it is tried again. What takes long is
 * done less often: `times` as long as it took is waited at least. What goes on for long calls what it is given when all is well,
 * and what gives false is not done again.
 */
async function again(ms, signal, work, times = 5) {
  signal.addEventListener("abort", () => fail(work, null), { once: true });
  while (!signal.aborted) {
    const begun = performance.now();
    try {
      if (!document.hidden) {
        if (await work(() => fail(work, null)) === false) return;
        fail(work, null);
      }
    } catch (error) {
      if (!signal.aborted) fail(work, error);
    }
    await pause(Math.max(typeof ms === "function" ? ms() : ms, times * (performance.now() - begun)), signal);
  }
}
