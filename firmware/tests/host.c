/*
 * Tests of the panel on the machine that compiles it, with a port of variables.
 *
 *   host golden     prints the panel's golden frames; then what it takes each line of frames for
 *   host flights    random flights in a simulated shaft: the car stops where it said that it can
 *   host storm      random orders, sensors and garbage: S1 holds at each moment
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../panel.h"
#include "../sim/shaft.h"

#define PANEL 0xC0FFEE01u
#define CONTROLLER 0xFACE0002u
#define ANSWERED 42

static struct {
    uint32_t now;
    uint8_t received[2 * FRAME_WIRE_MAX], received_length, taken;
    uint8_t sent[UINT8_MAX], sent_length;
    struct sensors sensors;
    enum direction motor;
    bool fast;
    enum door_command door;
    uint8_t buttons[BUTTON_KINDS][CHUNKS];
    bool is_silent;
} port;

uint32_t port_milliseconds(void)
{
    return port.now;
}

bool port_receive(uint8_t *byte)
{
    if (port.taken == port.received_length)
        return false;
    *byte = port.received[port.taken++];
    return true;
}

uint8_t port_send_room(void)
{
    return (uint8_t)(sizeof port.sent - port.sent_length);
}

void port_send(const uint8_t *bytes, uint8_t length)
{
    memcpy(port.sent + port.sent_length, bytes, length);
    port.sent_length = (uint8_t)(port.sent_length + length);
}

void port_sensors(struct sensors *sensors)
{
    *sensors = port.sensors;
}

uint8_t port_buttons(enum button_kind kind, uint8_t chunk)
{
    return port.buttons[kind][chunk];
}

void port_lamps(enum button_kind kind, uint8_t chunk, uint8_t lit)
{
    if (lit != 0 && !port.is_silent)
        printf("lamps %d from %d: %02x\n", kind, chunk * CHUNK_FLOORS, lit);
}

void port_signals(const struct signals *signals)
{
    (void)signals;
}

void port_display(struct reading brightness, const uint8_t *position, uint8_t position_length,
                  const uint8_t *text, uint8_t text_length)
{
    if (!port.is_silent)
        printf("display %d \"%.*s\" \"%.*s\"\n", brightness.known ? brightness.value : -1,
               position_length, (const char *)position, text_length, (const char *)text);
}

void port_motor(enum direction direction, bool fast)
{
    port.motor = direction;
    port.fast = fast;
}

void port_door(enum door_command command)
{
    port.door = command;
}

static void step(struct panel *panel)
{
    port.sent_length = 0;
    panel_step(panel, port.now);
    port.taken = port.received_length = 0;
}

/* A panel in mid-talk that has nothing to say: its next frame has this number. */
static struct panel quiet_panel(uint32_t number)
{
    struct panel panel;
    memset(&port, 0, sizeof port);
    port.sensors.floor = NO_FLOOR;
    port.sensors.closed = true;
    panel_start(&panel, PANEL, port.now);
    panel.line.last = panel.line.heard = (struct frame_id){CONTROLLER, ANSWERED};
    panel.hello_wanted = false;
    for (step(&panel); port.sent_length > 0; step(&panel))
        ;
    panel.line.next = number;
    return panel;
}

/* Prints the first frame that the panel now sends. */
static void print_next(struct panel *panel)
{
    step(panel);
    for (uint8_t i = 0; i == 0 || port.sent[i] != 0; i++)
        printf("%02x ", port.sent[i]);
    printf("00\n");
}

static void press(struct panel *panel, uint16_t number, uint8_t kind, uint8_t floor)
{
    struct presses *presses = &panel->buttons.presses;
    presses->acknowledged = (uint16_t)(number - 1);
    presses->count = 1;
    presses->ring[presses->first] = (struct press){.kind = kind, .floor = floor};
}

static void print_golden(void)
{
    struct panel panel = quiet_panel(0);
    panel.buttons.presses.acknowledged = 257;
    panel.hello_wanted = true;
    print_next(&panel);

    panel = quiet_panel(1);
    car_order(&panel.car, (struct order){MOTOR_RUN_UP, 7, DOOR_CLOSE}, port.now);
    panel.car.door = DOOR_IS_CLOSED;
    panel.car.drive = DRIVE_RUNS;
    panel.car.direction = UP;
    panel.car.fast = true;
    panel.car.position = (3 + 1) * QUARTERS + 1; /* Above floor 3, before the vane. */
    port.sensors.obstruction = true;
    port.sensors.load = (struct reading){true, 35};
    port.sensors.key = 1;
    panel.buttons.door_open.pressed = true;
    print_next(&panel);

    panel = quiet_panel(2);
    press(&panel, 258, HALL_DOWN, 8);
    print_next(&panel);

    panel = quiet_panel(255);
    port.sensors.temperature = (struct reading){true, (uint8_t)-5};
    print_next(&panel);

    panel = quiet_panel(0);
    panel.buttons.order[HALL_DOWN][8].held = STUCK_MS / HELD_UNIT_MS;
    panel.buttons.order[CAR_CALL][8].held = STUCK_MS / HELD_UNIT_MS;
    print_next(&panel);

    panel = quiet_panel(2);
    press(&panel, 260, ALARM_BUTTON, NO_FLOOR);
    print_next(&panel);
}

static void understand(char *line)
{
    struct panel panel = quiet_panel(ANSWERED + 1);
    panel.line.last = (struct frame_id){CONTROLLER, UINT32_MAX};
    char *end;
    for (;; line = end) {
        unsigned long byte = strtoul(line, &end, 16);
        if (end == line)
            break;
        port.received[port.received_length++] = (uint8_t)byte;
    }
    step(&panel);
    const struct signals *signals = &panel.signals;
    if (panel.car.fed)
        printf("drive %d %d %d %d, %d %d %d %d %d %d\n", panel.drive[0] << 8 | panel.drive[1],
               panel.car.order.motor, panel.car.order.floor, panel.car.order.door,
               signals->indicator, signals->lantern, signals->stop_lamp, signals->alarm,
               panel.gong.told, signals->light_off);
    if (port.sent_length > 0 && port.sent[3] == FRAME_PANEL_HELLO)
        printf("hello\n");
}

/* A frame that answers this run: mostly the last Drive again, or a new one; sometimes anything. */
static void receive_random_frame(struct panel *panel, uint32_t number)
{
    static uint8_t drive[DRIVE_BYTES];
    if (rand() % 32 == 0) {
        enum motor motor = (enum motor)(rand() % MOTORS);
        bool is_run = motor == MOTOR_RUN_UP || motor == MOTOR_RUN_DOWN;
        drive[2] = (uint8_t)motor;
        drive[3] = is_run ? (uint8_t)(rand() % FLOORS) : NO_FLOOR;
        drive[4] = (uint8_t)(rand() % 4 ? DOOR_CLOSE : rand() % DOOR_COMMANDS);
        drive[9] = (uint8_t)(rand() % (DOWN + 1));
    }
    uint8_t body[FRAME_BODY_MAX];
    memcpy(body, drive, sizeof drive);
    struct frame frame = {FRAME_VERSION, FRAME_DRIVE, {CONTROLLER, number},
                          {PANEL, panel->line.next - 1}, body, sizeof drive};
    if (rand() % 16 == 0) {
        for (uint8_t i = 0; i < sizeof body; i++)
            body[i] = (uint8_t)(rand() % (rand() % 4 ? 5 : 256));
        frame.type = (uint8_t)(rand() % 8 ? rand() % (FRAME_KIOSK + 1) : rand());
        frame.length = (uint8_t)(rand() % (FRAME_BODY_MAX + 1));
    }
    port.received_length = frame_encode(&frame, port.received);
    if (rand() % 16 == 0)
        port.received[rand() % port.received_length] = (uint8_t)rand();
}

static void check(bool condition, const char *what, uint32_t at)
{
    if (!condition)
        printf("%s at %u\n", what, (unsigned)at), exit(1);
}

#define STEPS_MAX 60000 /* More than the longest flight takes, in ms. */
#define ORDER_MS 50

/* A millisecond of the shaft, its sensors and the car. */
static void advance(struct shaft *shaft, struct car *car, struct order order)
{
    struct relays relays = {.up = port.motor == UP, .down = port.motor == DOWN, .fast = port.fast,
                            .open = port.door == DOOR_OPEN, .close = port.door == DOOR_CLOSE,
                            .nudge = port.door == DOOR_NUDGE};
    shaft_advance(shaft, relays, 0.001);
    int floor = shaft_floor(shaft);
    port.sensors = (struct sensors){.floor = floor < 0 ? NO_FLOOR : (uint8_t)floor,
                                    .vane = shaft_vane(shaft), .closed = shaft->fraction <= 0,
                                    .open = shaft->fraction >= 1};
    port.now++;
    if (port.now % ORDER_MS == 0)
        car_order(car, order, port.now);
    car_step(car, &port.sensors, port.now);
}

/* One flight from floor to floor, whose target may change on the way to the nearest floor at which
 * the car says that it can stop, or with a reset on the way, after which the car homes. */
static void fly(struct shaft *shaft, struct car *car, uint32_t number)
{
    uint8_t from = port.sensors.floor, target = (uint8_t)(rand() % FLOORS);
    uint32_t change_at = rand() % 2 ? (uint32_t)(rand() % 8000) : STEPS_MAX;
    bool is_reset = rand() % 8 == 0;
    struct order order = {target < from ? MOTOR_RUN_DOWN : MOTOR_RUN_UP, target, DOOR_CLOSE};
    car->has_arrived = false;
    uint32_t i = 0;
    for (; i < STEPS_MAX && !(car->has_arrived && car->drive == DRIVE_RESTS); i++) {
        advance(shaft, car, order);
        if (i != change_at || car->drive != DRIVE_RUNS)
            continue;
        if (is_reset) {
            car_start(car, port.now);
            order.motor = rand() % 2 ? MOTOR_HOME_UP : MOTOR_HOME_DOWN;
            order.floor = target = NO_FLOOR;
        } else {
            order.floor = target = car->next_stop;
            car_order(car, order, port.now);
        }
    }
    check(i < STEPS_MAX, "the flight does not end", number);
    check(!shaft_moves(shaft), "the car moves, and says that it rests", number);
    check(target == NO_FLOOR || shaft_floor(shaft) == target, "at the wrong floor", number);

    order = (struct order){MOTOR_STOP, NO_FLOOR, DOOR_OPEN};
    for (i = 0; i < STEPS_MAX && car->door != DOOR_IS_OPEN; i++)
        advance(shaft, car, order);
    order.door = DOOR_CLOSE;
    for (; i < STEPS_MAX && car->door != DOOR_IS_CLOSED; i++)
        advance(shaft, car, order);
    check(i < STEPS_MAX, "the door does not open and close", number);
}

static void flights(uint32_t count)
{
    struct shaft shaft = {.floor_height = 3, .speed_limit = 2, .acceleration = 3,
                          .opening_time = 0.2, .closing_time = 0.2};
    struct car car;
    car_start(&car, port.now);
    advance(&shaft, &car, (struct order){MOTOR_STOP, NO_FLOOR, DOOR_CLOSE});
    for (uint32_t i = 0; i < count; i++)
        fly(&shaft, &car, i);
    for (int i = 0; i < VIOLATIONS; i++)
        check(shaft.violations[i] == 0, VIOLATION_NAMES[i], count);
    printf("%u flights in %u s\n", (unsigned)count, (unsigned)(port.now / 1000));
}

static void storm(uint32_t steps)
{
    struct panel panel = quiet_panel(1);
    port.is_silent = true;
    unsigned runs = 0, opens = 0, presses = 0;
    uint32_t fed_at = 0, moved_at = 0;
    for (uint32_t i = 0; i < steps; i++) {
        port.now += 1 + (uint32_t)(rand() % 500 == 0 ? rand() % 400 : 0);
        struct sensors *sensors = &port.sensors;
        /* The door's contacts follow its machine, mostly. */
        if (rand() % 50 == 0)
            sensors->closed = rand() % 16 ? port.door != DOOR_OPEN : rand() % 2;
        sensors->open = !sensors->closed && port.door == DOOR_OPEN && rand() % 2;
        if (rand() % 200 == 0)
            sensors->floor = (uint8_t)(rand() % 2 ? NO_FLOOR : rand() % FLOORS);
        sensors->vane = sensors->floor == NO_FLOOR && rand() % 50 == 0;
        sensors->obstruction = rand() % 500 == 0;
        sensors->stop = rand() % 1000 == 0;
        sensors->alarm = rand() % 4 == 0;
        port.buttons[rand() % BUTTON_KINDS][rand() % CHUNKS] = (uint8_t)rand();
        /* Now and then the line repeats a number. */
        uint32_t last = panel.line.last.number, number = rand() % 4 ? ANSWERED + 1 + i : last;
        if (rand() % 30 == 0)
            receive_random_frame(&panel, number);
        uint32_t was_driven_at = panel.driven_at;
        bool was_locked = panel.car.door == DOOR_IS_CLOSED;
        step(&panel);
        if (panel.driven_at != was_driven_at)
            fed_at = port.now;
        check(fed_at != port.now || number != last, "S2: a repeated frame feeds the watchdog", i);
        bool motor = port.motor != NOWHERE, opening = port.door == DOOR_OPEN;
        if (motor)
            moved_at = port.now;
        check(!motor || sensors->closed, "S1: the motor runs with a door that is not locked", i);
        check(!motor || !opening, "S1: the motor runs while the door opens", i);
        check(!opening || port.now - moved_at >= REST_AFTER_SLOW_MS, "S1: opens too early", i);
        check(!opening || !was_locked || sensors->floor != NO_FLOOR, "S1: opens between floors", i);
        check(!motor || !sensors->stop, "the motor runs with the stop switch pulled", i);
        check(!motor || port.now - fed_at < WATCHDOG_MS, "S2: the motor runs without orders", i);
        check(panel.buttons.presses.count <= PRESS_CAPACITY, "too many presses", i);
        runs += motor, opens += opening, presses += panel.buttons.presses.count > PRESS_BACKLOG;
    }
    printf("%u steps with the motor, %u with an opening door, %u with many presses\n", runs, opens,
           presses);
    check(runs > steps / 1000 && opens > steps / 1000 && presses > 0, "the storm is idle", steps);
}

int main(int count, char **words)
{
    char line[1024];
    if (count == 2 && strcmp(words[1], "golden") == 0) {
        print_golden();
        while (fgets(line, sizeof line, stdin) != NULL)
            understand(line);
    } else if (count == 2 && strcmp(words[1], "flights") == 0) {
        flights(500);
    } else if (count == 2 && strcmp(words[1], "storm") == 0) {
        srand(1);
        storm(1000000);
    }
    return 0;
}
