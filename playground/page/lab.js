// A fleet inside this page: the source of data that the panel shows, and what can be done to it.
import { Problem, Source } from "./source.js";

/** How long a tick may compute, ms: as long as nobody notices that a press waits. */
const BUDGET_MS = 30;

/** How much virtual time passes at once within a tick, s. */
const SLICE_S = 0.1;

/** Time passes in whole microseconds, s: then the time of a picture is exact. */
const SHORTEST_SLICE_S = 1e-6;

/** What a run catches up with that could not keep up for a moment, s. A page that was in the background
 * for longer does not. */
const LONGEST_DEBT_S = 0.5;

/** Between two pictures for the panel, ms. */
const PICTURE_MS = 100;

/** How often the reached speed is measured, ms. */
const MEASURE_MS = 1_000;

/** How much time of messages is shown at first, s. */
const SPAN_S = 0.5;

/** Up to this speed messages are recorded: nobody could follow them in a faster run. */
export const FASTEST_WATCHED = 2;

export class LabSource extends Source {
  /** Virtual seconds in a second, as wished; 0: paused. */
  speed = 1;
  /** The same, as reached. */
  reached = 0;
  /** What there is to see: the picture of `liftmesh-playground`. */
  picture = null;
  /** The node through which the panel sees the fleet. */
  viewpoint = 0;
  /** The messages of the latest time that are wished, s; null: none are. */
  watched = null;
  /** These messages, or null: those of `liftmesh-playground`. */
  messages = null;
  /** What every node knows of the calls: the orders of `liftmesh-playground`; null if nobody looks. */
  orders = null;
  /** Whether somebody acted before the last step of a replayed run: the rest is given up. */
  isTakenOver = false;
  #fleet;
  /** Whether somebody has done something. */
  #isTouched = false;
  #showsOrders = true;
  #isWatching = false;
  #drawn = null;
  #shown = -Infinity;
  #measured = null;
  #rest = 0;
  /** Lets the browser draw and take input, and then goes on at once: no frame has to be waited for. */
  #soon = new MessageChannel();

  constructor(fleet) {
    super();
    this.#fleet = fleet;
    this.#soon.port1.onmessage = () => this.#tick(performance.now());
  }

  /** Another fleet from here on; the old one is gone. */
  replace(fleet) {
    this.#fleet.free();
    this.#fleet = fleet;
    this.isTakenOver = false;
    this.viewpoint = 0;
    this.#isWatching = false;
    this.#rest = 0;
    this.#measured = null;
    this.reached = 0;
    this.emit({ type: "reset" });
    this.show();
  }

  get startsNodes() {
    return true;
  }

  get hasAuditLog() {
    return false;
  }

  get takesCommands() {
    return true;
  }

  start() {
    this.show();
    requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    // The time of a frame is that of its beginning.
    const passed = Math.max(0, now - (this.#drawn ?? now)) / 1000;
    this.#drawn = Math.max(now, this.#drawn ?? now);
    // The rest is left out: the reached speed says so.
    this.#rest = Math.min(this.#rest + passed * this.speed, this.speed * LONGEST_DEBT_S);
    const until = performance.now() + BUDGET_MS;
    while (this.#rest > 0 && performance.now() < until) {
      const slice = Math.floor(Math.min(this.#rest, SLICE_S) / SHORTEST_SLICE_S) * SHORTEST_SLICE_S;
      if (slice === 0) break;
      this.#fleet.advance(slice);
      this.#rest -= slice;
    }
    if (now - this.#shown >= PICTURE_MS) this.show();
    // A run that keeps up has nothing to do before the next frame; one that does not loses no time.
    if (this.#rest >= SHORTEST_SLICE_S && !document.hidden) this.#soon.port2.postMessage(null);
    else requestAnimationFrame((then) => this.#tick(then));
  }

  /** Shows the fleet as it is now. */
  show() {
    const now = performance.now();
    this.picture = JSON.parse(this.#fleet.picture(this.viewpoint));
    this.orders = this.#showsOrders ? JSON.parse(this.#fleet.orders()) : null;
    this.#measure(now);
    this.#watch();
    this.#shown = now;
    const { state, events, goes_on: goesOn } = this.picture;
    if (state === null) {
      const reason = "no node of the fleet is running";
      const retryAt = Date.now() + PICTURE_MS;
      this.emit({ type: "connection", connection: { kind: "lost", retryAt, reason } });
      return;
    }
    // The panel goes by the clock on the wall, and the fleet by its own.
    for (const car of state.cars) car.speed *= this.speed;
    this.emit({ type: "connection", connection: { kind: "live" } });
    this.emit({ type: "state", state, received: now });
    if (!goesOn) this.emit({ type: "restart" });
    for (const event of events) this.emit({ type: "event", event });
  }

  /** Takes the messages, if somebody wants to see them. */
  #watch() {
    const isWished = this.watched !== null && this.speed <= FASTEST_WATCHED;
    if (isWished !== this.#isWatching) this.#fleet.watch(isWished);
    this.#isWatching = isWished;
    this.messages = isWished ? JSON.parse(this.#fleet.messages(this.watched)) : null;
  }

  #measure(now) {
    const virtual = this.picture.now;
    const since = this.#measured;
    if (since === null || virtual < since.virtual) {
      this.#measured = { now, virtual };
    } else if (now - since.now >= MEASURE_MS) {
      this.reached = ((virtual - since.virtual) * 1000) / (now - since.now);
      this.#measured = { now, virtual };
    }
  }

  /**
   * Does something to the fleet. It is a step of the run, which a shared run has as well.
   * @param {object | string} fault as in the scripts of `liftmesh lab campaign`
   */
  inflict(fault) {
    this.act({ fault });
  }

  /** @param {object} act a fault, a press, a request, or other traffic */
  act(act) {
    const steps = this.#isTouched ? null : this.run().steps.length;
    try {
      this.#fleet.act(JSON.stringify(act));
    } catch (reason) {
      throw new Problem(422, "impossible", String(reason));
    }
    // Only what was left of a replayed run makes it shorter by an act.
    if (steps !== null) this.isTakenOver = this.run().steps.length <= steps;
    this.#isTouched = true;
    this.show();
  }

  async press(call) {
    const node = this.#numberOf(call.car ?? this.picture.from);
    if (call.kind === "destination") {
      this.act({ request: { node, from: call.from, to: call.to } });
    } else {
      const { kind, floor, direction } = call;
      this.act({ press: { node, button: kind === "hall" ? { kind, floor, direction } : { kind, floor } } });
    }
    return { id: "", state: "placed" };
  }

  /** The number of the node with this name; null if there is no name. */
  #numberOf(name) {
    if (name === null) return null;
    const node = this.picture.nodes.findIndex((one) => one.name === name);
    if (node < 0) throw new Problem(422, "unknown_car", "There is no such car.");
    return node;
  }

  /** The node at which somebody commands: the one that shows the fleet. */
  get #here() {
    return this.#numberOf(this.picture.from);
  }

  async command(command) {
    const { kind, floor } = command;
    const [at, car] = [this.#here, this.#numberOf(command.car ?? null)];
    const { mode, locked, on } = command;
    const faults = {
      mode: () => ({ mode: { at, car, mode } }),
      fire_recall: () => ({ "fire-recall": { at, start: on } }),
      floor_lock: () => ({ "floor-lock": { at, floor, locked } }),
      emergency_power: () => ({ "emergency-power": { at, on, serving: car } }),
      priority: () => ({ priority: { at, car, floor } }),
    };
    const before = this.#prioritized(floor);
    this.inflict(faults[kind]());
    if (kind !== "priority" || floor === null) return command;
    const now = this.#prioritized(floor);
    const sent = now.find((one) => !before.includes(one)) ?? now.find((one) => [null, one].includes(command.car));
    if (sent === undefined) throw new Problem(409, "not_in_service", "No car can take the call.");
    return { ...command, car: sent };
  }

  /** The cars with a priority call to a floor. */
  #prioritized(floor) {
    const cars = this.picture.state?.cars ?? [];
    return cars.filter(({ priority }) => priority === floor).map(({ car }) => car);
  }

  async clearHang(car) {
    const node = this.#numberOf(car);
    this.inflict({ "clear-hang": node });
    this.inflict({ restart: node });
  }

  /** The settings that replay the run so far. */
  run() {
    return JSON.parse(this.#fleet.run());
  }

  /** Shows the messages too, or not any more. */
  watch(isOn) {
    this.watched = isOn ? SPAN_S : null;
    this.show();
  }

  /** Shows what every node knows of the calls too, or not any more. */
  watchOrders(isOn) {
    this.#showsOrders = isOn;
    this.show();
  }

  /** Why no fleet can be made of these settings; nothing if one can. */
  wrong(settings) {
    return this.#fleet.constructor.wrong(JSON.stringify(settings));
  }

  /** A drawing of the watched messages, as SVG; nothing if there are none. */
  drawing() {
    return this.#isWatching ? this.#fleet.drawing(this.watched) : undefined;
  }
}
