// What a race shows: the figures of both strategies, what the seeds say of the difference, and the
// waits.
import { html } from "./html.js";
import { plural } from "./format.js";

const FIGURES = {
  wait: { name: "Mean wait", unit: "s", digits: 1 },
  p95: { name: "P95 wait", unit: "s", digits: 1 },
  journey: { name: "Mean journey", unit: "s", digits: 1 },
  energy: { name: "Energy", unit: "kWh", digits: 2 },
};

const REASONS = {
  unserved: "somebody never arrived",
  backlog: "people still waited five minutes after the last arrival",
  growth: "the queue grew all the time",
};

/** As in the race: with fewer there are no intervals. */
const LEAST_SEEDS = 5;

/** Of the picture, in its own units. */
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [480, 300, 62, 52, 12, 14];

export function Figures({ standing: { figures, lanes, seeds, passengers }, names, isDone }) {
  const saturated = lanes.map(({ saturated: count, reason }, lane) => count > 0 &&
    html`<p>${names[lane]} could not keep up in ${count} of ${plural(seeds, "seed")}, ${count > 1 && "first "}because ${REASONS[reason]}. A
      saturated bank has no averages, and nothing to compare.</p>`);
  return html`
    ${saturated}
    ${seeds < LEAST_SEEDS && !saturated.some(Boolean) && html`<p>Averages come after ${LEAST_SEEDS} seeds.</p>`}
    ${figures.length > 0 && html`<table class="figures">
      <caption class="dim">Means over ${plural(seeds, "seed")} with ${plural(passengers, "passenger")}; below each its 95 % interval</caption>
      <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}
        <th scope="col">Difference</th></tr></thead>
      ${figures.map((figure) => html`<tbody key=${figure.name}>${rows(figure, names, seeds, isDone)}</tbody>`)}
    </table>
    <p class="fine">The difference is taken seed by seed, second less first. Journeys include the wait. Energy is an index: 40 kJ
      for each start of a car and 2 kJ for each metre.</p>`}
  `;
}

function rows({ name, lanes, difference, verdict }, names, seeds, isDone) {
  const { name: title, unit, digits } = FIGURES[name];
  const number = (value) => value.toFixed(digits).replace("-", "−");
  const signed = (value) => (value > 0 ? "+" : "") + number(value);
  const cell = ({ mean, low, high }, shown) => html`<td>${shown(mean)} ${unit}<br /><small>${shown(low)} to ${shown(high)}</small></td>`;
  const winner = { first: names[0], second: names[1] }[verdict];
  const says = winner !== undefined
    ? html`<strong>${winner} is better</strong> by ${number(Math.abs(difference.mean))} ${unit}`
    : verdict === "same" ? `the same in all ${seeds} seeds` : `no difference shown by ${plural(seeds, "seed")}`;
  return html`
    <tr><th scope="rowgroup" colspan="3" class="verdict">${title}: ${isDone ? says : "a verdict after the last seed"}</th></tr>
    <tr>${lanes.map((lane) => cell(lane, number))}${cell(difference, signed)}</tr>
  `;
}

/** The share of the passengers who waited at most so long, for both. A saturated bank leaves some
 * waiting, whose waits nobody knows. */
export function Curves({ standing: { lanes }, names }) {
  if (lanes.some(({ waits, saturated }) => waits.length === 0 || saturated > 0)) return null;
  // The longest waits of a few would squeeze all others.
  const most = Math.max(...lanes.map(({ waits }) => waits[99]), 10);
  const step = [2, 5, 10, 20, 30, 60, 120, 300, 600, 1200].find((one) => most / one <= 6) ?? 3600;
  const x = (wait) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.min(wait, most)) / most;
  const y = (percent) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * percent) / 100;
  const path = (waits) => waits.slice(0, 100).map((wait, percent) => `${x(wait).toFixed(1)},${y(percent).toFixed(1)}`).join(" ");
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
  const says = lanes.map(({ waits }, lane) => `${names[lane]}: half waited at most ${waits[50].toFixed(0)} s, 90 % at most ${waits[90].toFixed(0)} s`);
  return html`
    <svg class="curves" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${`Waits. ${says.join("; ")}.`}>
      ${[0, 25, 50, 75, 100].map((percent) => html`
        <line x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(percent)} y2=${y(percent)} />
        <text x=${LEFT - 6} y=${y(percent) + 4} text-anchor="end">${percent} %</text>`)}
      ${ticks.map((tick) => html`<text x=${x(tick)} y=${HEIGHT - BOTTOM + 20} text-anchor="middle">${tick}</text>`)}
      <text x=${(LEFT + WIDTH - RIGHT) / 2} y=${HEIGHT - 8} text-anchor="middle">share who waited at most so many seconds</text>
      ${lanes.map(({ waits }, lane) => html`<polyline class=${`lane-${lane}`} points=${path(waits)} />`)}
    </svg>
  `;
}
