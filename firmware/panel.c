#include <string.h>

#include "clock.h"
#include "panel.h"

#define KEYS 6          /* Positions of the key switch. */
#define OPEN_BUTTON 1   /* Bits of the door buttons. */
#define CLOSE_BUTTON 2

void panel_start(struct panel *panel, uint32_t boot_id, uint32_t now)
{
    memset(panel, 0, sizeof *panel);
    line_start(&panel->line, boot_id);
    car_start(&panel->car, now);
    panel->signals.indicator = NO_FLOOR;
    panel->signals.landing = NO_FLOOR;
    panel->hello_wanted = true;
    panel->buttons.scan_at = now;
    panel->status.due_at = now;
    panel->climate.due_at = now;
    panel->stuck_at = now;
}

/* What the controller says. A frame with an invalid value, or none of this shaft, is dropped. */

static bool is_floor(uint8_t value)
{
    return value < FLOORS;
}

static void handle_drive(struct panel *panel, const uint8_t *body, uint8_t length, uint32_t now)
{
    if (length < DRIVE_BYTES)
        return;
    /* Unsigned, as a shift into the sign of an int of 16 bits is undefined. */
    uint16_t acknowledged = (uint16_t)((unsigned)body[0] << 8 | body[1]);
    uint8_t motor = body[2], floor = body[3], door = body[4], indicator = body[5];
    uint8_t lantern = body[6], stop_lamp = body[7], alarm = body[8], gong = body[9];
    uint8_t light_off = body[10];
    bool is_run = motor == MOTOR_RUN_UP || motor == MOTOR_RUN_DOWN;
    bool is_valid = motor < MOTORS && (is_run ? is_floor(floor) : floor == NO_FLOOR)
        && door < DOOR_COMMANDS && (is_floor(indicator) || indicator == NO_FLOOR)
        && lantern <= DOWN && stop_lamp <= 1 && alarm < ALARMS && gong <= DOWN && light_off <= 1;
    if (!is_valid)
        return;

    /* A controller that repeats itself early has missed a status. */
    bool is_early = panel->car.fed && !is_due(panel->driven_at + HEARTBEAT_MS * 3 / 4, now);
    if (is_early && memcmp(panel->drive, body, DRIVE_BYTES) == 0)
        panel->status.due_at = now;
    memcpy(panel->drive, body, DRIVE_BYTES);
    panel->driven_at = now;

    presses_acknowledge(&panel->buttons.presses, acknowledged);
    struct order order = {(enum motor)motor, floor, (enum door_command)door};
    car_order(&panel->car, order, now);
    panel->signals.indicator = indicator;
    panel->signals.lantern = (enum direction)lantern;
    panel->signals.stop_lamp = stop_lamp;
    panel->signals.alarm = (enum alarm)alarm;
    panel->signals.light_off = light_off;
    if (gong != panel->gong.told) {
        panel->gong.told = (enum direction)gong;
        panel->gong.phases = (uint8_t)(2 * gong); /* Once for up, twice for down. */
        panel->gong.next_at = now;
    }
}

static void handle_lamps(const uint8_t *body, uint8_t length)
{
    if (length < CHUNK_BYTES || body[0] % CHUNK_FLOORS != 0 || !is_floor(body[0]))
        return;
    uint8_t chunk = body[0] / CHUNK_FLOORS;
    for (uint8_t kind = 0; kind < BUTTON_KINDS; kind++) {
        uint8_t there = buttons_of_chunk((enum button_kind)kind, chunk);
        port_lamps((enum button_kind)kind, chunk, body[1 + kind] & there);
    }
}

static void handle_display(struct panel *panel, const uint8_t *body, uint8_t length)
{
    const uint8_t *end = body + length, *position = body + 2;
    if (position >= end || *position > TEXT_MAX || position + 1 + *position >= end)
        return;
    const uint8_t *text = position + 1 + *position;
    if (*text > TEXT_MAX || text + 1 + *text > end || body[0] > 1 || (!body[0] && body[1]))
        return;
    uint8_t used = (uint8_t)(text + 1 + *text - body);
    if (used == panel->display_length && memcmp(panel->display, body, used) == 0)
        return; /* Repeated: slow displays are not written again. */
    memcpy(panel->display, body, used);
    panel->display_length = used;
    struct reading brightness = {.known = body[0], .value = body[1]};
    port_display(brightness, position + 1, *position, text + 1, *text);
}

static void handle_frame(struct panel *panel, const struct frame *frame, uint32_t now)
{
    switch (frame->type) {
    case FRAME_CONTROLLER_HELLO:
        panel->hello_wanted = true;
        break;
    case FRAME_DRIVE:
        handle_drive(panel, frame->body, frame->length, now);
        break;
    case FRAME_LAMPS:
        handle_lamps(frame->body, frame->length);
        break;
    case FRAME_DISPLAY:
        handle_display(panel, frame->body, frame->length);
        break;
    default: /* Kiosks, which this panel does not have, and what later versions add. */
        break;
    }
}

static void receive(struct panel *panel, uint32_t now)
{
    uint8_t byte;
    struct frame frame;
    while (port_receive(&byte)) {
        switch (line_receive(&panel->line, byte, &frame)) {
        case HEARD_NOTHING:
            break;
        case HEARD_STRANGER:
            panel->hello_wanted = true;
            break;
        case HEARD_FRAME:
            handle_frame(panel, &frame, now);
            break;
        }
    }
}

/* What passengers see and hear. */

static bool step_gong(struct gong *gong, uint32_t now)
{
    if (gong->phases > 0 && is_due(gong->next_at, now)) {
        gong->phases--;
        gong->next_at = now + GONG_PHASE_MS;
    }
    return gong->phases % 2 == 1;
}

static void step_signals(struct panel *panel, const struct sensors *sensors, uint32_t now)
{
    struct signals *signals = &panel->signals;
    signals->gong = step_gong(&panel->gong, now);
    signals->landing = panel->car.door == DOOR_IS_CLOSED ? NO_FLOOR : sensors->floor;
    if (!panel->car.fed)
        signals->light_off = false; /* Nobody knows whether the car is empty. */
    port_signals(signals);
}

/* What the panel says. */

static bool send(struct panel *panel, enum frame_type type, const uint8_t *body, uint8_t length)
{
    uint8_t wire[FRAME_WIRE_MAX];
    bool is_hello = type == FRAME_PANEL_HELLO;
    struct frame_id answers = is_hello ? panel->line.heard : panel->echo;
    port_send(wire, line_seal(&panel->line, type, answers, body, length, wire));
    return true;
}

static bool send_hello(struct panel *panel, uint32_t now)
{
    if (!panel->hello_wanted)
        return false;
    panel->hello_wanted = false;
    panel->status.due_at = now;
    panel->climate.due_at = now;
    uint16_t acknowledged = panel->buttons.presses.acknowledged;
    const uint8_t body[] = {FLOORS, (uint8_t)(acknowledged >> 8), (uint8_t)acknowledged};
    return send(panel, FRAME_PANEL_HELLO, body, sizeof body);
}

static bool send_press(struct panel *panel, uint32_t now)
{
    uint16_t number;
    const struct press *press =
        presses_next(&panel->buttons.presses, &number, HEARTBEAT_MS / 2, now);
    if (press == NULL)
        return false;
    const uint8_t body[] = {(uint8_t)(number >> 8), (uint8_t)number, press->kind, press->floor};
    if (press->kind == ALARM_BUTTON)
        return send(panel, FRAME_ALARM, body, sizeof number);
    return send(panel, FRAME_PRESS, body, sizeof body);
}

static bool send_report(struct panel *panel, struct report *report, enum frame_type type,
                        const uint8_t *body, uint8_t length, uint32_t period_ms, uint32_t now)
{
    bool is_news = !report->told || memcmp(report->body, body, length) != 0;
    if (!is_news && !is_due(report->due_at, now))
        return false;
    report->told = true;
    report->due_at = now + period_ms;
    memcpy(report->body, body, length);
    return send(panel, type, body, length);
}

static bool shows(struct shown_button *shown, const struct button *button, uint32_t now)
{
    if (button->pressed && !shown->shown)
        shown->until = now + DOOR_BUTTON_MS;
    else if (button->pressed && is_due(shown->until, now))
        shown->until = now; /* However long it is held. */
    shown->shown = button->pressed || (shown->shown && !is_due(shown->until, now));
    return shown->shown;
}

static uint8_t value_of(struct reading reading)
{
    return reading.known ? reading.value : 0;
}

static bool send_status(struct panel *panel, const struct sensors *sensors, uint32_t now)
{
    uint8_t door_buttons = 0;
    if (shows(&panel->door_open, &panel->buttons.door_open, now))
        door_buttons |= OPEN_BUTTON;
    if (shows(&panel->door_close, &panel->buttons.door_close, now))
        door_buttons |= CLOSE_BUTTON;
    const uint8_t body[STATUS_BYTES] = {
        sensors->floor,
        panel->car.next_stop,
        (uint8_t)car_driven(&panel->car),
        (uint8_t)panel->car.door,
        sensors->stop,
        sensors->obstruction,
        sensors->load.known,
        value_of(sensors->load),
        sensors->key < KEYS ? sensors->key : 0,
        true, /* There are door buttons. */
        door_buttons,
    };
    return send_report(panel, &panel->status, FRAME_STATUS, body, sizeof body, HEARTBEAT_MS, now);
}

static bool send_climate(struct panel *panel, const struct sensors *sensors, uint32_t now)
{
    const uint8_t body[CLIMATE_BYTES] = {
        sensors->temperature.known,
        value_of(sensors->temperature),
        sensors->illuminance.known,
        value_of(sensors->illuminance),
    };
    return send_report(panel, &panel->climate, FRAME_CLIMATE, body, sizeof body, CLIMATE_MS, now);
}

static bool send_stuck(struct panel *panel, uint32_t now)
{
    bool is_turn = is_due(panel->stuck_at, now);
    for (uint8_t chunk = 0; chunk < CHUNKS; chunk++) {
        uint8_t body[CHUNK_BYTES] = {(uint8_t)(chunk * CHUNK_FLOORS)};
        for (uint8_t kind = 0; kind < BUTTON_KINDS; kind++)
            body[1 + kind] = buttons_stuck(&panel->buttons, (enum button_kind)kind, chunk);
        bool is_news = memcmp(panel->stuck[chunk], body + 1, BUTTON_KINDS) != 0;
        if (!is_news && !(is_turn && chunk == panel->stuck_turn))
            continue;
        if (!is_news) {
            panel->stuck_at = now + STUCK_PERIOD_MS;
            panel->stuck_turn = (uint8_t)((panel->stuck_turn + 1) % CHUNKS);
        }
        memcpy(panel->stuck[chunk], body + 1, BUTTON_KINDS);
        return send(panel, FRAME_STUCK, body, sizeof body);
    }
    return false;
}

/* Presses and changes first, and nothing that the UART could not take. */
static void transmit(struct panel *panel, const struct sensors *sensors, uint32_t now)
{
    bool has_sent = true;
    while (has_sent && port_send_room() >= FRAME_WIRE_MAX)
        has_sent = send_hello(panel, now) || send_press(panel, now)
            || send_status(panel, sensors, now) || send_climate(panel, sensors, now)
            || send_stuck(panel, now);
}

void panel_step(struct panel *panel, uint32_t now)
{
    struct sensors sensors;
    receive(panel, now);
    port_sensors(&sensors);
    car_step(&panel->car, &sensors, now);
    /* Only now does the status show what the last frame has done, which the controller relies on
     * before it opens a door or starts the motor (S1). */
    panel->echo = panel->line.last;
    buttons_scan(&panel->buttons, &sensors, now);
    step_signals(panel, &sensors, now);
    transmit(panel, &sensors, now);
}
