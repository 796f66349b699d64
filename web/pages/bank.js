// The bank: its landings, its shafts, and every button.
import { Component, html } from "../html.js";
import { arrow, callId } from "../format.js";
import { Animator } from "../motion.js";
import { onToolbarKey } from "../toolbar.js";
import { Shaft } from "./shaft.js";

/** The height of a floor in the picture, px: at least, for fingers, and at most. */
const LOWEST_ROW = 30;
const FINGER_ROW = 44;
const HIGHEST_ROW = 88;

/** The width of a shaft, px: at least, and at most. */
const NARROWEST = 36;
const WIDEST = 116;

/** What else is on the screen, px: above and below the floors; beside the cars; beside each shaft. */
const REST = 312;
const BESIDE_CARS = { wide: 160, phone: 138 };
const BESIDE_SHAFT = 1;

/** The width of the car's buttons, and of what the landings have more, px: for floors with one entrance and with two. */
const ONE_SIDE = { buttons: 45, more: 0 };
const TWO_SIDES = { buttons: 80, more: 84 };

/** How many trips of a floor are named. */
const NAMED_TRIPS = 2;

export class BankPage extends Component {
  #animator = new Animator();
  #onResize = () => this.setState({});

  componentDidMount() {
    addEventListener("resize", this.#onResize);
  }

  componentWillUnmount() {
    removeEventListener("resize", this.#onResize);
  }

  render({ model, onMode, onRecall, onPriority, onPower, onLock }) {
    const { fleet, orders } = model.state;
    const row = rowHeight(model.labels.length);
    const byId = new Map(orders.map((order) => [order.id, order]));
    const cars = model.cars;
    const isTwoSided = model.rear.length > 0;
    const sides = isTwoSided ? TWO_SIDES : ONE_SIDE;
    const shaft = shaftWidth(cars.length, sides);
    return html`
      <div
        class=${`bank ${isTwoSided ? "two-sided" : ""}`}
        style=${{ "--row": `${row}px`, "--shaft": `${shaft}px`, "--buttons": `${sides.buttons}px` }}
      >
        <${Landings} model=${model} hasModes=${model.takesCommands} locked=${fleet.locked_floors ?? []} byId=${byId} orders=${orders} />
        ${cars.map(
          (car) => html`
            <${Shaft}
              key=${car.car}
              model=${model}
              car=${car}
              isMaster=${fleet.master === car.node}
              isServedFrom=${fleet.node === car.node}
              row=${row}
              shaft=${shaft}
              byId=${byId}
              orders=${orders}
              animator=${this.#animator}
              onMode=${onMode}
            />
          `,
        )}
        ${cars.length === 0 && html`<p class="empty">No nodes with a car are heard.</p>`}
      </div>
      <p class="legend">
        <span><i class="lamp lit"></i> promised: it will be served</span>
        <span><i class="lamp pending"></i> pressed, not promised yet</span>
        <span><i class="target"></i> next stop</span>
        <span><svg width="10" height="8" aria-hidden="true"><path class="mark" d="M1 7.5h8l-4 -7z" /></svg> assigned call</span>
        ${isTwoSided && html`<span>R at the rear</span>`}
        ${model.takesCommands && html`<${Commands} model=${model} fleet=${fleet} onLock=${onLock} onPriority=${onPriority} onPower=${onPower} onRecall=${onRecall} />`}
      </p>
    `;
  }
}

/** What can be commanded for the whole fleet. */
function Commands({ model, fleet, onLock, onPriority, onPower, onRecall }) {
  const isOff = !model.isLive;
  const { fire_recall: isRecalled, emergency_power: isOnEmergencyPower } = fleet;
  return html`
    <span class="commands">
      <button type="button" class="lock" disabled=${isOff} onClick=${onLock}>Lock floors…</button>
      ${!isRecalled &&
      !isOnEmergencyPower &&
      html`<button type="button" class="priority" disabled=${isOff} onClick=${onPriority}>Priority call…</button>`}
      ${!isOnEmergencyPower &&
      html`<button type="button" class="power" disabled=${isOff} onClick=${() => onPower(true)}>Emergency power…</button>`}
      ${!isRecalled &&
      html`<button type="button" class="recall" disabled=${isOff} onClick=${() => onRecall(true)}>Fire recall…</button>`}
    </span>
  `;
}

function rowHeight(floors) {
  const least = matchMedia("(pointer: coarse)").matches ? FINGER_ROW : LOWEST_ROW;
  const fits = Math.floor((innerHeight - REST) / floors);
  return Math.max(least, Math.min(fits, HIGHEST_ROW));
}

function shaftWidth(cars, { buttons, more }) {
  const isPhone = matchMedia("(max-width: 700px)").matches;
  const room = innerWidth - more - (isPhone ? BESIDE_CARS.phone : BESIDE_CARS.wide);
  const fits = Math.floor(room / cars) - buttons - BESIDE_SHAFT;
  return Math.max(NARROWEST, Math.min(fits, WIDEST));
}

/** The floors of a building, the highest first: their labels, and numbers from 0 for the lowest. */
export function fromTop(labels) {
  return labels.map((floor, level) => ({ floor, level })).toReversed();
}

function Landings({ model, hasModes, locked, byId, orders }) {
  return html`
    <section class="column landings" aria-label="Landings">
      <div class="head"><span>Floor</span></div>
      <div class="shaftway" role="toolbar" aria-label="Hall calls" aria-orientation="vertical" onKeyDown=${onToolbarKey}>
        ${fromTop(model.labels).map(
          ({ floor, level }) => html`
            <div class="floor" key=${floor}>
              <${FloorNumber} floor=${floor} isLocked=${locked.includes(floor)} />
              ${hallCalls(model, floor).map((call, column) => {
                const { direction, side } = call;
                const isThere = direction === "up" ? level < model.labels.length - 1 : level > 0;
                if (!isThere) return html`<span class="no-button"></span>`;
                return html`
                  <${CallButton}
                    key=${column}
                    model=${model}
                    call=${call}
                    order=${byId.get(callId(call))}
                    name=${`Floor ${floor}${side ? " rear" : ""}, ${direction}`}
                    row=${model.labels.length - 1 - level}
                    column=${column}
                    isFirst=${level === model.labels.length - 1 && column < 2}
                    >${arrow(direction)}${side && html`<small>R</small>`}<//
                  >
                `;
              })}
              <${Trips} orders=${orders} floor=${floor} />
            </div>
          `,
        )}
      </div>
      <div class="foot"></div>
      ${hasModes && html`<div class="controls"><span>Mode</span></div>`}
    </section>
  `;
}

function hallCalls({ rear }, floor) {
  const front = ["up", "down"].map((direction) => ({ kind: "hall", floor, direction }));
  return rear.includes(floor) ? [...front, ...front.map((call) => ({ ...call, side: "rear" }))] : front;
}

function FloorNumber({ floor, isLocked }) {
  if (!isLocked) return html`<span class="number">${floor}</span>`;
  return html`
    <span class="number locked" title="Locked: only calls with a right of access are accepted" data-locked=${floor}>
      ${floor}<span class="hidden"> locked</span>
    </span>
  `;
}

/** Where passengers of destination calls want to go from a floor. */
function Trips({ orders, floor }) {
  const trips = orders.filter(({ call }) => call.kind === "destination" && call.from === floor);
  if (trips.length === 0) return null;
  const more = trips.length - NAMED_TRIPS;
  const all = trips.map(({ call }) => call.to).join(", ");
  return html`
    <span class="trips" title=${`Trips to ${all}`}>
      ${trips.slice(0, NAMED_TRIPS).map(({ call }) => html`<span>→${call.to}</span>`)}
      ${more > 0 && html`<span>+${more}</span>`}
    </span>
  `;
}

/** A button with its lamp. */
export function CallButton({ model, call, order, name, row, column, isFirst, isOff, isLocked, children }) {
  const isLit = order?.promised === true;
  const isPending = !isLit && (order !== undefined || model.pending.has(callId(call)));
  const by = order?.car && order.car !== call.car ? `, car ${order.car}` : "";
  const said = isLit ? `, promised${by}` : isPending ? ", not promised yet" : isLocked ? ", locked out for now" : "";
  const look = isLit ? "lit" : isPending ? "pending" : isLocked ? "locked" : "";
  return html`
    <button
      type="button"
      class=${`call ${look}`}
      aria-label=${name + said}
      aria-pressed=${isLit ? "true" : isPending ? "mixed" : "false"}
      tabindex=${isFirst ? 0 : -1}
      data-row=${row}
      data-column=${column}
      data-call=${callId(call)}
      disabled=${isOff || !model.isLive}
      onClick=${() => model.press(call)}
    >
      ${children}
    </button>
  `;
}
