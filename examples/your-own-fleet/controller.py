#!/usr/bin/env python3
"""The controller of one elevator of a fleet, as docs/YOUR-OWN-FLEET.md explains it.

    controller.py ID [PORT [BROADCAST]]
"""

import json
import os
import socket
import subprocess
import sys
import time
from time import monotonic as now

FLOORS, UP, DOWN, CAB = 4, 0, 1, 2
DOOR_TIME, LOST_AFTER, STUCK_AFTER, TICK, UDP_PORT = 3.0, 1.0, 5.0, 0.02, 16000


class Panel:
    """The elevator server: messages of four bytes, and four bytes in reply to a poll."""

    def __init__(self, host, port):
        self.server = socket.create_connection((host, port), timeout=5)
        self.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, *message):
        self.server.sendall(bytes(message).ljust(4, b"\0"))

    def poll(self, *message):
        self.send(*message)
        return self.server.recv(4, socket.MSG_WAITALL)

    def floor(self):
        reply = self.poll(7)
        return reply[2] if reply[1] else None


class Fleet:
    """What all controllers know: how often each call was placed and served.

    An odd count is an open call. Counts only grow and the greater one wins, so that it does not
    matter which messages get lost.
    """

    def __init__(self, me, target):
        self.me, self.target, self.counts, self.peers = me, target, {}, {}
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for option in (socket.SO_REUSEADDR, socket.SO_BROADCAST):
            self.udp.setsockopt(socket.SOL_SOCKET, option, 1)
        self.udp.bind(("", target[1]))
        self.udp.setblocking(False)

    def key(self, floor, button):
        return f"{floor} {button} {self.me if button == CAB else ''}"

    def is_open(self, floor, button):
        return self.counts.get(self.key(floor, button), 0) % 2 == 1

    def set_open(self, floor, button, wanted):
        if self.is_open(floor, button) != wanted:
            key = self.key(floor, button)
            self.counts[key] = self.counts.get(key, 0) + 1

    def message(self, state):
        return {"id": self.me, "state": state, "counts": self.counts}

    def exchange(self, state):
        try:
            self.udp.sendto(json.dumps(self.message(state)).encode(), self.target)
        except OSError:
            pass  # the cable is cut
        while True:
            try:
                message = json.loads(self.udp.recv(65536))
            except BlockingIOError:
                return
            if message["id"] != self.me:
                self.peers[message["id"]] = message | {"heard": now()}
                for key, count in message["counts"].items():
                    self.counts[key] = max(count, self.counts.get(key, 0))

    def alive(self):
        return [peer for peer in self.peers.values() if now() - peer["heard"] < LOST_AFTER]

    def is_promised(self, floor, button):
        """A lamp is a promise: another controller knows the call too, if there is one."""
        key = self.key(floor, button)
        known = [peer["counts"].get(key, 0) >= self.counts[key] for peer in self.alive()]
        return any(known) or not known


class Controller:
    def __init__(self, panel, fleet, floors):
        self.panel, self.fleet, self.floors = panel, fleet, floors
        self.buttons = [(floor, button) for floor in range(floors) for button in (UP, DOWN, CAB)
                        if (floor, button) not in ((0, DOWN), (floors - 1, UP))]
        self.floor, self.direction, self.door_until = 0, 0, 0
        self.moved_at = self.free_at = now()
        self.lamps, self.asked, self.asking, self.mine = {}, None, None, []

    def is_able(self):
        is_stuck = self.direction != 0 and now() - self.moved_at > STUCK_AFTER
        return not is_stuck and now() - self.free_at < STUCK_AFTER

    def state(self):
        return {"behaviour": "doorOpen" if self.door_until else
                "moving" if self.direction else "idle",
                "floor": self.floor, "direction": ("stop", "up", "down")[self.direction],
                "cabRequests": [self.fleet.is_open(floor, CAB) for floor in range(self.floors)],
                "able": self.is_able()}

    def assign(self):
        """The cost function of the course says which hall calls are this car's."""
        calls = [[self.fleet.is_open(floor, button) for button in (UP, DOWN)]
                 for floor in range(self.floors)]
        states = {peer["id"]: peer["state"] for peer in self.fleet.alive() if peer["state"]["able"]}
        asked = json.dumps({"hallRequests": calls, "states": states | {self.fleet.me: self.state()}})
        if self.asking and self.asking.poll() is not None:
            answer = self.asking.stdout.read()
            if answer:
                self.mine = json.loads(answer)[self.fleet.me]
            self.asking = None
        if not self.asking and asked != self.asked:
            program = [os.environ.get("LIFTMESH", "liftmesh"), "assign", "-i", asked]
            self.asking = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.asked = asked

    def has(self, floor, button):
        is_mine = button == CAB or self.mine and self.mine[floor][button]
        return is_mine and self.fleet.is_open(floor, button)

    def has_any(self, floors):
        return any(self.has(floor, button) for floor, button in self.buttons if floor in floors)

    def has_ahead(self, direction):
        ahead = range(self.floor + 1, self.floors) if direction > 0 else range(self.floor)
        return direction != 0 and self.has_any(ahead)

    def onward(self):
        first = self.direction or 1
        return next((way for way in (first, -first) if self.has_ahead(way)), 0)

    def drive(self, direction):
        self.direction, self.moved_at = direction, now()
        self.panel.send(1, direction % 256)

    def arrive(self):
        """Stops and opens the door, unless all that waits here goes the other way."""
        along = [UP if self.direction > 0 else DOWN]
        if not self.has_ahead(self.direction):
            along = [DOWN, UP] if self.onward() < 0 else [UP, DOWN]
        served = [button for button in along if self.has(self.floor, button)][:1]
        if served or self.has(self.floor, CAB):
            way = self.direction
            self.drive(0)
            if self.panel.floor() is None:  # too late
                return self.drive(-way)
            self.panel.send(4, 1)
            self.door_until = now() + DOOR_TIME
            for button in served + [CAB]:
                self.fleet.set_open(self.floor, button, False)

    def light(self):
        for call in self.buttons:
            wanted = self.fleet.is_open(*call)
            wanted = wanted and (self.lamps.get(call) or self.fleet.is_promised(*call))
            if wanted != self.lamps.get(call):
                self.lamps[call] = wanted
                self.panel.send(2, call[1], call[0], int(wanted))

    def press(self):
        for floor, button in self.buttons:
            if self.panel.poll(6, button, floor)[1]:
                self.fleet.set_open(floor, button, True)

    def act(self, at):
        if self.door_until and self.panel.poll(9)[1]:
            self.door_until = now() + DOOR_TIME  # obstructed
        else:
            self.free_at = now()
        if self.door_until:
            if now() >= self.door_until:
                self.panel.send(4, 0)
                self.door_until = 0
        elif at is not None:
            if self.has_any([at]):
                self.arrive()
            if not self.door_until and self.direction != self.onward():
                self.drive(self.onward())

    def run(self):
        self.panel.send(4, 0)
        while self.panel.floor() is None:
            self.panel.send(1, 255)
            while self.panel.floor() is None:
                time.sleep(TICK)
            self.panel.send(1, 0)
        started = now()
        while True:
            self.fleet.exchange(self.state())
            if now() - started > LOST_AFTER:  # the others have told what this one forgot
                self.press()
                self.assign()
                self.light()
            at = self.panel.floor()
            if at is not None and at != self.floor:
                self.floor, self.moved_at = at, now()
                self.panel.send(3, at)
            self.act(at)
            time.sleep(TICK)


def main(controller=Controller, fleet=Fleet):
    me, port, broadcast = (sys.argv[1:] + ["15657", "255.255.255.255"][len(sys.argv) - 2:])[:3]
    fleet = fleet(me, (broadcast, UDP_PORT))
    controller(Panel("127.0.0.1", int(port)), fleet, FLOORS).run()


if __name__ == "__main__":
    main()
