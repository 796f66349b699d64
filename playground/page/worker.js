// The runs of a race, beside the page, with the program that somebody wrote there: it is asked line by
// line, as `exec:node mine.js` is, and the page ends this worker when it hangs.
import init, { Dispatchers } from "../fleet/liftmesh_playground.js";

/** What the stack of an error calls the program. */
const NAME = "mine.js";

/** How often the page is told that the program still answers, ms. */
const ALIVE_MS = 250;

/** The most lines of standard error that are shown. */
const MOST_SAYINGS = 20;

/** The parameters of the program that node has as well. */
const PARAMETERS = "require, process, console, module, exports";

// The program may not replace them.
const post = self.postMessage.bind(self);
const evaluate = self.eval;

let text = "";
let program = null;
let told = 0;
let sayings = 0;

self.onmessage = async ({ data }) => {
  text = data.program.replace(/^#!/, "//");
  try {
    await init({ module_or_path: new URL("../fleet/liftmesh_playground_bg.wasm", import.meta.url) });
    const race = new Dispatchers(JSON.stringify(data.settings));
    let isMore = true;
    for (let runs = 0; isMore; runs += 1) {
      post({ runs, standing: JSON.parse(race.standing()) });
      isMore = race.run();
    }
    post({ isDone: true });
  } catch (error) {
    // An error of the program, of what it wrote, or of the settings.
    const line = lineOf(error);
    post({ fault: { text: line === null ? error.message ?? String(error) : String(error), line } });
  }
};

/** What the program answers to a line; throws if it does not. */
globalThis.liftmesh_ask = (line, isFirst) => {
  if (isFirst) program = start();
  const answers = program(line);
  if (performance.now() - told > ALIVE_MS || isFirst) {
    told = performance.now();
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
    const lines = (begun + chunk).split("\n");
    begun = lines.pop();
    written.push(...lines);
    return true;
  };
  const say = (chunk) => {
    sayings += 1;
    if (sayings <= MOST_SAYINGS) post({ says: String(chunk).trimEnd() });
    return true;
  };
  const joined = (parts) => parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");
  const [log, error] = [(...parts) => write(`${joined(parts)}\n`), (...parts) => say(joined(parts))];
  const require = (name) => {
    if (/^(node:)?readline$/.test(name)) return { createInterface: () => stream };
    if (/^(node:)?process$/.test(name)) return process;
    throw new Error(`require("${name}") is not available in the page: readline and process are`);
  };
  const exit = () => {
    throw new Error("the program ends itself by process.exit");
  };
  const process = { stdin: stream, stdout: { write }, stderr: { write: say }, argv: ["node", NAME], env: {}, exit, on };
  const module = { exports: {} };
  // What is not a program fails here, with the right line; what is one ends before it does anything.
  try {
    evaluate(`throw null;${text}\n//# sourceURL=${NAME}`);
  } catch (error) {
    if (error !== null) throw error;
  }
  const run = evaluate(`(function (${PARAMETERS}) {${text}\n})\n//# sourceURL=${NAME}`);
  run.call(module.exports, require, process, { log, info: log, error, warn: error, debug: log }, module, module.exports);
  return (line) => {
    for (const handler of handlers.line) handler(line);
    for (const handler of handlers.data) handler(`${line}\n`);
    return written.splice(0);
  };
}

/** The line of the program that an error comes from; null if it is none's. */
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
