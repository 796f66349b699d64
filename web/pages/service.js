// The service: how long passengers have waited, when and where they called, and whether the cars were there.
import { Component, html } from "../html.js";
import { Chart, axis, bars, colour, loadCharts, loadStyle } from "../charts.js";
import { duration, plural, wearText } from "../format.js";

const WINDOWS = [
  { name: "hour", title: "Hour" },
  { name: "day", title: "Day" },
  { name: "week", title: "Week" },
];

const KINDS = [
  { name: "landing", title: "At the landing", what: "waiting time", of: (one) => one.landing },
  { name: "car", title: "Car calls", what: "waiting time", of: (one) => one.car },
  { name: "journeys", title: "Journeys", what: "journey time", of: (one) => one.journeys },
];

/** How long a download may take to begin, ms. */
const KEEP_MS = 60_000;

/** How often the figures are asked for, ms. */
const REFRESH_MS = 10_000;

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "short", hourCycle: "h23" });
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** What was chosen last, for when the page is opened again. */
const chosen = { window: "day", kind: "landing" };

let style = null;

/** Loads what the page needs beside its own file. */
export function prepare() {
  style ??= loadStyle(new URL("../service.css", import.meta.url).href).catch((error) => {
    style = null;
    throw error;
  });
  return Promise.all([style, loadCharts()]);
}

export class ServicePage extends Component {
  state = { figures: null, problem: null, ...chosen };
  #timer = null;
  #request = 0;

  componentDidMount() {
    this.#ask();
    this.#timer = setInterval(() => this.props.model.isLive && this.#ask(), REFRESH_MS);
  }

  componentWillUnmount() {
    clearInterval(this.#timer);
    this.#request += 1;
  }

  async #ask() {
    this.#request += 1;
    const request = this.#request;
    let next;
    try {
      next = { figures: await this.props.model.statistics(this.state.window), problem: null };
    } catch (problem) {
      next = { problem: problem.message };
    }
    // An answer that was overtaken by a later question counts no more.
    if (request === this.#request) this.setState(next);
  }

  #choose(part) {
    Object.assign(chosen, part);
    this.setState(part, () => part.window && this.#ask());
  }

  /** A plain link would not send the token that reading may need. */
  async #download(window) {
    let csv;
    try {
      csv = await this.props.model.statisticsCsv(window);
    } catch (problem) {
      this.setState({ problem: problem.message });
      return;
    }
    const href = URL.createObjectURL(csv.content);
    Object.assign(document.createElement("a"), { href, download: csv.name }).click();
    setTimeout(() => URL.revokeObjectURL(href), KEEP_MS);
  }

  render(_props, { figures, problem, window: name, kind: kindName }) {
    const kind = KINDS.find((one) => one.name === kindName);
    return html`
      <div class="sheet service">
        <section class="panel">
          <div class="filters">
            <h2>Service</h2>
            <div class="switch" role="group" aria-label="Window">
              ${WINDOWS.map(
                (one) => html`<button
                  type="button"
                  key=${one.name}
                  data-window=${one.name}
                  aria-pressed=${one.name === name}
                  onClick=${() => this.#choose({ window: one.name })}
                >
                  ${one.title}
                </button>`,
              )}
            </div>
            <label>
              Times
              <select name="kind" value=${kindName} onChange=${(event) => this.#choose({ kind: event.target.value })}>
                ${KINDS.map((one) => html`<option key=${one.name} value=${one.name}>${one.title}</option>`)}
              </select>
            </label>
            <button type="button" class="download" onClick=${() => this.#download(name)}>Download CSV</button>
          </div>
          ${problem && html`<p class="fine" role="alert">The statistics could not be loaded: ${problem}</p>`}
          ${figures === null ? !problem && html`<p class="empty">Asking the node…</p>` : html`<${Source} figures=${figures} />`}
        </section>
        ${figures &&
        html`
          <${Tiles} figures=${figures} kind=${kind} />
          <${OverTime} figures=${figures} kind=${kind} />
          <${Distribution} figures=${figures} kind=${kind} />
          <${Hours} figures=${figures} />
          <${Floors} figures=${figures} />
          <${Cars} figures=${figures} />
        `}
        <${Maintenance} labels=${this.props.model.labels} car=${this.props.model.cars.find((car) => car.counters && !car.lost)} />
      </div>
    `;
  }
}

/** Of which time the figures are, and whose they are. */
function Source({ figures }) {
  const { node, from, to, since, watched } = figures;
  if (since === null) return html`<p class="fine">Node ${node} has no statistics yet.</p>`;
  const begin = dayAndTime.format(Math.max(Date.parse(from), Date.parse(since)));
  return html`
    <p class="fine">
      Recorded by node ${node} from ${begin} to ${timeOfDay.format(Date.parse(to))}, over ${duration(watched)} of running time.
      ${isClockChanged(figures) && " The clock changed during this time: earlier hours of the day are off by one."}
    </p>
  `;
}

/** Whether summer time began or ended: the node counts the hours of the whole window by the present clock. */
function isClockChanged({ from, to }) {
  return new Date(from).getTimezoneOffset() !== new Date(to).getTimezoneOffset();
}

function timesOf(figures, kind) {
  return kind.of({ ...figures.waiting, journeys: figures.journeys });
}

function seconds(time) {
  if (time === null) return "–";
  return time < 100 ? `${time.toFixed(1)} s` : duration(time);
}

function Tiles({ figures, kind }) {
  const times = timesOf(figures, kind);
  const tiles = [
    ["Median", times.p50, "half took no longer"],
    ["P90", times.p90, "nine in ten took no longer"],
    ["P95", times.p95, ""],
    ["P99", times.p99, ""],
    ["Mean", times.mean, plural(times.calls, "call")],
    ["Longest", times.longest, ""],
  ];
  return html`
    <dl class="facts times" aria-label=${`${kind.title}: ${kind.what}`}>
      ${tiles.map(
        ([name, time, note]) => html`
          <div key=${name}>
            <dt>${name}</dt>
            <dd class="large">${seconds(time)}</dd>
            <dd class="dim">${note}</dd>
          </div>
        `,
      )}
    </dl>
  `;
}

/** A chart with its numbers in a table behind it. */
function Figure({ title, note, columns, rows, children, empty }) {
  return html`
    <section class="panel">
      <h2>${title}</h2>
      ${note && html`<p class="fine">${note}</p>`}
      ${empty
        ? html`<p class="empty">${empty}</p>`
        : html`
            ${children}
            <details>
              <summary>As a table</summary>
              <${Numbers} title=${title} columns=${columns} rows=${rows} />
            </details>
          `}
    </section>
  `;
}

function Numbers({ title, columns, rows }) {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${`${title}: table`}>
      <table>
        <thead>
          <tr>
            ${columns.map((column) => html`<th scope="col" key=${column}>${column}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([head, ...cells]) => html`
              <tr key=${head}>
                <th scope="row">${head}</th>
                ${cells.map((cell, index) => html`<td key=${index}>${cell}</td>`)}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

class OverTime extends Component {
  #now = null;

  shouldComponentUpdate({ figures, kind }) {
    return figures !== this.props.figures || kind !== this.props.kind;
  }

  render({ figures, kind }) {
    const periods = figures.periods.map((period) => ({ ...period, times: kind.of(period) }));
    const counted = periods.filter(({ times }) => times.calls > 0);
    const lines = [
      ["Median", (times) => times.p50, { stroke: () => colour("accent"), width: 2 }],
      ["P90", (times) => times.p90, { stroke: () => colour("mark"), width: 2, dash: [7, 3] }],
      ["P99", (times) => times.p99, { stroke: () => colour("bad"), width: 1.5, dash: [2, 3] }],
    ];
    // With those in which the node did not watch: no line crosses them.
    const at = new Map(periods.map(({ start, times }) => [Date.parse(start) / 1000, times]));
    const moments = [];
    const last = Math.max(...at.keys());
    for (let moment = Math.min(...at.keys()); moment <= last; moment += figures.period) moments.push(moment);
    const data = [moments, ...lines.map(([, of]) => moments.map((moment) => (at.has(moment) ? of(at.get(moment)) : null)))];
    // The chart outlives these figures.
    this.#now = { from: Date.parse(figures.from) / 1000, to: Date.parse(figures.to) / 1000, count: counted.length };
    const options = () => ({
      scales: { x: { range: () => [this.#now.from, this.#now.to] }, y: fromZero },
      axes: [axis({ values: timeLabels(figures.window) }), axis({ size: 52, values: (_, values) => values.map((value) => `${value} s`) })],
      series: [
        { label: "From", value: (_, moment) => (moment === null ? "–" : dayAndTime.format(moment * 1000)) },
        ...lines.map(([label, , look]) => ({
          label,
          ...look,
          points: { show: () => this.#now.count < 30, size: 6, filter: lonely },
          value: (_, value) => seconds(value ?? null),
        })),
      ],
    });
    const rows = counted.map(({ start, times }) => [
      dayAndTime.format(Date.parse(start)),
      times.calls,
      ...[times.p50, times.p90, times.p95, times.p99, times.longest].map(seconds),
    ]);
    const minutes = figures.period / 60;
    return html`
      <${Figure}
        title=${`${kind.title}: ${kind.what} over time`}
        note=${`Each point covers ${minutes === 60 ? "an hour" : `${minutes} minutes`}.`}
        columns=${["From", "Calls", "Median", "P90", "P95", "P99", "Longest"]}
        rows=${rows}
        empty=${counted.length === 0 && nothing(kind)}
      >
        <${Chart} data=${data} options=${options} form=${`${kind.name} ${figures.window}`} />
      <//>
    `;
  }
}

/** Which points to draw where not all are: those without a neighbour, which no line shows. */
function lonely(chart, series, isShown) {
  if (isShown) return null;
  const values = chart.data[series];
  const isEmpty = (index) => (values[index] ?? null) === null;
  return [...values.keys()].filter((index) => !isEmpty(index) && isEmpty(index - 1) && isEmpty(index + 1));
}

/** A scale from 0 to the largest value, at least 1. */
const fromZero = { range: (_, _least, most) => [0, Math.max(1, (most ?? 0) * 1.08)] };

function nothing(kind) {
  return kind.name === "journeys"
    ? "No journeys: only destination calls say where a passenger wants to go."
    : "No such calls were served in this window.";
}

function timeLabels(window) {
  return (_, values) =>
    values.map((value) => {
      const moment = value * 1000;
      return window === "week" ? weekLabel(moment) : timeOfDay.format(moment);
    });
}

const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });

function weekLabel(moment) {
  const time = timeOfDay.format(moment);
  return time === "00:00" ? weekday.format(moment) : time;
}

class Distribution extends Component {
  #used = null;

  shouldComponentUpdate({ figures, kind }) {
    return figures !== this.props.figures || kind !== this.props.kind;
  }

  render({ figures, kind }) {
    const count = (share) => (kind.name === "landing" ? share.hall + share.destination : share[kind.name]);
    const shares = figures.distribution.map((share) => ({ ...share, count: count(share) }));
    const all = shares.reduce((sum, share) => sum + share.count, 0);
    // Without the empty ones at the end, so that the rest has room.
    const used = shares.slice(0, Math.max(6, shares.findLastIndex((share) => share.count > 0) + 1));
    const name = ({ from, to }) => (to === null ? `${from} s or more` : `${from} to ${to} s`);
    const data = [used.map((_, index) => index), used.map((share) => share.count)];
    // The chart outlives these figures.
    this.#used = used;
    const options = () => ({
      scales: { x: { time: false, range: () => [-0.6, this.#used.length - 0.4] }, y: fromZero },
      axes: [
        axis({ splits: (chart) => chart.data[0], values: (_, at) => at.map((index) => `${this.#used[index].from}`), grid: { show: false } }),
        axis({ size: 44, incrs: WHOLE }),
      ],
      series: [
        { label: "Seconds", value: (_, index) => (index === null ? "–" : name(this.#used[index])) },
        { label: "Calls", stroke: colour("accent"), fill: colour("accent"), paths: bars(0.8), points: { show: false } },
      ],
    });
    let below = 0;
    const rows = used.map((share) => {
      below += share.count;
      return [name(share), share.count, percent(share.count / all), percent(below / all)];
    });
    return html`
      <${Figure}
        title=${`${kind.title}: distribution of ${kind.what}s`}
        note="Each label is the start of its bar, in seconds."
        columns=${["Time", "Calls", "Share", "Cumulative"]}
        rows=${rows}
        empty=${all === 0 && nothing(kind)}
      >
        <${Chart} data=${data} options=${options} form=${kind.name} />
      <//>
    `;
  }
}

/** Steps of an axis that counts. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

function percent(part) {
  return `${(100 * part).toFixed(1)} %`;
}

/** 99.95 % is not 100 %. */
function availability(part) {
  if (part === null) return "–";
  return part > 0.995 && part < 1 ? `${(100 * part).toFixed(2)} %` : percent(part);
}

class Hours extends Component {
  shouldComponentUpdate({ figures }) {
    return figures !== this.props.figures;
  }

  render({ figures }) {
    const hours = figures.by_hour.map(({ hour, hall, destination, car }) => ({ hour, landing: hall + destination, car }));
    const all = hours.reduce((sum, { landing, car }) => sum + landing + car, 0);
    const data = [
      hours.map(({ hour }) => hour),
      hours.map(({ landing, car }) => landing + car),
      hours.map(({ landing }) => landing),
    ];
    const bar = (label, name) => ({
      label,
      stroke: colour(name),
      fill: colour(name),
      paths: bars(0.8),
      points: { show: false },
    });
    const options = () => ({
      scales: { x: { time: false, range: [-0.6, 23.6] }, y: fromZero },
      axes: [axis({ incrs: [1, 2, 3, 6], values: (_, at) => at.map((hour) => `${hour}`), grid: { show: false } }), axis({ size: 44, incrs: WHOLE })],
      series: [
        { label: "Hour", value: (_, hour) => (hour === null ? "–" : hourName(hour)) },
        bar("All calls", "door"),
        bar("At the landing", "accent"),
      ],
    });
    return html`
      <${Figure}
        title="Calls by hour of the day"
        columns=${["Hour", "At the landing", "In the car", "All"]}
        rows=${hours.map(({ hour, landing, car }) => [hourName(hour), landing, car, landing + car])}
        empty=${all === 0 && "No calls were served in this window."}
      >
        <${Chart} data=${data} options=${options} />
      <//>
    `;
  }
}

function hourName(hour) {
  const two = (number) => String(number % 24).padStart(2, "0");
  return `${two(hour)}–${two(hour + 1)} h`;
}

/** Calls by floor and hour: a table, shaded by how many there are. */
class Floors extends Component {
  shouldComponentUpdate({ figures }) {
    return figures !== this.props.figures;
  }

  render({ figures }) {
    const most = Math.max(1, ...figures.by_floor.flatMap(({ hours }) => hours));
    const hours = figures.by_hour.map(({ hour }) => hour);
    return html`
      <section class="panel">
        <h2>Calls by floor and hour</h2>
        <p class="fine">Hall calls and trips count at their landing, car calls at their destination.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="Calls by floor and hour: table">
          <table class="heat">
            <thead>
              <tr>
                <th scope="col">Floor</th>
                <th scope="col"><abbr title="Hall calls up">▲</abbr></th>
                <th scope="col"><abbr title="Hall calls down">▼</abbr></th>
                <th scope="col"><abbr title="Destination calls">To</abbr></th>
                <th scope="col"><abbr title="Calls in the car">Car</abbr></th>
                ${hours.map((hour) => html`<th scope="col" key=${hour} aria-label=${hourName(hour)}>${hour}</th>`)}
              </tr>
            </thead>
            <tbody>
              ${figures.by_floor.toReversed().map(
                (share) => html`
                  <tr key=${share.floor}>
                    <th scope="row">${share.floor}</th>
                    ${["up", "down", "destination", "car"].map((name) => html`<td key=${name}>${share[name]}</td>`)}
                    ${share.hours.map(
                      (calls, hour) => html`<td key=${hour} class="cell" style=${shade(calls, most)}>
                        ${calls || html`<span class="none">0</span>`}
                      </td>`,
                    )}
                  </tr>
                `,
              )}
            </tbody>
          </table>
        </div>
      </section>
    `;
  }
}

function shade(calls, most) {
  return { "--shade": `${Math.round((100 * calls) / most)}%` };
}

function Cars({ figures }) {
  const states = [
    ["in_service", "In service"],
    ["reserved", "Taken out"],
    ["down", "Down"],
  ];
  return html`
    <section class="panel">
      <h2>Availability</h2>
      <p class="fine">
        Taken out: by a key switch, an operator or a fire recall. Down: unable to serve, or its node was not heard.
      </p>
      ${figures.cars.length === 0
        ? html`<p class="empty">No cars were seen in this window.</p>`
        : html`
            <div class="scroll" tabindex="0" role="region" aria-label="Availability: table">
              <table class="cars">
                <thead>
                  <tr>
                    <th scope="col">Car</th>
                    <th scope="col" class="share"><span class="hidden">Shares</span></th>
                    <th scope="col">Available</th>
                    ${states.map(([name, title]) => html`<th scope="col" key=${name}><i class=${`part ${name}`}></i> ${title}</th>`)}
                  </tr>
                </thead>
                <tbody>
                  ${figures.cars.map(
                    (car) => html`
                      <tr key=${car.car} data-car=${car.car}>
                        <th scope="row">${car.car}</th>
                        <td class="share" aria-hidden="true">
                          <div class="parts">
                            ${states.map(
                              ([name]) => html`<i key=${name} class=${`part ${name}`} style=${{ flexGrow: `${car[name]}` }}></i>`,
                            )}
                          </div>
                        </td>
                        <td>${availability(car.availability)}</td>
                        ${states.map(([name]) => html`<td key=${name}>${duration(car[name])}</td>`)}
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
            </div>
          `}
    </section>
  `;
}

/** What the car of this node has done: other nodes count for their own. */
function Maintenance({ labels, car }) {
  if (!car) return null;
  const { since, trips, starts, door_cycles: cycles, reopenings, running, metres, stops } = car.counters;
  const rows = [
    ["Trips", trips, ""],
    ["Starts", starts, ""],
    ["Door cycles", cycles, ""],
    ["Door reopenings", reopenings, ""],
    ["Running time", (running / 3600).toFixed(1), "h"],
    ["Distance", metres, "m"],
    ...stops.map((count, floor) => [`Stops at floor ${labels[floor]}`, count, ""]),
  ];
  const due = car.maintenance_due.map(wearText).join(", ");
  return html`
    <section class="panel maintenance">
      <h2>Maintenance of car ${car.car}</h2>
      <p class="fine">${since === null ? "The clock was not set when counting began." : `Counted since ${date.format(Date.parse(since))}.`}</p>
      ${due && html`<p role="alert">Maintenance is due: ${due}.</p>`}
      <${Numbers} title="Maintenance" columns=${["Counter", "Count", "Unit"]} rows=${rows} />
    </section>
  `;
}
