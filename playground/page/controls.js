// The controls of the playground: time, the fleet, its nodes, and what breaks.
import { Breaking, processButtons, saysOf } from "./breaking.js";
import { Building, EXAMPLES, editable, example, fitted, settingsOf } from "./building.js";
import { Component, html } from "./html.js";
import { Lesson, Lessons } from "./lessons.js";
import { Messages } from "./messages.js";
import { Network } from "./network.js";
import { LONGEST, encoded } from "./share.js";
import { PATTERNS, Traffic } from "./traffic.js";

const SPEEDS = [0, 0.01, 0.1, 1, 2, 5, 10, 30, 100, 300, 1000];
const PLAIN = "plain";
const BUILDINGS = [[PLAIN, "equal floors"], ...Object.entries(EXAMPLES).map(([name, [text]]) => [name, text])];
const ELECTIONS = ["lowest-ip", "bully", "senior", "ballot", "token-ring"].map((name) => [name, name]);
const STRATEGIES = ["planner", "collective", "nearest-car", "time-to-idle"].map((name) => [name, name]);

export class Controls extends Component {
  state = this.#begun(this.props.settings);

  #begun({ building, ...settings }) {
    const wish = { ...settings, building: building && editable(building) };
    return { ...this.#wished(wish), site: building === null ? PLAIN : "own", link: null };
  }

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

  #inflict = (...faults) => this.#try(() => faults.forEach((fault) => this.props.source.inflict(fault)));

  #act = (act) => this.#try(() => this.props.source.act(act));

  #begin(event) {
    event.preventDefault();
    this.#try(() => {
      const { source, make } = this.props;
      source.replace(make(this.state.settings));
      this.setState({ lessonEnds: true });
      history.replaceState(null, "", location.pathname + location.hash);
    });
  }

  #wish(change) {
    this.setState(({ wish }) => this.#wished({ ...wish, ...change }));
  }

  /** What is wished, its building for the editor, the settings of a fleet like that, and what is
   * wrong with them, if anything. */
  #wished(wish) {
    const building = wish.building && fitted(wish.building, wish.cars);
    const settings = settingsOf(wish, building);
    return { wish, building, settings, wrong: this.props.source.wrong(settings) };
  }

  #choose(site) {
    const { floors, cars } = this.state.wish;
    this.setState({ site });
    this.#wish({ building: site === PLAIN ? null : example(site, floors, cars) });
  }

  async #share() {
    const { source, model } = this.props;
    try {
      const link = await encoded(source.run());
      this.setState({ link });
      if (link.length > LONGEST) model.say("info", "This link is very long; some programs may truncate it.");
      await navigator.clipboard?.writeText(link).catch(() => {});
    } catch (error) {
      model.say("alarm", `This run can't be shared: ${error.message}`);
    }
  }

  render({ source, lesson, lessons }, state) {
    const { picture, speed, reached } = source;
    if (picture === null) return null;
    const { nodes } = picture;
    const says = speed === 0 ? "paused" : `${speed} ×`;
    return html`
      <section class="lab" aria-label="The playground's controls">
        <div class="lab-row">
          <strong class="brand">Playground</strong>
          <label>
            Speed
            <input
              type="range" name="speed" min="0" max=${SPEEDS.length - 1} step="1"
              value=${SPEEDS.indexOf(speed)}
              aria-valuetext=${speed === 0 ? "paused" : `${speed} times`}
              onInput=${(event) => { source.speed = SPEEDS[event.target.value]; this.setState({}); }}
            />
          </label>
          <span class="figure speed">${says}</span>
          ${speed > 1 && reached < 0.9 * speed && reached > 0 &&
          html`<span class="quiet-text">this computer reaches ${Math.round(reached)} ×</span>`}
          <span class="figure clock">${clock(picture.now)}</span>
          <button type="button" class="share" onClick=${() => this.#share()}>Share this run</button>
          <button type="button" class="mains-cut" onClick=${() => this.#inflict("mains-cut")}>Cut the building's power</button>
          <button type="button" class="mains" onClick=${() => this.#inflict(...nodes.map((_, node) => ({ restart: node })))}>
            Restore power
          </button>
          <a class="race" href="race.html">Race two dispatchers</a>
        </div>
        ${state.link !== null &&
        html`<p class="lab-row"><label class="wide-label">Link to this run
          <input type="text" name="link" readonly value=${state.link} onFocus=${(event) => event.target.select()} /></label>
          <span class="quiet-text">After ${picture.now} s every run of this link has the fingerprint
            <code data-now=${picture.now}>${picture.fingerprint}</code>.</span></p>`}
        ${picture.violations.length > 0 &&
        html`<p class="banner alarm" role="alert">An invariant was violated. Please report it:
          ${picture.violations[0]}</p>`}
        ${lesson !== null && !state.lessonEnds && html`<${Lesson} lesson=${lesson} lessons=${lessons} isTakenOver=${source.isTakenOver} />`}
        <details class="break" open onToggle=${(event) => source.watchOrders(event.target.open)}>
          <summary>Break it</summary>
          <${Breaking} source=${source} inflict=${this.#inflict} />
        </details>
        <details class="nodes">
          <summary>Nodes</summary>
          <ul class="lab-nodes">${nodes.map((node, index) => this.#node(node, index))}</ul>
        </details>
        <details class="network">
          <summary>Network</summary>
          <${Network} picture=${picture} inflict=${this.#inflict} />
        </details>
        <details class="traffic">
          <summary>Passengers</summary>
          <${Traffic} picture=${picture} act=${this.#act} />
        </details>
        <details class="messages" onToggle=${(event) => source.watch(event.target.open)}>
          <summary>Messages</summary>
          ${source.watched !== null && html`<${Messages} source=${source} nodes=${nodes} />`}
        </details>
        <details class="lessons">
          <summary>Lessons</summary>
          <${Lessons} lessons=${lessons} />
        </details>
        <details class="fleet">
          <summary>New fleet</summary>
          <form class="lab-row" onSubmit=${(event) => this.#begin(event)}>
            ${this.#number("Cars", "cars", 2, 32)}
            <label>Building
              <select name="building" value=${state.site} onChange=${(event) => this.#choose(event.target.value)}>
                ${BUILDINGS.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
              </select></label>
            ${state.building === null && this.#number("Floors", "floors", 2, 64)}
            ${this.#number("Passengers a minute", "passengers", 0, 600)} ${this.#select("Traffic", "pattern", PATTERNS)}
            ${this.#number("Seed", "seed", 0, 4294967295)}
            ${this.#select("Election", "election", ELECTIONS)} ${this.#select("Dispatch", "strategy", STRATEGIES)}
            ${state.building !== null &&
            html`<${Building} building=${state.building} wrong=${state.wrong}
              onChange=${(building) => { this.setState({ site: "own" }); this.#wish({ building }); }} />`}
            <button type="submit">Start</button>
          </form>
        </details>
      </section>
    `;
  }

  #node(node, index) {
    const { source } = this.props;
    return html`
      <li key=${node.name} class="lab-row" aria-label=${`Node ${node.name}`}>
        <strong>${node.name}</strong>
        <span class="says">${saysOf(node)}</span>
        <span class="acts">
          ${processButtons(node, index, this.#inflict)}
          ${this.#toggle("Network", node.isolated, (on) => ({ "network-cut": [index, on] }))}
          ${this.#toggle("Panel line", node.line_cut, (on) => ({ "line-cut": [index, on] }))}
          ${this.#toggle("Motor", node.stuck, (on) => ({ motor: [index, on ? "stuck" : null] }))}
          ${this.#toggle("Door", node.obstructed, (on) => ({ obstruct: [index, on] }))}
          <button type="button" class="viewpoint" aria-pressed=${source.picture.from === node.name}
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

  #number(label, name, least, most) {
    return html`<label>${label}
      <input type="number" name=${name} min=${least} max=${most} required value=${this.state.wish[name]}
        onInput=${(event) => this.#wish({ [name]: Number(event.target.value) })} /></label>`;
  }

  #select(label, name, all) {
    return html`<label>${label}
      <select name=${name} value=${this.state.wish[name]} onChange=${(event) => this.#wish({ [name]: event.target.value })}>
        ${all.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
      </select></label>`;
  }
}

/** Seconds as hours, minutes and seconds. */
function clock(seconds) {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
