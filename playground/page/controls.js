// The controls of the playground: time, the fleet, the network, and what breaks.
import { Component, html } from "./html.js";
import { LONGEST, encoded } from "./share.js";

const SPEEDS = [0, 1, 2, 5, 10, 30, 100, 300, 1000];
const ELECTIONS = ["lowest-ip", "bully", "senior", "ballot", "token-ring"];
const STRATEGIES = ["planner", "collective", "nearest-car", "time-to-idle"];

/** How much time a drawing of messages covers, s. */
const DRAWN_S = 0.3;

export class Controls extends Component {
  state = {
    wish: this.props.settings,
    loss: 0,
    delay: 0.1,
    jitter: 1,
    one: 0,
    other: 1,
    drawing: null,
    link: null,
  };

  componentDidMount() {
    this.props.model.onChange(() => this.setState({}));
  }

  /** Does something, and says why not if it can't be done. */
  #try(act) {
    try {
      act();
    } catch (problem) {
      this.props.model.say("alarm", problem.message ?? String(problem));
    }
    this.setState({ link: null });
  }

  #inflict(...faults) {
    this.#try(() => faults.forEach((fault) => this.props.source.inflict(fault)));
  }

  #begin(event) {
    event.preventDefault();
    this.#try(() => {
      const { source, make } = this.props;
      source.replace(make({ ...this.state.wish, steps: [] }));
      history.replaceState(null, "", location.pathname + location.hash);
      this.setState({ drawing: null, one: 0, other: 1, loss: 0, delay: 0.1, jitter: 1 });
    });
  }

  #wish(change) {
    this.setState(({ wish }) => ({ wish: { ...wish, ...change } }));
  }

  #weather(change) {
    this.setState(change, () => {
      const { loss, delay, jitter } = this.state;
      const least = Math.round(delay * 1000);
      this.#inflict({ loss }, { delay: { least, most: least + Math.round(jitter * 1000) } });
    });
  }

  async #share() {
    const link = await encoded(this.props.source.run());
    this.setState({ link });
    if (link.length > LONGEST) {
      this.props.model.say("info", "This link is very long; some programs may truncate it.");
    }
    await navigator.clipboard?.writeText(link).catch(() => {});
  }

  #draw() {
    if (this.state.drawing !== null) URL.revokeObjectURL(this.state.drawing);
    this.#try(() => {
      const svg = this.props.source.messages(DRAWN_S);
      this.setState({ drawing: URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })) });
    });
  }

  render({ source }, state) {
    const { picture } = source;
    if (picture === null) return null;
    const nodes = picture.nodes;
    return html`
      <section class="lab" aria-label="The playground's controls">
        <div class="lab-row">
          <strong class="brand">Playground</strong>
          <label>
            Speed
            <input
              type="range" min="0" max=${SPEEDS.length - 1} step="1"
              value=${SPEEDS.indexOf(source.speed)}
              aria-valuetext=${source.speed === 0 ? "paused" : `${source.speed} times`}
              onInput=${(event) => { source.speed = SPEEDS[event.target.value]; this.setState({}); }}
            />
          </label>
          <span class="figure">${source.speed === 0 ? "paused" : `${source.speed} ×`}</span>
          ${source.speed > 1 && source.reached < 0.9 * source.speed && source.reached > 0 &&
          html`<span class="quiet-text">this computer reaches ${Math.round(source.reached)} ×</span>`}
          <span class="figure">${clock(picture.now)}</span>
          <button type="button" onClick=${() => this.#share()}>Share this run</button>
          <button type="button" onClick=${() => this.#draw()}>Draw the next messages</button>
          <button type="button" onClick=${() => this.#inflict("mains-cut")}>Cut the building's power</button>
          <button type="button" onClick=${() => this.#inflict(...nodes.map((_, node) => ({ restart: node })))}>
            Restore power
          </button>
        </div>
        ${state.link !== null &&
        html`<p class="lab-row"><label class="wide-label">Link to this run
          <input type="text" readonly value=${state.link} onFocus=${(event) => event.target.select()} /></label></p>`}
        ${picture.violations.length > 0 &&
        html`<p class="banner alarm" role="alert">An invariant is violated, please report it:
          ${picture.violations[0]}</p>`}
        <details open>
          <summary>Nodes</summary>
          <ul class="lab-nodes">${nodes.map((node, index) => this.#node(node, index))}</ul>
        </details>
        <details>
          <summary>Network</summary>
          <div class="lab-row">
            ${this.#slider("Loss", "loss", 0, 40, 1, "%")}
            ${this.#slider("Delay", "delay", 0.1, 100, 0.1, "ms")}
            ${this.#slider("Jitter", "jitter", 0, 100, 1, "ms")}
          </div>
          <div class="lab-row">
            ${this.#choice("From", "one")} ${this.#choice("to", "other")}
            <button type="button" disabled=${state.one === state.other}
              onClick=${() => this.#inflict({ cut: [state.one, state.other] })}>Cut both ways</button>
            <button type="button" disabled=${state.one === state.other}
              onClick=${() => this.#inflict({ "cut-one-way": { from: state.one, to: state.other } })}>Cut this way</button>
            <button type="button" onClick=${() => this.#inflict("heal")}>Repair all links</button>
            <span class="quiet-text">${picture.cut.length === 0 ? "Every node reaches every other." : `Cut: ${picture.cut.map(([one, other]) => `${nodes[one].name}–${nodes[other].name}`).join(", ")}`}</span>
          </div>
        </details>
        <details>
          <summary>New fleet</summary>
          <form class="lab-row" onSubmit=${(event) => this.#begin(event)}>
            ${this.#number("Cars", "cars", 2, 32)} ${this.#number("Floors", "floors", 2, 64)}
            ${this.#number("Passengers a minute", "passengers", 0, 600)} ${this.#number("Seed", "seed", 0, 4294967295)}
            ${this.#select("Election", "election", ELECTIONS)} ${this.#select("Dispatch", "strategy", STRATEGIES)}
            <button type="submit">Start</button>
          </form>
        </details>
        ${state.drawing !== null &&
        html`<figure class="lab-drawing">
          <figcaption>What the nodes sent within ${DRAWN_S * 1000} ms. Time runs to the right.
            <button type="button" class="quiet" onClick=${() => this.setState({ drawing: null })}>Close</button></figcaption>
          <img src=${state.drawing} alt="A space-time diagram of the messages between the nodes" />
        </figure>`}
      </section>
    `;
  }

  #node(node, index) {
    const { source } = this.props;
    const says = node.hung ? "hung" : node.suspended ? "frozen" : node.running ? node.node_state : "stopped";
    return html`
      <li key=${node.name} class="lab-row" aria-label=${`Node ${node.name}`}>
        <strong>${node.name}</strong>
        <span class="says">${says}</span>
        <span class="acts">
          ${node.running || node.suspended
            ? html`<button type="button" onClick=${() => this.#inflict({ kill: index })}>Kill</button>`
            : html`<button type="button" onClick=${() => this.#inflict({ "clear-hang": index }, { restart: index })}>
                ${node.hung ? "Clear and start" : "Start"}</button>`}
          ${node.suspended
            ? html`<button type="button" onClick=${() => this.#inflict({ resume: index })}>Resume</button>`
            : html`<button type="button" disabled=${!node.running} onClick=${() => this.#inflict({ suspend: index })}>Freeze</button>`}
          ${this.#toggle("Network", node.isolated, (on) => ({ "network-cut": [index, on] }))}
          ${this.#toggle("Panel line", node.line_cut, (on) => ({ "line-cut": [index, on] }))}
          ${this.#toggle("Motor", node.stuck, (on) => ({ motor: [index, on ? "stuck" : null] }))}
          ${this.#toggle("Door", node.obstructed, (on) => ({ obstruct: [index, on] }))}
          <button type="button" aria-pressed=${picked(source, node)}
            onClick=${() => { source.viewpoint = index; source.show(); }}>View from here</button>
        </span>
      </li>
    `;
  }

  /** A part of a node that is broken or not. */
  #toggle(name, broken, fault) {
    return html`<button type="button" aria-pressed=${broken} class=${broken ? "broken" : ""}
      onClick=${() => this.#inflict(fault(!broken))}>${broken ? `Repair ${name.toLowerCase()}` : `Break ${name.toLowerCase()}`}</button>`;
  }

  #slider(label, name, least, most, step, unit) {
    const value = this.state[name];
    return html`<label>${label}
      <input type="range" min=${least} max=${most} step=${step} value=${value} aria-valuetext=${`${value} ${unit}`}
        onChange=${(event) => this.#weather({ [name]: Number(event.target.value) })} />
      <output class="figure">${value} ${unit}</output></label>`;
  }

  #choice(label, name) {
    const { nodes } = this.props.source.picture;
    return html`<label>${label}
      <select value=${this.state[name]} onChange=${(event) => this.setState({ [name]: Number(event.target.value) })}>
        ${nodes.map((node, index) => html`<option key=${node.name} value=${index}>${node.name}</option>`)}
      </select></label>`;
  }

  #number(label, name, least, most) {
    return html`<label>${label}
      <input type="number" min=${least} max=${most} required value=${this.state.wish[name]}
        onInput=${(event) => this.#wish({ [name]: Number(event.target.value) })} /></label>`;
  }

  #select(label, name, all) {
    return html`<label>${label}
      <select value=${this.state.wish[name]} onChange=${(event) => this.#wish({ [name]: event.target.value })}>
        ${all.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
      </select></label>`;
  }
}

function picked(source, node) {
  return source.picture.from === node.name;
}

/** Seconds as hours, minutes and seconds. */
function clock(seconds) {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
