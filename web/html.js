// The view library: Preact, with templates by htm.
import { h } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { Component, createRef, render } from "./vendor/preact.js";

export const html = htm.bind(h);
