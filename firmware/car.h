/* Motor and door: the levelling of a two-speed drive, the interlock between the two (S1), and the
 * watchdog that stops the motor of a silent controller (S2).
 *
 * The shaft has a sensor at each floor, and a vane halfway between two. The car runs fast up to the
 * vane before its floor, slow from there, and stops where the floor's sensor becomes active.
 */
#ifndef CAR_H
#define CAR_H

#include "port.h"

#define WATCHDOG_MS 300 /* The protocol allows 250 to 500. */
/* How long after a stop of the motor the car may still move, from either speed. Measure yours. */
#define REST_AFTER_SLOW_MS 300
#define REST_AFTER_FAST_MS 1500
#define LOCKED_MS 50 /* For so long the door's contact must read closed: it bounces. */

/* The values of these are the protocol's. */
enum motor { MOTOR_STOP, MOTOR_RUN_UP, MOTOR_RUN_DOWN, MOTOR_HOME_UP, MOTOR_HOME_DOWN, MOTORS };
enum door { DOOR_IS_CLOSED, DOOR_IS_OPENING, DOOR_IS_OPEN, DOOR_IS_CLOSING };

/* What the controller wants to move. */
struct order {
    enum motor motor;
    uint8_t floor; /* Of a run; else NO_FLOOR. */
    enum door_command door;
};

/* A position in quarters of the way from one floor to the next: floor f is 4(f + 1), the vane above
 * it is 2 more, and the ways between such marks are odd. All of them are positive, even just below
 * the lowest floor. */
#define QUARTERS 4
#define UNKNOWN_POSITION 0

enum drive {
    DRIVE_RESTS,
    DRIVE_RUNS,  /* The motor is on. */
    DRIVE_BRAKES /* The motor is off, and the car may still move. */
};

struct car {
    struct order order;
    bool fed; /* The controller is not silent. A flag, as the clock wraps around. */
    uint32_t fed_at;

    enum drive drive;
    enum direction direction; /* Of a car that does not rest; NOWHERE if unknown. */
    bool fast;
    bool has_arrived; /* The run or homing that is ordered has come to its end. */
    uint32_t rests_at;
    uint16_t position;
    uint8_t next_stop; /* The nearest floor at which a running car can stop, or NO_FLOOR. */

    enum door door; /* Closed means locked. */
    bool reopening; /* For an obstruction, all the way. */
    uint32_t locks_at;
};

void car_start(struct car *car, uint32_t now);

/* Takes what the controller wants now, which feeds the watchdog. */
void car_order(struct car *car, struct order order, uint32_t now);

/* Acts on the order and the sensors. What the car then says of drive and door is true from here on,
 * even where contacts lag behind. */
void car_step(struct car *car, const struct sensors *sensors, uint32_t now);

/* Which way the motor is driven, or the car may still move. */
enum direction car_driven(const struct car *car);

#endif
