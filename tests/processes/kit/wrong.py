"""The controller of docs/YOUR-OWN-FLEET.md, made wrong: wrong.py DEFECT ID HOST PORT …"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "examples/your-own-fleet"))
import controller  # noqa: E402
from controller import CAB, DOWN, Controller, Fleet  # noqa: E402


class Calls(Controller):
    def has(self, floor, button):  # nobody who wants to go down is fetched
        return button != DOWN and super().has(floor, button)


class Lamps(Controller):
    def light(self):  # the buttons pressed elsewhere stay dark
        self.buttons, all_buttons = [it for it in self.buttons if it in self.pressed], self.buttons
        super().light()
        self.buttons = all_buttons

    pressed = set()

    def press(self):
        before = dict(self.fleet.counts)
        super().press()
        self.pressed |= {it for it in self.buttons
                         if self.fleet.counts.get(self.fleet.key(*it)) != before.get(self.fleet.key(*it))}


class Crash(Fleet):
    def key(self, floor, button):  # what was pressed in a car belongs to this run of the program
        return super().key(floor, button) + (f" {os.getpid()}" if button == CAB else "")


class Door(Controller):
    pass


class Obstruction(Controller):
    def __init__(self, panel, *rest):  # an obstruction goes unseen
        poll, panel.poll = panel.poll, lambda *it: bytes(4) if it == (9,) else poll(*it)
        super().__init__(panel, *rest)


class Stop(Controller):
    is_stopped = False

    def act(self, at):  # once stopped, stopped for ever
        self.is_stopped |= bool(self.panel.poll(8)[1])
        if self.is_stopped:
            self.panel.send(1, 0)
        else:
            super().act(at)


class Motor(Controller):
    def is_able(self):  # the others wait for a car that does not come
        return True


class Disconnect(Controller):
    def act(self, at):  # without the others it does nothing
        if self.fleet.alive():
            super().act(at)


class PacketLoss(Fleet):
    sent = {}

    def message(self, state):  # news are sent once
        news = {key: it for key, it in self.counts.items() if self.sent.get(key) != it}
        self.sent = dict(self.counts)
        return super().message(state) | {"counts": news}


defect = {"calls": Calls, "lamps": Lamps, "crash": Crash, "door": Door, "obstruction": Obstruction,
          "stop": Stop, "motor": Motor, "disconnect": Disconnect,
          "packet-loss": PacketLoss}[sys.argv.pop(1)]
if defect is Door:
    controller.DOOR_TIME = 1.0
if issubclass(defect, Fleet):
    controller.main(fleet=defect)
else:
    controller.main(defect)
