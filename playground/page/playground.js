// The playground: a whole fleet in this page, with the panel's pages, and controls to break it.
import init, { Fleet } from "../fleet/liftmesh_playground.js";
import { mount } from "./app.js";
import { Controls } from "./controls.js";
import { html, render } from "./html.js";
import { LabSource } from "./lab.js";
import { lessonsFor } from "./lessons.js";
import { decoded } from "./share.js";

const DEFAULTS = {
  cars: 4,
  floors: 8,
  building: null,
  seed: 1,
  election: "lowest-ip",
  strategy: "planner",
  passengers: 12,
  pattern: "lunch",
  steps: [],
};

async function begin() {
  const [{ lessons, lesson, isUnknown }] = await Promise.all([
    lessonsFor(location.search),
    init({ module_or_path: new URL("../fleet/liftmesh_playground_bg.wasm", import.meta.url) }),
  ]);
  let settings = DEFAULTS;
  let wrong = isUnknown ? "There is no such lesson: this is the default fleet." : null;
  try {
    settings = { ...DEFAULTS, ...(lesson?.settings ?? (await decoded(location.search))) };
  } catch {
    wrong = "The link to this run is damaged: this is the default fleet.";
  }
  let fleet;
  try {
    fleet = new Fleet(JSON.stringify(settings));
  } catch (reason) {
    wrong = `This link does not describe a valid run: ${reason}. This is the default fleet.`;
    settings = DEFAULTS;
    fleet = new Fleet(JSON.stringify(settings));
  }
  const source = new LabSource(fleet);
  const model = mount(document.getElementById("app"), source);
  render(
    html`<${Controls} source=${source} model=${model} settings=${settings} lesson=${lesson} lessons=${lessons}
      make=${(to) => new Fleet(JSON.stringify(to))} />`,
    document.getElementById("controls"),
  );
  if (wrong !== null) model.say("alarm", wrong);
  source.start();
}

begin().catch((reason) => {
  document.querySelector("#app .empty").textContent = `The fleet can't be loaded: ${reason}`;
});
