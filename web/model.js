// Everything that the pages show, kept up to date from one source.
import { callId, callText, carOf, eventText, modeText, remedy, sessionOfEvent, severity } from "./format.js";
import { History } from "./history.js";
import { Problem } from "./source.js";

/** The bound of the list of events; the oldest is dropped. */
export const MOST_EVENTS = 1_000;

/** How long a press may look pending before the page says that nothing came of it, ms. */
const PENDING_MS = 15_000;

/** How long a message stays, ms, and how many there are at most. */
const MESSAGE_MS = 12_000;
const MOST_MESSAGES = 4;

/** Older events are history, and not read out, ms. */
const NEWS_MS = 10_000;

/** Each kind of command: what it is, and what is said once it is taken. */
const COMMANDS = {
  mode: {
    what: ({ car, mode }) => `Car ${car}: ${modeText(mode)}`,
    said: ({ car, mode }) => [`Car ${car}: ${modeText(mode)}.`, "It applies until another mode is set."],
  },
  fire_recall: {
    what: ({ on }) => (on ? "Fire recall of all cars" : "End of the fire recall"),
    said: ({ on }) => [on ? "All cars are recalled." : "The fire recall has ended."],
  },
  floor_lock: {
    what: ({ floor, locked }) => `Floor ${floor} ${locked ? "locked" : "unlocked"}`,
    said: ({ floor, locked }) =>
      locked ? [`Floor ${floor} locked.`, "It applies until the floor is unlocked."] : [`Floor ${floor} unlocked.`],
  },
  priority: {
    what: ({ car, floor }) =>
      floor === null ? `End of the priority call of ${car}` : `Priority call to floor ${floor}`,
    said: ({ car, floor }) => [
      floor === null ? `The priority call of ${car} has ended.` : `Car ${car} goes to floor ${floor} with priority.`,
    ],
  },
  emergency_power: {
    what: ({ on }) => (on ? "Emergency power" : "End of emergency power"),
    said: ({ on }) => [on ? "The cars go down one at a time." : "Emergency power has ended."],
  },
  acknowledge_alarm: {
    what: ({ car }) => `Answer to the alarm from car ${car}`,
    said: ({ car }) => [`The alarm lamp in car ${car} shows that you have answered.`],
  },
};

/** A car of which nothing is known. */
const NEVER_SEEN = {
  floor: null,
  position: null,
  speed: 0,
  phase: { kind: "idle" },
  direction: null,
  load: null,
  door: "closed",
  locked_out: [],
};

export class Model {
  state = null;
  /** Why the node does not run, while its caretaker answers in its place. */
  latched = null;
  /** Who operates: the name that was given last. */
  operator = "";
  /** The labels of the floors, the lowest first. */
  labels = [];

  /** The labels of those with a second entrance, at the rear. */
  rear = [];

  /** When the state came, by `performance.now()` and by `Date.now()`. */
  received = 0;
  receivedAt = null;
  connection = { kind: "connecting" };
  openedAt = Date.now();
  /** The newest first: `{key, event, car}`, with the car that the event is about, or null. */
  events = [];
  /** Events that the node had and the page did not get; `null` if nobody can say how many. */
  missed = 0;
  history = new History();
  /** Call id → when it was pressed here, until its order is promised. */
  pending = new Map();
  /** `{key, tone, text, hint}`: tone is `info` or `alarm`. */
  messages = [];
  /** Every car that was ever there, as it was last seen. */
  #seenCars = new Map();
  /** The last evidence of a hang by car. */
  hangs = new Map();
  /** What waits for a token: `{key, problem, what, need, answer}`. */
  wantsToken = null;
  /** What a screen reader says next. */
  announcement = "";
  #source;
  #listeners = new Set();
  #keys = 0;
  #wasLost = false;

  constructor(source) {
    this.#source = source;
    source.subscribe((message) => this.#handle(message));
    setInterval(() => this.#tick(), 1_000);
  }

  /** Calls `listener` after each change. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get isLive() {
    return this.connection.kind === "live";
  }

  /** The node shows the fleet only with a token, and none that it takes is here. */
  get isRefused() {
    return this.connection.kind === "refused";
  }

  get takesCommands() {
    return this.#source.takesCommands;
  }

  get hasToken() {
    return Boolean(this.#source.token);
  }

  /** The cars by name: those that are known, and those of lost nodes with `lost`, why they are. */
  get cars() {
    const lost = (this.state?.fleet.lost ?? [])
      .filter(({ node, role }) => role === "cabin" && !this.state.cars.some(({ car }) => car === node))
      .map(({ node, cause }) => ({ ...(this.#seenCars.get(node) ?? { car: node, ...NEVER_SEEN }), lost: cause }));
    const cars = [...(this.state?.cars ?? []), ...lost];
    return cars.sort((one, other) => one.car.localeCompare(other.car, undefined, { numeric: true }));
  }

  retry() {
    this.#source.retry();
  }

  get hasAuditLog() {
    return this.#source.hasAuditLog;
  }

  /** The audit log of the node, the oldest record first; null if it was not read. */
  auditLog() {
    return this.#change(() => this.#source.auditLog(), "Reading the audit log", "it needs a token.");
  }

  get hasStatistics() {
    return this.#source.hasStatistics;
  }

  statistics(window) {
    return this.#source.statistics(window);
  }

  statisticsCsv(window) {
    return this.#source.statisticsCsv(window);
  }

  elsewhere() {
    return this.state === null ? [] : this.#source.elsewhere(this.state);
  }

  /** Presses a button; what comes of it shows in the picture or in a message. */
  async press(call) {
    const id = callId(call);
    if (this.pending.has(id)) return;
    this.pending.set(id, Date.now());
    this.#changed();
    const placed = await this.#change(() => this.#source.press(call), callText(call));
    if (placed === null) this.pending.delete(id);
    if (placed?.state === "absorbed") {
      this.pending.delete(id);
      this.say("info", `${callText(call)}: a car is already there with its door open.`);
    }
    this.#settle();
    this.#changed();
  }

  /** Where the hang of a car is cleared: null if here. */
  placeToClear(car) {
    return this.latched === null ? this.#source.placeToClear(car, this.state) : null;
  }

  /** Gives a command. Returns whether that was done. */
  async command(command, record) {
    this.operator = record.operator;
    const { what, said } = COMMANDS[command.kind];
    const done = await this.#change(() => this.#source.command(command, record), what(command));
    if (done === null) return false;
    this.say("info", ...said(done));
    return true;
  }

  /** Clears a hang. Returns whether that was done. */
  async clearHang(car, record) {
    this.operator = record.operator;
    const isAtCaretaker = this.latched !== null;
    const cleared = await this.#change(
      () => this.#source.clearHang(car, record),
      `Clearing the hang of ${car}`,
    );
    if (cleared === null) return false;
    if (isAtCaretaker) {
      const next = "The supervisor restarts the node. Without one, run systemctl start liftmesh.";
      this.say("info", `The hang of ${car} is cleared and audited.`, next);
    } else {
      const next = this.#source.startsNodes ? "Its node is restarting." : "Start its node now.";
      this.say("info", `The hang of ${car} is cleared.`, next);
    }
    return true;
  }

  /** Makes a change; asks for a token where one is missing. Returns null if it was not made. */
  async #change(run, what, need = "changes need a token.") {
    try {
      return await run();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.needsToken) return this.#askForToken(problem, run, what, need);
      this.say("alarm", `${what}: ${problem.message}`, remedy(problem));
      return null;
    }
  }

  #askForToken(problem, run, what, need) {
    return new Promise((resolve) => {
      const answer = async (token) => {
        this.wantsToken = null;
        if (token === null) {
          this.say("info", `${what}: not done, because no token was entered.`);
          resolve(null);
        } else {
          this.#useToken(token);
          resolve(await this.#change(run, what, need));
        }
        this.#changed();
      };
      this.wantsToken?.answer(null);
      this.#wantToken({ problem, what, need, answer });
    });
  }

  /** Asks for the token without which the node does not show the fleet. */
  askToRead() {
    const answer = (token) => {
      this.wantsToken = null;
      if (token !== null) this.#useToken(token);
      this.#changed();
    };
    const need = "this node needs a token to show the fleet.";
    this.#wantToken({ problem: this.connection.problem, what: "Showing the fleet", need, answer });
  }

  #wantToken(wants) {
    this.#keys += 1;
    this.wantsToken = { key: this.#keys, ...wants };
    this.#changed();
  }

  /** Keeps a token for everything from here on. */
  #useToken(token) {
    this.#source.token = token;
    if (this.isRefused) this.#source.retry();
  }

  forgetToken() {
    this.#source.token = null;
    this.say("info", "Token forgotten.");
  }

  say(tone, text, hint = "") {
    this.#keys += 1;
    const message = { key: this.#keys, tone, text, hint, until: Date.now() + MESSAGE_MS };
    this.messages = [...this.messages, message].slice(-MOST_MESSAGES);
    this.#changed();
  }

  dismiss(key) {
    this.messages = this.messages.filter((message) => message.key !== key);
    this.#changed();
  }

  #handle(message) {
    switch (message.type) {
      case "state":
        this.#onState(message);
        break;
      case "event":
        this.#onEvent(message.event);
        break;
      case "latched":
        this.#onLatched(message.latched);
        break;
      case "unauthorized":
        this.#onUnauthorized(message.problem);
        break;
      case "reset":
        this.#reset();
        break;
      case "restart":
        // Events have no name of a node: those of one would count as those of the other.
        this.events = [];
        this.missed = 0;
        this.history = new History();
        if (this.state !== null) this.history.take(this.state, Date.parse(this.state.fleet.at));
        break;
      case "missed":
        // Nobody knows what happened at another node, or before this one started.
        this.missed = message.events === null || this.missed === null ? null : this.missed + message.events;
        break;
      case "connection":
        this.#onConnection(message.connection);
        break;
    }
    this.#changed();
  }

  #onUnauthorized(problem) {
    if (this.connection.kind === "live" || this.connection.kind === "lost") this.#wasLost = true;
    this.connection = { kind: "refused", problem };
    // A change that waits for one asks already.
    if (this.wantsToken === null) this.askToRead();
  }

  /** Forgets the fleet that was shown so far: another one follows. */
  #reset() {
    this.wantsToken?.answer(null);
    this.state = null;
    this.latched = null;
    this.receivedAt = null;
    this.connection = { kind: "connecting" };
    this.openedAt = Date.now();
    this.events = [];
    this.missed = 0;
    this.history = new History();
    this.pending.clear();
    this.messages = [];
    this.#seenCars.clear();
    this.hangs.clear();
    this.announcement = "";
    this.#wasLost = false;
  }

  #onLatched(latched) {
    if (this.latched === null) this.announcement = `Node ${latched.node} does not run: ${latched.text}.`;
    this.latched = latched;
    this.receivedAt = Date.now();
  }

  /** The number of a floor, 0 for the lowest; null without one. */
  levelOf(label) {
    const level = this.labels.indexOf(label);
    return level < 0 ? null : level;
  }

  /** The sides of a floor at which a car opens: of two entrances one is `rear`, an only one is `front`. */
  sidesOf({ car, serves }, floor) {
    if (!(serves ?? this.labels).includes(floor)) return [];
    if (!this.rear.includes(floor)) return ["front"];
    return this.state.fleet.building.cars.find(({ name }) => name === car)?.doors ?? ["front", "rear"];
  }

  #onState({ state, received }) {
    const before = this.state;
    this.latched = null;
    this.state = state;
    const { floors, cars } = state.fleet.building;
    this.labels = floors.map(({ label }) => label);
    const isTwoSided = ({ doors }) => doors?.length === 2;
    this.rear = floors.filter(isTwoSided).map(({ label }) => label);
    for (const car of cars) car.doors ??= ["front"];
    for (const car of state.cars) car.level = this.levelOf(car.floor);
    this.received = received;
    this.receivedAt = Date.now();
    for (const car of state.cars) this.#seenCars.set(car.car, { ...car, speed: 0, seen: true });
    const at = Date.parse(state.fleet.at);
    if (before !== null && this.#wasLost) this.history.gap(Date.parse(before.fleet.at), at);
    this.#wasLost = false;
    this.history.take(state, at);
    for (const car of this.hangs.keys()) {
      const isBack = state.fleet.nodes.some(({ node }) => node === car);
      if (isBack && !state.fleet.hung.includes(car)) this.hangs.delete(car);
    }
    this.#settle();
    if (before !== null) this.#announceChanges(before, state);
  }

  #announceChanges({ fleet: before }, { fleet }) {
    const news = [];
    for (const node of fleet.hung) {
      if (!before.hung.includes(node)) news.push(`Car ${node} hung.`);
    }
    const wasThere = new Set(before.nodes.map(({ node }) => node));
    const isThere = new Set(fleet.nodes.map(({ node }) => node));
    for (const node of wasThere) if (!isThere.has(node)) news.push(`Node ${node} lost.`);
    for (const node of isThere) if (!wasThere.has(node)) news.push(`Node ${node} is back.`);
    if (fleet.master !== before.master) {
      news.push(fleet.master ? `${fleet.master} is the master.` : "There is no master.");
    }
    if (news.length > 0) this.announcement = news.join(" ");
  }

  #onEvent(event) {
    this.#keys += 1;
    const node = this.state?.fleet.node ?? null;
    const car = this.#carOf(event, node);
    this.events = [{ key: this.#keys, event, car }, ...this.events].slice(0, MOST_EVENTS);
    this.history.onEvent(event, node);
    if (event.event === "hung") this.hangs.set(node, event);
    // An order may be served so soon that no state has it.
    if (event.event === "promised" || event.event === "served") {
      this.pending.delete(callId(event.call));
    }
    const now = Date.parse(this.state?.fleet.at ?? event.at);
    const isNews = now - Date.parse(event.at) < NEWS_MS;
    if (isNews && severity(event) === "alarm") this.announcement = eventText(event);
  }

  /** The car that an event is about, or null: for the end of a session, the car that it had until then. */
  #carOf(event, node) {
    const session = sessionOfEvent(event);
    if ((session?.reason ?? null) === null) return carOf(event, node);
    const before = this.events.find((one) => sessionOfEvent(one.event)?.id === session.id);
    return before?.car ?? carOf(event, node);
  }

  #onConnection(connection) {
    const before = this.connection;
    if (connection.kind === "lost") {
      const since = before.since ?? this.receivedAt ?? this.openedAt;
      this.connection = { ...connection, since };
      this.#wasLost = true;
      if (before.kind !== "lost") this.announcement = "Connection to the node lost.";
      return;
    }
    this.connection = connection;
    if (connection.kind === "live" && before.kind === "lost") {
      this.announcement = "Connected again.";
    }
  }

  /** A press is not pending any more once its order is promised. */
  #settle() {
    for (const order of this.state?.orders ?? []) {
      if (order.promised) this.pending.delete(order.id);
    }
  }

  #tick() {
    const now = Date.now();
    for (const [id, since] of this.pending) {
      if (this.wantsToken !== null || now - since < PENDING_MS) continue;
      this.pending.delete(id);
      const order = this.state?.orders.find((order) => order.id === id);
      // An order that was placed and served between two states is no trouble.
      if (order) this.say("alarm", `${callText(order.call)}: placed, but not promised yet.`);
    }
    this.messages = this.messages.filter(({ until }) => until > now);
    this.#changed();
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
