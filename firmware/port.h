/*
 * What a port fills in: everything that depends on the microcontroller and on the wiring.
 *
 * The rest of the panel knows no registers and no pins, and calls these functions only from
 * panel_start() and panel_step(). None of them may block. A port's main() is
 *
 *     static struct panel panel;
 *     panel_start(&panel, boot_id, port_milliseconds());
 *     for (;;) panel_step(&panel, port_milliseconds());
 *
 * with a hardware watchdog that resets the microcontroller if a step takes longer than 100 ms. Wire
 * the motor and the door so that they are off while the microcontroller is in reset.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(FLOORS) || FLOORS < 2 || FLOORS > 254
#error "give the number of floors of the shaft, 2 to 254: -DFLOORS=4"
#endif

#define NO_FLOOR 0xFF
#define CHUNK_FLOORS 8 /* Buttons and lamps of eight floors are the bits of a byte. */
#define CHUNKS ((FLOORS + CHUNK_FLOORS - 1) / CHUNK_FLOORS)

/* The values of these are the protocol's. */
enum direction { NOWHERE, UP, DOWN };
enum button_kind { HALL_UP, HALL_DOWN, CAR_CALL, BUTTON_KINDS };
enum door_command { DOOR_CLOSE, DOOR_OPEN, DOOR_NUDGE, DOOR_COMMANDS };
enum alarm { ALARM_OFF, ALARM_SENT, ALARM_ACKNOWLEDGED, ALARMS };

struct reading {
    bool known; /* There is such a sensor, and it reads something. */
    uint8_t value;
};

/* Wire the safety contacts normally closed, so that a broken wire reads as the safe state. */
struct sensors {
    uint8_t floor;        /* Whose sensor is active, below FLOORS; NO_FLOOR between floors. */
    bool vane;            /* Between two floors, where a car that stops at the next slows down. */
    bool closed;          /* The door is fully closed and locked. */
    bool open;            /* The door is fully open. */
    bool obstruction;     /* Something is in the door. */
    bool stop;            /* The stop switch is pulled. */
    bool door_open;       /* The door-open button is pressed. */
    bool door_close;
    bool alarm;           /* The alarm button is pressed. */
    uint8_t key;          /* 0 normal, 1 independent, 2 fire recall, 3 out of service, … */
    struct reading load;  /* Per cent of the rated load. */
    struct reading temperature; /* °C, as two's complement. */
    struct reading illuminance; /* 0 dark to 255. */
};

struct signals {
    uint8_t indicator;      /* Floor, or NO_FLOOR for dark. */
    enum direction lantern; /* What the arrows of all landings show. */
    uint8_t landing;        /* Whose lantern shows it too; NO_FLOOR for none. */
    enum alarm alarm;
    bool stop_lamp;
    bool gong;              /* The striker is energised. */
    bool light_off;         /* Light and fan of the car. */
};

/* Milliseconds since any moment; wraps around at 2^32. */
uint32_t port_milliseconds(void);

/* The next byte from the controller, if any: 115,200 baud, 8N1, at least 96 bytes buffered. */
bool port_receive(uint8_t *byte);
/* How many bytes port_send() takes now; at least 96 at times. */
uint8_t port_send_room(void);
void port_send(const uint8_t *bytes, uint8_t length);

void port_sensors(struct sensors *sensors);
/* Which buttons of eight floors are pressed right now: bit n is floor 8 * chunk + n. */
uint8_t port_buttons(enum button_kind kind, uint8_t chunk);
void port_lamps(enum button_kind kind, uint8_t chunk, uint8_t lit);
void port_signals(const struct signals *signals);
/* Texts are UTF-8 without a terminator. An unknown brightness is for the port to choose. */
void port_display(struct reading brightness, const uint8_t *position, uint8_t position_length,
                  const uint8_t *text, uint8_t text_length);

/* NOWHERE stops the motor and applies the brake. Slow is the speed from the vane to the floor. */
void port_motor(enum direction direction, bool fast);
/* What the door machine does. It holds a closed door closed. */
void port_door(enum door_command command);

#endif
