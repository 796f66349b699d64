// Charts by uPlot, which is loaded when a page needs it first.
import { Component, createRef, html } from "./html.js";

const vendored = (name) => new URL(`./vendor/${name}`, import.meta.url).href;

let loading = null;

/** Loads uPlot and its style sheet, once. */
export function loadCharts() {
  loading ??= Promise.all([loadStyle(vendored("uplot.css")), loadScript(vendored("uplot.js"))]).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** Adds a style sheet to the page. */
export function loadStyle(href) {
  return add("link", { rel: "stylesheet", href });
}

/** The library is a script, and no module. */
function loadScript(src) {
  return add("script", { src });
}

function add(name, properties) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(name), properties);
    element.onload = resolve;
    element.onerror = () => {
      element.remove();
      reject(new Error(`${properties.src ?? properties.href} can't be loaded`));
    };
    document.head.append(element);
  });
}

/** The value of a colour of the style sheet. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const HEIGHT = 230;

/**
 * A chart. `options` makes uPlot's options; `form` names all that they depend on but the colours: while it
 * stays the same, other data are drawn into the same chart. It is hidden from screen readers: what it shows
 * has to be in a table as well.
 */
export class Chart extends Component {
  #place = createRef();
  #chart = null;
  #dark = matchMedia("(prefers-color-scheme: dark)");
  #draw = () => this.#make();
  #observer = new ResizeObserver(() => this.#fit());

  componentDidMount() {
    this.#make();
    this.#dark.addEventListener("change", this.#draw);
    this.#observer.observe(this.#place.current);
  }

  shouldComponentUpdate({ data }) {
    return data !== this.props.data;
  }

  componentDidUpdate({ form, data }) {
    if (form !== this.props.form || this.#chart === null || data.length !== this.props.data.length) this.#make();
    else this.#chart.setData(this.props.data);
  }

  componentWillUnmount() {
    this.#dark.removeEventListener("change", this.#draw);
    this.#observer.disconnect();
    this.#chart?.destroy();
  }

  #make() {
    this.#chart?.destroy();
    const { options, data } = this.props;
    const width = this.#place.current.clientWidth;
    this.#chart = new window.uPlot({ width, height: HEIGHT, ...options() }, data, this.#place.current);
  }

  #fit() {
    const width = this.#place.current.clientWidth;
    if (this.#chart && width > 0 && width !== this.#chart.width) this.#chart.setSize({ width, height: HEIGHT });
  }

  render() {
    return html`<div class="chart" aria-hidden="true" ref=${this.#place}></div>`;
  }
}

/** An axis in the colours of the panel. */
export function axis(more) {
  return {
    stroke: colour("ink-dim"),
    grid: { stroke: colour("line-soft"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
    font: "12px system-ui, sans-serif",
    ...more,
  };
}

/** Bars of this part of their place. */
export function bars(part) {
  return window.uPlot.paths.bars({ size: [part, 60] });
}
