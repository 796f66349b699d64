// The passengers of the playground: how many come, and where they go.
import { html } from "./html.js";
import { plural } from "./format.js";
import { Slider } from "./slider.js";

/** The patterns of traffic: as the fleet has them, and for people. */
export const PATTERNS = [
  ["up", "up-peak"],
  ["lunch", "lunch"],
  ["down", "down-peak"],
  ["inter", "interfloor"],
];

const MEANINGS = {
  up: "nearly everybody comes in at the lowest floor",
  lunch: "as many come in as go out",
  down: "nearly everybody goes out at the lowest floor",
  inter: "everybody goes from one upper floor to another",
};

export function Traffic({ picture: { traffic, waiting }, act }) {
  const set = (change) => act({ traffic: { ...traffic, ...change } });
  return html`
    <div class="lab-row">
      <label>Pattern
        <select name="traffic" value=${traffic.pattern} onChange=${(event) => set({ pattern: event.target.value })}>
          ${PATTERNS.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
        </select></label>
      <${Slider} label="Passengers" name="passengers" value=${traffic.passengers} most=${600} step=${1} unit="a minute"
        onSet=${(passengers) => set({ passengers })} />
      <span class="quiet-text">${MEANINGS[traffic.pattern]};</span>
      <span class="waiting">${plural(waiting, "passenger")} ${waiting === 1 ? "waits" : "wait"}</span>
    </div>
  `;
}
