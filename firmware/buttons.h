/* Push buttons: debouncing, stuck buttons, and the presses that wait for the controller. */
#ifndef BUTTONS_H
#define BUTTONS_H

#include "port.h"

#define SCAN_MS 5          /* How often every button is read. */
#define DEBOUNCE_SCANS 4   /* So many readings in a row change a button. */
#define STUCK_MS 10000     /* Pressed for so long, a button is reported as stuck. */
#define HELD_UNIT_MS 100   /* In which the time is counted, so that it fits a byte. */
#define PRESS_WINDOW 8     /* Unacknowledged presses on the line at a time. */
#define PRESS_BACKLOG 64   /* From here on, a press that already waits is not added again. */
/* So the queue never overflows. */
#define PRESS_KINDS (BUTTON_KINDS * FLOORS + 1)
#define PRESS_CAPACITY (PRESS_BACKLOG + PRESS_KINDS)
#define ALARM_BUTTON BUTTON_KINDS /* The kind of a press of the alarm button. */

struct button {
    uint8_t level; /* How many of the last readings disagree with `pressed`. */
    uint8_t held;  /* For how long it has been pressed, in HELD_UNIT_MS. */
    bool pressed;
};

struct press {
    uint8_t kind; /* enum button_kind, or ALARM_BUTTON. */
    uint8_t floor;
    bool sent;
    uint32_t sent_at;
};

/* The presses that no controller has acknowledged, oldest first. */
struct presses {
    struct press ring[PRESS_CAPACITY];
    uint16_t first;
    uint16_t count;
    uint16_t acknowledged; /* The number of the press before the first. */
};

struct buttons {
    struct button order[BUTTON_KINDS][FLOORS];
    struct button alarm, door_open, door_close;
    struct presses presses;
    uint32_t scan_at;
    uint8_t scans; /* Since `held` was last counted. */
};

/* Which of the buttons of eight floors the shaft has. */
uint8_t buttons_of_chunk(enum button_kind kind, uint8_t chunk);

/* Reads every button, if it is time to. */
void buttons_scan(struct buttons *buttons, const struct sensors *sensors, uint32_t now);

uint8_t buttons_stuck(const struct buttons *buttons, enum button_kind kind, uint8_t chunk);

/* The next press to be sent at `now`, or NULL; it counts as sent. Its number goes to `number`. */
const struct press *presses_next(struct presses *presses, uint16_t *number, uint32_t repeat_ms,
                                 uint32_t now);

void presses_acknowledge(struct presses *presses, uint16_t upto);

#endif
