/*
 * A panel for Liftmesh: its end of docs/PANEL-PROTOCOL.md, for any microcontroller with a UART.
 *
 *     port.h     what a port fills in: clock, UART, pins
 *     frame      bytes on the line, checksum
 *     line       which frames count
 *     car        motor, door, interlock, watchdog
 *     buttons    debouncing, presses
 *     panel      all of that together
 *
 * No heap, no interrupts, no library but memset() and its like. All state is one struct panel.
 */
#ifndef PANEL_H
#define PANEL_H

#include "buttons.h"
#include "car.h"
#include "frame.h"
#include "line.h"

#define HEARTBEAT_MS 50
#define CLIMATE_MS 1000     /* How often an unchanged climate is sent. */
#define STUCK_PERIOD_MS 1000 /* How often stuck buttons are, of eight floors in turn. */
#define DOOR_BUTTON_MS 100  /* A door button shows for two heartbeats at least: one may get lost. */
#define GONG_PHASE_MS 300   /* Of a stroke, and of the pause after it. */

#define DRIVE_BYTES 11
#define STATUS_BYTES 11
#define CLIMATE_BYTES 4
#define CHUNK_BYTES 4
#define TEXT_MAX 32
#define DISPLAY_BYTES_MAX (2 + 2 * (1 + TEXT_MAX))

struct gong {
    enum direction told;
    uint8_t phases; /* Still to come: odd ones sound. */
    uint32_t next_at;
};

struct shown_button {
    bool shown;
    uint32_t until;
};

/* What was last said, and when it is said again. */
struct report {
    bool told;
    uint8_t body[STATUS_BYTES];
    uint32_t due_at;
};

struct panel {
    struct line line;
    struct car car;
    struct buttons buttons;

    uint8_t drive[DRIVE_BYTES]; /* The last Drive, to know a repeated one. */
    uint32_t driven_at;
    struct signals signals;
    struct gong gong;
    uint8_t display[DISPLAY_BYTES_MAX];
    uint8_t display_length;

    struct frame_id echo; /* The last frame whose effect the status shows. */
    bool hello_wanted;
    struct report status;
    struct report climate;
    struct shown_button door_open, door_close;
    uint8_t stuck[CHUNKS][BUTTON_KINDS];
    uint8_t stuck_turn;
    uint32_t stuck_at;
};

/* `boot_id` names this run: not 0, and not that of an earlier run. A counter in non-volatile memory
 * does it better than a bad source of random numbers. */
void panel_start(struct panel *panel, uint32_t boot_id, uint32_t now);

/* Everything there is to do at `now`. Call it every millisecond, or more often. */
void panel_step(struct panel *panel, uint32_t now);

#endif
