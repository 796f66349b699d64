#!/usr/bin/env node
// Gives new hall calls to the cars in turn. Short but slow: a starting point. See docs/DISPATCHERS.md.
const readline = require('node:readline');

let turn = 0;

function plan({ plan, calls }) {
  const chosen = {};
  for (const { call, car, cars } of calls) {
    // A call keeps its car, and has none if no car can serve it.
    chosen[call] = cars.includes(car) ? car : cars[turn++ % cars.length] ?? null;
  }
  return { plan, cars: chosen };
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const answer = message.version ? { version: 1 } : plan(message);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
