// A car that hung: what is known, what to do, and how the hang is cleared.
import { html } from "../html.js";
import { capital, duration, hangText, phaseText, tenths, timeOfDay } from "../format.js";

/** A hung car of the fleet, as a node shows it that runs. */
export function Hung({ model, name, onClear }) {
  const seen = model.hangs.get(name);
  const lost = model.state.fleet.lost.find(({ node }) => node === name);
  const evidence = seen ?? model.state.fleet.hangs?.find(({ car }) => car === name);
  const place = model.placeToClear(name);
  const where = place?.address ? ` (${place.address})` : "";
  return html`
    <section class="panel hang" aria-label=${`Car ${name} hung`}>
      <h2>Car ${name} hung</h2>
      <p>
        ${evidence
          ? `${seen ? `${timeOfDay(Date.parse(seen.at))}: ` : ""}${capital(hangText(evidence))}.`
          : `The evidence is on ${name}'s computer${lost ? ` (${lost.address})` : ""}: see its panel or liftmesh status there.`}
      </p>
      ${!seen && html`<${LastSeen} car=${model.cars.find((car) => car.car === name)} lost=${lost} at=${model.state.fleet.at} />`}
      <${Procedure} name=${name} isShown=${Boolean(evidence)} isHere=${place === null} />
      <p class="actions">
        ${place === null
          ? html`<button type="button" class="danger" disabled=${!model.isLive} onClick=${() => onClear(name)}>Clear the hang of ${name}…</button>`
          : place.url !== null
            ? html`<a class="button danger" href=${place.url}>Go to ${name}'s panel to clear it</a>`
            : html`<span>Its latch is on its own computer${where}: clear it on the panel there.</span>`}
      </p>
    </section>
  `;
}

/** What another node knows of the car: when it was heard last, and how it was if this page has seen it. */
function LastSeen({ car, lost, at }) {
  const isSeen = car?.seen === true;
  if (!lost && !isSeen) return null;
  const heard = ["Last heard", lost ? `${timeOfDay(Date.parse(at) - lost.silent * 1000)}, ${duration(lost.silent)} ago` : "it is heard"];
  if (!isSeen) return html`<${Facts} facts=${[heard]} />`;
  const facts = [
    heard,
    ["State then", phaseText(car).toLowerCase()],
    ["Last floor", car.floor ?? "unknown"],
    ["Door", car.door],
    ["Load", car.load === null ? "no load cell" : `${car.load} %`],
  ];
  return html`<${Facts} facts=${facts} />`;
}

function Facts({ facts }) {
  return html`<dl class="facts">
    ${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

function Procedure({ name, isShown, isHere }) {
  return html`
    <ol>
      <li><strong>Help the passengers.</strong> The car may be between floors with people in it. The panel's rescue equipment works without the node.</li>
      <li><strong>Read what happened:</strong> ${isShown ? "above" : `on ${name}'s panel`}, or with <code>liftmesh status</code>.</li>
      <li><strong>Inspect the car:</strong> motor, brake, drive, floor sensors, and whether the flight limit is too short.</li>
      <li><strong>Clear the hang</strong> once the car is fit to run: with the button${isHere ? "" : ` on ${name}'s panel`}, or on ${name}'s computer with <code>liftmesh clear-hang --operator NAME --reason TEXT</code> as the node's user.</li>
      <li><strong>The node starts:</strong> by itself after the button, otherwise with <code>systemctl start liftmesh</code>. The car looks for the nearest floor, then serves its open orders.</li>
    </ol>
  `;
}

/** The node of this computer does not run: its caretaker shows why. */
export function LatchedPage({ model, onClear }) {
  const { node, latch, text, remedy, tokens_usable: isClearable } = model.latched;
  const hung = latch.cause === "hang";
  return html`
    <div class="sheet">
      <section class="panel hang latched" aria-label=${`Node ${node} does not run`}>
        <${HungCar} evidence=${latch.evidence} />
        <div>
          <h2>${hung ? `Car ${node} hung` : `Node ${node} is latched`}</h2>
          <p>
            Its motor is stopped, and its node does not run until an operator clears the
            ${hung ? " hang" : " latch"}. The other cars serve its hall calls.
          </p>
          <p class="evidence">${capital(text)}.</p>
          ${hung && html`<${Evidence} hang=${latch} />`}
          ${isClearable
            ? html`
                <${Procedure} name=${node} isShown=${true} isHere=${true} />
                <p class="actions">
                  <button type="button" class="danger" disabled=${!model.isLive} onClick=${() => onClear(node)}>Clear the hang of ${node}…</button>
                </p>
              `
            : html`
                <p class="remedy">
                  No token works here: ${node}'s journal is lost or unreadable, or has no token with the scope operate. Inspect the car. Once it is fit to run, clear the latch on ${node}'s computer, as the node's user, with the command below, and start the node with <code>systemctl start liftmesh</code>.
                </p>
                <p><code>${remedy}</code></p>
              `}
        </div>
      </section>
    </div>
  `;
}

function Evidence({ hang }) {
  const { evidence, at } = hang;
  const floor = (floor) => floor ?? "none";
  const facts = [
    ["When", `${timeOfDay(Date.parse(at))} (${at})`],
    ["Going", `${evidence.direction}${evidence.floor === undefined ? "" : ` to floor ${evidence.floor}`}`],
    ["Last floor sensor", floor(evidence.last_sensor)],
    [evidence.not_stopped ? "Since told to stop" : "Driven without a new sensor", tenths(evidence.actual_s)],
    ["Allowed", tenths(evidence.expected_s)],
  ];
  return html`<${Facts} facts=${facts} />`;
}

/** The car in its shaft, in red: it stands by the last floor sensor that was seen, or beyond it. */
function HungCar({ evidence }) {
  const last = evidence?.last_sensor;
  const said = last === undefined ? "The car hung" : `The car hung near floor ${last}`;
  return html`
    <svg class="hung-car" width="84" height="150" viewBox="0 0 84 150" role="img" aria-label=${said}>
      <rect class="well" width="84" height="150" />
      <path class="sill" d="M0 125.5h84" />
      <path class="rope" d="M42 0v40" />
      <rect class="stuck" x="14" y="40" width="56" height="66" />
      <text class="sign" x="42" y="82">!</text>
      ${last !== undefined && html`<text class="floor-name" x="42" y="142">${last}</text>`}
    </svg>
  `;
}
