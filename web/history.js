// What has happened to nodes: their states for the timeline, and the masters.

/** How long the past is kept, ms. */
export const SPAN_MS = 10 * 60_000;

/** The bound of the segments of a node, and of the masters; the oldest is dropped. */
const MOST_SEGMENTS = 200;

/** The bound of the kept nodes; the one that was not seen for longest is dropped. */
const MOST_NODES = 128;

/**
 * States since the page was opened, and before that what the events of the node say. They say of another
 * node only that it was heard or lost: its state is `heard` then.
 *
 * Every moment is in ms since 1970, by the clock of the node.
 */
export class History {
  /** Without data: `{from, to}`. */
  gaps = [];
  /** When the first state was so. */
  begun = null;
  #last = null;
  /** By states: node → segments `{kind, from, to, isClosed}`; `to` of the last one grows. */
  #seen = new Map();
  /** By events from before the first state: node → segments. */
  #before = new Map();
  #masters = [];
  #mastersBefore = [];
  /** How the node that shows all this was before the first state, and since when: `{node, kind, from}`. */
  #self = null;
  /** By the latest of these events nobody leads. */
  #endsWithoutMaster = false;

  /** Node → segments `{kind, from, to}`, the oldest first. */
  get nodes() {
    const nodes = new Map(this.#before);
    if (this.#self !== null && !nodes.has(this.#self.node)) {
      const { node, kind, from } = this.#self;
      nodes.set(node, [{ kind, from, to: this.begun }]);
    }
    for (const [node, segments] of this.#seen) nodes.set(node, [...(nodes.get(node) ?? []), ...segments]);
    return nodes;
  }

  /**
   * The masters: `{node, term, from, isStartKnown, isObserved}`, the oldest first. The first one may
   * have led before anything is known; it is not observed as one that follows another.
   */
  get masters() {
    const [first, ...later] = this.#masters;
    const before = [...this.#mastersBefore];
    if (first === undefined) return before;
    const last = before.at(-1);
    if (last === undefined) return this.#masters;
    if (last.node === first.node && !this.#endsWithoutMaster) {
      return [...before.slice(0, -1), { ...last, term: first.term }, ...later];
    }
    return [...before, { ...first, isObserved: true }, ...later];
  }

  /** Takes a state that was so at a moment. */
  take({ fleet }, at) {
    if (this.#last !== null && at < this.#last) return;
    this.#last = at;
    if (this.begun === null) this.#begin(fleet, at);
    const seen = new Map(fleet.nodes.map((node) => [node.node, node.node_state.kind]));
    for (const lost of fleet.lost) {
      if (!seen.has(lost.node)) seen.set(lost.node, lost.cause === "hung" ? "hung" : "lost");
    }
    for (const [node, kind] of seen) this.#extend(node, kind, at);
    if (fleet.master !== null) this.#lead(fleet, at);
    this.#forget(at);
  }

  #begin(fleet, at) {
    this.begun = at;
    const from = masterSince(fleet);
    if (from === null) return;
    const { node, master } = fleet;
    this.#self = { node, kind: node === master ? "master" : "slave", from: Math.max(from, at - SPAN_MS) };
  }

  /** There was no data between two moments. */
  gap(from, to) {
    this.gaps.push({ from, to });
    if (this.gaps.length > MOST_SEGMENTS) this.gaps.shift();
    // What was in between is not known.
    for (const segments of this.#seen.values()) segments.at(-1).isClosed = true;
  }

  /** The master and since when. */
  get master() {
    return this.masters.at(-1) ?? null;
  }

  /** From when on anything is known. */
  get earliest() {
    const firsts = [...this.nodes.values()].map((segments) => segments[0].from);
    return firsts.length === 0 ? this.begun : Math.min(...firsts);
  }

  #extend(node, kind, at) {
    const segments = this.#seen.get(node) ?? [];
    this.#seen.set(node, segments);
    const last = segments.at(-1);
    if (last && last.kind === kind && !last.isClosed) {
      last.to = at;
      return;
    }
    if (last && !last.isClosed) last.to = at;
    segments.push({ kind, from: at, to: at, isClosed: false });
    if (segments.length > MOST_SEGMENTS) segments.shift();
  }

  #lead(fleet, at) {
    const { master: node, term } = fleet;
    const last = this.#masters.at(-1);
    if (last?.node === node) {
      last.term = term;
      return;
    }
    const isObserved = last !== undefined;
    const from = isObserved ? at : (masterSince(fleet) ?? at);
    this.#masters.push({ node, term, from, isStartKnown: isObserved || isSinceExact(fleet), isObserved });
    if (this.#masters.length > MOST_SEGMENTS) this.#masters.shift();
  }

  /** An event of this node, of which only those from before the first state count. They come in their order. */
  onEvent(event, node) {
    const at = Date.parse(event.at);
    if (this.begun === null || at > this.begun) return;
    switch (event.event) {
      case "node_state":
        this.#wasSo(node, event.to.kind, at);
        this.#led(event.to.kind === "master" ? node : (event.to.master ?? null), event.term, at, node);
        break;
      case "peer_discovered":
        this.#wasSo(event.node, "heard", at);
        break;
      case "peer_lost":
        this.#wasSo(event.node, "lost", at);
        break;
    }
  }

  /** A node was so from a moment on, until something else is known. */
  #wasSo(node, kind, from) {
    const segments = this.#before.get(node) ?? [];
    this.#before.set(node, segments);
    const last = segments.at(-1);
    if (last) last.to = from;
    segments.push({ kind, from, to: this.begun });
    if (segments.length > MOST_SEGMENTS) segments.shift();
  }

  /** Somebody led from a moment on, or nobody did. */
  #led(node, term, from, self) {
    const last = this.#mastersBefore.at(-1);
    const isSame = last?.node === node && !this.#endsWithoutMaster;
    this.#endsWithoutMaster = node === null;
    if (node === null || isSame) return;
    const isObserved = last !== undefined;
    this.#mastersBefore.push({ node, term, from, isStartKnown: isObserved || node === self, isObserved });
    if (this.#mastersBefore.length > MOST_SEGMENTS) this.#mastersBefore.shift();
  }

  #forget(now) {
    for (const nodes of [this.#before, this.#seen]) {
      for (const [node, segments] of nodes) {
        while (segments.length > 0 && segments[0].to < now - SPAN_MS) segments.shift();
        if (segments.length === 0) nodes.delete(node);
      }
      while (nodes.size > MOST_NODES) {
        const [oldest] = [...nodes].sort(([, one], [, other]) => one.at(-1).to - other.at(-1).to)[0];
        nodes.delete(oldest);
      }
    }
    this.gaps = this.gaps.filter(({ to }) => to >= now - SPAN_MS);
  }
}

/** A node that had run for so long when it got its master knows when that began to lead, s. */
const KNOWS_AFTER_S = 5;

/** Since when the master of a state leads; null if there is none, or if the node does not say. */
export function masterSince({ at, master, master_since: since }) {
  return master === null || since == null ? null : Date.parse(at) - since * 1000;
}

/** Whether it began to lead then, and not before. */
export function isSinceExact({ node, master, master_since: since, uptime }) {
  return since != null && (node === master || uptime - since > KNOWS_AFTER_S);
}
