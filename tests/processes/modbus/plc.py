"""A PLC on pymodbus with a simulated shaft behind it, for tests/processes/modbus.rs.

    plc.py FLOORS AT tcp ADDRESS PORT
    plc.py FLOORS AT rtu LINK            (a link to the client's end of the line)

AT is the floor where the car stands. Each line of standard input is a command; each gets a line of
JSON with the state. The program is the one of docs/MODBUS.md.
"""

import asyncio
import json
import logging
import math
import os
import random
import sys
import tty

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

TICK = 0.01  # s, of the program
WATCHDOG = 0.5  # s
SPEED = 2.0  # floors/s
DOOR_SPEED = 4.0  # of its way, per s


class Plc:
    def __init__(self, floors, at):
        self.floors = floors
        self.bits = 16 + 6 * floors
        self.coils, self.inputs = [False] * self.bits, [False] * self.bits
        self.holding, self.registers = [0] * 3, [0, 0, 0xFFFF, 0, 0x7FFF, 0x7FFF]
        self.position, self.moving, self.door = float(at), 0, 0.0
        self.heartbeat, self.heard, self.trips = None, 0.0, 0
        self.buttons = {}  # the address of each press: its ticks, and whether it waits
        self.violations = []
        self.repair()

    def repair(self):
        self.delay, self.refuse, self.noise, self.halted = 0.0, None, 0.0, False

    async def access(self, function, _start, address, _count, registers, values):
        """A request: fills what is read, takes what is written."""
        await asyncio.sleep(self.delay)
        if self.refuse and self.refuse[0] == function:
            return ExcCodes(self.refuse[1])
        if function == 2:
            for word, first in enumerate(range(0, self.bits, 16)):
                part = self.inputs[first : first + 16]
                registers[word] = sum(on << bit for bit, on in enumerate(part))
        elif function == 4:
            registers[:6] = self.registers
        elif function == 15:
            self.coils[address : address + len(values)] = values
        elif function == 16:
            self.holding[address : address + len(values)] = values
        return None

    def tick(self, now, passed):
        """One cycle of the program, and of the car."""
        if self.halted:
            self.moving = 0
            return
        if self.holding[0] != self.heartbeat:
            self.heartbeat, self.heard = self.holding[0], now
        is_alive = now - self.heard < WATCHDOG
        coils = self.coils if is_alive else [False] * self.bits
        self.trips += self.moving != 0 and not is_alive
        up, down, homing, opens, nudges = coils[:5]
        if (up or down) and (self.door > 0 or opens or up == down):
            self.violations.append([round(now, 2), coils[:5], self.door])
        if opens and self.door == 0 and self.moving:
            self.violations.append([round(now, 2), "opens in flight"])
        self.drive(passed, (up - down) if self.door == 0 and not opens else 0, homing)
        wanted = 1.0 if opens and self.sensor() is not None else 0.0 if is_alive else self.door
        step = min(abs(wanted - self.door), DOOR_SPEED * passed)
        self.door += step if wanted > self.door else -step
        self.latch(coils)
        self.registers[0:2] = [self.heartbeat, self.next_stop()]
        self.inputs[0:4] = [self.door == 0, self.door == 1, self.moving > 0, self.moving < 0]
        for floor in range(self.floors):
            self.inputs[16 + 6 * floor + 3] = self.sensor() == floor

    def drive(self, passed, direction, homing):
        stop_at = None if homing else self.holding[2] - 1
        is_there = self.sensor() is not None if homing else self.position == stop_at
        self.moving = 0 if is_there else direction
        before = self.position
        self.position += self.moving * SPEED * passed
        self.position = max(0.0, min(self.floors - 1.0, self.position))
        if stop_at is not None and min(before, self.position) <= stop_at <= max(before, self.position):
            self.position = float(stop_at)

    def latch(self, coils):
        """A press waits until the latch is empty, even while it is being acknowledged."""
        for address, press in self.buttons.items():
            press["waits"] |= press["ticks"] > 0
            press["ticks"] = max(0, press["ticks"] - 1)
            if coils[address + 3]:
                self.inputs[address] = False
            elif press["waits"]:
                self.inputs[address], press["waits"] = True, False

    def sensor(self):
        nearest = round(self.position)
        return nearest if abs(self.position - nearest) < 0.1 else None

    def next_stop(self):
        """1 for the lowest floor, 0 while the car rests."""
        ahead = math.ceil(self.position) if self.moving > 0 else int(self.position)
        return ahead + 1 if self.moving else 0

    def command(self, words):
        match words:
            case ["press", address]:
                self.buttons.setdefault(int(address), {"ticks": 0, "waits": False})["ticks"] += 1
            case ["slow", seconds]:
                self.delay = float(seconds)
            case ["refuse", function, code]:
                self.refuse = (int(function), int(code))
            case ["noise", share]:
                self.noise = float(share)
            case ["halt"]:
                self.halted = True
            case ["repair"]:
                self.repair()
        return {
            "floor": self.sensor(),
            "moving": self.moving,
            "door": self.door,
            "coils": [address for address, on in enumerate(self.coils) if on],
            "trips": self.trips,
            "violations": self.violations,
        }


async def program(plc):
    clock = asyncio.get_running_loop().time
    last = clock()
    while True:
        await asyncio.sleep(TICK)
        now = clock()
        # A machine that was busy does not move the car past a sensor unseen.
        plc.tick(now, min(now - last, 3 * TICK))
        last = now


async def commands(plc):
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(plc.command(line.decode().split())), flush=True)


def line_to(link, plc):
    """A line between two pseudo-terminals, whose noise damages bytes. Returns the server's end."""
    (client, client_end), (server, server_end) = os.openpty(), os.openpty()
    for end in (client_end, server_end):
        tty.setraw(end)

    def carry(source, target):
        data = bytearray(os.read(source, 4096))
        for at in range(len(data)):
            data[at] ^= random.randrange(1, 256) if random.random() < plc.noise else 0
        os.write(target, data)

    loop = asyncio.get_running_loop()
    loop.add_reader(client, carry, client, server)
    loop.add_reader(server, carry, server, client)
    os.symlink(os.ttyname(client_end), link)
    return os.ttyname(server_end)


async def main(floors, at, kind, *where):
    plc = Plc(int(floors), int(at))
    bits = lambda: [SimData(0, values=[False] * plc.bits, datatype=DataType.BITS)]
    words = lambda count: [SimData(0, count=count, datatype=DataType.REGISTERS)]
    blocks = (bits(), bits(), words(3), words(6))
    device = SimDevice(1, simdata=blocks, action=plc.access)
    if kind == "tcp":
        server = ModbusTcpServer(device, address=(where[0], int(where[1])))
    else:
        server = ModbusSerialServer(device, port=line_to(where[0], plc), baudrate=38400)
    await server.serve_forever(background=True)
    cycle = asyncio.create_task(program(plc))
    await commands(plc)
    cycle.cancel()


logging.disable()  # pymodbus shows every frame of a connection that breaks
asyncio.run(main(*sys.argv[1:]))
