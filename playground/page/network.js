// The network of the playground: what it does to packets, and which links are cut.
import { Component, html } from "./html.js";
import { Slider } from "./slider.js";

export class Network extends Component {
  state = { one: 0, other: 1 };

  /** Packets travel for so many milliseconds, and up to so many longer. */
  #delay({ delay, jitter }) {
    const least = Math.round(delay * 1000);
    this.props.inflict({ delay: { least, most: least + Math.round(jitter * 1000) } });
  }

  render({ picture, inflict }, state) {
    const { nodes, weather } = picture;
    const one = Math.min(state.one, nodes.length - 1);
    const other = Math.min(state.other, nodes.length - 1);
    const tenth = (value) => Math.round(value * 10) / 10;
    const button = (name, fault) => html`
      <button type="button" disabled=${one === other} onClick=${() => inflict(fault)}>${name}</button>
    `;
    return html`
      <div class="lab-row">
        <${Slider} label="Loss" name="loss" value=${weather.loss} most=${40} step=${1} unit="%" onSet=${(loss) => inflict({ loss })} />
        <${Slider} label="Delay" name="delay" value=${tenth(weather.delay)} most=${100} step=${0.1} unit="ms"
          onSet=${(delay) => this.#delay({ ...weather, delay })} />
        <${Slider} label="Jitter" name="jitter" value=${tenth(weather.jitter)} most=${100} step=${0.1} unit="ms"
          onSet=${(jitter) => this.#delay({ ...weather, jitter })} />
      </div>
      <div class="lab-row">
        ${this.#choice("From", "one", one)} ${this.#choice("to", "other", other)}
        ${button("Cut both ways", { cut: [one, other] })}
        ${button("Cut this way", { "cut-one-way": { from: one, to: other } })}
        ${button("Repair both ways", { uncut: [one, other] })}
        ${button("Repair this way", { "uncut-one-way": { from: one, to: other } })}
      </div>
      <div class="lab-row">
        ${picture.cuts.length === 0
          ? html`<span class="quiet-text">No link is cut.</span>`
          : html`
              <ul class="cuts" aria-label="Cut links">
                ${links(picture).map(
                  ({ name, repair }) => html`
                    <li key=${name}>${name} <button type="button" aria-label=${`Repair ${name}`} onClick=${() => inflict(repair)}>Repair</button></li>
                  `,
                )}
              </ul>
              <button type="button" onClick=${() => inflict("heal")}>Repair all links</button>
            `}
      </div>
    `;
  }

  #choice(label, name, value) {
    const { nodes } = this.props.picture;
    return html`<label>${label}
      <select name=${name} value=${value} onChange=${(event) => this.setState({ [name]: Number(event.target.value) })}>
        ${nodes.map((node, index) => html`<option key=${node.name} value=${index}>${node.name}</option>`)}
      </select></label>`;
  }
}

/** What is cut, and what repairs it: both directions between two nodes are one link. */
function links({ cuts, nodes }) {
  const isCut = (one, other) => cuts.some(([from, to]) => from === one && to === other);
  return cuts
    .filter(([from, to]) => from < to || !isCut(to, from))
    .map(([from, to]) => {
      const [one, other] = [nodes[from].name, nodes[to].name];
      return isCut(to, from)
        ? { name: `${one} – ${other}`, repair: { uncut: [from, to] } }
        : { name: `${one} → ${other}`, repair: { "uncut-one-way": { from, to } } };
    });
}
