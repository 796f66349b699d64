#include <string.h>

#include "line.h"

void line_start(struct line *line, uint32_t boot)
{
    memset(line, 0, sizeof *line);
    line->boot = boot;
}

/* Numbers are compared modulo 2^32: half of them are ahead. */
static bool is_ahead(uint32_t number, uint32_t of)
{
    uint32_t by = number - of;
    return by != 0 && by <= UINT32_MAX / 2;
}

/* Whether this run has sent the frame since the present run of the controller took over. */
static bool is_recent(const struct line *line, struct frame_id answered)
{
    return answered.boot == line->boot
        && answered.number - line->since < line->next - line->since;
}

enum heard line_receive(struct line *line, uint8_t byte, struct frame *frame)
{
    if (!decoder_push(&line->decoder, byte, frame))
        return HEARD_NOTHING;
    if (frame->version != FRAME_VERSION)
        return HEARD_STRANGER; /* It learns this panel's version from the answer. */

    if (frame->id.boot == line->last.boot) {
        if (!is_ahead(frame->id.number, line->last.number))
            return HEARD_NOTHING; /* The line has repeated it. */
        line->last = frame->id;
    } else if (is_recent(line, frame->answers)) {
        line->last = frame->id;
        line->since = line->next;
    }
    line->heard = frame->id;
    bool is_of_present_run = frame->id.boot == line->last.boot;
    bool answers_this_run = frame->answers.boot == line->boot;
    return is_of_present_run && answers_this_run ? HEARD_FRAME : HEARD_STRANGER;
}

uint8_t line_seal(struct line *line, enum frame_type type, struct frame_id answers,
                  const uint8_t *body, uint8_t length, uint8_t wire[FRAME_WIRE_MAX])
{
    struct frame frame = {
        .version = FRAME_VERSION,
        .type = (uint8_t)type,
        .id = {.boot = line->boot, .number = line->next++},
        .answers = answers,
        .body = body,
        .length = length,
    };
    return frame_encode(&frame, wire);
}
