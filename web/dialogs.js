// What the panel asks for: a token, and who clears a hang and why.
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
  const { problem, what, answer } = wants;
  return html`
    <${Dialog} title="A token is needed" onClose=${() => answer(null)} onSubmit=${({ token }) => answer(token.trim())}>
      <p>${what}: ${hasToken ? `the node refuses this token (${problem.message}).` : "who changes something needs a token."}</p>
      <p>
        Make one on the computer of this node. The scope <code>call</code> places calls,
        and <code>operate</code> may do everything.
      </p>
      <pre>liftmesh token create --help</pre>
      <label>
        Token
        <input name="token" type="password" autocomplete="off" required autofocus spellcheck="false" />
      </label>
      <p class="fine">It is kept until you close this tab, and sent to this node only.</p>
      <p class="actions">
        <button type="submit" class="main">Use token</button>
        <button type="button" onClick=${() => answer(null)}>Cancel</button>
      </p>
    <//>
  `;
}

export class ClearDialog extends Component {
  state = { isBusy: false };

  async #clear({ operator, reason }) {
    const { model, car, onClose } = this.props;
    this.setState({ isBusy: true });
    await model.clearHang(car, { operator: operator.trim(), reason: reason.trim() });
    onClose();
  }

  render({ car, onClose }, { isBusy }) {
    return html`
      <${Dialog} title=${`Clear the hang of car ${car}`} onClose=${onClose} onSubmit=${(record) => this.#clear(record)}>
        <p>
          Only once nobody is in the car, and it has been inspected and is fit to run. Name and reason
          are written to the audit log.
        </p>
        <label>
          Your name
          <input name="operator" required maxlength=${LONGEST_OPERATOR} autocomplete="name" autofocus />
        </label>
        <label>
          Reason: what was wrong, and what was done
          <input name="reason" required maxlength=${LONGEST_REASON} autocomplete="off" />
        </label>
        <p class="actions">
          <button type="submit" class="danger" disabled=${isBusy}>Clear the hang</button>
          <button type="button" onClick=${onClose}>Cancel</button>
        </p>
      <//>
    `;
  }
}
