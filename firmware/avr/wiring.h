/*
 * What is connected to which pin: for the port, and for the emulator around it.
 *
 * What moves has pins of its own. Buttons, lamps and signals are a chain of shift registers on the
 * SPI: 74HC165 in, 74HC595 out, one of each for every byte below. One latch line serves both: low
 * loads the inputs, its rising edge shows the outputs.
 *
 * Inputs are active low, against pull-ups. Floor sensors, the vane and buttons close to ground when
 * active; the other contacts open when unsafe, so that a broken wire reads as unsafe.
 */
#ifndef WIRING_H
#define WIRING_H

#include "../port.h"

#if FLOORS > 8
#error "this wiring has eight floor sensors: add a port register, and further bytes to the chain"
#endif

/* Port A has the floor sensors. Port C: */
enum switch_pin { PIN_VANE, PIN_LOCKED, PIN_OPEN, PIN_BEAM, PIN_STOP, SWITCH_PINS };
/* Port L, through a ULN2803, which is off while the pins float in reset: */
enum relay {
    RELAY_UP,
    RELAY_DOWN,
    RELAY_FAST,
    RELAY_OPEN,
    RELAY_CLOSE,
    RELAY_NUDGE,
    RELAYS
};
/* Port B: */
enum spi_pin { PIN_LATCH, PIN_SCK, PIN_MOSI, PIN_MISO, PIN_BACKLIGHT };

/* The bytes of the chain, nearest register first. The first three are the order buttons, and their
 * lamps: bit n is floor n. */
enum chain_in { IN_SWITCHES = BUTTON_KINDS };
enum chain_out { OUT_INDICATOR = BUTTON_KINDS, OUT_SIGNALS, CHAIN_BYTES };

/* Bits of IN_SWITCHES. The key has a contact for each position but the normal one. */
enum panel_switch { KEY_POSITIONS = 5, BIT_DOOR_OPEN = KEY_POSITIONS, BIT_DOOR_CLOSE, BIT_ALARM };
/* Bits of OUT_INDICATOR. The low four are the floor for a CD4511, which is dark from 10 on. */
enum indicator_bit { DARK = 0x0F, BIT_ARROW_UP = 4, BIT_ARROW_DOWN, BIT_LANDING, BIT_STOP_LAMP };
enum signal_bit { BIT_ALARM_SENT, BIT_ALARM_ACKNOWLEDGED, BIT_GONG, BIT_LIGHT_OFF };

#endif
