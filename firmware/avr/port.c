/* The port to an ATmega2560 at 16 MHz, as on an Arduino Mega. wiring.h says which pin is what. */
#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>
#include <string.h>
#include <util/atomic.h>

#include "panel.h"
#include "wiring.h"

#define PANEL_BAUD_DIVISOR 16    /* 117,647 baud with U2X: 2.1 % more than 115,200. */
#define DISPLAY_BAUD_DIVISOR 207 /* 9,600 baud with U2X. */
#define TICKS_PER_MS 250         /* Of timer 0, which counts every 64 cycles. */
#define RING_BYTES 256           /* So that indices of one byte wrap around by themselves. */

struct ring {
    /* Volatile, so that a byte is there before the index that counts it. */
    volatile uint8_t bytes[RING_BYTES];
    volatile uint8_t first, end; /* Each is written by one side only. */
};

static struct {
    struct ring received, to_send, to_display;
    volatile uint32_t milliseconds;
    uint8_t in[CHAIN_BYTES], out[CHAIN_BYTES];
} port;

/* How many runs there were; it names the present one. Each start wears one cell of the EEPROM,
 * which bears 100,000. */
static uint32_t EEMEM stored_runs;

static bool ring_take(struct ring *ring, uint8_t *byte)
{
    if (ring->first == ring->end)
        return false;
    *byte = ring->bytes[ring->first];
    ring->first++;
    return true;
}

static uint8_t ring_room(const struct ring *ring)
{
    return (uint8_t)(ring->first - ring->end - 1);
}

static void ring_put(struct ring *ring, uint8_t byte)
{
    ring->bytes[ring->end] = byte;
    ring->end++;
}

ISR(TIMER0_COMPA_vect)
{
    port.milliseconds++;
}

ISR(USART0_RX_vect)
{
    uint8_t byte = UDR0;
    if (ring_room(&port.received) > 0) /* Else the checksum finds the gap. */
        ring_put(&port.received, byte);
}

ISR(USART0_UDRE_vect)
{
    uint8_t byte;
    if (ring_take(&port.to_send, &byte))
        UDR0 = byte;
    else
        UCSR0B &= (uint8_t)~_BV(UDRIE0);
}

ISR(USART1_UDRE_vect)
{
    uint8_t byte;
    if (ring_take(&port.to_display, &byte))
        UDR1 = byte;
    else
        UCSR1B &= (uint8_t)~_BV(UDRIE1);
}

uint32_t port_milliseconds(void)
{
    uint32_t now;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        now = port.milliseconds;
    }
    return now;
}

bool port_receive(uint8_t *byte)
{
    return ring_take(&port.received, byte);
}

uint8_t port_send_room(void)
{
    return ring_room(&port.to_send);
}

void port_send(const uint8_t *bytes, uint8_t length)
{
    while (length-- > 0)
        ring_put(&port.to_send, *bytes++);
    UCSR0B |= _BV(UDRIE0);
}

/* Shows what was written since the last time, and reads every button. */
static void shift_chain(void)
{
    PORTB &= (uint8_t)~_BV(PIN_LATCH);
    PORTB |= _BV(PIN_LATCH);
    for (uint8_t i = 0; i < CHAIN_BYTES; i++) {
        SPDR = port.out[CHAIN_BYTES - 1 - i]; /* The first byte goes through to the far end. */
        while (!(SPSR & _BV(SPIF)))
            ;
        port.in[i] = (uint8_t)~SPDR;
    }
}

static bool is_low(uint8_t pins, uint8_t pin)
{
    return !(pins >> pin & 1);
}

/* The lowest of the bits that are set, or `none`. */
static uint8_t lowest_bit(uint8_t bits, uint8_t count, uint8_t none)
{
    for (uint8_t bit = 0; bit < count; bit++)
        if (bits >> bit & 1)
            return bit;
    return none;
}

void port_sensors(struct sensors *sensors)
{
    shift_chain();
    uint8_t pins = PINC, panel = port.in[IN_SWITCHES];
    memset(sensors, 0, sizeof *sensors);
    sensors->floor = lowest_bit((uint8_t)~PINA, FLOORS, NO_FLOOR);
    sensors->vane = is_low(pins, PIN_VANE);
    sensors->closed = is_low(pins, PIN_LOCKED);
    sensors->open = is_low(pins, PIN_OPEN);
    sensors->obstruction = !is_low(pins, PIN_BEAM);
    sensors->stop = !is_low(pins, PIN_STOP);
    sensors->door_open = panel >> BIT_DOOR_OPEN & 1;
    sensors->door_close = panel >> BIT_DOOR_CLOSE & 1;
    sensors->alarm = panel >> BIT_ALARM & 1;
    /* A contact for each position but the normal one. */
    sensors->key = (uint8_t)(lowest_bit(panel, KEY_POSITIONS, UINT8_MAX) + 1);
}

uint8_t port_buttons(enum button_kind kind, uint8_t chunk)
{
    (void)chunk; /* There is only one. */
    return port.in[kind];
}

void port_lamps(enum button_kind kind, uint8_t chunk, uint8_t lit)
{
    (void)chunk;
    port.out[kind] = lit;
}

static uint8_t bit_if(bool condition, uint8_t bit)
{
    return condition ? (uint8_t)_BV(bit) : 0;
}

void port_signals(const struct signals *signals)
{
    uint8_t digit = signals->indicator < DARK ? signals->indicator : DARK;
    port.out[OUT_INDICATOR] = digit | bit_if(signals->lantern == UP, BIT_ARROW_UP)
        | bit_if(signals->lantern == DOWN, BIT_ARROW_DOWN)
        | bit_if(signals->landing != NO_FLOOR, BIT_LANDING)
        | bit_if(signals->stop_lamp, BIT_STOP_LAMP);
    port.out[OUT_SIGNALS] = bit_if(signals->alarm == ALARM_SENT, BIT_ALARM_SENT)
        | bit_if(signals->alarm == ALARM_ACKNOWLEDGED, BIT_ALARM_ACKNOWLEDGED)
        | bit_if(signals->gong, BIT_GONG) | bit_if(signals->light_off, BIT_LIGHT_OFF);
}

static void display(const uint8_t *bytes, uint8_t length)
{
    while (length-- > 0 && ring_room(&port.to_display) > 0)
        ring_put(&port.to_display, *bytes++);
}

/* For a serial display: a form feed clears it, and the text is on its second line. */
void port_display(struct reading brightness, const uint8_t *position, uint8_t position_length,
                  const uint8_t *text, uint8_t text_length)
{
    OCR2A = brightness.known ? brightness.value : UINT8_MAX;
    display((const uint8_t *)"\f", 1);
    display(position, position_length);
    display((const uint8_t *)"\r\n", 2);
    display(text, text_length);
    UCSR1B |= _BV(UDRIE1);
}

/* All relays of the group change at once, so that no two oppose each other. */
static void set_relays(uint8_t group, uint8_t on)
{
    PORTL = (uint8_t)((PORTL & ~group) | on);
}

void port_motor(enum direction direction, bool fast)
{
    set_relays(_BV(RELAY_UP) | _BV(RELAY_DOWN) | _BV(RELAY_FAST),
               bit_if(direction == UP, RELAY_UP) | bit_if(direction == DOWN, RELAY_DOWN)
                   | bit_if(direction != NOWHERE && fast, RELAY_FAST));
}

void port_door(enum door_command command)
{
    set_relays(_BV(RELAY_OPEN) | _BV(RELAY_CLOSE) | _BV(RELAY_NUDGE),
               bit_if(command == DOOR_OPEN, RELAY_OPEN) | bit_if(command == DOOR_CLOSE, RELAY_CLOSE)
                   | bit_if(command == DOOR_NUDGE, RELAY_NUDGE));
}

static uint32_t count_run(void)
{
    uint32_t run = eeprom_read_dword(&stored_runs) + 1;
    if (run == 0) /* A new chip counts to this, which names no run. */
        run = 1;
    /* The highest byte first: if the power fails in between, the next run gets a higher number. */
    for (uint8_t i = sizeof run; i-- > 0;)
        eeprom_update_byte((uint8_t *)&stored_runs + i, (uint8_t)(run >> (8 * i)));
    return run;
}

static void start(void)
{
    DDRL = (1 << RELAYS) - 1;
    PORTA = UINT8_MAX;
    PORTC = (1 << SWITCH_PINS) - 1;
    DDRB = _BV(PIN_LATCH) | _BV(PIN_SCK) | _BV(PIN_MOSI) | _BV(PIN_BACKLIGHT);
    PORTB = _BV(PIN_LATCH) | _BV(PIN_MISO);
    SPCR = _BV(SPE) | _BV(MSTR) | _BV(SPR0); /* 1 MHz, mode 0. */

    TCCR0A = _BV(WGM01);
    TCCR0B = _BV(CS01) | _BV(CS00);
    OCR0A = TICKS_PER_MS - 1;
    TIMSK0 = _BV(OCIE0A);
    TCCR2A = _BV(COM2A1) | _BV(WGM21) | _BV(WGM20); /* The backlight's pulse width. */
    TCCR2B = _BV(CS22);

    UCSR0A = _BV(U2X0);
    UBRR0 = PANEL_BAUD_DIVISOR;
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
    UCSR1A = _BV(U2X1);
    UBRR1 = DISPLAY_BAUD_DIVISOR;
    UCSR1C = _BV(UCSZ11) | _BV(UCSZ10);
    UCSR1B = _BV(TXEN1);

    /* A start writes to the EEPROM, which takes longer than the watchdog allows a step. */
    MCUSR = 0; /* Else a reset by the watchdog would keep it on, at 15 ms. */
    wdt_disable();
}

int main(void)
{
    static struct panel panel;
    start();
    uint32_t run = count_run();
    wdt_enable(WDTO_120MS);
    sei();
    panel_start(&panel, run, port_milliseconds());
    for (;;) {
        panel_step(&panel, port_milliseconds());
        wdt_reset();
        sleep_mode(); /* Until the next byte or millisecond. */
    }
}
