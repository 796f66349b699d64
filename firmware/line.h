/* Which frames of the other end count, on a line that loses, damages and repeats what it carries:
 * docs/PANEL-PROTOCOL.md, "Numbers and boot ids". */
#ifndef LINE_H
#define LINE_H

#include "frame.h"

struct line {
    struct decoder decoder;
    uint32_t boot;         /* This run of the panel. */
    uint32_t next;         /* The number of the next own frame. */
    uint32_t since;        /* That of the first one since the present run of the controller. */
    struct frame_id last;  /* The last frame of that run that was used. */
    struct frame_id heard; /* The last frame that was not behind, of any run. */
};

enum heard {
    HEARD_NOTHING,
    HEARD_STRANGER, /* A run that has not answered this one: a Hello asks it to. */
    HEARD_FRAME     /* Intact, new, and an answer to this run. */
};

void line_start(struct line *line, uint32_t boot);

enum heard line_receive(struct line *line, uint8_t byte, struct frame *frame);

/* Numbers and encodes the next frame of this run; returns its length on the wire. */
uint8_t line_seal(struct line *line, enum frame_type type, struct frame_id answers,
                  const uint8_t *body, uint8_t length, uint8_t wire[FRAME_WIRE_MAX]);

#endif
