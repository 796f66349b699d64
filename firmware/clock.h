/* Moments in milliseconds, which wrap around after 49 days. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a moment, at most 24 days away, has come. What may stay unasked for longer needs a flag
 * of its own. */
static inline bool is_due(uint32_t at, uint32_t now)
{
    return now - at <= UINT32_MAX / 2;
}

#endif
