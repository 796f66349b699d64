// The panel of a live node.
import { mount } from "./app.js";
import { LiveSource } from "./live.js";

const source = new LiveSource();
mount(document.getElementById("app"), source);
source.start();
