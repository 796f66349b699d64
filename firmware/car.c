#include <string.h>

#include "car.h"
#include "clock.h"

#define TOP_FLOOR (FLOORS - 1)

void car_start(struct car *car, uint32_t now)
{
    memset(car, 0, sizeof *car);
    car->order.floor = NO_FLOOR;
    car->position = UNKNOWN_POSITION;
    car->next_stop = NO_FLOOR;
    /* Nobody knows what the car did before: it may move, and its door may be open. */
    car->drive = DRIVE_BRAKES;
    car->rests_at = now + REST_AFTER_FAST_MS;
    car->door = DOOR_IS_CLOSING;
    car->locks_at = now + LOCKED_MS;
}

void car_order(struct car *car, struct order order, uint32_t now)
{
    if (order.motor != car->order.motor || order.floor != car->order.floor)
        car->has_arrived = false;
    car->order = order;
    car->fed = true;
    car->fed_at = now;
}

enum direction car_driven(const struct car *car)
{
    return car->drive == DRIVE_RESTS ? NOWHERE : car->direction;
}

static enum direction direction_of(enum motor motor)
{
    switch (motor) {
    case MOTOR_RUN_UP:
    case MOTOR_HOME_UP:
        return UP;
    case MOTOR_RUN_DOWN:
    case MOTOR_HOME_DOWN:
        return DOWN;
    case MOTOR_STOP:
    case MOTORS:
        break;
    }
    return NOWHERE;
}

/* Follows the car past floor sensors and vanes. */
static void locate(struct car *car, const struct sensors *sensors)
{
    if (sensors->floor != NO_FLOOR) {
        car->position = (uint16_t)((sensors->floor + 1) * QUARTERS);
        return;
    }
    bool was_at_vane = car->position % QUARTERS == QUARTERS / 2;
    bool was_between = car->position % 2 != 0;
    bool is_where_it_was = sensors->vane ? was_at_vane : was_between;
    if (car->position == UNKNOWN_POSITION || is_where_it_was)
        return;
    if (car_driven(car) == NOWHERE) {
        car->position = UNKNOWN_POSITION; /* Somebody moves it by hand. */
    } else if (sensors->vane && was_between) {
        /* There is one vane between two floors, from whichever side the car comes. */
        car->position = (uint16_t)(car->position / QUARTERS * QUARTERS + QUARTERS / 2);
    } else {
        int step = sensors->vane ? QUARTERS / 2 : 1;
        car->position = (uint16_t)(car->position + (car->direction == UP ? step : -step));
    }
}

/* The nearest floor at which a car that goes this way can stop: a fast one slows down at the vane
 * before a floor. */
static uint8_t nearest_stop(const struct car *car)
{
    if (car->position == UNKNOWN_POSITION)
        return NO_FLOOR;
    int16_t position = (int16_t)car->position, ahead = car->fast ? QUARTERS / 2 : 0;
    int16_t floor = (int16_t)(car->direction == UP
                                  ? (position + ahead) / QUARTERS
                                  : (position - ahead + QUARTERS - 1) / QUARTERS - 2);
    if (floor < 0)
        return 0;
    return floor > TOP_FLOOR ? TOP_FLOOR : (uint8_t)floor;
}

/* Where a running car is to come to rest: NO_FLOOR for the first floor whose sensor it finds. */
static uint8_t stop_of(const struct car *car)
{
    uint8_t nearest = nearest_stop(car), floor = car->order.floor;
    if (nearest == NO_FLOOR || floor == NO_FLOOR)
        return floor;
    bool is_too_near = car->direction == UP ? floor < nearest : floor > nearest;
    return is_too_near ? nearest : floor;
}

static bool is_at_stop(const struct car *car, const struct sensors *sensors, uint8_t stop)
{
    bool is_at_end = sensors->floor == (car->direction == UP ? TOP_FLOOR : 0);
    return sensors->floor != NO_FLOOR && (stop == NO_FLOOR || sensors->floor == stop || is_at_end);
}

static bool is_before_vane_of(const struct car *car, uint8_t stop)
{
    if (car->position == UNKNOWN_POSITION || stop == NO_FLOOR)
        return false;
    uint16_t level = (uint16_t)((stop + 1) * QUARTERS);
    return car->direction == UP ? car->position < level - QUARTERS / 2
                                : car->position > level + QUARTERS / 2;
}

static void brake(struct car *car, uint8_t at, uint32_t now)
{
    car->drive = DRIVE_BRAKES;
    car->rests_at = now + (car->fast ? REST_AFTER_FAST_MS : REST_AFTER_SLOW_MS);
    car->fast = false;
    car->next_stop = at;
}

/* Which way the motor is to run: NOWHERE unless everything permits it (S1, S2). */
static enum direction wanted(const struct car *car, const struct sensors *sensors)
{
    bool may_run = car->fed && !sensors->stop && car->door == DOOR_IS_CLOSED
        && car->order.door != DOOR_OPEN;
    return may_run && !car->has_arrived ? direction_of(car->order.motor) : NOWHERE;
}

static void step_drive(struct car *car, const struct sensors *sensors, uint32_t now)
{
    enum direction wants = wanted(car, sensors);
    /* After a reset nobody knows whether the car moves; but not at a floor with an open door. */
    bool is_unknown = car->direction == NOWHERE;
    bool never_moved = is_unknown && sensors->floor != NO_FLOOR && !sensors->closed;
    if (car->drive == DRIVE_BRAKES && (is_due(car->rests_at, now) || never_moved)) {
        car->drive = DRIVE_RESTS;
        car->next_stop = NO_FLOOR;
    }
    /* In the same step: a car that only turns round is never said to rest. */
    if (car->drive == DRIVE_RESTS && wants != NOWHERE) {
        car->direction = wants;
        car->has_arrived = is_at_stop(car, sensors, car->order.floor);
        car->drive = car->has_arrived ? DRIVE_RESTS : DRIVE_RUNS;
    }

    /* With the position before this step: a car at a vane has not passed it. */
    uint8_t stop = stop_of(car);
    locate(car, sensors);
    if (car->drive == DRIVE_RUNS) {
        if (wants != car->direction) {
            brake(car, NO_FLOOR, now);
        } else if (is_at_stop(car, sensors, stop)) {
            brake(car, sensors->floor, now);
            car->has_arrived = true;
        } else {
            car->fast = is_before_vane_of(car, stop);
            car->next_stop = nearest_stop(car);
        }
    }
    port_motor(car->drive == DRIVE_RUNS ? car->direction : NOWHERE, car->fast);
}

static void step_door(struct car *car, const struct sensors *sensors, uint32_t now)
{
    enum door_command command = car->order.door;
    bool is_closed = car->door == DOOR_IS_CLOSED;
    /* S1: a closed door opens only at a floor, and none while the car may move. */
    bool may_open = car->drive == DRIVE_RESTS && (!is_closed || sensors->floor != NO_FLOOR);
    bool is_held = command == DOOR_CLOSE && !is_closed && (sensors->obstruction || car->reopening);
    bool opens = may_open && (command == DOOR_OPEN || is_held);
    car->reopening = opens && is_held && !sensors->open;
    port_door(opens ? DOOR_OPEN : command == DOOR_NUDGE ? DOOR_NUDGE : DOOR_CLOSE);

    if (opens || !sensors->closed)
        car->locks_at = now + LOCKED_MS;
    if (opens)
        car->door = sensors->open ? DOOR_IS_OPEN : DOOR_IS_OPENING;
    else if (!sensors->closed)
        car->door = DOOR_IS_CLOSING;
    else if (!is_closed) /* Once it is closed nobody asks for the moment, which wraps around. */
        car->door = is_due(car->locks_at, now) ? DOOR_IS_CLOSED : DOOR_IS_CLOSING;
}

void car_step(struct car *car, const struct sensors *sensors, uint32_t now)
{
    if (car->fed && is_due(car->fed_at + WATCHDOG_MS, now))
        car->fed = false;
    step_door(car, sensors, now);
    step_drive(car, sensors, now);
}
