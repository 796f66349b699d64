// The fleet: who leads, who is there, what is open, and what has happened.
import { html } from "../html.js";
import { callText, capital, duration, nodeStateText, plural, sessionName, tenths, timeOfDay } from "../format.js";
import { isSinceExact, masterSince } from "../history.js";
import { Timeline } from "../timeline.js";

export function FleetPage({ model }) {
  const { fleet, orders } = model.state;
  return html`
    <div class="sheet">
      <${Facts} model=${model} />
      <section class="panel">
        <h2>Timeline</h2>
        <${Timeline} history=${model.history} now=${Date.parse(fleet.at)} />
      </section>
      <${Nodes} fleet=${fleet} />
      <${Lost} lost=${fleet.lost} />
      <${Conflicts} conflicts=${fleet.conflicts} />
      <${Orders} orders=${orders} nodes=${fleet.nodes.length} />
      <${Sessions} sessions=${model.state.sessions ?? []} />
    </div>
  `;
}

function Facts({ model }) {
  const { fleet } = model.state;
  const others = fleet.nodes.filter((node) => !node.self);
  const equal = others.filter((node) => node.in_step).length;
  return html`
    <dl class="facts">
      <div>
        <dt>Master</dt>
        <dd class="large">${fleet.master ?? "none"}</dd>
        <dd class="dim">${sinceText(fleet)}</dd>
      </div>
      <div>
        <dt>Term</dt>
        <dd class="large">${fleet.term}</dd>
        <dd class="dim">highest known to ${fleet.node}</dd>
      </div>
      <div>
        <dt>Election</dt>
        <dd class="large">${fleet.election}</dd>
        <dd class="dim">${electionText(fleet)}</dd>
      </div>
      <div>
        <dt>Order store</dt>
        <dd class="large">${equal === others.length ? "In step" : `${equal} of ${others.length} in step`}</dd>
        <dd class="dim">digest <code>${fleet.digest.slice(0, 8)}</code> of ${fleet.node}</dd>
      </div>
      <div class=${fleet.disk_failed ? "bad" : ""}>
        <dt>Disk of ${fleet.node}</dt>
        <dd class="large">${fleet.disk_failed ? "Failed" : fleet.durable ? "Durable" : "Writing"}</dd>
        <dd class="dim">
          ${fleet.disk_failed
            ? "lamps do not rely on it"
            : fleet.durable
              ? "every order is on disk"
              : "some orders are not on disk yet"}
        </dd>
      </div>
    </dl>
  `;
}

function sinceText(fleet) {
  if (fleet.master === null) return "the node is seeking";
  const since = masterSince(fleet);
  if (since === null) return "";
  return `${isSinceExact(fleet) ? "since" : "since before"} ${moment(since, Date.parse(fleet.at))}`;
}

/** A moment of today as a time of the day, another one with its date. */
function moment(at, now) {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? timeOfDay(at) : `${timeOfDay(at)} on ${new Date(at).toLocaleDateString()}`;
}

function electionText({ election_state }) {
  return election_state.map(({ name, value }) => `${name} ${value}`).join(", ");
}

/** A table that becomes a list of cards on a phone. */
export function Table({ title, columns, rows, empty }) {
  return html`
    <section class="panel">
      <h2>${title}${rows.length > 0 && html` <span class="count">${rows.length}</span>`}</h2>
      ${rows.length === 0
        ? html`<p class="empty">${empty}</p>`
        : html`
            <table role="table">
              <thead role="rowgroup">
                <tr role="row">
                  ${columns.map((column) => html`<th role="columnheader" scope="col" key=${column}>${column}</th>`)}
                </tr>
              </thead>
              <tbody role="rowgroup">
                ${rows.map(
                  ({ key, look, cells }) => html`
                    <tr role="row" key=${key} class=${look ?? ""}>
                      ${cells.map(
                        (cell, index) => html`<td role="cell" key=${index} data-label=${columns[index]}><span>${cell}</span></td>`,
                      )}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          `}
    </section>
  `;
}

function Nodes({ fleet }) {
  const rows = fleet.nodes.map((node) => ({
    key: node.node,
    look: fleet.hung.includes(node.node) ? "bad" : "",
    cells: [
      html`<strong>${node.node}</strong>${node.self && html` <span class="tag dim">here</span>`}`,
      html`<span class=${`state ${node.node_state.kind}`}>${capital(nodeStateText(node.node_state))}</span>`,
      node.role,
      html`<code>${node.address}</code>`,
      node.self ? "–" : tenths(node.silent),
      delayText(node.round_trip),
      lossText(node.loss),
      yesNo(node.synced, node.self),
      yesNo(node.in_step, node.self),
    ],
  }));
  const columns = ["Node", "State", "Role", "Address", "Last heard", "Round trip", "Beacons lost", "Synced", "In step"];
  return html`<${Table} title="Nodes" columns=${columns} rows=${rows} />`;
}

/** A round trip: nodes of an older program don't tell it. */
function delayText(seconds) {
  return seconds == null ? "–" : `${(seconds * 1000).toFixed(1)} ms`;
}

/** The share of beacons that got lost in the last minute; from 5 % on the network needs attention. */
function lossText(share) {
  if (share == null) return "–";
  const text = `${(share * 100).toFixed(1)} %`;
  return share < 0.05 ? text : html`<span class="no">▲ ${text}</span>`;
}

function yesNo(is, isSelf) {
  if (isSelf) return "–";
  return html`<span class=${is ? "yes" : "no"}>${is ? "✓ yes" : "✗ no"}</span>`;
}

function Orders({ orders, nodes }) {
  const rows = orders.map((order) => ({
    key: order.id,
    cells: [
      callText(order.call),
      duration(order.waited),
      order.car ?? "none yet",
      order.promised ? html`<span class="yes">✓ promised</span>` : html`<span class="no">… not yet</span>`,
      html`<${Holders} order=${order} nodes=${nodes} />`,
      order.state.replaceAll("_", " "),
    ],
  }));
  const columns = ["Call", "Age", "Car", "Lamp", "Held by", "State"];
  return html`<${Table} title="Open orders" columns=${columns} rows=${rows} empty="No open orders." />`;
}

/** Which nodes hold an order, and which of them have it on disk. */
function Holders({ order, nodes }) {
  const { holders, held_by = [], durable_at = [] } = order;
  const count = `${holders} of ${plural(nodes, "node")}`;
  if (held_by.length === 0) return count;
  const named = (node) => (durable_at.includes(node) ? `${node} (disk)` : node);
  const more = holders - held_by.length;
  return html`${held_by.map(named).join(", ")}${more > 0 && ` and ${more} more`} <span class="dim">${count}</span>`;
}

/** Robots that have a car to themselves for a while, or wait for one. */
function Sessions({ sessions }) {
  if (sessions.length === 0) return null;
  const rows = sessions.map(({ id, state, car, floor, to, seconds }) => ({
    key: id,
    cells: [
      html`<code>${sessionName(id)}</code>`,
      car ?? "none yet",
      SESSIONS[state] ?? state,
      to === null ? `${floor}` : `${floor}, then ${to}`,
      duration(seconds),
    ],
  }));
  return html`<${Table} title="Robots" columns=${["Session", "Car", "State", "Floor", "Door open for"]} rows=${rows} />`;
}

const SESSIONS = {
  queued: "waiting for a free car",
  coming: "its car is coming",
  open: "its car is holding the door open",
};

const CAUSES = {
  silent: "silent: no beacons arrive",
  hung: "hung: its car did not reach a floor in time",
};

function Lost({ lost }) {
  if (lost.length === 0) return null;
  const rows = lost.map((node) => ({
    key: node.node,
    look: node.cause === "hung" ? "bad" : "warn",
    cells: [
      html`<strong>${node.node}</strong>`,
      node.role,
      html`<code>${node.address}</code>`,
      `${duration(node.silent)} ago`,
      CAUSES[node.cause] ?? node.cause,
    ],
  }));
  const columns = ["Node", "Role", "Address", "Last heard", "Cause"];
  return html`<${Table} title="Lost nodes" columns=${columns} rows=${rows} />`;
}

function Conflicts({ conflicts }) {
  if (conflicts.length === 0) return null;
  const rows = conflicts.map((conflict) => ({
    key: conflict.what,
    look: "warn",
    cells: [conflict.kind, conflict.what, `${duration(conflict.since)} ago`, `${duration(conflict.last)} ago`],
  }));
  return html`<${Table} title="Conflicts" columns=${["Kind", "What", "First seen", "Last seen"]} rows=${rows} />`;
}
