#!/usr/bin/env node
// Gives each hall call to the nearest car, and keeps it there. See docs/DISPATCHERS.md.
const readline = require('node:readline');

const answer = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

// How far the car drives until it is there, in metres: straight, or by way of its turn.
function distance(car, call, height) {
  const [here, there] = [height[car.floor], height[call.floor]];
  if (car.direction === null) return Math.abs(there - here);
  const sign = car.direction === 'up' ? 1 : -1;
  const isAhead = sign * (there - here) >= 0;
  if (isAhead && car.direction === call.direction) return Math.abs(there - here);
  const ends = [...car.stops.map((floor) => height[floor]), here, there];
  const turn = sign > 0 ? Math.max(...ends) : Math.min(...ends);
  return Math.abs(turn - here) + Math.abs(turn - there);
}

function plan({ plan, cars, calls }, height) {
  const chosen = {};
  for (const call of calls) {
    const able = cars.filter(({ car }) => call.cars.includes(car));
    const near = able.map((car) => [distance(car, call, height), car.car]);
    near.sort(([one, a], [other, b]) => one - other || (a < b ? -1 : 1));
    chosen[call.call] = call.cars.includes(call.car) ? call.car : near[0]?.[1] ?? null;
  }
  return { plan, cars: chosen };
}

let heights;
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (heights) return answer(plan(message, heights));
  heights = Object.fromEntries(message.floors.map(({ floor, height_m }) => [floor, height_m]));
  return answer({ version: 1 });
});
