// The editor of a building: its floors, and which of them each car serves, by their numbers from
// below: labels may be equal for a moment. Nodes read it with labels, or null for equal floors that
// every car serves.
import { Component, html } from "./html.js";

const SIDES = ["front", "rear"];
const STOREY_M = 3;

/** The name of a car, by its number. */
const nameOf = (car) => String.fromCharCode(65 + (car % 26)) + (Math.floor(car / 26) || "");

const withDoors = (it) => ({ doors: ["front"], ...it });

/** Heights are exact to a millimetre, as nodes read them. */
const toMillimetres = (height) => Math.round(height * 1000) / 1000;

/** What the editor shows of a building that nodes read. */
export function editable({ floors, cars }) {
  const numbers = new Map(floors.map(({ label }, floor) => [label, floor]));
  const car = ({ serves, ...it }) => ({ ...it, serves: serves.map((label) => numbers.get(label)) });
  return { floors, cars: cars.map(car) };
}

/** A building with a column for each of so many cars; new ones serve every floor. */
export function fitted(building, cars) {
  const serves = building.floors.map((_, floor) => floor);
  const car = (_, index) => {
    const name = nameOf(index);
    return withDoors(building.cars.find((one) => one.name === name) ?? { name, serves });
  };
  return { floors: building.floors.map(withDoors), cars: Array.from({ length: Math.min(cars, 32) }, car) };
}

/** The settings of a new fleet like this, with a building of the editor or none. */
export function settingsOf(wish, building) {
  const car = ({ serves, ...it }) => ({ ...it, serves: serves.map((floor) => building.floors[floor].label) });
  return { ...wish, steps: [], building: building && { ...building, cars: building.cars.map(car) } };
}

/** The examples that the editor begins with: their names, for people too, and their floors. */
export const EXAMPLES = {
  own: ["own building", (floors) => Array.from({ length: floors }, (_, floor) => [String(floor), floor * STOREY_M])],
  "car-park": ["car park", () => "B2 B1 G 1 2 3 4 5 6 7 8".split(" ").map((label, floor) =>
    [label, [0, 2.8, 5.8, 10, 13.2, 16.4, 19.6, 22.8, 26, 29.2, 32.4][floor]])],
  "two-doors": ["hospital with rear doors", () => [["G", 0], ["1", 4.5], ["2", 8.5], ["3", 12.5], ["4", 16.5]]],
};

/** An example with so many floors, if it may have any number, and so many cars. */
export function example(name, floors, cars) {
  const made = EXAMPLES[name][1](floors).map(([label, height]) => withDoors({ label, height }));
  const building = fitted({ floors: made, cars: [] }, cars);
  if (name === "car-park") {
    // Only the last car goes below G.
    for (const car of building.cars.slice(0, -1)) car.serves = car.serves.slice(2);
  } else if (name === "two-doors") {
    for (const floor of made.slice(0, 2)) floor.doors = [...SIDES];
    for (const car of building.cars) car.doors = [...SIDES];
    return { ...building, floors: made };
  }
  return building;
}

const toggled = (list, one, order) => {
  const others = list.filter((it) => it !== one);
  return others.length < list.length ? others : order.filter((it) => it === one || list.includes(it));
};

/** `onChange` gets the changed building; `wrong` says what is wrong with it, if anything. */
export class Building extends Component {
  /** Otherwise what somebody is typing would be undone at each picture of the fleet. */
  shouldComponentUpdate({ building, wrong }) {
    return building !== this.props.building || wrong !== this.props.wrong;
  }

  render({ building, wrong, onChange }) {
    const { floors, cars } = building;
    const labels = floors.map(({ label }) => label);
    const setFloor = (index, change) =>
      onChange({ cars, floors: floors.map((floor, other) => (other === index ? { ...floor, ...change } : floor)) });
    const setCar = (index, change) =>
      onChange({ floors, cars: cars.map((car, other) => (other === index ? { ...car, ...change } : car)) });
    const add = () => {
      const number = floors.findLast(({ label }) => /^\d+$/.test(label))?.label ?? 0;
      let label = Number(number) + 1;
      while (labels.includes(String(label))) label += 1;
      const height = toMillimetres((floors.at(-1)?.height ?? -STOREY_M) + STOREY_M);
      onChange({
        floors: [...floors, withDoors({ label: String(label), height })],
        cars: cars.map((car) => ({ ...car, serves: [...car.serves, floors.length] })),
      });
    };
    const remove = (index) => {
      const left = floors.filter((_, other) => other !== index);
      const lowest = index === 0 ? left[0]?.height ?? 0 : 0;
      const moved = (serves) => serves.filter((it) => it !== index).map((it) => (it > index ? it - 1 : it));
      onChange({
        floors: left.map((floor) => ({ ...floor, height: toMillimetres(floor.height - lowest) })),
        cars: cars.map((car) => ({ ...car, serves: moved(car.serves) })),
      });
    };
    const check = (name, isOn, onChange) =>
      html`<input type="checkbox" aria-label=${name} checked=${isOn} onChange=${onChange} />`;
    const doors = (name, it, set) => SIDES.map((side) => html`
      <td>${check(`${name}: ${side} door`, it.doors.includes(side), () => set({ doors: toggled(it.doors, side, SIDES) }))}</td>`);
    const floorRow = ({ label, height, ...floor }, index) => html`
      <tr key=${index}>
        <td><input class="label" aria-label=${`Label of floor ${index + 1} from below`} value=${label} maxlength="8" required
          onChange=${({ target }) => setFloor(index, { label: target.value })} /></td>
        <td><input type="number" aria-label=${`Height of floor ${label}, in metres`} value=${height} min="0" step="any" required
          onChange=${({ target }) => setFloor(index, { height: Number(target.value) })} /></td>
        ${doors(`Floor ${label}`, floor, (change) => setFloor(index, change))}
        ${cars.map((car, number) => html`<td key=${car.name}>${check(
          `Car ${car.name} serves floor ${label}`,
          car.serves.includes(index),
          () => setCar(number, { serves: toggled(car.serves, index, [...floors.keys()]) }),
        )}</td>`)}
        <td><button type="button" aria-label=${`Remove floor ${label}`} onClick=${() => remove(index)}>×</button></td>
      </tr>`;
    return html`
      <div class="scrolls" role="region" aria-label="Floors and cars of the building" tabindex="0">
        <table class="building">
          <thead>
            <tr>
              <th scope="col">Floor</th><th scope="col">Height, m</th>
              ${SIDES.map((side) => html`<th scope="col">${side} door</th>`)}
              ${cars.map(({ name }) => html`<th scope="col" key=${name}>${name}</th>`)}
              <td><button type="button" aria-label="Add a floor at the top" onClick=${add}>+</button></td>
            </tr>
          </thead>
          <tbody>${floors.map(floorRow).reverse()}</tbody>
          <tfoot>
            ${SIDES.map((side) => html`
              <tr key=${side}>
                <th scope="row" colspan="4">The car has a ${side} door</th>
                ${cars.map((car, number) => html`<td key=${car.name}>${check(
                  `Car ${car.name}: ${side} door`,
                  car.doors.includes(side),
                  () => setCar(number, { doors: toggled(car.doors, side, SIDES) }),
                )}</td>`)}
                <td></td>
              </tr>`)}
          </tfoot>
        </table>
      </div>
      <p class="wrong" role="alert">${wrong}</p>
    `;
  }
}
