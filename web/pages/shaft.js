// A shaft, drawn to scale, with its car; its display, and its car calls.
import { Component, createRef, html } from "../html.js";
import { arrow, callId, capital, carModeText, phaseText, unavailableText } from "../format.js";
import { Motion } from "../motion.js";
import { onToolbarKey } from "../toolbar.js";
import { CallButton, fromTop } from "./bank.js";

/** The size of a car: as a part of its shaft's width and of a floor's height. */
const WIDTH_PART = 0.62;
const HEIGHT_PART = 0.76;

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export class Shaft extends Component {
  #motion = new Motion();
  #car = createRef();
  #leftDoor = createRef();
  #rightDoor = createRef();
  #received = null;
  #removeDrawer;

  componentDidMount() {
    this.#take();
    this.#removeDrawer = this.props.animator.add((now) => this.#draw(now));
  }

  componentDidUpdate() {
    this.#take();
    this.props.animator.wake();
  }

  componentWillUnmount() {
    this.#removeDrawer();
  }

  #take() {
    const { model, car } = this.props;
    if (this.#received === model.received) return;
    this.#received = model.received;
    this.#motion.update(car, model.received);
  }

  #draw(now) {
    const { model, car, row, shaft } = this.props;
    const floors = model.labels.length;
    const width = carWidth(shaft);
    let goesOn = false;
    if (reducedMotion.matches) this.#motion.snap(now);
    else goesOn = this.#motion.advance(now);
    const position = this.#motion.position ?? car.level ?? (floors - 1) / 2;
    const sill = (floors - position) * row;
    this.#car.current.setAttribute("transform", `translate(${(shaft - width) / 2} ${(sill - carHeight(row)).toFixed(2)})`);
    const leaf = ((width / 2) * (1 - 0.88 * this.#motion.door)).toFixed(2);
    this.#leftDoor.current.setAttribute("width", leaf);
    this.#rightDoor.current.setAttribute("width", leaf);
    this.#rightDoor.current.setAttribute("x", (width - leaf).toFixed(2));
    return goesOn && model.isLive;
  }

  render({ model, car, isMaster, isServedFrom, row, shaft, byId, orders, onMode }) {
    const floors = model.labels.length;
    const name = car.car;
    const [width, height] = [carWidth(shaft), carHeight(row)];
    const isHung = car.lost === "hung" || car.unavailable === "hung";
    const trouble = troubleText(car, isHung);
    const look = isHung ? "hung" : car.lost || car.heard === false ? "lost" : trouble ? "off" : "";
    const said = carSaid(car, trouble);
    return html`
      <section class=${`column car ${look}`} aria-label=${`Car ${name}`}>
        <div class="head">
          <h2>${name}</h2>
          <p class="tags">
            ${isMaster && html`<span class="tag" title="The node of this car is the master">master</span>`}
            ${car.session && html`<span class="tag robot" title="A robot has this car to itself for a while">robot</span>`}
            ${isServedFrom && html`<span class="tag dim" title="This page comes from the node of this car">here</span>`}
          </p>
          <div class="display" aria-hidden="true">
            <span class="arrow">${car.direction && !car.lost ? arrow(car.direction) : ""}</span>
            <span class="digits">${car.floor ?? "–"}</span>
          </div>
        </div>
        <div class="shaftway">
          <svg width=${shaft} height=${floors * row} role="img" aria-label=${said}>
            <rect class="well" width=${shaft} height=${floors * row} />
            ${fromTop(model.labels).map(
              ({ floor, level }) => html`<path key=${floor} class="sill" d=${`M0 ${(floors - level) * row - 0.5}h${shaft}`} />`,
            )}
            <${Marks} model=${model} orders=${orders} car=${car} row=${row} shaft=${shaft} />
            <g ref=${this.#car} class="cabin">
              <path class="rope" d=${`M${width / 2} 0v${-floors * row}`} />
              <rect class="inside" width=${width} height=${height} />
              ${car.load !== null &&
              html`<rect
                class="load"
                width=${width}
                height=${(height * Math.min(car.load, 100)) / 100}
                y=${height * (1 - Math.min(car.load, 100) / 100)}
              />`}
              <rect ref=${this.#leftDoor} class="door" height=${height} width=${width / 2} />
              <rect ref=${this.#rightDoor} class="door" height=${height} width=${width / 2} x=${width / 2} />
              <rect class="frame" width=${width} height=${height} />
              ${car.direction &&
              !trouble &&
              html`<path class="way" d=${wayPath(car.direction, width, height)} />`}
              ${(trouble || car.position === null) &&
              html`<text class="sign" x=${width / 2} y=${height / 2 + 6}>${car.position === null && !isHung ? "?" : "!"}</text>`}
            </g>
          </svg>
          <div class="buttons" role="toolbar" aria-label=${`Car calls of ${name}`} aria-orientation="vertical" onKeyDown=${onToolbarKey}>
            ${fromTop(model.labels).map(({ floor }, index) => {
              const sides = model.sidesOf(car, floor);
              if (sides.length === 0) return html`<span key=${floor} class="no-button"></span>`;
              const buttons = sides.map((side, column) => {
                const isRear = side === "rear";
                const call = { kind: "car", car: name, floor, ...(isRear && { side }) };
                return html`
                  <${CallButton}
                    key=${side}
                    model=${model}
                    call=${call}
                    order=${byId.get(callId(call))}
                    name=${`Car ${name}, to floor ${floor}${isRear ? " rear" : ""}`}
                    row=${index}
                    column=${column}
                    isFirst=${index === 0 && column === 0}
                    isOff=${Boolean(car.lost)}
                    isLocked=${car.locked_out.includes(floor)}
                    >${floor}${isRear && html`<small>R</small>`}<//
                  >
                `;
              });
              return html`<span key=${floor} class="sides">${buttons}</span>`;
            })}
          </div>
        </div>
        <div class="foot" aria-hidden="true">
          <span class="doing">${trouble ?? phaseText(car)}</span>
          <span class="dim">${loadText(car)}</span>
        </div>
        ${model.takesCommands && html`<${ModeButton} model=${model} car=${car} onMode=${onMode} />`}
      </section>
    `;
  }
}

/** Shows the mode of a car, and asks for another one. */
function ModeButton({ model, car, onMode }) {
  const mode = carModeText(car);
  return html`
    <div class="controls">
      <button
        type="button"
        class=${`mode ${mode === "in service" ? "" : "special"}`}
        aria-label=${`Mode of car ${car.car}: ${mode}. Change it`}
        aria-haspopup="dialog"
        data-mode-of=${car.car}
        title=${capital(mode)}
        disabled=${!model.isLive}
        onClick=${() => onMode(car.car)}
      >
        ${capital(mode)}
      </button>
    </div>
  `;
}

/** The calls that a car is to serve, at the left of its shaft, and its next stop. */
function Marks({ model, orders, car, row, shaft }) {
  const middle = (floor) => (model.labels.length - model.levelOf(floor)) * row - carHeight(row) / 2;
  const mine = orders.filter((order) => order.car === car.car && order.call.kind !== "car");
  return html`
    ${mine.map(({ id, call }) => {
      const floor = call.floor ?? call.from;
      const isUp = call.direction ? call.direction === "up" : model.levelOf(call.to) > model.levelOf(call.from);
      const y = middle(floor) + (isUp ? -6 : 6);
      return html`<path key=${id} class="mark" d=${`M2 ${y}h8l-4 ${isUp ? -7 : 7}z`} />`;
    })}
    ${car.phase.kind === "moving" &&
    !car.lost &&
    html`<circle class="next" cx=${shaft - 6} cy=${middle(car.phase.stop_at)} r="3.5" />`}
  `;
}

function carHeight(row) {
  return Math.round(row * HEIGHT_PART);
}

function carWidth(shaft) {
  return Math.round(shaft * WIDTH_PART);
}

function wayPath(direction, width, height) {
  const [x, y] = [width / 2 - 7, height / 2];
  return direction === "up" ? `M${x} ${y + 5}h14l-7 -11z` : `M${x} ${y - 5}h14l-7 11z`;
}

/** What is wrong with a car, or null. */
function troubleText(car, isHung) {
  if (isHung) return "Hung";
  if (car.lost) return "Node lost";
  if (car.heard === false) return "Not heard";
  return unavailableText(car);
}

function loadText({ lost, load }) {
  if (lost) return "as last seen";
  return load === null ? "no load cell" : `${load} % load`;
}

function carSaid(car, trouble) {
  const where = car.floor === null ? "position unknown" : `at floor ${car.floor}`;
  const load = car.load === null ? "" : `, ${car.load} % load`;
  // Such a phase is the door's own.
  const isAtDoor = ["opening", "open", "closing"].includes(car.phase.kind);
  const doing = trouble ?? (isAtDoor ? null : phaseText(car));
  return `Car ${car.car}: ${where}${doing === null ? "" : `, ${doing.toLowerCase()}`}, door ${car.door}${load}`;
}
