// The frame around the pages: navigation, the state of the connection, messages, dialogs.
import { Component, html, render } from "./html.js";
import { ClearDialog, TokenDialog } from "./dialogs.js";
import { duration, timeOfDay } from "./format.js";
import { Model } from "./model.js";
import { BankPage } from "./pages/bank.js";
import { EventsPage } from "./pages/events.js";
import { FleetPage } from "./pages/fleet.js";

const PAGES = [
  { name: "bank", title: "Bank", view: BankPage },
  { name: "fleet", title: "Fleet", view: FleetPage },
  { name: "events", title: "Events", view: EventsPage },
];

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
  state = { page: pageOfHash(), clearing: null, stays: false };

  componentDidMount() {
    const { model } = this.props;
    // Several changes in a row are drawn once.
    model.onChange(() => {
      if (!model.isLive) this.#moveAway();
      this.setState({});
    });
    addEventListener("hashchange", () => this.#show(pageOfHash()));
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
    if (!there || this.state.stays || model.wantsToken || this.state.clearing) return;
    if (gone >= MOVE_MS) location.assign(there.url);
  }

  render({ model }, { page, clearing, stays }) {
    const { view: Page, title } = PAGES.find(({ name }) => name === page);
    const { state } = model;
    document.title = `${titlePrefix(model)}${title} · Liftmesh`;
    return html`
      <a class="skip" href="#main" onClick=${focusMain}>Skip to the page</a>
      <${Bar} model=${model} page=${page} />
      <div class="notices">
        <${Connection} model=${model} stays=${stays} onStay=${() => this.setState({ stays: true })} />
        <${Hangs} model=${model} page=${page} />
        <${Messages} model=${model} />
      </div>
      <main id="main" tabindex="-1" class=${`page ${model.isLive ? "" : "stale"}`}>
        <h1 class="hidden">${title}</h1>
        ${state === null
          ? html`<p class="empty">Connecting to the node…</p>`
          : html`<${Page} model=${model} onClear=${(car) => this.setState({ clearing: car })} />`}
      </main>
      <p class="hidden" role="status" aria-live="polite">${model.announcement}</p>
      ${model.wantsToken && html`<${TokenDialog} key=${model.wantsToken.key} wants=${model.wantsToken} hasToken=${model.hasToken} />`}
      ${clearing &&
      !model.wantsToken &&
      html`<${ClearDialog}
        model=${model}
        car=${clearing}
        onClose=${() => this.setState({ clearing: null })}
      />`}
    `;
  }
}

function pageOfHash() {
  const name = location.hash.replace(/^#\/?/, "").split("?")[0];
  return PAGES.some((page) => page.name === name) ? name : "bank";
}

function focusMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function titlePrefix(model) {
  if (model.connection.kind === "lost") return "No data · ";
  return model.state?.fleet.hung.length > 0 ? "Hung · " : "";
}

function Bar({ model, page }) {
  const fleet = model.state?.fleet;
  return html`
    <header class="bar">
      <span class="brand">Liftmesh</span>
      <nav aria-label="Pages">
        ${PAGES.map(
          ({ name, title }) =>
            html`<a key=${name} href=${`#/${name}`} aria-current=${name === page ? "page" : null}>${title}</a>`,
        )}
      </nav>
      ${fleet &&
      html`<p class="from">
        <span class="wide">Fleet <strong>${fleet.fleet ?? "–"}</strong></span>
        <span>Node <strong>${fleet.node}</strong></span>
        <span>Master <strong>${fleet.master ?? "none"}</strong></span>
        <span class=${`light ${model.connection.kind}`}>
          ${model.isLive ? "Live" : model.connection.kind === "lost" ? "No data" : "Connecting"}
        </span>
        ${model.hasToken &&
        html`<button type="button" class="quiet wide" onClick=${() => model.forgetToken()}>Forget token</button>`}
      </p>`}
    </header>
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
        ${model.state && "What is shown is old."}${" "}
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
        html`<span>Each node has this panel; those heard last: ${names}.</span>`}
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
  if (hung.length === 0 || page === "events") return null;
  return html`
    <section class="banner alarm" role="alert">
      <p>
        <strong>${hung.length === 1 ? `Car ${hung[0]} hung` : `Cars ${hung.join(", ")} hung`}</strong>${" "}
        There may be people in it. <a href="#/events">What to do</a>
      </p>
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
