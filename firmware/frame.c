#include "frame.h"

#define DELIMITER 0
#define NUMBER_BYTES 4
#define CRC_START 0xFFFFFFFFu
#define CRC_POLYNOMIAL 0x82F63B78u /* Castagnoli's, reflected. */

/* Bit by bit: a table would cost a kilobyte to save a tenth of a small microcontroller's time. */
static uint32_t checksum(const uint8_t *bytes, uint8_t length)
{
    uint32_t crc = CRC_START;
    for (uint8_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (uint8_t bit = 0; bit < 8; bit++)
            crc = (crc & 1) ? (crc >> 1) ^ CRC_POLYNOMIAL : crc >> 1;
    }
    return ~crc;
}

static uint8_t *put_number(uint8_t *to, uint32_t number)
{
    for (uint8_t i = 0; i < NUMBER_BYTES; i++)
        *to++ = (uint8_t)(number >> (8 * (NUMBER_BYTES - 1 - i)));
    return to;
}

static uint32_t get_number(const uint8_t *from)
{
    uint32_t number = 0;
    for (uint8_t i = 0; i < NUMBER_BYTES; i++)
        number = number << 8 | from[i];
    return number;
}

/* Each group starts with the distance to the next zero, which it replaces. */
static uint8_t stuff(const uint8_t *raw, uint8_t length, uint8_t *wire)
{
    uint8_t code_at = 0, to = 1;
    for (uint8_t i = 0; i < length; i++) {
        if (raw[i] != DELIMITER) {
            wire[to++] = raw[i];
        } else {
            wire[code_at] = (uint8_t)(to - code_at);
            code_at = to++;
        }
    }
    wire[code_at] = (uint8_t)(to - code_at);
    return to;
}

/* In place, as what comes out is shorter. */
static bool unstuff(uint8_t *bytes, uint8_t *length)
{
    uint8_t from = 0, to = 0;
    while (from < *length) {
        uint8_t group = (uint8_t)(bytes[from++] - 1);
        if (group > *length - from)
            return false;
        while (group-- > 0)
            bytes[to++] = bytes[from++];
        if (from < *length)
            bytes[to++] = DELIMITER;
    }
    *length = to;
    return true;
}

uint8_t frame_encode(const struct frame *frame, uint8_t wire[FRAME_WIRE_MAX])
{
    uint8_t raw[FRAME_HEADER + FRAME_BODY_MAX + FRAME_CHECKSUM];
    uint8_t *to = raw;
    *to++ = frame->version;
    *to++ = frame->type;
    to = put_number(to, frame->id.boot);
    to = put_number(to, frame->id.number);
    to = put_number(to, frame->answers.boot);
    to = put_number(to, frame->answers.number);
    for (uint8_t i = 0; i < frame->length; i++)
        *to++ = frame->body[i];
    to = put_number(to, checksum(raw, (uint8_t)(to - raw)));

    wire[0] = DELIMITER;
    uint8_t stuffed = stuff(raw, (uint8_t)(to - raw), wire + 1);
    wire[1 + stuffed] = DELIMITER;
    return (uint8_t)(stuffed + FRAME_DELIMITERS);
}

static bool decode(struct decoder *decoder, struct frame *frame)
{
    const uint8_t *raw = decoder->bytes;
    uint8_t length = decoder->length;
    if (!unstuff(decoder->bytes, &length) || length < FRAME_HEADER + FRAME_CHECKSUM)
        return false;
    length = (uint8_t)(length - FRAME_CHECKSUM);
    if (checksum(raw, length) != get_number(raw + length))
        return false;

    frame->version = *raw++;
    frame->type = *raw++;
    uint32_t *numbers[] = {&frame->id.boot, &frame->id.number, &frame->answers.boot,
                           &frame->answers.number};
    for (uint8_t i = 0; i < sizeof numbers / sizeof *numbers; i++, raw += NUMBER_BYTES)
        *numbers[i] = get_number(raw);
    frame->body = raw;
    frame->length = (uint8_t)(length - FRAME_HEADER);
    return frame->id.boot != 0;
}

bool decoder_push(struct decoder *decoder, uint8_t byte, struct frame *frame)
{
    if (byte != DELIMITER) {
        if (decoder->length < sizeof decoder->bytes)
            decoder->bytes[decoder->length++] = byte;
        else
            decoder->overlong = true;
        return false;
    }
    bool intact = !decoder->overlong && decode(decoder, frame);
    decoder->length = 0;
    decoder->overlong = false;
    return intact;
}
