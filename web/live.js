// A live node: server-sent events from it, and requests to it.
import { Problem, Source } from "./source.js";

/** A node sends a state every 2 s even if nothing changes: after this it counts as gone. */
const SILENCE_MS = 5_000;

/** Between two attempts to connect: the first, and the longest. Each is twice the one before. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** How long a change may take, and how often it is sent again with the same id if no answer comes. */
const CHANGE_MS = 4_000;
const REPEATS = 2;

/** How long the clearing of a hang may take, which waits for the disk: longer than the caretaker allows. */
const CLEAR_MS = 35_000;

/** So many of the events before this page was opened are shown. */
const RECENT = 1_000;

/** A node that was silent for longer than this may be gone as well, s. */
const LONG_SILENT_S = 0.5;

const TOKEN_KEY = "liftmesh-token";

/** The node was not reached, or the connection to it broke. */
class NetworkError extends Error {}

/** What comes over the network, or a `NetworkError`. */
async function reach(promise) {
  try {
    return await promise;
  } catch (cause) {
    throw new NetworkError("the node could not be reached", { cause });
  }
}

export class LiveSource extends Source {
  #lastId = null;
  #pause = FIRST_PAUSE_MS;
  #timer = null;
  #request = null;

  constructor() {
    super();
    // An address may bring a token along, as the one that the demo shows. It is not left in sight.
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token === null) return;
    this.token = token;
    history.replaceState(null, "", "#/bank");
  }

  start() {
    this.emit({ type: "connection", connection: { kind: "connecting" } });
    this.#connect();
  }

  retry() {
    if (this.#request !== null) return;
    clearTimeout(this.#timer);
    this.#pause = FIRST_PAUSE_MS;
    this.#connect();
  }

  async #connect() {
    this.#timer = null;
    this.#request = new AbortController();
    let reason;
    try {
      await this.#follow(this.#request);
    } catch (error) {
      if (error instanceof Problem && error.needsToken) {
        this.#request = null;
        this.emit({ type: "unauthorized", problem: error });
        return;
      }
      if (error instanceof Problem) reason = error.message;
      // All else than a broken connection is a defect of this page.
      else if (!(error instanceof NetworkError)) console.error(error);
    }
    this.#request.abort();
    this.#request = null;
    const retryAt = Date.now() + this.#pause;
    this.#timer = setTimeout(() => this.#connect(), this.#pause);
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
    this.emit({ type: "connection", connection: { kind: "lost", retryAt, reason } });
  }

  /** Reads the stream of events until it ends or falls silent. */
  async #follow(request) {
    let watchdog;
    const feed = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => request.abort(), SILENCE_MS);
    };
    feed();
    try {
      const headers = { accept: "text/event-stream", ...this.#authorization() };
      if (this.#lastId !== null) headers["last-event-id"] = this.#lastId;
      const recent = this.#lastId === null ? `?recent=${RECENT}` : "";
      const response = await reach(
        fetch(`/api/v1/events${recent}`, { headers, cache: "no-store", signal: request.signal }),
      );
      if (!response.ok) throw await problemOf(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reach(reader.read());
        if (done) return;
        feed();
        text += value;
        const blocks = text.split("\n\n");
        text = blocks.pop();
        for (const block of blocks) this.#handle(block);
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  /** Takes one block of the stream: lines `field: value`. */
  #handle(block) {
    let kind = "message";
    let id = null;
    const data = [];
    for (const line of block.split("\n")) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (field === "event") kind = value;
      else if (field === "id") id = value;
      else if (field === "data") data.push(value);
    }
    if (data.length === 0) return;
    const content = JSON.parse(data.join("\n"));
    if (kind === "state") {
      this.#pause = FIRST_PAUSE_MS;
      this.emit({ type: "connection", connection: { kind: "live" } });
      this.emit({ type: "state", state: content, received: performance.now() });
    } else if (kind === "latched") {
      // Nobody runs here who could go on with the events: the next run of the node begins anew.
      this.#lastId = null;
      this.#pause = FIRST_PAUSE_MS;
      this.emit({ type: "connection", connection: { kind: "live" } });
      this.emit({ type: "latched", latched: content });
    } else if (kind === "event") {
      this.emit({ type: "event", event: content });
    } else if (kind === "missed") {
      this.emit({ type: "missed", events: content.events });
    }
    // Only now: what could not be handled is asked for again.
    if (id !== null) this.#lastId = id;
  }

  async press(call) {
    const body = { call, request_id: randomId() };
    for (let repeat = 0; ; repeat += 1) {
      try {
        return await this.#send("POST", "/api/v1/calls", body);
      } catch (problem) {
        // The node may have placed the call: with the same id it is not placed again.
        if (problem.status !== 0 || repeat === REPEATS) throw problem;
      }
    }
  }

  async clearHang(car, { operator, reason }) {
    const path = `/api/v1/cars/${encodeURIComponent(car)}/clear-hang`;
    return this.#send("POST", path, { operator, reason }, CLEAR_MS);
  }

  async auditLog() {
    return (await this.#read("/api/v1/audit")).json();
  }

  get hasStatistics() {
    return true;
  }

  async statistics(window) {
    const query = new URLSearchParams({ window, utc_offset: -new Date().getTimezoneOffset() });
    return (await this.#read(`/api/v1/statistics?${query}`)).json();
  }

  async statisticsCsv(window) {
    const response = await this.#read(`/api/v1/statistics.csv?window=${window}`);
    const named = /filename="?([^";]+)"?/.exec(response.headers.get("content-disposition") ?? "");
    return { content: await response.blob(), name: named?.[1] ?? `statistics-${window}.csv` };
  }

  async #read(path) {
    let response;
    try {
      response = await fetch(path, {
        headers: this.#authorization(),
        signal: AbortSignal.timeout(CHANGE_MS),
      });
    } catch {
      throw new Problem(0, "no_connection", "The node does not answer.");
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  placeToClear(car, state) {
    const there = [...state.fleet.lost, ...state.fleet.nodes].find(({ node }) => node === car);
    const address = there?.address ?? null;
    const isServedThere = address !== null && servesAtItsAddress(state);
    return { address, url: isServedThere ? hangPageAt(address) : null };
  }

  get takesCommands() {
    return true;
  }

  async command(command, { operator, reason }) {
    return this.#send("POST", "/api/v1/commands", { command, operator, reason });
  }

  async #send(method, path, body, limit = CHANGE_MS) {
    let response;
    try {
      response = await fetch(path, {
        method,
        headers: { "content-type": "application/json", ...this.#authorization() },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(limit),
      });
    } catch {
      throw new Problem(0, "no_connection", "The node does not answer.");
    }
    if (!response.ok) throw await problemOf(response);
    return response.status === 204 ? {} : response.json();
  }

  #authorization() {
    return this.token ? { authorization: `Bearer ${this.token}` } : {};
  }

  get token() {
    return sessionStorage.getItem(TOKEN_KEY);
  }

  set token(token) {
    if (token) sessionStorage.setItem(TOKEN_KEY, token);
    else sessionStorage.removeItem(TOKEN_KEY);
  }

  elsewhere(state) {
    if (!servesAtItsAddress(state)) return [];
    const own = state.fleet.nodes.find((node) => node.self);
    return state.fleet.nodes
      .filter((node) => !node.self)
      .sort((one, other) => silence(one) - silence(other) || byName(one, other))
      .map(({ node, address }) => ({ node, url: pageAt(address, own.node) }));
  }
}

/**
 * Whether this page came from the node's mesh address, so that peers have theirs at their own. A node
 * that is reached by another name listens there, often on loopback alone: nothing says where its peers
 * do.
 */
function servesAtItsAddress(state) {
  return state.fleet.nodes.find((node) => node.self)?.address === location.hostname;
}

/** The page of a hung node at this address: `liftmesh caretaker` serves it. */
function hangPageAt(address) {
  const url = new URL(location.href);
  url.hostname = address;
  url.hash = "#/events";
  return url.href;
}

/** How much speaks against a node: that it was silent for long, and that it has no link. */
function silence({ synced, silent }) {
  return (silent > LONG_SILENT_S ? 2 : 0) + (synced ? 0 : 1);
}

function byName(one, other) {
  return one.node.localeCompare(other.node, undefined, { numeric: true });
}

/** This page, served by the node with this address, which may say that it replaces another one. */
function pageAt(address, from) {
  const url = new URL(location.href);
  url.hostname = address;
  url.hash = `${url.hash.split("?")[0] || "#/bank"}?from=${encodeURIComponent(from)}`;
  return url.href;
}

/** The error that a response reports, `application/problem+json` or not. */
async function problemOf(response) {
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // Not from the node: a proxy, for example.
  }
  const detail = problem.detail ?? `The answer was ${response.status} ${response.statusText}.`;
  return new Problem(response.status, problem.code ?? "unknown", detail);
}

/** 128 random bits. `crypto.randomUUID` is only there in secure contexts. */
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
