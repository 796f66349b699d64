// What has happened to nodes since the page was opened: their states, for the timeline.

/** How long the past is kept, ms. */
export const SPAN_MS = 10 * 60_000;

/** The bound of the segments of a node; the oldest is dropped. */
const MOST_SEGMENTS = 200;

/** The bound of the kept nodes; the one that was not seen for longest is dropped. */
const MOST_NODES = 128;

/** Every moment is in ms since 1970, by the clock of the node. */
export class History {
  /** Node → segments `{kind, from, to}`, the oldest first; `to` of the last one grows. */
  nodes = new Map();
  /**
   * The masters: `{node, term, from, isStartKnown, isObserved}`, the oldest first. The first one may
   * have led for long before this page was opened.
   */
  masters = [];
  /** Without data: `{from, to}`. */
  gaps = [];
  /** When the first state was so. */
  begun = null;
  #last = null;
  /** By the events from before the first state: the last master of them, and since when. */
  #early = null;

  /** Takes a state that was so at a moment. */
  take({ fleet }, at) {
    if (this.#last !== null && at < this.#last) return;
    this.#last = at;
    this.begun ??= at;
    const seen = new Map(fleet.nodes.map((node) => [node.node, node.node_state.kind]));
    for (const lost of fleet.lost) {
      if (!seen.has(lost.node)) seen.set(lost.node, lost.cause === "hung" ? "hung" : "lost");
    }
    for (const [node, kind] of seen) this.#extend(node, kind, at);
    if (fleet.master !== null) this.#lead(fleet.master, fleet.term, at);
    this.#forget(at);
  }

  /** There was no data between two moments. */
  gap(from, to) {
    this.gaps.push({ from, to });
    if (this.gaps.length > MOST_SEGMENTS) this.gaps.shift();
    // What was in between is not known.
    for (const segments of this.nodes.values()) segments.at(-1).isClosed = true;
  }

  /** The master and since when. */
  get master() {
    return this.masters.at(-1) ?? null;
  }

  #extend(node, kind, at) {
    const segments = this.nodes.get(node) ?? [];
    this.nodes.set(node, segments);
    const last = segments.at(-1);
    if (last && last.kind === kind && !last.isClosed) {
      last.to = at;
      return;
    }
    if (last && !last.isClosed) last.to = at;
    segments.push({ kind, from: at, to: at, isClosed: false });
    if (segments.length > MOST_SEGMENTS) segments.shift();
  }

  #lead(node, term, at) {
    const last = this.masters.at(-1);
    if (last?.node === node) {
      last.term = term;
      return;
    }
    const isObserved = last !== undefined;
    this.masters.push({ node, term, from: at, isStartKnown: isObserved, isObserved });
    if (this.masters.length > MOST_SEGMENTS) this.masters.shift();
  }

  /** An event of this node from before the first state may say when the first master began to lead. */
  onEvent(event, node) {
    if (event.event !== "node_state") return;
    const first = this.masters.at(-1);
    const master = event.to.kind === "master" ? node : event.to.master;
    const at = Date.parse(event.at);
    if (this.begun !== null && at > this.begun) return;
    if (this.#early?.node !== master) this.#early = { node: master, from: at };
    if (first && !first.isObserved && master === first.node) {
      Object.assign(first, { from: this.#early.from, isStartKnown: true });
    }
  }

  #forget(now) {
    for (const [node, segments] of this.nodes) {
      while (segments.length > 0 && segments[0].to < now - SPAN_MS) segments.shift();
      if (segments.length === 0) this.nodes.delete(node);
    }
    while (this.nodes.size > MOST_NODES) {
      const [oldest] = [...this.nodes].sort(([, one], [, other]) => one.at(-1).to - other.at(-1).to)[0];
      this.nodes.delete(oldest);
    }
    this.gaps = this.gaps.filter(({ to }) => to >= now - SPAN_MS);
  }
}
