#include <stddef.h>

#include "buttons.h"
#include "clock.h"

uint8_t buttons_of_chunk(enum button_kind kind, uint8_t chunk)
{
    uint8_t bits = 0;
    for (uint8_t bit = 0; bit < CHUNK_FLOORS; bit++) {
        uint16_t floor = (uint16_t)(chunk * CHUNK_FLOORS + bit);
        bool is_missing = floor >= FLOORS || (kind == HALL_UP && floor == FLOORS - 1)
            || (kind == HALL_DOWN && floor == 0);
        if (!is_missing)
            bits |= (uint8_t)(1 << bit);
    }
    return bits;
}

static struct press *press_at(struct presses *presses, uint16_t index)
{
    return &presses->ring[(presses->first + index) % PRESS_CAPACITY];
}

static bool waits(struct presses *presses, uint8_t kind, uint8_t floor)
{
    for (uint16_t i = 0; i < presses->count; i++) {
        const struct press *press = press_at(presses, i);
        if (press->kind == kind && press->floor == floor)
            return true;
    }
    return false;
}

static void press(struct presses *presses, uint8_t kind, uint8_t floor)
{
    if (presses->count >= PRESS_BACKLOG && waits(presses, kind, floor))
        return;
    *press_at(presses, presses->count++) = (struct press){.kind = kind, .floor = floor};
}

const struct press *presses_next(struct presses *presses, uint16_t *number, uint32_t repeat_ms,
                                 uint32_t now)
{
    for (uint16_t i = 0; i < presses->count && i < PRESS_WINDOW; i++) {
        struct press *press = press_at(presses, i);
        if (!press->sent || is_due(press->sent_at + repeat_ms, now)) {
            press->sent = true;
            press->sent_at = now;
            *number = (uint16_t)(presses->acknowledged + 1 + i);
            return press;
        }
    }
    return NULL;
}

void presses_acknowledge(struct presses *presses, uint16_t upto)
{
    uint16_t taken = (uint16_t)(upto - presses->acknowledged);
    if (taken > presses->count)
        return; /* Of an earlier controller, or repeated: behind is far ahead by this measure. */
    presses->first = (uint16_t)((presses->first + taken) % PRESS_CAPACITY);
    presses->count = (uint16_t)(presses->count - taken);
    presses->acknowledged = upto;
}

/* Takes one reading. True if the button has just been pressed. */
static bool read_button(struct button *button, bool reading, bool count_held)
{
    button->level = reading == button->pressed ? 0 : (uint8_t)(button->level + 1);
    if (button->level >= DEBOUNCE_SCANS) {
        button->level = 0;
        button->held = 0;
        button->pressed = reading;
        return reading;
    }
    if (count_held && button->pressed && button->held < STUCK_MS / HELD_UNIT_MS)
        button->held++;
    return false;
}

void buttons_scan(struct buttons *buttons, const struct sensors *sensors, uint32_t now)
{
    if (!is_due(buttons->scan_at, now))
        return;
    buttons->scan_at = now + SCAN_MS;
    buttons->scans = (uint8_t)((buttons->scans + 1) % (HELD_UNIT_MS / SCAN_MS));
    bool count_held = buttons->scans == 0;

    for (uint8_t kind = 0; kind < BUTTON_KINDS; kind++) {
        for (uint8_t chunk = 0; chunk < CHUNKS; chunk++) {
            uint8_t there = buttons_of_chunk((enum button_kind)kind, chunk);
            uint8_t pressed = port_buttons((enum button_kind)kind, chunk) & there;
            for (uint8_t bit = 0; bit < CHUNK_FLOORS; bit++) {
                if (!(there >> bit & 1))
                    continue;
                uint8_t floor = (uint8_t)(chunk * CHUNK_FLOORS + bit);
                if (read_button(&buttons->order[kind][floor], pressed >> bit & 1, count_held))
                    press(&buttons->presses, kind, floor);
            }
        }
    }
    if (read_button(&buttons->alarm, sensors->alarm, count_held))
        press(&buttons->presses, ALARM_BUTTON, NO_FLOOR);
    read_button(&buttons->door_open, sensors->door_open, count_held);
    read_button(&buttons->door_close, sensors->door_close, count_held);
}

uint8_t buttons_stuck(const struct buttons *buttons, enum button_kind kind, uint8_t chunk)
{
    uint8_t stuck = 0;
    for (uint8_t bit = 0; bit < CHUNK_FLOORS; bit++) {
        uint16_t floor = (uint16_t)(chunk * CHUNK_FLOORS + bit);
        if (floor < FLOORS && buttons->order[kind][floor].held >= STUCK_MS / HELD_UNIT_MS)
            stuck |= (uint8_t)(1 << bit);
    }
    return stuck;
}
