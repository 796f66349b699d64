/* From a frame to the bytes on the line and back: docs/PANEL-PROTOCOL.md, "A frame". */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_VERSION 3
#define FRAME_WIRE_MAX 96 /* With its delimiters; receivers drop longer ones. */
#define FRAME_DELIMITERS 2
#define FRAME_HEADER 18
#define FRAME_CHECKSUM 4
/* COBS adds one byte to a frame that is shorter than 254. */
#define FRAME_BODY_MAX (FRAME_WIRE_MAX - FRAME_DELIMITERS - 1 - FRAME_HEADER - FRAME_CHECKSUM)

enum frame_type {
    FRAME_CONTROLLER_HELLO = 0x01,
    FRAME_DRIVE,
    FRAME_LAMPS,
    FRAME_DISPLAY,
    FRAME_KIOSK,
    FRAME_PANEL_HELLO = 0x81,
    FRAME_STATUS,
    FRAME_PRESS,
    FRAME_CLIMATE,
    FRAME_STUCK,
    FRAME_REQUEST,
    FRAME_ALARM
};

/* One frame of one run of an end. Boot id 0 is no frame. */
struct frame_id {
    uint32_t boot;
    uint32_t number;
};

struct frame {
    uint8_t version;
    uint8_t type;
    struct frame_id id;
    struct frame_id answers;
    const uint8_t *body;
    uint8_t length; /* Of the body, at most FRAME_BODY_MAX. */
};

/* Finds frames in a stream of bytes. Zeroed, it is ready; it is in step again at the delimiter that
 * follows any garbage. */
struct decoder {
    uint8_t bytes[FRAME_WIRE_MAX - FRAME_DELIMITERS];
    uint8_t length;
    bool overlong;
};

/* Writes a frame with its delimiters; returns the number of bytes. */
uint8_t frame_encode(const struct frame *frame, uint8_t wire[FRAME_WIRE_MAX]);

/* Takes one byte. True if it completed an intact frame, whose body is valid until the next byte. */
bool decoder_push(struct decoder *decoder, uint8_t byte, struct frame *frame);

#endif
