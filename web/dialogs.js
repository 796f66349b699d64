// What the panel asks for: a token, and who clears a hang and why.
import { capital, carModeText, modeMeaning, modeText } from "./format.js";
import { Component, createRef, html } from "./html.js";

/** As the audit log has them. */
const LONGEST_OPERATOR = 64;
const LONGEST_REASON = 500;

/** A modal dialog that opens when it is drawn. */
class Dialog extends Component {
  #ref = createRef();

  componentDidMount() {
    this.#ref.current.showModal();
  }

  render({ title, onClose, onSubmit, children }) {
    const submit = (event) => {
      event.preventDefault();
      onSubmit(Object.fromEntries(new FormData(event.target)));
    };
    const cancel = (event) => {
      event.preventDefault();
      onClose();
    };
    return html`
      <dialog ref=${this.#ref} aria-labelledby="dialog-title" onCancel=${cancel}>
        <form onSubmit=${submit}>
          <h2 id="dialog-title">${title}</h2>
          ${children}
        </form>
      </dialog>
    `;
  }
}

export function TokenDialog({ wants, hasToken }) {
  const { problem, what, need, answer } = wants;
  return html`
    <${Dialog} title="A token is needed" onClose=${() => answer(null)} onSubmit=${({ token }) => answer(token.trim())}>
      <p>${what}: ${hasToken ? `the node refuses this token (${problem.message}).` : need}</p>
      <p>
        Create one on the computer of any node of the fleet. The scope <code>view</code> shows the fleet, <code>call</code> also places calls, and <code>operate</code> allows everything.
      </p>
      <pre>liftmesh token create --help</pre>
      <label>
        Token
        <input name="token" type="password" autocomplete="off" required autofocus spellcheck="false" />
      </label>
      <p class="fine">Kept until you close this tab, and sent only to this node.</p>
      <p class="actions">
        <button type="submit" class="main">Use token</button>
        <button type="button" onClick=${() => answer(null)}>Cancel</button>
      </p>
    <//>
  `;
}

/** The fields that the audit log keeps, if there is one. */
function Who({ model, reason, isFirst = true }) {
  if (!model.hasAuditLog) return null;
  return html`
    <label>
      Your name
      <input
        name="operator"
        required
        maxlength=${LONGEST_OPERATOR}
        autocomplete="name"
        defaultValue=${model.operator}
        autofocus=${isFirst}
      />
    </label>
    <label>
      ${reason}
      <input name="reason" required maxlength=${LONGEST_REASON} autocomplete="off" />
    </label>
  `;
}

/** What becomes of them. */
function onRecord(model) {
  return model.hasAuditLog && " Your name and the reason go into the audit log.";
}

function record({ operator = "", reason = "" }) {
  return { operator: operator.trim(), reason: reason.trim() };
}

/** A dialog whose change is under way at most once. */
class ChangeDialog extends Component {
  state = { isBusy: false };

  async run(change) {
    this.setState({ isBusy: true });
    await change;
    this.props.onClose();
  }
}

export class ClearDialog extends ChangeDialog {
  render({ model, car, onClose }, { isBusy }) {
    const clear = (fields) => this.run(model.clearHang(car, record(fields)));
    return html`
      <${Dialog} title=${`Clear the hang of car ${car}`} onClose=${onClose} onSubmit=${clear}>
        <p>
          Do this only once the car is empty, inspected and fit to run.
          ${onRecord(model)}
        </p>
        <${Who} model=${model} reason="Reason: what was wrong and what was done" />
        <p class="actions">
          <button type="submit" class="danger" disabled=${isBusy}>Clear the hang</button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}

/** Answers the alarm from a car. */
export class AlarmDialog extends ChangeDialog {
  render({ model, car, onClose }, { isBusy }) {
    const answer = (fields) => this.run(model.command({ kind: "acknowledge_alarm", car }, record(fields)));
    return html`
      <${Dialog} title=${`Alarm from car ${car}`} onClose=${onClose} onSubmit=${answer}>
        <p>
          Somebody in the car has pressed the alarm button. The alarm lamp shows your answer until the door next closes.${onRecord(model)}
        </p>
        <${Who} model=${model} reason="What is being done" />
        <p class="actions">
          <button type="submit" class="main" disabled=${isBusy}>Acknowledge the alarm</button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}

/** Chooses the mode of a car, of those that the API names. */
export class ModeDialog extends ChangeDialog {
  render({ model, car, onClose }, { isBusy }) {
    const { modes } = model.state.fleet;
    const now = model.cars.find((one) => one.car === car);
    const set = (fields) => this.run(model.command({ kind: "mode", car, mode: fields.mode }, record(fields)));
    const chosen = now?.mode_set ?? "in-service";
    const other = now?.mode && now.mode !== chosen ? ` Currently ${carModeText(now)}, because of its key switch, a priority call, a robot or a command to all cars.` : "";
    return html`
      <${Dialog} title=${`Mode of car ${car}`} onClose=${onClose} onSubmit=${set}>
        <p>
          It applies until another mode is set, even after a restart.${other}${onRecord(model)}
        </p>
        <fieldset class="choices">
          <legend>Mode</legend>
          ${modes.map(
            (mode) => html`
              <label key=${mode}>
                <input type="radio" name="mode" value=${mode} required defaultChecked=${mode === chosen} />
                <span><strong>${capital(modeText(mode))}</strong>${modeMeaning(mode) && `: ${modeMeaning(mode)}`}</span>
              </label>
            `,
          )}
        </fieldset>
        <${Who} model=${model} reason="Reason" isFirst=${false} />
        <p class="actions">
          <button type="submit" class="main" disabled=${isBusy}>Set the mode of ${car}</button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}

/** Locks a floor against calls without a right of access, or unlocks it. */
export class LockDialog extends ChangeDialog {
  render({ model, onClose }, { isBusy }) {
    const { locked_floors: locked } = model.state.fleet;
    const set = ({ floor, locked, ...fields }) => {
      const command = { kind: "floor_lock", floor, locked: locked === "yes" };
      return this.run(model.command(command, record(fields)));
    };
    return html`
      <${Dialog} title="Lock or unlock a floor" onClose=${onClose} onSubmit=${set}>
        <p>
          Car buttons and kiosks can't call a locked floor: only calls with a right of access are accepted. Hall calls are accepted at every floor, so that people can leave.${onRecord(model)}
        </p>
        <label>
          Floor
          <select name="floor" required autofocus>
            ${model.labels.map((floor) => html`<option value=${floor}>${floor}${locked.includes(floor) && " (locked)"}</option>`)}
          </select>
        </label>
        <fieldset class="choices">
          <legend>Lock</legend>
          <label><input type="radio" name="locked" value="yes" required defaultChecked /> <span>Locked</span></label>
          <label><input type="radio" name="locked" value="no" required /> <span>Open to everyone</span></label>
        </fieldset>
        <${Who} model=${model} reason="Reason" isFirst=${false} />
        <p class="actions">
          <button type="submit" class="main" disabled=${isBusy}>Set the lock</button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}

/** Recalls all cars, or ends that. */
export class RecallDialog extends ChangeDialog {
  render({ model, on, onClose }, { isBusy }) {
    const set = (fields) => this.run(model.command({ kind: "fire_recall", on }, record(fields)));
    return html`
      <${Dialog} title=${on ? "Recall all cars in a fire" : "End the fire recall"} onClose=${onClose} onSubmit=${set}>
        <p>
          ${on
            ? "Every car goes to its recall floor without stopping and keeps its door open there. All open orders are dropped, and no calls are accepted until an operator ends the recall."
            : "Every car returns to its own mode and accepts calls again. Do this only once the fire brigade has released the elevators."}${onRecord(model)}
        </p>
        <${Who} model=${model} reason="Reason" />
        <label class="confirm">
          <input type="checkbox" required />
          <span>${on ? "Recall all cars in the building" : "The elevators may run again"}</span>
        </label>
        <p class="actions">
          <button type="submit" class=${on ? "danger" : "main"} disabled=${isBusy}>
            ${on ? "Start the fire recall" : "End the fire recall"}
          </button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}

/** The cars to choose from, and what no choice means. */
function CarChoice({ model, label, none }) {
  return html`
    <label>
      ${label}
      <select name="car">
        <option value="">${none}</option>
        ${model.cars.map(({ car }) => html`<option key=${car} value=${car}>${car}</option>`)}
      </select>
    </label>
  `;
}

/** Sends a car to a floor with priority, or ends that. */
export class PriorityDialog extends ChangeDialog {
  render({ model, onClose }, { isBusy, car = "" }) {
    const sent = model.cars.find((one) => one.car === car && one.priority !== null);
    const set = (fields) => {
      const floor = fields.floor || null;
      const command = { kind: "priority", car: fields.car || null, floor };
      return this.run(model.command(command, record(fields)));
    };
    const choose = ({ target }) => target.name === "car" && this.setState({ car: target.value });
    return html`
      <${Dialog} title="Priority call" onClose=${onClose} onSubmit=${set}>
        <p>
          The car takes no more hall calls, lets its riders off on the way, and waits at the floor with its door open. Then it returns to service.${onRecord(model)}
        </p>
        <div onChange=${choose}>
          <${CarChoice} model=${model} label="Car" none="The one that gets there first" />
        </div>
        <label>
          Floor
          <select name="floor">
            ${sent && html`<option value="">None: cancel its priority call to ${sent.priority}</option>`}
            ${model.labels.map((floor) => html`<option key=${floor} value=${floor}>${floor}</option>`)}
          </select>
        </label>
        <${Who} model=${model} reason="Reason" isFirst=${false} />
        <p class="actions">
          <button type="submit" class="main" disabled=${isBusy}>Send the car</button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}

/** Brings all cars down by emergency power, or ends that. */
export class PowerDialog extends ChangeDialog {
  render({ model, on, onClose }, { isBusy }) {
    const set = (fields) => {
      const command = { kind: "emergency_power", on, car: fields.car || null };
      return this.run(model.command(command, record(fields)));
    };
    return html`
      <${Dialog} title=${on ? "Emergency power" : "End emergency power"} onClose=${onClose} onSubmit=${set}>
        <p>
          ${on
            ? "Every motor stops. Then the cars go to their recall floors one at a time and keep their doors open there. When all are down, one car serves calls until an operator ends emergency power."
            : "Every car returns to its own mode. Do this only once normal power is back."}${onRecord(model)}
        </p>
        ${on && html`<${CarChoice} model=${model} label="Serves once all are down" none="The first one that can" />`}
        <${Who} model=${model} reason="Reason" />
        <label class="confirm">
          <input type="checkbox" required />
          <span>${on ? "The building runs on emergency power" : "All cars may run again"}</span>
        </label>
        <p class="actions">
          <button type="submit" class=${on ? "danger" : "main"} disabled=${isBusy}>
            ${on ? "Bring all cars down" : "End emergency power"}
          </button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}
