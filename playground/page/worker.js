// The runs of a race, beside the page, with the program that somebody wrote there: it is asked line
// by line, as `exec:node mine.js` is, and the page ends this worker when it hangs.
import init, { Dispatchers } from "../fleet/liftmesh_playground.js";

// Only the worker of a blob has the policy of the page: elsewhere a program could reach other sites.
if (self.location.protocol !== "blob:") throw new Error("worker.js runs only in the worker of a race");

/** What the stack of an error calls the program. */
const NAME = "mine.js";

/** How often the page is told that the program still answers, ms. */
const ALIVE_MS = 250;

/** The most lines of standard error that are shown of a run, and the most characters of each. */
const [MOST_SAYINGS, LONGEST_SAYING] = [20, 1_000];

/** The parameters of a module in node, where process and console are globals: a module may declare
 * them itself. */
const PARAMETERS = "exports, require, module, __filename, __dirname";

/** What leads out of this worker, or to what the browser keeps for the site. */
const REMOVED = [
  "Worker", "importScripts", "fetch", "XMLHttpRequest", "EventSource", "WebSocket", "WebSocketStream",
  "WebTransport", "BroadcastChannel", "indexedDB", "caches", "navigator",
];

// The program may not replace them.
const evaluate = self.eval;
const { stringify } = JSON;
const now = performance.now.bind(performance);

let post = null;
let text = "";
let program = null;
let told = 0;
let sayings = 0;

self.onmessage = async ({ data, ports: [port] }) => {
  const send = port.postMessage.bind(port);
  post = (message) => send(stringify(message));
  const wish = JSON.parse(data);
  text = wish.program.replace(/^#!/, "//");
  try {
    await init({ module_or_path: new URL("../fleet/liftmesh_playground_bg.wasm", import.meta.url) });
    for (const name of REMOVED) {
      for (let holder = self; holder !== null; holder = Object.getPrototypeOf(holder)) {
        Reflect.deleteProperty(holder, name);
      }
    }
    const race = new Dispatchers(JSON.stringify(wish.settings));
    let isMore = true;
    for (let runs = 0; isMore; runs += 1) {
      post({ runs, standing: JSON.parse(race.standing()) });
      isMore = race.run();
    }
    post({ isDone: true });
  } catch (error) {
    // An error of the program, of what it wrote, or of the settings.
    const line = lineOf(error);
    post({ fault: { text: line === null ? String(error?.message ?? error) : String(error), line } });
  }
};

/** What the program answers to a line; throws if it does not. */
globalThis.liftmesh_ask = (line, isFirst) => {
  if (isFirst) program = start();
  const answers = program(line);
  if (now() - told > ALIVE_MS || isFirst) {
    told = now();
    post({ isAlive: true });
  }
  if (answers.length === 1) return answers[0];
  const wrote = answers.length === 0 ? "no line" : `${answers.length} lines`;
  throw new Error(`The program wrote ${wrote} when it read ${line.slice(0, 60)}… It has to write one line \
for each that it reads, before its handler returns: not after an await, a promise or a timer.`);
};

/** Starts the program: a function that gives it a line, and returns the lines that it writes. */
function start() {
  const [handlers, written] = [{ line: [], data: [] }, []];
  let begun = "";
  const on = (event, handler) => {
    handlers[event]?.push(handler);
    return stream;
  };
  const stream = { on, addListener: on, setEncoding: () => stream, resume: () => stream, close() {} };
  const write = (chunk) => {
    const lines = (begun + checked(chunk)).split("\n");
    begun = lines.pop();
    written.push(...lines);
    return true;
  };
  sayings = 0;
  const say = (chunk) => {
    sayings += 1;
    const says = String(chunk).trimEnd().slice(0, LONGEST_SAYING);
    if (sayings <= MOST_SAYINGS) post({ says });
    if (sayings === MOST_SAYINGS + 1) post({ says: "… More of this run is not shown." });
    return true;
  };
  const log = (...parts) => write(`${parts.map(checked).join(" ")}\n`);
  const error = (...parts) => say(parts.map(legible).join(" "));
  const console = { log, info: log, error, warn: error, debug: log };
  const exit = () => {
    throw new Error("the program ends itself by process.exit");
  };
  const process = { stdin: stream, stdout: { write }, stderr: { write: say }, argv: ["node", NAME], env: {}, exit, on };
  const modules = { console, process, readline: { createInterface: () => stream } };
  const require = (name) => {
    const found = modules[name.replace(/^node:/, "")];
    if (found === undefined) throw new Error(`require("${name}") is not available in the page: readline and process are`);
    return found;
  };
  const module = { exports: {} };
  const run = compiled()(process, console);
  run.call(module.exports, module.exports, require, module, NAME, ".");
  return (line) => {
    for (const handler of handlers.line) handler(line);
    for (const handler of handlers.data) handler(`${line}\n`);
    return written.splice(0);
  };
}

/** The program as a function that takes what node has as globals, and returns its module. */
function compiled() {
  const source = `(function (process, console) { return function (${PARAMETERS}) {${text}\n}; })\n//# sourceURL=${NAME}`;
  try {
    new Function(PARAMETERS, text);
  } catch {
    // Parsed alone, for an error with the line of the program. There is none if the text closes the
    // function.
    try {
      evaluate(`throw null;${source}`);
    } catch (error) {
      throw error ?? new Error("The program closes more braces than it opens.");
    }
  }
  return evaluate(source);
}

/** What is written to standard output. */
function checked(part) {
  if (typeof part === "string") return part;
  throw new TypeError("node would not write this as JSON: use JSON.stringify");
}

/** What is said on standard error, as far as a line can show it. */
function legible(part) {
  if (typeof part === "string" || part instanceof Error) return String(part);
  try {
    return JSON.stringify(part);
  } catch {
    return String(part);
  }
}

/** The line of the program that threw an error; null if the error has another origin. */
function lineOf(error) {
  const [, thrown] = new RegExp(`\\b${NAME}:(\\d+)`).exec(error?.stack) ?? [];
  if (thrown !== undefined) return Number(thrown);
  if (!(error instanceof SyntaxError)) return null;
  // Only the browser knows where: it says so where it reports the error.
  let line = null;
  const listen = (event) => {
    line = Math.min(event.lineno, text.split("\n").length) || null;
    event.preventDefault();
  };
  self.addEventListener("error", listen);
  self.reportError(error);
  self.removeEventListener("error", listen);
  return line;
}
