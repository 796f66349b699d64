/*
 * An emulated ATmega2560 with the panel's firmware, in a simulated car: its UART is a
 * pseudo-terminal, its pins are sensors and relays, its SPI is the chain of shift registers.
 *
 * Takes the command line and speaks the control language of `liftmesh simulate` (the part that
 * COMMANDS lists), so that the tests of simulated panels run with this one. `fault panel restart`
 * resets the microcontroller. Contacts bounce.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <simavr/avr_ioport.h>
#include <simavr/avr_spi.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>

#include "../avr/wiring.h"
#include "shaft.h"

#define MCU "atmega2560"
#define HERTZ 16000000
#define CYCLES_PER_MS (HERTZ / 1000)
#define MOST_BEHIND_MS 20 /* A machine that is busy slows the emulation down: no burst follows. */

#define OCR2A_ADDRESS 0xB3 /* The backlight's pulse width. */

/* The panel's contacts, as the bits of the chain. */
#define BITS 8
enum contact_index {
    KEYS = IN_SWITCHES * BITS,
    OPEN_BUTTON = KEYS + BIT_DOOR_OPEN,
    CLOSE_BUTTON = KEYS + BIT_DOOR_CLOSE,
    ALARM_BUTTON = KEYS + BIT_ALARM,
    CONTACTS
};
#define PRESS_MS 100
#define BOUNCE_MS 6 /* After each change of a contact, a reading is anything. */

#define CLIENTS 16
#define LINE_BYTES 128
#define STATE_BYTES 8192
#define DESERTED_MS 1000 /* A line on which no byte came for so long has no controller. */

struct contact {
    bool closed;
    long until;      /* When a press ends, or 0. */
    long changed_at;
};

struct client {
    int fd;
    char line[LINE_BYTES];
    size_t length;
};

static struct {
    const char *link, *control;
    avr_t *avr;
    long now; /* ms of emulated time */
    struct shaft shaft;
    bool stop, obstruction;
    struct contact contacts[CONTACTS];
    uint8_t shifting_in[CHAIN_BYTES], shifting_out[CHAIN_BYTES], shown[CHAIN_BYTES];
    unsigned gong_strokes;
    char text[2][LINE_BYTES];
    int text_line;

    int master, device; /* -1 while the line is unplugged. */
    long heard_at; /* For the device's exclusive access. */
    long byte_at, motor_off_at; /* When the panel last got a byte; since when the motor is off. */
    unsigned noise; /* Per cent of the bytes. */
    bool uart_is_full;
    uint8_t received[4096];
    size_t waiting, taken;
    uint8_t sent[4096];
    size_t to_send;

    int listener;
    struct client clients[CLIENTS];
} sim = {.master = -1, .device = -1};

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "emulator: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

/* The panel's contacts, and the car's pins. */

static void set_contact(int which, bool closed, long until)
{
    struct contact *contact = &sim.contacts[which];
    if (contact->closed != closed)
        contact->changed_at = sim.now;
    contact->closed = closed;
    contact->until = until;
}

static bool reads_closed(const struct contact *contact)
{
    bool bounces = contact->changed_at > 0 && sim.now < contact->changed_at + BOUNCE_MS;
    return bounces ? rand() % 2 == 0 : contact->closed;
}

static uint8_t port_of(char name)
{
    avr_ioport_state_t state;
    avr_ioctl(sim.avr, AVR_IOCTL_IOPORT_GETSTATE(name), &state);
    return state.port & state.ddr;
}

static struct relays relays(void)
{
    uint8_t on = port_of('L');
    return (struct relays){
        .up = on >> RELAY_UP & 1,
        .down = on >> RELAY_DOWN & 1,
        .fast = on >> RELAY_FAST & 1,
        .open = on >> RELAY_OPEN & 1,
        .close = on >> RELAY_CLOSE & 1,
        .nudge = on >> RELAY_NUDGE & 1,
    };
}

static void set_pins(char name, unsigned high, int count)
{
    for (int pin = 0; pin < count; pin++)
        avr_raise_irq(avr_io_getirq(sim.avr, AVR_IOCTL_IOPORT_GETIRQ(name), pin), high >> pin & 1);
}

/* Contacts to ground, against pull-ups: an open one reads high. */
static void set_sensors(void)
{
    int floor = shaft_floor(&sim.shaft);
    set_pins('A', floor < 0 ? ~0u : ~(1u << floor), BITS);
    bool open_contacts[SWITCH_PINS] = {
        [PIN_VANE] = !shaft_vane(&sim.shaft),
        [PIN_LOCKED] = sim.shaft.fraction > 0,
        [PIN_OPEN] = sim.shaft.fraction < 1,
        [PIN_BEAM] = sim.obstruction,
        [PIN_STOP] = sim.stop,
    };
    unsigned high = 0;
    for (int pin = 0; pin < SWITCH_PINS; pin++)
        high |= (unsigned)open_contacts[pin] << pin;
    set_pins('C', high, SWITCH_PINS);
}

static void step_shaft(void)
{
    sim.now++;
    for (int i = 0; i < CONTACTS; i++)
        if (sim.contacts[i].until != 0 && sim.now >= sim.contacts[i].until)
            set_contact(i, false, 0);
    struct relays on = relays();
    if (on.up || on.down)
        sim.motor_off_at = sim.now + 1;
    shaft_advance(&sim.shaft, on, 0.001);
    set_sensors();
}

/* The chain: a falling latch loads the contacts, a rising one shows what was shifted out. */
static void on_latch(struct avr_irq_t *irq, uint32_t high, void *param)
{
    (void)irq, (void)param;
    if (high) {
        bool strikes = sim.shifting_out[OUT_SIGNALS] & ~sim.shown[OUT_SIGNALS] & 1 << BIT_GONG;
        sim.gong_strokes += strikes;
        memcpy(sim.shown, sim.shifting_out, CHAIN_BYTES);
        return;
    }
    memset(sim.shifting_in, UINT8_MAX, CHAIN_BYTES);
    for (int i = 0; i < CONTACTS; i++)
        if (reads_closed(&sim.contacts[i]))
            sim.shifting_in[i / BITS] &= (uint8_t)~(1 << i % BITS);
}

static void on_spi(struct avr_irq_t *irq, uint32_t byte, void *param)
{
    (void)irq, (void)param;
    avr_irq_t *input = avr_io_getirq(sim.avr, AVR_IOCTL_SPI_GETIRQ(0), SPI_IRQ_INPUT);
    avr_raise_irq(input, sim.shifting_in[0]);
    memmove(sim.shifting_in, sim.shifting_in + 1, CHAIN_BYTES - 1);
    memmove(sim.shifting_out + 1, sim.shifting_out, CHAIN_BYTES - 1);
    sim.shifting_out[0] = (uint8_t)byte;
}

static void on_display(struct avr_irq_t *irq, uint32_t byte, void *param)
{
    (void)irq, (void)param;
    char *line = sim.text[sim.text_line];
    size_t length = strlen(line);
    if (byte == '\f')
        memset(sim.text, 0, sizeof sim.text), sim.text_line = 0;
    else if (byte == '\n')
        sim.text_line = 1;
    else if (byte >= ' ' && byte != '"' && byte != '\\' && length < LINE_BYTES - 1)
        line[length] = (char)byte;
}

/* The line. */

/* What arrives of these bytes: of the damaged ones half are lost, half have a flipped bit. */
static size_t damage(uint8_t *bytes, size_t length)
{
    size_t arrived = 0;
    for (size_t i = 0; i < length; i++) {
        bool is_damaged = (unsigned)rand() % 100 < sim.noise;
        if (is_damaged && rand() % 2)
            continue;
        bytes[arrived++] = is_damaged ? bytes[i] ^ (uint8_t)(1 << rand() % BITS) : bytes[i];
    }
    return arrived;
}

static void plug(void)
{
    char fresh[PATH_MAX];
    if (sim.master >= 0)
        return;
    sim.master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (sim.master < 0 || grantpt(sim.master) < 0 || unlockpt(sim.master) < 0)
        fail("cannot make", "a pseudo-terminal");
    /* Held open, so that the line outlives a controller. */
    sim.device = open(ptsname(sim.master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios raw;
    if (sim.device < 0 || tcgetattr(sim.device, &raw) < 0)
        fail("cannot open", ptsname(sim.master));
    cfmakeraw(&raw);
    tcsetattr(sim.device, TCSANOW, &raw);
    snprintf(fresh, sizeof fresh, "%s.new", sim.link);
    unlink(fresh);
    if (symlink(ptsname(sim.master), fresh) < 0 || rename(fresh, sim.link) < 0)
        fail("cannot link", sim.link);
}

static void unplug(void)
{
    close(sim.master);
    close(sim.device);
    sim.master = sim.device = -1;
    unlink(sim.link);
}

static void on_uart(struct avr_irq_t *irq, uint32_t byte, void *param)
{
    (void)irq, (void)param;
    if (sim.to_send < sizeof sim.sent)
        sim.sent[sim.to_send++] = (uint8_t)byte;
}

static void feed_uart(void)
{
    avr_irq_t *input = avr_io_getirq(sim.avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    while (!sim.uart_is_full && sim.taken < sim.waiting) {
        sim.byte_at = sim.now;
        avr_raise_irq(input, sim.received[sim.taken++]);
    }
}

/* Its buffer has become full, or has room again, which simavr says time and again. */
static void on_flow(struct avr_irq_t *irq, uint32_t value, void *is_full)
{
    (void)irq, (void)value;
    sim.uart_is_full = is_full != NULL;
    feed_uart();
}

static void serve_line(void)
{
    if (sim.taken == sim.waiting)
        sim.taken = sim.waiting = 0;
    if (sim.master >= 0) {
        uint8_t *to = sim.received + sim.waiting;
        ssize_t got = read(sim.master, to, sizeof sim.received - sim.waiting);
        if (got > 0) {
            sim.waiting += damage(to, (size_t)got);
            sim.heard_at = sim.now;
            feed_uart();
        } else if (sim.now >= sim.heard_at + DESERTED_MS) {
            /* The exclusive access of a killed controller would keep out the next one. */
            ioctl(sim.device, TIOCNXCL);
            tcflush(sim.device, TCIFLUSH);
            sim.heard_at = sim.now;
        }
        size_t length = damage(sim.sent, sim.to_send);
        if (length > 0 && write(sim.master, sim.sent, length) < 0 && errno != EAGAIN)
            unplug();
    }
    sim.to_send = 0;
}

/* The control socket. */

static const char *const KINDS[BUTTON_KINDS] = {"up", "down", "car"};
static const char *const KEY_WORDS[] = {"normal", "independent", "fire", "out", "attendant",
                                        "recall-all"};
static const char *const KEY_NAMES[] = {"normal", "independent", "fire recall", "out of service",
                                        "attendant", "recall all"};

struct text {
    char *at;
    size_t room;
};

static void put(struct text *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text->at, text->room, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= text->room)
        fail("too little room for", "the state");
    text->at += length;
    text->room -= (size_t)length;
}

static void put_buttons(struct text *to, const char *name, const uint8_t bits[BUTTON_KINDS])
{
    const char *comma = "";
    put(to, "\"%s\":[", name);
    for (int kind = 0; kind < BUTTON_KINDS; kind++) {
        for (int floor = 0; floor < FLOORS; floor++) {
            if (!(bits[kind] >> floor & 1))
                continue;
            const char *place = kind == CAR_CALL ? "car" : "hall";
            put(to, "%s{\"kind\":\"%s\",\"floor\":%d", comma, place, floor);
            put(to, kind == CAR_CALL ? "}" : ",\"direction\":\"%s\"}", KINDS[kind]);
            comma = ",";
        }
    }
    put(to, "],");
}

static void put_floor(struct text *to, const char *name, int floor)
{
    put(to, floor < 0 ? "\"%s\":null," : "\"%s\":%d,", name, floor);
}

static const char *word(bool condition)
{
    return condition ? "true" : "false";
}

static const char *direction(bool up, bool down)
{
    return up ? "\"up\"" : down ? "\"down\"" : "null";
}

static int key(void)
{
    for (int i = 0; i < KEY_POSITIONS; i++)
        if (sim.contacts[KEYS + i].closed)
            return i + 1;
    return 0;
}

/* As elevator_simulator::CarState. */
static void put_state(struct text *to)
{
    struct relays on = relays();
    const struct shaft *shaft = &sim.shaft;
    bool moves = shaft_moves(shaft);
    int digit = sim.shown[OUT_INDICATOR] & DARK, signals = sim.shown[OUT_SIGNALS];
    const char *door = shaft->fraction >= 1 ? "open" : on.open ? "opening"
        : shaft->fraction > 0 ? "closing" : "closed";
    const char *arrows = direction(sim.shown[OUT_INDICATOR] >> BIT_ARROW_UP & 1,
                                   sim.shown[OUT_INDICATOR] >> BIT_ARROW_DOWN & 1);
    const char *alarm = signals >> BIT_ALARM_SENT & 1 ? "sent"
        : signals >> BIT_ALARM_ACKNOWLEDGED & 1 ? "acknowledged" : "off";
    uint8_t held[BUTTON_KINDS] = {0};
    unsigned violations = 0;
    for (int i = 0; i < KEYS; i++)
        held[i / BITS] |= (uint8_t)(sim.contacts[i].closed << i % BITS);
    for (int i = 0; i < VIOLATIONS; i++)
        violations += shaft->violations[i];

    put(to, "{\"time_ms\":%ld,\"floors\":%d,\"heights\":[0", sim.now, FLOORS);
    for (int floor = 1; floor < FLOORS; floor++)
        put(to, ",%f", floor * shaft->floor_height);
    put(to, "],\"position\":%f,\"speed\":%f,", shaft->position, shaft->speed);
    put_floor(to, "floor", shaft_floor(shaft));
    put(to, "\"next_stop\":null,\"driven\":%s,\"drive_mode\":\"Levelling\",",
        direction(on.up || (moves && shaft->speed > 0), on.down || (moves && shaft->speed < 0)));
    put(to, "\"door\":\"%s\",\"side\":\"front\",\"door_fraction\":%f,\"door_lamp\":false,", door,
        shaft->fraction);
    if (shaft->openings > 0)
        put(to, "\"opening\":{\"count\":%u,\"floor\":%d,\"lantern\":%s},", shaft->openings,
            shaft->opened_at, arrows);
    put_buttons(to, "lamps", sim.shown);
    put_floor(to, "indicator", digit == DARK ? -1 : digit);
    put(to, "\"lantern\":%s,\"stop_lamp\":%s,", arrows,
        word(sim.shown[OUT_INDICATOR] >> BIT_STOP_LAMP & 1));
    put(to, "\"gong_strokes\":%u,\"alarm\":\"%s\",\"light_off\":%s,", sim.gong_strokes, alarm,
        word(signals >> BIT_LIGHT_OFF & 1));
    put(to, "\"position_text\":\"%s\",\"display_text\":\"%s\",\"display_brightness\":%d,",
        sim.text[0], sim.text[1], sim.avr->data[OCR2A_ADDRESS]);
    put(to, "\"kiosks\":[],\"stop\":%s,\"obstruction\":%s,\"key\":\"%s\",", word(sim.stop),
        word(sim.obstruction), KEY_NAMES[key()]);
    put(to, "\"door_buttons\":{\"open\":%s,\"close\":%s,\"open_rear\":false},",
        word(sim.contacts[OPEN_BUTTON].closed), word(sim.contacts[CLOSE_BUTTON].closed));
    put(to, "\"load\":null,\"temperature\":null,\"illuminance\":null,\"faults\":{\"motor\":%s,",
        shaft->is_stuck ? "\"stuck\"" : "null");
    put(to, "\"levelling\":null,\"door_jammed\":false,\"dead_sensors\":[],");
    put_buttons(to, "stuck_buttons", held);
    to->at--, to->room++; /* The comma. */
    put(to, "},\"violations\":%u,\"watchdog_stops\":0,", violations);
    /* The microcontroller's own times, which a busy machine doesn't change. */
    put(to, "\"motor\":%s,\"motor_off_ms\":%ld,\"heard_ms\":%ld}", word(on.up || on.down),
        sim.motor_off_at, sim.byte_at);
}

static void put_violations(struct text *to)
{
    const char *comma = "";
    put(to, "[");
    for (int i = 0; i < VIOLATIONS; i++) {
        if (sim.shaft.violations[i] > 0) {
            put(to, "%s\"%s, %u times\"", comma, VIOLATION_NAMES[i], sim.shaft.violations[i]);
            comma = ",";
        }
    }
    put(to, "]");
}

/* The contact of the order button that the words name, or -1. */
static int button(char **words)
{
    bool is_car = words[0] && strcmp(words[0], "car") == 0;
    if (!words[0] || !words[1] || (!is_car && (strcmp(words[0], "hall") != 0 || !words[2])))
        return -1;
    int kind = is_car ? CAR_CALL : strcmp(words[2], "up") == 0 ? HALL_UP : HALL_DOWN;
    int floor = atoi(words[1]);
    return floor < 0 || floor >= FLOORS ? -1 : kind * BITS + floor;
}

static bool turn_key(const char *position)
{
    for (int i = 0; i <= KEY_POSITIONS; i++) {
        if (strcmp(position, KEY_WORDS[i]) == 0) {
            for (int j = 1; j <= KEY_POSITIONS; j++)
                set_contact(KEYS + j - 1, j == i, 0);
            return true;
        }
    }
    return false;
}

static void reset(void)
{
    avr_reset(sim.avr);
    /* In reset the pins float; the emulator tells a pin only what changes. */
    set_pins('A', 0, BITS);
    set_pins('C', 0, SWITCH_PINS);
    set_sensors();
}

static bool fault(const char *what, const char *how)
{
    if (strcmp(what, "noise") == 0)
        sim.noise = (unsigned)atoi(how);
    else if (strcmp(what, "motor") == 0)
        sim.shaft.is_stuck = strcmp(how, "stuck") == 0;
    else if (strcmp(what, "panel") == 0)
        reset();
    else if (strcmp(what, "line") == 0 && strcmp(how, "ok") == 0)
        plug();
    else if (strcmp(what, "line") == 0 && sim.master >= 0)
        unplug();
    else
        return false;
    return true;
}

#define COMMANDS                                                                                   \
    "press|hold|release BUTTON, door-open|door-close press|release, alarm, obstruct|stop on|off, " \
    "key POSITION, fault noise|motor|panel|line …, state, violations, quit"

static bool command(char **words)
{
    const char *verb = words[0], *first = words[1];
    int which;
    if (strcmp(verb, "alarm") == 0) {
        set_contact(ALARM_BUTTON, true, sim.now + PRESS_MS);
        return true;
    }
    if (strcmp(verb, "quit") == 0)
        exit(0);
    if (first == NULL)
        return false;
    if (strcmp(verb, "press") == 0 && (which = button(words + 1)) >= 0)
        set_contact(which, true, sim.now + PRESS_MS);
    else if (strcmp(verb, "hold") == 0 && (which = button(words + 1)) >= 0)
        set_contact(which, true, 0);
    else if (strcmp(verb, "release") == 0 && (which = button(words + 1)) >= 0)
        set_contact(which, false, 0);
    else if (strcmp(verb, "door-open") == 0)
        set_contact(OPEN_BUTTON, strcmp(first, "press") == 0, 0);
    else if (strcmp(verb, "door-close") == 0)
        set_contact(CLOSE_BUTTON, strcmp(first, "press") == 0, 0);
    else if (strcmp(verb, "obstruct") == 0)
        sim.obstruction = strcmp(first, "on") == 0;
    else if (strcmp(verb, "stop") == 0)
        sim.stop = strcmp(first, "on") == 0;
    else if (strcmp(verb, "key") == 0)
        return turn_key(first);
    else if (strcmp(verb, "fault") == 0 && words[2] != NULL)
        return fault(first, words[2]);
    else
        return false;
    return true;
}

static void answer(int fd, char *line)
{
    char state[STATE_BYTES], *words[8] = {NULL}, *rest = NULL;
    struct text text = {state, sizeof state};
    size_t count = 0;
    for (char *next = line; count < 7 && (next = strtok_r(next, " \r", &rest)); next = NULL)
        words[count++] = next;
    if (count == 1 && strcmp(words[0], "state") == 0)
        put_state(&text);
    else if (count == 1 && strcmp(words[0], "violations") == 0)
        put_violations(&text);
    else if (count > 0 && command(words))
        put(&text, "ok");
    else
        put(&text, "error: not understood; there are " COMMANDS);
    put(&text, "\n");
    if (write(fd, state, sizeof state - text.room) < 0)
        return; /* It has gone, as the next read says. */
}

static void serve_client(struct client *client)
{
    ssize_t got = read(client->fd, client->line + client->length, LINE_BYTES - 1 - client->length);
    if (got <= 0) {
        close(client->fd);
        client->fd = -1;
        return;
    }
    client->length += (size_t)got;
    char *end;
    while ((end = memchr(client->line, '\n', client->length)) != NULL) {
        *end = '\0';
        answer(client->fd, client->line);
        client->length -= (size_t)(end + 1 - client->line);
        memmove(client->line, end + 1, client->length);
    }
}

static void listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    unlink(path);
    sim.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(sim.listener, (struct sockaddr *)&address, sizeof address) < 0
        || listen(sim.listener, CLIENTS) < 0)
        fail("cannot listen at", path);
    for (int i = 0; i < CLIENTS; i++)
        sim.clients[i].fd = -1;
}

/* Waits at most a millisecond, and does what has come. */
static void serve_control(void)
{
    struct pollfd polled[CLIENTS + 1] = {{.fd = sim.listener, .events = POLLIN}};
    for (int i = 0; i < CLIENTS; i++)
        polled[i + 1] = (struct pollfd){.fd = sim.clients[i].fd, .events = POLLIN};
    if (poll(polled, CLIENTS + 1, 1) <= 0)
        return;
    for (int i = 0; i < CLIENTS; i++)
        if (polled[i + 1].revents)
            serve_client(&sim.clients[i]);
    for (int i = 0; polled[0].revents && i < CLIENTS; i++) {
        if (sim.clients[i].fd < 0) {
            sim.clients[i] = (struct client){.fd = accept(sim.listener, NULL, NULL)};
            break;
        }
    }
}

/* The emulation. */

static void no_sleep(avr_t *avr, avr_cycle_count_t cycles)
{
    (void)avr, (void)cycles; /* The clock of the machine sets the pace: run(). */
}

static void load(const char *elf)
{
    elf_firmware_t firmware = {.frequency = HERTZ};
    strcpy(firmware.mmcu, MCU);
    if (elf_read_firmware(elf, &firmware) != 0)
        fail("cannot read", elf);
    sim.avr = avr_make_mcu_by_name(MCU);
    avr_init(sim.avr);
    avr_load_firmware(sim.avr, &firmware);
    sim.avr->sleep = no_sleep;

    uint32_t flags = 0;
    avr_ioctl(sim.avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_ioctl(sim.avr, AVR_IOCTL_UART_SET_FLAGS('1'), &flags);
    avr_irq_t *uart = avr_io_getirq(sim.avr, AVR_IOCTL_UART_GETIRQ('0'), 0);
    avr_irq_register_notify(uart + UART_IRQ_OUTPUT, on_uart, NULL);
    avr_irq_register_notify(uart + UART_IRQ_OUT_XON, on_flow, NULL);
    avr_irq_register_notify(uart + UART_IRQ_OUT_XOFF, on_flow, &sim);
    avr_irq_t *display = avr_io_getirq(sim.avr, AVR_IOCTL_UART_GETIRQ('1'), UART_IRQ_OUTPUT);
    avr_irq_register_notify(display, on_display, NULL);
    avr_irq_t *spi = avr_io_getirq(sim.avr, AVR_IOCTL_SPI_GETIRQ(0), SPI_IRQ_OUTPUT);
    avr_irq_register_notify(spi, on_spi, NULL);
    avr_irq_t *latch = avr_io_getirq(sim.avr, AVR_IOCTL_IOPORT_GETIRQ('B'), PIN_LATCH);
    avr_irq_register_notify(latch, on_latch, NULL);
    set_sensors();
}

static long clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void run(void)
{
    long behind, start = clock_ms();
    for (;;) {
        while ((behind = clock_ms() - start - sim.now) > 0) {
            if (behind > MOST_BEHIND_MS)
                start += behind - MOST_BEHIND_MS;
            avr_cycle_count_t until = (avr_cycle_count_t)(sim.now + 1) * CYCLES_PER_MS;
            while (sim.avr->cycle < until) {
                int state = avr_run(sim.avr);
                if (state == cpu_Done || state == cpu_Crashed)
                    fail("the microcontroller", "has crashed");
            }
            step_shaft();
            serve_line();
        }
        serve_control();
    }
}

static double milliseconds(const char *text)
{
    return atof(text) / 1000;
}

static void parse(int count, char **words)
{
    sim.shaft = (struct shaft){.floor_height = 3, .speed_limit = 2, .acceleration = 3,
                           .opening_time = 2, .closing_time = 2};
    for (int i = 1; i + 1 < count; i++) {
        const char *option = words[i], *value = words[i + 1];
        if (strcmp(option, "--serial-link") == 0)
            sim.link = value;
        else if (strcmp(option, "--control") == 0)
            sim.control = value;
        else if (strcmp(option, "--floor-height") == 0)
            sim.shaft.floor_height = atof(value);
        else if (strcmp(option, "--speed") == 0)
            sim.shaft.speed_limit = atof(value);
        else if (strcmp(option, "--acceleration") == 0)
            sim.shaft.acceleration = atof(value);
        else if (strcmp(option, "--door-opening") == 0)
            sim.shaft.opening_time = milliseconds(value);
        else if (strcmp(option, "--door-closing") == 0)
            sim.shaft.closing_time = milliseconds(value);
        else if (strcmp(option, "--floors") == 0 && atoi(value) != FLOORS)
            fprintf(stderr, "emulator: compiled for %d floors\n", FLOORS), exit(2);
        else if (strcmp(option, "--die-with-parent") == 0)
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        else
            i--; /* Not an option with a value that matters here. */
        i++;
    }
    if (sim.link == NULL || sim.control == NULL)
        fprintf(stderr, "emulator: give --serial-link and --control\n"), exit(2);
}

/* The firmware is next to this program. */
int main(int count, char **words)
{
    char elf[PATH_MAX];
    parse(count, words);
    const char *name = strrchr(words[0], '/');
    snprintf(elf, sizeof elf, "%.*spanel.elf", name ? (int)(name - words[0]) + 1 : 0, words[0]);
    signal(SIGPIPE, SIG_IGN);
    load(elf);
    plug();
    listen_at(sim.control);
    printf("panel serial://%s\ncontrol %s\n", sim.link, sim.control);
    fflush(stdout);
    run();
}
