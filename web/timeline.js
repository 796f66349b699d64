// The states of the nodes over time, and who led when.
import { Component, createRef, html } from "./html.js";
import { duration, timeOfDay } from "./format.js";
import { SPAN_MS } from "./history.js";

/** The shortest span that is drawn, ms. */
const SHORTEST_MS = 60_000;

const ROW = 30;
const AXIS = 26;
const NAMES = 52;

/** The room of the ends of the axis, in which no name of a master is written. */
const AGO = 76;
const NOW = 36;

/** The height of a bar by state, so that colour is not all that tells them apart. */
const BARS = { master: 18, slave: 8, seeking: 4, lost: 18, hung: 18, heard: 4 };

export class Timeline extends Component {
  state = { width: 800 };
  #box = createRef();
  #observer = new ResizeObserver(([{ contentRect }]) => this.setState({ width: Math.round(contentRect.width) }));

  componentDidMount() {
    this.#observer.observe(this.#box.current);
  }

  componentWillUnmount() {
    this.#observer.disconnect();
  }

  render({ history, now }, { width }) {
    const nodes = [...history.nodes].sort(([one], [other]) => one.localeCompare(other, undefined, { numeric: true }));
    const span = Math.min(SPAN_MS, Math.max(SHORTEST_MS, now - history.earliest));
    const from = now - span;
    const right = width - NAMES - 8;
    const x = (at) => NAMES + Math.min(1, Math.max(0, (at - from) / span)) * right;
    const height = AXIS + nodes.length * ROW;
    const { masters } = history;
    const failovers = masters.filter(({ isObserved, from: at }) => isObserved && at > from);
    return html`
      <div class="timeline" ref=${this.#box}>
        <svg width=${width} height=${height} role="img" aria-label=${said(history, span)}>
          <defs>
            <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <path class="hatching" d="M0 0v6" />
            </pattern>
          </defs>
          ${nodes.map(
            ([node], index) => html`<path key=${node} class="grid" d=${`M${NAMES} ${AXIS + (index + 0.5) * ROW}h${right}`} />`,
          )}
          ${nodes.map(
            ([node, segments], index) => html`
              <g key=${node} transform=${`translate(0 ${AXIS + index * ROW})`}>
                <text class="name" x="0" y=${ROW / 2 + 5}>${node}</text>
                ${segments.map((segment) => html`<${Bar} key=${segment.from} segment=${segment} x=${x} />`)}
              </g>
            `,
          )}
          ${history.gaps.map(
            ({ from: start, to }) => html`<rect key=${start} class="gap" x=${x(start)} width=${x(to) - x(start)} y=${AXIS} height=${height - AXIS} />`,
          )}
          ${failovers.map(
            ({ node, term, from: at }) => html`
              <g key=${at} class="failover">
                <title>${node} is the master from ${timeOfDay(at)}, term ${term}</title>
                <path d=${`M${x(at)} 16V${height}`} />
                ${x(at) > NAMES + AGO && x(at) < NAMES + right - NOW && html`<text x=${x(at)} y="12">${node}</text>`}
              </g>
            `,
          )}
          <text class="tick" x=${NAMES} y="12">${duration(span / 1000)} ago</text>
          <text class="tick end" x=${NAMES + right} y="12">now</text>
        </svg>
        <p class="legend">
          ${["master", "slave", "seeking", "lost", "hung", "heard"].map(
            (kind) => html`<span key=${kind}><i class=${`bar ${kind}`}></i> ${kind}</span>`,
          )}
          <span><i class="bar failed"></i> another master</span>
        </p>
        ${masters.length > 1 &&
        html`<ol class="changes">
          ${[...masters]
            .reverse()
            .slice(0, 5)
            .map(
              ({ node, term, from: at, isStartKnown }) => html`
                <li key=${at}>
                  ${isStartKnown ? timeOfDay(at) : `before ${timeOfDay(at)}`}: <strong>${node}</strong> is the master,
                  term ${term}
                </li>
              `,
            )}
        </ol>`}
      </div>
    `;
  }
}

function Bar({ segment: { kind, from, to }, x }) {
  const height = BARS[kind] ?? 4;
  const width = Math.max(1.5, x(to) - x(from));
  return html`
    <rect class=${`bar ${kind}`} x=${x(from)} width=${width} y=${(ROW - height) / 2} height=${height}>
      <title>${kind} from ${timeOfDay(from)} to ${timeOfDay(to)}</title>
    </rect>
  `;
}

function said(history, span) {
  const nodes = [...history.nodes].map(([node, segments]) => `${node} ${segments.at(-1).kind}`);
  return `States of the nodes in the last ${duration(span / 1000)}; now: ${nodes.join(", ")}`;
}
