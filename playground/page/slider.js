// A slider that shows what is so, and sets what is wished.
import { Component, html } from "./html.js";

/**
 * `value` is what is so: it may change at any time. While the slider is dragged it shows where it is
 * dragged to, and only when it is let go `onSet` is called.
 */
export class Slider extends Component {
  state = { draft: null };

  render({ label, name, value, least = 0, most, step, unit, onSet }, { draft }) {
    const shown = draft ?? value;
    const set = ({ target }) => {
      this.setState({ draft: null });
      onSet(Number(target.value));
    };
    return html`
      <label>
        ${label}
        <input
          type="range" name=${name} min=${least} max=${most} step=${step} value=${shown}
          aria-valuetext=${`${shown} ${unit}`}
          onInput=${({ target }) => this.setState({ draft: Number(target.value) })}
          onChange=${set}
        />
        <output class="figure">${shown} ${unit}</output>
      </label>
    `;
  }
}
