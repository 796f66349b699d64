// A dispatcher of one's own: its text with numbered lines, examples, and what it reads and writes.
import { Component, createRef, html } from "./html.js";

export const EXAMPLES = ["round_robin.js", "nearest_car.js", "fewest_stops.js"];

/** Where the browser keeps the program as long as the tab is open. */
const KEPT = "liftmesh-program";

/** The program that was written in this tab; null if there is none, or the browser keeps nothing. */
export function kept() {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

export function keep(text) {
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // The browser keeps nothing: the page works without.
  }
}

/** The text of an example, or of the reference. */
export async function fetched(name) {
  const response = await fetch(new URL(`../dispatchers/${name}`, import.meta.url));
  if (!response.ok) throw new Error(`${name} can't be loaded: ${response.status}`);
  return response.text();
}

/** `text` is the program, `fault` what is wrong with it or null, `onEdit` takes another text. */
export class Editor extends Component {
  state = { example: EXAMPLES[0], reference: null, says: "" };
  #area = createRef();
  #numbers = createRef();
  #fault = createRef();

  /** On a phone the fault may be out of sight. */
  componentDidUpdate({ fault }) {
    if (fault !== this.props.fault) this.#fault.current?.scrollIntoView({ block: "nearest" });
  }

  #say(says) {
    this.setState({ says });
  }

  #load = async () => {
    const { example } = this.state;
    try {
      const texts = await Promise.all(EXAMPLES.map(fetched));
      if (!texts.includes(this.props.text) && !confirm(`Replace your program with ${example}?`)) return;
      this.props.onEdit(texts[EXAMPLES.indexOf(example)]);
      this.#say(`${example} is loaded.`);
    } catch (error) {
      this.#say(error.message);
    }
  };

  #copy = () => {
    const copied = navigator.clipboard?.writeText(this.props.text) ?? Promise.reject();
    copied.then(() => this.#say("Copied."), () => this.#say("The browser does not allow it: select the text."));
  };

  #save = () => {
    const url = URL.createObjectURL(new Blob([this.props.text], { type: "text/javascript" }));
    Object.assign(document.createElement("a"), { href: url, download: "mine.js" }).click();
    URL.revokeObjectURL(url);
  };

  /** Loads the reference when it is opened for the first time. */
  #open = async (event) => {
    if (!event.target.open || this.state.reference !== null) return;
    const reference = await fetched("protocol.d.ts").catch((error) => error.message);
    this.setState({ reference });
  };

  /** Goes to a line, and selects it. */
  #goTo(line) {
    const area = this.#area.current;
    const lines = this.props.text.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    area.scrollTop = (area.scrollHeight / lines.length) * Math.max(0, line - 5);
  }

  render({ text, fault, onEdit }, { example, reference, says }) {
    const count = text.split("\n").length;
    const number = (line) => html`<span class=${line === fault?.line ? "wrong" : ""}>${line}</span>`;
    return html`
      <div class="row">
        <label>Example
          <select name="example" value=${example} onChange=${({ target }) => this.setState({ example: target.value })}>
            ${EXAMPLES.map((name) => html`<option key=${name}>${name}</option>`)}
          </select></label>
        <button type="button" class="load" onClick=${this.#load}>Load</button>
        <button type="button" onClick=${this.#copy}>Copy</button>
        <button type="button" onClick=${this.#save}>Save as mine.js</button>
        <span class="dim" role="status">${says}</span>
      </div>
      <div class="code">
        <pre ref=${this.#numbers} aria-hidden="true">${Array.from({ length: count }, (_, line) => number(line + 1))}</pre>
        <textarea
          ref=${this.#area} name="program" aria-label="The program, in JavaScript" value=${text} wrap="off"
          spellcheck="false" autocapitalize="off" autocomplete="off"
          onInput=${({ target }) => onEdit(target.value)}
          onScroll=${({ target }) => { this.#numbers.current.scrollTop = target.scrollTop; }}
        ></textarea>
      </div>
      ${fault !== null &&
      html`<p ref=${this.#fault} class="banner alarm fault" role="alert">
        ${fault.line !== null && html`<button type="button" onClick=${() => this.#goTo(fault.line)}>Line ${fault.line}</button> `}
        <span>${fault.text}</span></p>`}
      <details class="reference" onToggle=${this.#open}>
        <summary>What it reads and writes</summary>
        <pre tabindex="0" role="region" aria-label="What it reads and writes">${reference ?? "Loading…"}</pre>
      </details>
    `;
  }
}
