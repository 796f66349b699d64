// The frame around the pages: navigation, the state of the connection, messages, dialogs.
import { Component, html, render } from "./html.js";
import { AlarmDialog, ClearDialog, LockDialog, ModeDialog, PowerDialog, PriorityDialog, RecallDialog, TokenDialog } from "./dialogs.js";
import { duration, timeOfDay } from "./format.js";
import { Model } from "./model.js";
import { AuditPage } from "./pages/audit.js";
import { BankPage } from "./pages/bank.js";
import { EventsPage } from "./pages/events.js";
import { FleetPage } from "./pages/fleet.js";
import { LatchedPage } from "./pages/hang.js";

/** The page Service, which is loaded when it is opened first: few look at it, and it needs charts. */
class LaterService extends Component {
  state = { view: null, problem: null };

  async componentDidMount() {
    try {
      const { ServicePage, prepare } = await import("./pages/service.js");
      await prepare();
      this.setState({ view: ServicePage });
    } catch (error) {
      this.setState({ problem: error.message });
    }
  }

  render({ model }, { view: View, problem }) {
    if (problem !== null) return html`<p class="empty" role="alert">This page could not be loaded: ${problem}</p>`;
    return View === null ? html`<p class="empty">Loading the charts…</p>` : html`<${View} model=${model} />`;
  }
}

const PAGES = [
  { name: "bank", title: "Bank", view: BankPage },
  { name: "fleet", title: "Fleet", view: FleetPage },
  { name: "events", title: "Events", view: EventsPage },
  { name: "service", title: "Service", view: LaterService, isThere: (model) => model.hasStatistics },
  { name: "audit", title: "Audit", view: AuditPage, isThere: (model) => model.hasAuditLog },
];

/** The pages that the model has something for. */
function pagesOf(model) {
  return PAGES.filter(({ isThere }) => isThere === undefined || isThere(model));
}

/** How long a node may be gone before the page offers another one, and before it moves there, ms. */
const OFFER_MS = 4_000;
const MOVE_MS = 14_000;

/** Shows the panel with the data of a source. Returns its model. */
export function mount(root, source) {
  const model = new Model(source);
  root.replaceChildren();
  render(html`<${App} model=${model} />`, root);
  sayWhereFrom(model);
  return model;
}

/** This page may be one that another node's page has moved to. */
function sayWhereFrom(model) {
  const from = new URLSearchParams(location.hash.split("?")[1]).get("from");
  if (from === null) return;
  history.replaceState(null, "", location.hash.split("?")[0]);
  model.say("info", `Node ${from} did not answer.`, "This is the panel of another node of its fleet.");
}

class App extends Component {
  state = { page: pageOfHash(this.props.model), dialog: null, stays: false };

  componentDidMount() {
    const { model } = this.props;
    // Several changes in a row are drawn once.
    model.onChange(() => {
      if (!model.isLive) this.#moveAway();
      this.setState({});
    });
    addEventListener("hashchange", () => this.#show(pageOfHash(model)));
    addEventListener("online", () => model.retry());
  }

  #show(page) {
    if (page === this.state.page) return;
    this.setState({ page });
    document.getElementById("main").focus();
    scrollTo(0, 0);
  }

  #moveAway() {
    const { model } = this.props;
    const there = model.elsewhere()[0];
    const gone = model.connection.kind === "lost" ? Date.now() - model.connection.since : 0;
    if (!there || this.state.stays || model.wantsToken || this.state.dialog) return;
    if (gone >= MOVE_MS) location.assign(there.url);
  }

  render({ model }, { page, dialog, stays }) {
    const { view: Page, title } = PAGES.find(({ name }) => name === page);
    const { state, latched } = model;
    const ask = (view, about) => this.setState({ dialog: { view, about } });
    const onClear = (car) => ask(ClearDialog, { car });
    const onRecall = (on) => ask(RecallDialog, { on });
    const onAlarm = (car) => ask(AlarmDialog, { car });
    const onPower = (on) => ask(PowerDialog, { on });
    document.title = `${titlePrefix(model)}${title} · Liftmesh`;
    return html`
      <a class="skip" href="#main" onClick=${focusMain}>Skip to the page</a>
      <${Bar} model=${model} page=${page} />
      <div class="notices">
        <${Refused} model=${model} />
        <${Connection} model=${model} stays=${stays} onStay=${() => this.setState({ stays: true })} />
        <${Hangs} model=${model} page=${page} />
        <${Recall} model=${model} onRecall=${onRecall} />
        <${Alarms} model=${model} onAlarm=${onAlarm} />
        <${EmergencyPower} model=${model} onPower=${onPower} />
        <${Messages} model=${model} />
      </div>
      <main id="main" tabindex="-1" class=${`page ${model.isLive ? "" : "stale"}`}>
        <h1 class="hidden">${title}</h1>
        ${latched !== null
          ? html`<${LatchedPage} model=${model} onClear=${onClear} />`
          : state === null
            ? !model.isRefused && html`<p class="empty">Connecting to the node…</p>`
            : html`<${Page}
                model=${model}
                onClear=${onClear}
                onMode=${(car) => ask(ModeDialog, { car })}
                onRecall=${onRecall}
                onLock=${() => ask(LockDialog, {})}
                onPriority=${() => ask(PriorityDialog, {})}
                onPower=${onPower}
              />`}
      </main>
      <p class="hidden" role="status" aria-live="polite">${model.announcement}</p>
      ${model.wantsToken && html`<${TokenDialog} key=${model.wantsToken.key} wants=${model.wantsToken} hasToken=${model.hasToken} />`}
      ${dialog &&
      !model.wantsToken &&
      html`<${dialog.view} model=${model} ...${dialog.about} onClose=${() => this.setState({ dialog: null })} />`}
    `;
  }
}

function pageOfHash(model) {
  const name = location.hash.replace(/^#\/?/, "").split("?")[0];
  return pagesOf(model).some((page) => page.name === name) ? name : "bank";
}

function focusMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function titlePrefix(model) {
  if (model.connection.kind === "lost" || model.isRefused) return "No data · ";
  return model.latched || model.state?.fleet.hung.length > 0 ? "Hung · " : "";
}

function Bar({ model, page }) {
  const fleet = model.latched ? undefined : model.state?.fleet;
  return html`
    <header class="bar">
      <span class="brand">Liftmesh</span>
      <nav aria-label="Pages">
        ${pagesOf(model).map(
          ({ name, title }) =>
            html`<a key=${name} href=${`#/${name}`} aria-current=${name === page ? "page" : null}>${title}</a>`,
        )}
      </nav>
      ${model.latched &&
      html`<p class="from">
        <span>Node <strong>${model.latched.node}</strong></span>
        <span class="light lost">${model.isLive ? "Does not run" : "No data"}</span>
      </p>`}
      ${fleet &&
      html`<p class="from">
        <span class="wide">Fleet <strong>${fleet.fleet ?? "–"}</strong></span>
        <span>Node <strong>${fleet.node}</strong></span>
        <span>Master <strong>${fleet.master ?? "none"}</strong></span>
        <span class=${`light ${model.isRefused ? "lost" : model.connection.kind}`}>
          ${model.isLive ? "Live" : model.connection.kind === "lost" || model.isRefused ? "No data" : "Connecting"}
        </span>
        ${model.hasToken &&
        html`<button type="button" class="quiet" onClick=${() => model.forgetToken()}>Forget token</button>`}
      </p>`}
    </header>
  `;
}

/** The node wants a token for reading, and has none that counts. */
function Refused({ model }) {
  if (!model.isRefused) return null;
  return html`
    <section class="banner lost" aria-label="Access">
      <p><strong>A token is needed to see the fleet.</strong> ${model.state && "The data shown is old."}</p>
      <p class="actions">
        <button type="button" class="main" onClick=${() => model.askToRead()}>Enter a token…</button>
      </p>
    </section>
  `;
}

function Connection({ model, stays, onStay }) {
  const { connection } = model;
  if (connection.kind !== "lost") return null;
  const now = Date.now();
  const gone = now - connection.since;
  const wait = Math.max(0, Math.ceil((connection.retryAt - now) / 1000));
  const elsewhere = gone >= OFFER_MS ? model.elsewhere() : [];
  const node = model.state?.fleet.node;
  const others = (model.state?.fleet.nodes ?? []).filter((one) => !one.self);
  const names = others.map((one) => `${one.node} at ${one.address}`).join(", ");
  return html`
    <section class="banner lost" aria-label="Connection">
      <p>
        <strong>No data since ${timeOfDay(connection.since)}</strong>${" "}
        ${node ? `Node ${node} does not answer` : "The node does not answer"}${connection.reason
          ? `: ${connection.reason}`
          : ` for ${duration(gone / 1000)}.`}${" "}
        ${model.state && "The data shown is old."}${" "}
        ${wait > 0 ? `Next attempt in ${wait} s.` : "Trying again…"}
      </p>
      <p class="actions">
        <button type="button" onClick=${() => model.retry()}>Try now</button>
        ${elsewhere.map(
          (there) => html`<a class="button" key=${there.node} href=${there.url}>Go to node ${there.node}</a>`,
        )}
        ${gone >= OFFER_MS &&
        elsewhere.length === 0 &&
        names &&
        html`<span>Every node serves this panel; last heard: ${names}.</span>`}
        ${elsewhere.length > 0 &&
        !stays &&
        html`<span>Moving to ${elsewhere[0].node} in ${Math.max(0, Math.ceil((MOVE_MS - gone) / 1000))} s</span>
          <button type="button" onClick=${onStay}>Stay here</button>`}
      </p>
    </section>
  `;
}

function Hangs({ model, page }) {
  const hung = model.state?.fleet.hung ?? [];
  if (hung.length === 0 || page === "events" || model.latched) return null;
  return html`
    <section class="banner alarm" role="alert">
      <p>
        <strong>${hung.length === 1 ? `Car ${hung[0]} hung` : `Cars ${hung.join(", ")} hung`}</strong>${" "}
        There may be people in it. <a href="#/events">What to do</a>
      </p>
    </section>
  `;
}

function Recall({ model, onRecall }) {
  if (!model.state?.fleet.fire_recall || model.latched) return null;
  return html`
    <section class="banner alarm" role="alert">
      <p>
        <strong>Fire recall</strong>${" "} All cars go to their recall floors and stay there with open
        doors. No calls are accepted.
      </p>
      ${model.takesCommands &&
      html`<p class="actions">
        <button type="button" disabled=${!model.isLive} onClick=${() => onRecall(false)}>End the fire recall…</button>
      </p>`}
    </section>
  `;
}

function Alarms({ model, onAlarm }) {
  if (model.latched) return null;
  return (model.state?.fleet.alarms ?? []).map(
    (car) => html`
      <section key=${car} class="banner alarm call" role="alert">
        <p><strong>Alarm from car ${car}</strong>${" "} Somebody in it calls for help.</p>
        ${model.takesCommands &&
        html`<p class="actions">
          <button type="button" disabled=${!model.isLive} onClick=${() => onAlarm(car)}>Acknowledge…</button>
        </p>`}
      </section>
    `,
  );
}

function EmergencyPower({ model, onPower }) {
  const fleet = model.state?.fleet;
  if (!fleet?.emergency_power || model.latched) return null;
  return html`
    <section class="banner alarm power" role="alert">
      <p>
        <strong>Emergency power</strong>${" "} One car moves at a time:
        ${fleet.turn ? `it is ${fleet.turn}'s turn` : "it is nobody's turn"}.
      </p>
      ${model.takesCommands &&
      html`<p class="actions">
        <button type="button" disabled=${!model.isLive} onClick=${() => onPower(false)}>End emergency power…</button>
      </p>`}
    </section>
  `;
}

function Messages({ model }) {
  return html`
    <div aria-live="assertive">
      ${model.messages.map(
        ({ key, tone, text, hint }) => html`
          <div key=${key} class=${`banner ${tone}`}>
            <p><strong>${text}</strong> ${hint}</p>
            <button type="button" class="quiet" onClick=${() => model.dismiss(key)}>Close</button>
          </div>
        `,
      )}
    </div>
  `;
}
