/* A shaft with one car, its door and its sensors, and an observer of what a panel does to them. */
#ifndef SHAFT_H
#define SHAFT_H

#include <stdbool.h>
#include <stdint.h>

/* What the panel's relays switch. */
struct relays {
    bool up, down, fast, open, close, nudge;
};

enum violation {
    MOTOR_WITH_OPEN_DOOR,
    DOOR_OPENS_WHILE_MOVING,
    RELAYS_OPPOSED,
    BEYOND_THE_SHAFT,
    VIOLATIONS
};

struct shaft {
    double floor_height;  /* m */
    double speed_limit;   /* m/s, fast */
    double acceleration;  /* m/s², also of the brake */
    double opening_time;  /* s */
    double closing_time;  /* s */
    bool is_stuck;        /* The motor moves nothing. */

    double position;      /* m above the lowest floor */
    double speed;         /* m/s, upwards positive */
    double fraction;      /* Of the door: 0 closed, 1 open. */
    unsigned openings;    /* How often the door came to stand fully open. */
    int opened_at;        /* The floor at which it last did. */
    bool present[VIOLATIONS];
    unsigned violations[VIOLATIONS];
};

extern const char *const VIOLATION_NAMES[VIOLATIONS];

void shaft_advance(struct shaft *shaft, struct relays relays, double seconds);
int shaft_floor(const struct shaft *shaft); /* Whose sensor is active, or -1. */
bool shaft_vane(const struct shaft *shaft);
bool shaft_moves(const struct shaft *shaft);

#endif
