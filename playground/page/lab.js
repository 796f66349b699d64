// A fleet inside this page: the source of data that the panel shows, and what can be done to it.
import { Problem, Source } from "./source.js";

/**
 * How long a tick may compute, ms: most of two frames. To draw each of them would cost a fast run a
 * quarter of its speed; a speed that is reached leaves the tick early, and draws them all.
 */
const BUDGET_MS = 30;

/** How much virtual time passes at once within a tick, s. */
const SLICE_S = 0.1;

/** A page that was in the background does not catch up, ms. */
const LONGEST_TICK_MS = 100;

/** Between two pictures for the panel, ms. */
const PICTURE_MS = 100;

/** How often the reached speed is measured, ms. */
const MEASURE_MS = 1_000;

export class LabSource extends Source {
  /** Virtual seconds in a second, as wished; 0: paused. */
  speed = 1;
  /** The same, as reached. */
  reached = 0;
  /** What there is to see: the picture of `liftmesh-playground`. */
  picture = null;
  /** The node through which the panel sees the fleet. */
  viewpoint = 0;
  #fleet;
  #drawn = null;
  #shown = -Infinity;
  #measured = null;
  #rest = 0;

  constructor(fleet) {
    super();
    this.#fleet = fleet;
  }

  /** Another fleet from here on; the old one is gone. */
  replace(fleet) {
    this.#fleet.free();
    this.#fleet = fleet;
    this.viewpoint = 0;
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

  start() {
    this.show();
    requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    const passed = Math.min(now - (this.#drawn ?? now), LONGEST_TICK_MS) / 1000;
    this.#drawn = now;
    // What does not fit into a tick is left out: the reached speed says so.
    this.#rest = Math.min(this.#rest + passed * this.speed, this.speed * 0.1);
    const until = performance.now() + BUDGET_MS;
    while (this.#rest > 0 && performance.now() < until) {
      const slice = Math.min(this.#rest, SLICE_S);
      this.#fleet.advance(slice);
      this.#rest -= slice;
    }
    if (now - this.#shown >= PICTURE_MS) this.show();
    requestAnimationFrame((then) => this.#tick(then));
  }

  /** Shows the fleet as it is now. */
  show() {
    const now = performance.now();
    this.picture = JSON.parse(this.#fleet.picture(this.viewpoint));
    this.#measure(now);
    this.#shown = now;
    const { state, events } = this.picture;
    if (state === null) {
      const reason = "no node of the fleet runs";
      const retryAt = Date.now() + PICTURE_MS;
      this.emit({ type: "connection", connection: { kind: "lost", retryAt, reason } });
      return;
    }
    // The panel goes by the clock on the wall, and the fleet by its own.
    for (const car of state.cars) car.speed *= this.speed;
    this.emit({ type: "connection", connection: { kind: "live" } });
    this.emit({ type: "state", state, received: now });
    for (const event of events) this.emit({ type: "event", event });
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
   * Does something to the fleet.
   * @param {object | string} fault as in the scripts of `liftmesh lab campaign`
   */
  inflict(fault) {
    this.act({ fault });
  }

  /** @param {object} act a fault, a press or a request */
  act(act) {
    try {
      this.#fleet.act(JSON.stringify(act));
    } catch (reason) {
      throw new Problem(422, "impossible", String(reason));
    }
    this.show();
  }

  async press(call) {
    const node = this.picture.nodes.findIndex(({ name }) => name === (call.car ?? this.picture.from));
    if (node < 0) throw new Problem(422, "unknown_car", "There is no such car.");
    if (call.kind === "destination") {
      this.act({ request: { node, from: call.from, to: call.to } });
    } else {
      const { kind, floor, direction } = call;
      this.act({ press: { node, button: kind === "hall" ? { kind, floor, direction } : { kind, floor } } });
    }
    return { id: "", state: "placed" };
  }

  async clearHang(car) {
    const node = this.picture.nodes.findIndex(({ name }) => name === car);
    this.inflict({ "clear-hang": node });
    this.inflict({ restart: node });
  }

  /** The settings that replay the run so far. */
  run() {
    return JSON.parse(this.#fleet.run());
  }

  /** A drawing of the messages of the next so many seconds, as SVG. */
  messages(seconds) {
    const drawing = this.#fleet.messages(seconds);
    this.show();
    return drawing;
  }
}
