#!/usr/bin/env python3
"""Gives each hall call to the nearest car, and keeps it there. See docs/DISPATCHERS.md."""
import json
import sys


def answer(message):
    print(json.dumps(message), flush=True)


def distance(car, call, height):
    """How far the car drives until it is there, in metres: straight, or by way of its turn."""
    here, there = height[car["floor"]], height[call["floor"]]
    if car["direction"] is None:
        return abs(there - here)
    sign = 1 if car["direction"] == "up" else -1
    is_ahead = sign * (there - here) >= 0
    if is_ahead and car["direction"] == call["direction"]:
        return abs(there - here)
    ends = [height[floor] for floor in car["stops"]] + [here, there]
    turn = max(ends) if sign > 0 else min(ends)
    return abs(turn - here) + abs(turn - there)


def plan(request, height):
    cars = {car["car"]: car for car in request["cars"]}
    chosen = {}
    for call in request["calls"]:
        able = [cars[name] for name in call["cars"]]
        kept = call["car"] if call["car"] in call["cars"] else None
        nearest = min(able, key=lambda car: (distance(car, call, height), car["car"]), default=None)
        chosen[call["call"]] = kept or (nearest and nearest["car"])
    return {"plan": request["plan"], "cars": chosen}


hello = json.loads(sys.stdin.readline())
answer({"version": 1})
heights = {floor["floor"]: floor["height_m"] for floor in hello["floors"]}
for line in sys.stdin:
    answer(plan(json.loads(line), heights))
