#!/usr/bin/env node
// Gives each hall call to the car that has the fewest stops to make. See docs/DISPATCHERS.md.
const readline = require('node:readline');

function plan({ plan, cars, calls }) {
  // The floors at which each car will stop.
  const stops = new Map(cars.map(({ car, stops }) => [car, new Set(stops)]));
  for (const { car, floor } of calls) stops.get(car)?.add(floor);
  const chosen = {};
  for (const { call, floor, car, cars: able } of calls) {
    // A stop that a car makes anyway costs nothing.
    const cost = (name) => (stops.get(name).has(floor) ? 0 : stops.get(name).size + 1);
    const [best = null] = [...able].sort((one, other) => cost(one) - cost(other));
    chosen[call] = able.includes(car) ? car : best;
    stops.get(chosen[call])?.add(floor);
  }
  return { plan, cars: chosen };
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const answer = message.version ? { version: 1 } : plan(message);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
