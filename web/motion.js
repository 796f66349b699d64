// Where to draw a car between two states: 60 frames a second from 5 states a second.

/** The time constant of the way from the drawn position to the estimated one, s. */
const SMOOTHING = 0.1;

/** A state that is older than this says nothing about the present, s. */
const OLDEST = 1.0;

/** A longer way than this is not drawn as one, in floors. */
const JUMP = 1.6;

/**
 * The door's travel in a second, of 1: on its way, and once it is known to have arrived. The API has
 * the door's state, not its position.
 */
const DOOR_SPEED = 0.7;
const DOOR_CATCHES_UP = 5;

/** The drawn position and door of one car. */
export class Motion {
  #car = null;
  #received = 0;
  #drawnAt = null;
  position = null;
  /** 0 closed, 1 open. */
  door = 0;

  /** Takes the car from a state that came at this moment (`performance.now()`). */
  update(car, received) {
    this.#car = car;
    this.#received = received;
    if (this.position === null) this.door = car.door === "open" ? 1 : 0;
  }

  /**
   * Moves on to a moment. Returns whether there will be something to draw after it without a new
   * state.
   */
  advance(now) {
    const passed = this.#drawnAt === null ? 0 : Math.min((now - this.#drawnAt) / 1000, 0.25);
    this.#drawnAt = now;
    const target = estimate(this.#car, (now - this.#received) / 1000);
    if (target === null || this.position === null || Math.abs(target - this.position) > JUMP) {
      this.position = target;
    } else {
      this.position += (target - this.position) * (1 - Math.exp(-passed / SMOOTHING));
      if (Math.abs(target - this.position) < 0.001) this.position = target;
    }
    const doorTarget = { opening: 0.92, open: 1, closing: 0.08 }[this.#car.door] ?? 0;
    const way = doorTarget - this.door;
    const hasArrived = doorTarget === 0 || doorTarget === 1;
    const travel = passed * (hasArrived ? DOOR_CATCHES_UP : DOOR_SPEED);
    this.door += Math.sign(way) * Math.min(Math.abs(way), travel);
    // No car is drawn that moves with its door open.
    if (this.#car.speed !== 0) this.door = 0;
    const isFlying = this.#car.speed !== 0 && now - this.#received < OLDEST * 1000;
    return isFlying || this.position !== target || this.door !== doorTarget;
  }

  /** Goes there at once, for people who want no motion. */
  snap(now) {
    this.#drawnAt = now;
    this.position = this.#car.position;
    this.door = { open: 1, opening: 0.5, closing: 0.5 }[this.#car.door] ?? 0;
  }
}

/**
 * The position of a car so many seconds after a state, in floors, or null. It never passes a floor
 * whose sensor has not responded: such a car may hang.
 */
export function estimate(car, age) {
  if (car.position === null) return null;
  const moved = car.position + car.speed * Math.min(Math.max(age, 0), OLDEST);
  if (car.speed === 0 || car.level === null) return moved;
  const next = car.level + Math.sign(car.speed) * 0.98;
  const lowest = Math.min(car.level, next, car.position);
  const highest = Math.max(car.level, next, car.position);
  return Math.min(Math.max(moved, lowest), highest);
}

/** Calls its drawers once a frame, as long as one of them says that it has something to draw. */
export class Animator {
  #drawers = new Set();
  #request = null;

  add(drawer) {
    this.#drawers.add(drawer);
    this.wake();
    return () => this.#drawers.delete(drawer);
  }

  wake() {
    this.#request ??= requestAnimationFrame((now) => this.#draw(now));
  }

  #draw(now) {
    this.#request = null;
    let goesOn = false;
    for (const drawer of this.#drawers) goesOn = drawer(now) || goesOn;
    if (goesOn) this.wake();
  }
}
