// The events of the node, and what to do about a car that hung.
import { Component, html } from "../html.js";
import { SEVERITIES, capital, eventText, plural, severity, timeOfDay } from "../format.js";
import { Hung } from "./hang.js";

const SIGNS = { routine: "·", notice: "●", warning: "▲", alarm: "■" };

export class EventsPage extends Component {
  state = { car: "", kind: "", least: "routine" };

  #choose(field) {
    return (event) => this.setState({ [field]: event.target.value });
  }

  render({ model, onClear }, { car, kind, least }) {
    const rank = SEVERITIES.indexOf(least);
    const events = model.events.filter(
      ({ event, car: about }) =>
        SEVERITIES.indexOf(severity(event)) >= rank &&
        (kind === "" || event.event === kind) &&
        (car === "" || about === car),
    );
    const kinds = [...new Set([...model.events.map(({ event }) => event.event), ...(kind ? [kind] : [])])].sort();
    const { fleet } = model.state;
    return html`
      <div class="sheet">
        ${fleet.hung.map((name) => html`<${Hung} key=${name} model=${model} name=${name} onClear=${onClear} />`)}
        <section class="panel">
          <div class="filters" role="group" aria-label="Filters">
            <h2>Events of node ${fleet.node}</h2>
            <label>
              Car
              <select value=${car} onChange=${this.#choose("car")}>
                <option value="">all</option>
                ${model.cars.map((one) => html`<option key=${one.car} value=${one.car}>${one.car}</option>`)}
              </select>
            </label>
            <label>
              Kind
              <select value=${kind} onChange=${this.#choose("kind")}>
                <option value="">all</option>
                ${kinds.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
              </select>
            </label>
            <label>
              Severity
              <select value=${least} onChange=${this.#choose("least")}>
                ${SEVERITIES.map(
                  (one) => html`<option key=${one} value=${one}>${one === "routine" ? "all" : `${one} or worse`}</option>`,
                )}
              </select>
            </label>
          </div>
          ${model.missed === null && html`<p class="fine">Events from while the page was disconnected may be missing.</p>`}
          ${model.missed > 0 && html`<p class="fine">${plural(model.missed, "event")} missed: the connection was too slow.</p>`}
          ${events.length === 0
            ? html`<p class="empty">
                ${model.events.length === 0
                  ? "Nothing has happened since the node started."
                  : "No event matches the filters."}
              </p>`
            : html`<ol class="events" tabindex="0" aria-label="Events, newest first">
                ${events.map(({ key, event, car }) => html`<${Event} key=${key} event=${event} car=${car} />`)}
              </ol>`}
        </section>
      </div>
    `;
  }
}

/** An event never changes. */
class Event extends Component {
  shouldComponentUpdate() {
    return false;
  }

  render({ event, car }) {
    const level = severity(event);
    return html`
      <li class=${level}>
        <time datetime=${event.at}>${timeOfDay(Date.parse(event.at))}</time>
        <span class="level"><span aria-hidden="true">${SIGNS[level]}</span> ${capital(level)}</span>
        <span class="about">${car ?? ""}</span>
        <span class="text">${eventText(event)}</span>
        <code class="kind">${event.event}</code>
      </li>
    `;
  }
}
