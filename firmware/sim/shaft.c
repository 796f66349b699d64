#include <math.h>

#include "shaft.h"

#define SLOW 0.8          /* m/s: the speed from the vane to the floor */
#define FLOOR_ZONE 0.1    /* m to either side of a floor */
#define VANE_ZONE 0.05
#define SPARE 0.2         /* m between the end of braking and the floor */
#define OVERRUN 0.3       /* m beyond the last floors */
#define STANDSTILL 0.01   /* m/s */
#define NUDGING 2.5       /* times as long as closing */

const char *const VIOLATION_NAMES[VIOLATIONS] = {
    "the motor runs with an open door",
    "the door opens while the car moves",
    "relays oppose each other",
    "the car is beyond the shaft",
};

int shaft_floor(const struct shaft *shaft)
{
    double nearest = round(shaft->position / shaft->floor_height);
    bool is_near = fabs(shaft->position - nearest * shaft->floor_height) <= FLOOR_ZONE;
    return is_near && nearest >= 0 && nearest < FLOORS ? (int)nearest : -1;
}

bool shaft_vane(const struct shaft *shaft)
{
    double below = floor(shaft->position / shaft->floor_height);
    double vane = (below + 0.5) * shaft->floor_height;
    return below >= 0 && below < FLOORS - 1 && fabs(shaft->position - vane) <= VANE_ZONE;
}

bool shaft_moves(const struct shaft *shaft)
{
    return fabs(shaft->speed) > STANDSTILL;
}

/* The fastest from which a car that brakes at a vane is slow before the floor. */
static double fast_speed(const struct shaft *shaft)
{
    double way = shaft->floor_height / 2 - SPARE;
    return fmin(shaft->speed_limit, sqrt(SLOW * SLOW + 2 * shaft->acceleration * way));
}

static void observe(struct shaft *shaft, struct relays relays)
{
    bool motor = relays.up || relays.down;
    double top = (FLOORS - 1) * shaft->floor_height;
    const bool present[VIOLATIONS] = {
        [MOTOR_WITH_OPEN_DOOR] = motor && shaft->fraction > 0,
        [DOOR_OPENS_WHILE_MOVING] = relays.open && (motor || shaft_moves(shaft)),
        [RELAYS_OPPOSED] = (relays.up && relays.down)
            || (relays.open && (relays.close || relays.nudge)),
        [BEYOND_THE_SHAFT] = shaft->position < -OVERRUN || shaft->position > top + OVERRUN,
    };
    for (int i = 0; i < VIOLATIONS; i++) {
        if (present[i] && !shaft->present[i])
            shaft->violations[i]++;
        shaft->present[i] = present[i];
    }
}

void shaft_advance(struct shaft *shaft, struct relays relays, double seconds)
{
    double wanted = 0;
    if (relays.up != relays.down)
        wanted = (relays.up ? 1 : -1) * (relays.fast ? fast_speed(shaft) : SLOW);
    double change = shaft->acceleration * seconds;
    shaft->speed += fmax(-change, fmin(change, wanted - shaft->speed));
    if (shaft->is_stuck)
        shaft->speed = 0;
    shaft->position += shaft->speed * seconds;

    bool was_open = shaft->fraction >= 1;
    if (relays.open)
        shaft->fraction += seconds / shaft->opening_time;
    else if (relays.close || relays.nudge)
        shaft->fraction -= seconds / (shaft->closing_time * (relays.nudge ? NUDGING : 1));
    shaft->fraction = fmax(0, fmin(1, shaft->fraction));
    if (!was_open && shaft->fraction >= 1) {
        shaft->openings++;
        shaft->opened_at = shaft_floor(shaft);
    }
    observe(shaft, relays);
}
