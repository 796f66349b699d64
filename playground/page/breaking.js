// What one watches while one breaks something: the replicated store of every node, call by call.
import { Component, html } from "./html.js";
import { callId, callText, plural } from "./format.js";
import { Slider } from "./slider.js";

const KNOWLEDGE = {
  unknown: ["·", "unknown"],
  known: ["○", "known"],
  "on-disk": ["●", "on disk"],
  served: ["✓", "served"],
};

/** The buttons that end, freeze and start the process of a node. */
export function processButtons(node, index, inflict) {
  const button = (name, ...faults) => html`
    <button type="button" aria-label=${`${name} ${node.name}`} onClick=${() => inflict(...faults)}>${name}</button>`;
  return html`
    ${node.running || node.suspended
      ? button("Kill", { kill: index })
      : button(node.hung ? "Clear and start" : "Start", { "clear-hang": index }, { restart: index })}
    ${node.suspended
      ? button("Resume", { resume: index })
      : html`<button type="button" aria-label=${`Freeze ${node.name}`} disabled=${!node.running}
          onClick=${() => inflict({ suspend: index })}>Freeze</button>`}
  `;
}

/** What a node's process does, for people. */
export function saysOf(node) {
  return node.hung ? "hung" : node.suspended ? "frozen" : node.running ? node.node_state : "stopped";
}

export class Breaking extends Component {
  /** The nodes on the second side of the partition. */
  #second = new Set();

  /** The side of each node; null if links are cut that do not part the network in two. */
  #sides({ nodes, cuts }) {
    const ways = new Set(cuts.map(String));
    const isCut = (one, other) => ways.has(`${one},${other}`) && ways.has(`${other},${one}`);
    const numbers = nodes.map((_, index) => index);
    const without = (side) => numbers.filter((node) => !side.has(node));
    const isParted = (second) => second.size > 0 && second.size < nodes.length
      && without(second).every((one) => [...second].every((other) => isCut(one, other)));
    if (!isParted(this.#second)) {
      // A partition that was made elsewhere: with the first node are those that it reaches, even by
      // way of others.
      const first = new Set([0]);
      for (const one of first) numbers.filter((other) => !isCut(one, other)).forEach((other) => first.add(other));
      this.#second = new Set(without(first));
    }
    const rest = isParted(this.#second) || cuts.length === 0 ? 1 : null;
    return numbers.map((node) => (this.#second.has(node) ? 2 : rest));
  }

  #move(node, sides) {
    this.#second = new Set(sides.flatMap((side, other) => ((side === 2) !== (other === node) ? [other] : [])));
    const of = (isSecond) => sides.flatMap((_, other) => (this.#second.has(other) === isSecond ? [other] : []));
    this.props.inflict({ partition: [of(false), of(true)] });
  }

  render({ source: { picture, orders }, inflict }) {
    if (orders === null) return null;
    const { nodes, cuts, weather } = picture;
    const sides = this.#sides(picture);
    const cell = (what, node, isLit) => {
      const [sign, name] = KNOWLEDGE[what];
      return html`<td class=${`${what} ${nodes[node].running ? "" : "off"} ${isLit ? "lit" : ""}`} title=${name}>
        <span aria-hidden="true">${sign}</span><span class="hidden">${name}</span></td>`;
    };
    return html`
      <div class="lab-row">
        <${Slider} label="Lose packets" name="losing" value=${weather.loss} most=${40} step=${1} unit="%" onSet=${(loss) => inflict({ loss })} />
        <button type="button" class="heal" disabled=${cuts.length === 0 && !nodes.some((one) => one.isolated)} onClick=${() => inflict("heal")}>
          Heal the network</button>
      </div>
      <div class="scrolls stores" role="region" aria-label="The order store of every node" tabindex="0">
        <table class="store">
          <thead>
            <tr><td></td>${nodes.map((node) => html`
              <th scope="col" key=${node.name}>${node.name} <span class="quiet-text">${saysOf(node)}</span></th>`)}<td></td></tr>
            <tr><th scope="row">Process</th>${nodes.map((node, index) => html`
              <td key=${node.name}><span class="acts">${processButtons(node, index, inflict)}</span></td>`)}<td></td></tr>
            <tr><th scope="row">Side of the network</th>${nodes.map((node, index) => html`
              <td key=${node.name}><button type="button" class=${`side side-${sides[index]}`}
                aria-label=${`Node ${node.name} ${sides[index] === null ? "is on no side of the network: part it from the others"
                  : `is on side ${sides[index]} of the network: move it to the other side`}`}
                onClick=${() => this.#move(index, sides)}>${sides[index] ?? "–"}</button></td>`)}<td></td></tr>
            <tr><th scope="col">Call</th><td colspan=${nodes.length}></td><th scope="col">Lamp</th></tr>
          </thead>
          <tbody>
            ${orders.rows.map(({ call, nodes: known, lit }) => html`
              <tr key=${callId(call)} data-call-of=${callId(call)}>
                <th scope="row">${callText(call)}</th>
                ${known.map((what, node) => cell(what, node, lit?.includes(node)))}
                <td class=${lit?.length ? "lamp lit" : "lamp"}>${lampText(lit, call, nodes)}</td>
              </tr>`)}
          </tbody>
        </table>
        ${orders.rows.length === 0 && html`<p class="quiet-text">No call is open.</p>`}
        ${orders.left_out > 0 && html`<p class="quiet-text">${plural(orders.left_out, "more call")} not shown.</p>`}
      </div>
      <ul class="lab-legend">
        ${Object.values(KNOWLEDGE).map(([sign, name]) => html`<li key=${name}><span aria-hidden="true">${sign}</span> ${name}</li>`)}
        <li><i class="lit">○</i> the lamp is lit at this node's panel</li>
      </ul>
    `;
  }
}

/** At which panels the lamp of a call is lit. */
function lampText(lit, call, nodes) {
  if (lit === null) return "none";
  if (lit.length === 0) return "dark";
  const all = call.kind === "car" ? 1 : nodes.length;
  return lit.length === all ? "lit" : `lit at ${lit.map((node) => nodes[node].name).join(", ")}`;
}
