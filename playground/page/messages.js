// A space-time view of the messages: a line for each node, time to the right, each message from the
// line of its sender to that of its receiver.
import { colour } from "./charts.js";
import { Component, createRef, html } from "./html.js";
import { FASTEST_WATCHED } from "./lab.js";

/** How much time is shown, s. */
const SPANS = [0.005, 0.02, 0.1, 0.5, 2];

const ABOUT = ["election", "orders", "link", "climate", "beacon"];
const STATES = ["master", "slave", "seeking"];

/** The line of a node by its state: colour, thickness, dashes. */
const LINES = {
  master: ["accent", 5, []],
  slave: ["ink-dim", 2, []],
  seeking: ["warn", 2, [5, 4]],
  down: ["line", 1, [1, 5]],
};

const ROW = 34;
const TOP = 16;
const NAMES = 34;

export class Messages extends Component {
  state = { width: 800 };
  #box = createRef();
  #canvas = createRef();
  #observer = new ResizeObserver(([{ contentRect }]) => this.setState({ width: Math.round(contentRect.width) }));

  componentDidMount() {
    this.#observer.observe(this.#box.current);
    this.#draw();
  }

  componentDidUpdate() {
    this.#draw();
  }

  componentWillUnmount() {
    this.#observer.disconnect();
  }

  #save() {
    const drawing = this.props.source.drawing();
    if (drawing === undefined) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([drawing], { type: "image/svg+xml" }));
    link.download = "messages.svg";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  #draw() {
    const { source, nodes } = this.props;
    const canvas = this.#canvas.current;
    if (canvas === null || source.messages === null) return;
    const scale = devicePixelRatio;
    const [width, height] = [this.state.width, heightOf(nodes)];
    canvas.width = width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    draw(context, source.messages, nodes, source.watched, width);
  }

  render({ source, nodes }, { width }) {
    const { messages, watched } = source;
    if (messages === null) {
      const hint = `Messages are drawn up to ${FASTEST_WATCHED} ×: slow the run down, ideally to 0.01 ×.`;
      return html`<div ref=${this.#box}><p class="quiet-text">${hint}</p></div>`;
    }
    const { kinds, left_out: leftOut } = messages;
    const counted = ABOUT.map((about) => [about, kinds.filter(({ category }) => category === about)]);
    const said = kinds.map(({ name, count }) => `${count} ${name}`).join(", ");
    return html`
      <div ref=${this.#box}>
        <div class="lab-row">
          <label>Shown
            <select name="span" value=${watched} onChange=${(event) => { source.watched = Number(event.target.value); source.show(); }}>
              ${SPANS.map((span) => html`<option key=${span} value=${span}>${span < 1 ? `${span * 1000} ms` : `${span} s`}</option>`)}
            </select></label>
          <button type="button" onClick=${() => this.#save()}>Save as SVG</button>
          ${leftOut > 0 && html`<span class="quiet-text">${leftOut} more are not shown</span>`}
        </div>
        <canvas class="space-time" ref=${this.#canvas} role="img" style=${{ width: `${width}px`, height: `${heightOf(nodes)}px` }}
          aria-label=${`Messages between the nodes, time to the right: ${said || "none"}`}></canvas>
        <ul class="lab-legend">
          ${counted.map(
            ([about, of]) => html`
              <li key=${about}>
                <i class=${`message ${about}`}></i> ${about}:${" "}
                <span class="quiet-text">${of.map(({ name, count }) => `${count} ${name}`).join(", ") || "none"}</span>
              </li>
            `,
          )}
          <li>× lost, cut, or not heard</li>
          ${STATES.map((state) => html`<li key=${state}><i class=${`node ${state}`}></i> ${state}</li>`)}
        </ul>
      </div>
    `;
  }
}

function heightOf(nodes) {
  return TOP + nodes.length * ROW;
}

function draw(context, { to, ways, states }, nodes, span, width) {
  const from = to - span;
  const right = width - 6;
  const x = (at) => NAMES + ((Math.min(to, Math.max(from, at)) - from) / span) * (right - NAMES);
  const y = (node) => TOP + (node + 0.5) * ROW;
  const [ink, dim] = [colour("ink"), colour("ink-dim")];
  context.font = "13px system-ui, sans-serif";
  context.textBaseline = "middle";
  nodes.forEach(({ name }, node) => {
    context.fillStyle = ink;
    context.fillText(name, 2, y(node));
    states[node].forEach(([at, state], index) => {
      const [stroke, thickness, dashes] = LINES[state];
      const until = states[node][index + 1]?.[0] ?? to;
      line(context, [x(at), y(node)], [x(until), y(node)], colour(stroke), thickness, dashes);
    });
  });
  context.fillStyle = dim;
  const ago = span < 1 ? `${span * 1000} ms ago` : `${span} s ago`;
  context.fillText(ago, NAMES, 8);
  context.textAlign = "right";
  context.fillText("now", right, 8);
  context.textAlign = "left";
  const colours = Object.fromEntries(ABOUT.map((about) => [about, colour(`about-${about}`)]));
  const bad = colour("bad");
  for (const [sent, sender, receiver, arrives, about, fate] of ways) {
    const begin = [x(sent), y(sender)];
    if (arrives === null) {
      // Nobody knows where on its way it was lost.
      const end = [begin[0] + 4, (y(sender) + y(receiver)) / 2];
      line(context, begin, end, colours[about], 1, [2, 2]);
      cross(context, end, bad);
      continue;
    }
    // What is under way has come so far.
    const way = arrives > to ? (to - sent) / (arrives - sent) : 1;
    const end = [x(Math.min(arrives, to)), y(sender) + (y(receiver) - y(sender)) * way];
    line(context, begin, end, colours[about], 1, fate === "waits" ? [4, 3] : []);
    if (fate === "unheard") cross(context, end, bad);
    else if (way === 1) dot(context, end, colours[about]);
  }
}

function line(context, from, to, stroke, thickness, dashes) {
  context.strokeStyle = stroke;
  context.lineWidth = thickness;
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function cross(context, [x, y], stroke) {
  line(context, [x - 3, y - 3], [x + 3, y + 3], stroke, 1.5, []);
  line(context, [x - 3, y + 3], [x + 3, y - 3], stroke, 1.5, []);
}

function dot(context, [x, y], fill) {
  context.fillStyle = fill;
  context.fillRect(x - 1.5, y - 1.5, 3, 3);
}
