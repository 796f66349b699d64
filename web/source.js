// Where the panel gets its picture from: a live node (live.js), or a fleet inside this page.

/**
 * What a node knows of the fleet: the message `state` of `/api/v1/events`.
 * @typedef {{fleet: object, cars: object[], orders: object[]}} State
 *
 * The connection: `connecting` until the first state, `live`, or `lost` since a moment, with the
 * moment of the next attempt (`Date.now()`) and, if the node said something, its words.
 * @typedef {{kind: "connecting" | "live" | "lost", since?: number, retryAt?: number, reason?: string}} Connection
 *
 * `unauthorized`: the node shows the fleet only with a token. There is no further attempt until `retry()`.
 * `reset`: what follows is of another fleet. `restart`: the events that follow are those of another
 * node than before, from the first one that is known.
 *
 * @typedef {{type: "state", state: State, received: number} |
 *           {type: "event", event: object} |
 *           {type: "missed", events: number | null} |
 *           {type: "latched", latched: object} |
 *           {type: "unauthorized", problem: Problem} |
 *           {type: "reset"} |
 *           {type: "restart"} |
 *           {type: "connection", connection: Connection}} Message
 * `received` is by the clock of `performance.now()`. `latched` is what `/api/v1/latch` says of a node
 * that does not run.
 */

/** A change that was refused, or whose outcome is not known. */
export class Problem extends Error {
  /**
   * @param {number} status the HTTP status, 0 if there was no answer
   * @param {string} code as in docs/API.md, or `no_connection`
   * @param {string} detail what happened, for people
   */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }

  /** A valid token is missing, or its scope does not allow the change. */
  get needsToken() {
    return this.status === 401 || (this.status === 403 && this.code !== "read_only");
  }
}

/** The interface of a source of data, and the list of its listeners. */
export class Source {
  #listeners = new Set();

  /** Calls `listener` with each message from now on. Returns a function that ends this. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param {Message} message */
  emit(message) {
    for (const listener of this.#listeners) listener(message);
  }

  /** Begins to emit messages. */
  start() {
    throw new Error("a source implements start()");
  }

  /** Tries to reach the node now, instead of at the next attempt. */
  retry() {}

  /**
   * Places a call, as if its button had been pressed.
   * @param {object} call as in docs/API.md
   * @returns {Promise<{id: string, state: "placed" | "absorbed"}>}
   * @throws {Problem}
   */
  async press(call) {
    throw new Error(`a source implements press(${call})`);
  }

  /**
   * Clears the hang of a car.
   * @param {string} car
   * @param {{operator: string, reason: string}} record what the audit log keeps
   * @throws {Problem}
   */
  async clearHang(car, record) {
    throw new Error(`a source implements clearHang(${car}, ${record})`);
  }

  /** Whether a node whose hang was cleared starts by itself. */
  get startsNodes() {
    return false;
  }

  /** Whether there is an audit log, which keeps who changed something, and why. */
  get hasAuditLog() {
    return true;
  }

  /** The audit log of the node as `GET /api/v1/audit` has it. Throws a `Problem`. */
  async auditLog() {
    return [];
  }

  /**
   * Where the hang of a car is cleared: null if here, otherwise at the address of its computer, with
   * the page there if it is known.
   * @param {string} _car
   * @param {State} _state the last one that came
   * @returns {{address: string | null, url: string | null} | null}
   */
  placeToClear(_car, _state) {
    return null;
  }

  /** Whether modes, fire recalls and locks of floors can be commanded. */
  get takesCommands() {
    return false;
  }

  /** Whether the node keeps statistics. */
  get hasStatistics() {
    return false;
  }

  /**
   * Gives a command, as `POST /api/v1/commands` has it. Returns it as it is carried out.
   * @param {{kind: string}} command
   * @param {{operator: string, reason: string}} record for the audit log
   * @throws {Problem}
   */
  async command(command, record) {
    throw new Error(`a source that takes commands implements command(${command}, ${record})`);
  }

  /**
   * The statistics of a window, as `GET /api/v1/statistics` has them, by the hours of this computer.
   * @param {"hour" | "day" | "week"} window
   * @throws {Problem}
   */
  async statistics(window) {
    throw new Error(`a source with statistics implements statistics(${window})`);
  }

  /**
   * The same as CSV.
   * @param {"hour" | "day" | "week"} window
   * @returns {Promise<{content: Blob, name: string}>} `name` is that of the file
   * @throws {Problem}
   */
  async statisticsCsv(window) {
    throw new Error(`a source with statistics implements statisticsCsv(${window})`);
  }

  /** Whether changes need a token, and where to keep one. */
  get token() {
    return null;
  }

  set token(_token) {}

  /**
   * The pages of other nodes, the most promising first, that show the same fleet.
   * @param {State} _state the last one that came
   * @returns {{node: string, url: string}[]}
   */
  elsewhere(_state) {
    return [];
  }
}
