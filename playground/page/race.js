// A race: two strategies on the same passengers, seed by seed, with a verdict where there is one.
import { Component, html, render } from "./html.js";
import { Curves, Figures } from "./standing.js";
import { EXAMPLES, Editor, fetched, keep, kept } from "./dispatcher.js";
import { LONGEST, decoded, encoded } from "./share.js";
import { PATTERNS } from "./traffic.js";

/** How long the program may be silent, ms. */
const SILENCE_MS = 5_000;

/** The most lines of standard error that are shown of a race. */
const MOST_SAYINGS = 200;

const OWN = "own";
const STRATEGIES = ["planner", "collective", "nearest-car", "time-to-idle", "destination"];
const BUILDINGS = [
  ["A12", "A12, office"],
  ["B16", "B16, office"],
  ["car-park", "car park"],
  ["express", "express cars"],
];
const RATES = ["5", "8", "12"];

const DEFAULTS = { building: "A12", pattern: "lunch", rate: "8", seed: 1, seeds: 10, strategies: ["planner", "collective"] };

/** The name of a strategy in the page. */
const called = (strategy) => (strategy === OWN ? "my own" : strategy);

class Race extends Component {
  /** `raced` has the settings of the standing. */
  state = { wish: this.props.wish, text: this.props.text, runs: 0, standing: null, raced: null, fault: null, says: [], link: null, wrong: this.props.wrong };
  #worker = null;
  #url = null;
  #timer = null;

  componentWillUnmount() {
    this.#stop();
  }

  #wish(change) {
    this.setState(({ wish }) => ({ wish: { ...wish, ...change }, link: null }));
  }

  #choose(lane, strategy) {
    const chosen = ({ strategies }) => strategies.map((other, at) => (at === lane ? strategy : other));
    this.setState(({ wish }) => ({ wish: { ...wish, strategies: chosen(wish) }, link: null }));
  }

  /** Starts a race, or stops the one that is running. */
  #toggle = (event) => {
    event.preventDefault();
    if (this.#worker !== null) return this.#end({});
    const { wish, text } = this.state;
    // A worker of a blob has the policy of the page, one of a file that of its server.
    const script = `import ${JSON.stringify(new URL("worker.js", import.meta.url).href)};`;
    this.#url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.#worker = new Worker(this.#url, { type: "module" });
    this.#worker.onerror = (event) => this.#end({ wrong: `The race can't be run: ${event.message ?? "its worker does not load"}` });
    // The program can post by the worker itself, but not by this, and no object of it gets here.
    const { port1, port2 } = new MessageChannel();
    const worker = this.#worker;
    port1.onmessage = ({ data }) => this.#worker === worker && this.#take(JSON.parse(data));
    const { building, pattern, rate, seed, seeds, strategies } = wish;
    const settings = { cell: `${building}_${pattern}_${rate}`, seed, seeds, strategies };
    this.#worker.postMessage(JSON.stringify({ settings, program: text }), [port2]);
    this.setState({ runs: 0, standing: null, raced: wish, fault: null, says: [], wrong: null });
  };

  /** Takes what the worker says. The program is given time again whenever it has answered. */
  #take({ runs, standing, isAlive, isDone, says, fault }) {
    if (says !== undefined) return this.#hear(String(says));
    clearTimeout(this.#timer);
    if (runs !== undefined) this.setState({ runs: Number(runs), standing });
    if (isDone) this.#end({});
    if (fault !== undefined) this.#end({ fault: { text: String(fault.text), line: fault.line && Number(fault.line) } });
    const isAsked = isAlive || (runs !== undefined && this.state.raced.strategies[runs % 2] === OWN);
    if (isAsked && this.#worker !== null) {
      const text = `The program has not answered for ${SILENCE_MS / 1000} s: it was stopped. Is there a loop without an end?`;
      this.#timer = setTimeout(() => this.#end({ fault: { text, line: null } }), SILENCE_MS);
    }
  }

  #hear(line) {
    this.setState(({ says }) => says.length > MOST_SAYINGS ? null
      : { says: [...says, says.length === MOST_SAYINGS ? "… More of this race is not shown." : line] });
  }

  #end(change) {
    this.#stop();
    this.setState(change);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = null;
    URL.revokeObjectURL(this.#url);
  }

  #edit = (text) => {
    keep(text);
    this.setState({ text, fault: null, link: null });
  };

  async #share() {
    const { wish, text } = this.state;
    try {
      const link = await encoded(wish.strategies.includes(OWN) ? { ...wish, program: text } : wish);
      this.setState({ link, wrong: null });
      await navigator.clipboard?.writeText(link).catch(() => {});
    } catch (error) {
      this.setState({ wrong: `This race can't be shared: ${error.message}` });
    }
  }

  render(_, state) {
    const { wish, text, runs, standing, raced, fault, says, link, wrong } = state;
    const isRunning = this.#worker !== null;
    const isOwn = wish.strategies.includes(OWN);
    const names = raced?.strategies.map(called);
    const all = 2 * (raced?.seeds ?? 0);
    // What is wrong with the program is said where it is.
    const alarm = wrong ?? (isOwn ? null : fault?.text ?? null);
    return html`
      <div class="sheet">
        <form class="panel" onSubmit=${this.#toggle}>
          <h1>Two dispatchers, the same passengers</h1>
          <div class="settings">
            ${["First", "Second"].map((label, lane) => html`<label>${label}
              <select name=${`strategy-${lane}`} value=${wish.strategies[lane]}
                onChange=${({ target }) => this.#choose(lane, target.value)}>
                ${[...STRATEGIES, OWN].map((name) => html`<option key=${name} value=${name}>${called(name)}</option>`)}
              </select></label>`)}
            ${this.#select("Building", "building", BUILDINGS)} ${this.#select("Traffic", "pattern", PATTERNS)}
            ${this.#select("Arrivals in 5 minutes", "rate", RATES.map((rate) => [rate, `${rate} % of the population`]))}
            ${this.#number("Seeds", "seeds", 5, 200)} ${this.#number("First seed", "seed", 0, 4294967295)}
          </div>
          <div class="row">
            <button type="submit" class="main" formnovalidate=${isRunning}>${isRunning ? "Stop" : "Start"}</button>
            <button type="button" class="share" onClick=${() => this.#share()}>Share</button>
            ${isRunning && html`<progress max=${all} value=${runs} aria-label="Runs"></progress>`}
            <span class="dim" role="status">${raced !== null && `${runs} of ${all} runs${isRunning ? "" : runs < all ? ", stopped" : ", done"}`}</span>
          </div>
          ${link !== null &&
          html`<p class="row"><label class="wide">Link to this race
            <input type="text" name="link" readonly value=${link} onFocus=${({ target }) => target.select()} /></label>
            ${link.length > LONGEST && html`<span class="dim">It is very long; some programs may truncate it.</span>`}</p>`}
          ${alarm !== null && html`<p class="banner alarm" role="alert">${alarm}</p>`}
        </form>
        ${isOwn &&
        html`<section class="panel" aria-label="My own dispatcher">
          <h2>My own dispatcher</h2>
          <${Editor} text=${text} fault=${fault} onEdit=${this.#edit} />
          ${says.length > 0 && html`<h3>Standard error</h3><pre class="says" tabindex="0" role="region" aria-label="Standard error">${says.join("\n")}</pre>`}
        </section>`}
        ${standing !== null && standing.seeds > 0 &&
        html`<section class="panel" aria-label="Result">
          <h2>${names.map((name, lane) => html`${lane === 1 && " and "}<span class=${`key lane-${lane}`}></span>${name}`)}, ${raced.building} ${PATTERNS.find(([pattern]) => pattern === raced.pattern)[1]} ${raced.rate} %</h2>
          <div class="result">
            <div><${Figures} standing=${standing} names=${names} isDone=${runs === all} /></div>
            <${Curves} standing=${standing} names=${names} />
          </div>
          <p class="fine">The same on the command line${raced.strategies.includes(OWN) && ", with the program saved as mine.js"}:</p>
          <pre class="command" tabindex="0" role="region" aria-label="Command line">${command(raced)}</pre>
        </section>`}
      </div>
    `;
  }

  #number(label, name, least, most) {
    return html`<label>${label}
      <input type="number" name=${name} min=${least} max=${most} required value=${this.state.wish[name]}
        onInput=${({ target }) => this.#wish({ [name]: Number(target.value) })} /></label>`;
  }

  #select(label, name, all) {
    return html`<label>${label}
      <select name=${name} value=${this.state.wish[name]} onChange=${({ target }) => this.#wish({ [name]: target.value })}>
        ${all.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}
      </select></label>`;
  }
}

/** What prints the same figures. */
function command({ building, pattern, rate, seed, seeds, strategies }) {
  const names = strategies.map((name) => (name === OWN ? "exec:node mine.js" : name)).join(",");
  return `liftmesh lab traffic --cells ${building}_${pattern}_${rate} --seed ${seed} --seeds ${seeds} --strategies '${names}'`;
}

async function begin() {
  const [wish, text] = [{ ...DEFAULTS }, kept() ?? (await fetched(EXAMPLES[0]))];
  try {
    const { program = text, ...shared } = await decoded(location.search);
    const all = { ...wish, ...shared };
    if (typeof program !== "string" || all.strategies.map(String).length !== 2) throw new Error("not a race");
    return { wish: all, text: program, wrong: null };
  } catch {
    return { wish, text, wrong: "The link to this race is damaged: this is the default." };
  }
}

const place = document.getElementById("race");
begin().then(
  (props) => {
    place.textContent = "";
    render(html`<${Race} ...${props} />`, place);
  },
  (reason) => { place.textContent = `The race can't be loaded: ${reason}`; },
);
