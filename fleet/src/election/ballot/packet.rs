//! The packets of `ballot`, byte for byte (V9).
//!
//! ```text
//!   byte        0   1          2           6           7 … 10      11
//!   control     1
//!   answer      2   °C (i8)    light (u8)
//!   information 3   °C, text, 5 bytes ──┘  °C (i8)     time (u32)  backlight (u8)
//!   vote        4   vote (u32) ────┘
//!   reset       5
//! ```
//!
//! Numbers have their most significant byte first. Text is ASCII, decimal degrees in at most four
//! characters and a NUL; what follows the NUL in the five bytes is sent as NUL and not read.
//!
//! The source has no value for what is not known. An unknown temperature is the text `--` and the
//! number −128; an unknown illuminance is 255, so a unit sends 254 for full light.
//!
//! The text and the number of an information packet differ by less than one degree.

use super::Message as Ballot;
use crate::climate::{DisplayData, Reading, temperature_text, whole_degrees};
use crate::election::Message;

/// The UDP port of the packets, unless it is set otherwise.
pub const PORT: u16 = 46101;

pub const MAX_PACKET: usize = 12;

const CONTROL: u8 = 1;
const ANSWER: u8 = 2;
const INFORMATION: u8 = 3;
const VOTE: u8 = 4;
const RESET: u8 = 5;

const UNKNOWN: i8 = i8::MIN;
const UNKNOWN_LIGHT: u8 = u8::MAX;
const UNKNOWN_TEXT: &str = "--";
const TEXT: usize = 5;
/// What rounds to a number of whole degrees that has room, −127 to 127.
const MOST_TENTHS: i16 = 1274;

/// Bytes that are no packet. The packet is dropped; the node's state is not touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// There is no such type, or not even a first byte.
    #[error("not a packet of a known type")]
    Type,
    /// The type is known, and has another length.
    #[error("a packet of type {0} does not have {1} bytes")]
    Length(u8, usize),
    /// The text of an information packet is no temperature, or another one than its number.
    #[error("an information packet whose temperature is not a number of degrees")]
    Temperature,
}

/// The bytes of a message, or `None` if there is no packet for it.
#[must_use]
pub fn encode(message: &Message) -> Option<Vec<u8>> {
    if let Message::Ballot(message) = message {
        return Some(match message {
            Ballot::Vote(vote) => [&[VOTE][..], &vote.to_be_bytes()].concat(),
            Ballot::Reset => vec![RESET],
        });
    }
    if let Message::SensorData(reading) = message {
        Some(answer(*reading))
    } else if let Message::DisplayData(data) = message {
        Some(information(data))
    } else {
        (*message == Message::SensorRequest).then(|| vec![CONTROL])
    }
}

/// The message in a packet.
///
/// # Errors
/// Anything that is not the whole of one packet.
pub fn decode(bytes: &[u8]) -> Result<Message, PacketError> {
    let [kind, body @ ..] = bytes else {
        return Err(PacketError::Type);
    };
    let message = match (*kind, body) {
        (CONTROL, []) => Some(Message::SensorRequest),
        (ANSWER, [temperature, illuminance]) => Some(measured(*temperature, *illuminance)),
        (INFORMATION, body) => match <[u8; 11]>::try_from(body) {
            Ok(body) => Some(Message::DisplayData(shown(body)?)),
            Err(_) => None,
        },
        (VOTE, body) => {
            <[u8; 4]>::try_from(body).ok().map(|vote| Ballot::Vote(u32::from_be_bytes(vote)).into())
        }
        (RESET, []) => Some(Ballot::Reset.into()),
        (CONTROL | ANSWER | RESET, _) => None,
        (_, _) => return Err(PacketError::Type),
    };
    message.ok_or(PacketError::Length(*kind, bytes.len()))
}

fn measured(temperature: u8, illuminance: u8) -> Message {
    let illuminance = Some(illuminance).filter(|number| *number != UNKNOWN_LIGHT);
    Message::SensorData(Reading { temperature: known(temperature), illuminance })
}

fn shown(body: [u8; 11]) -> Result<DisplayData, PacketError> {
    let [text @ .., _, _, _, _, _, _] = body;
    let [_, _, _, _, _, number, time @ .., brightness] = body;
    Ok(DisplayData {
        temperature: temperature(text, known(number))?,
        time: u32::from_be_bytes(time),
        brightness,
    })
}

fn answer(reading: Reading) -> Vec<u8> {
    let [temperature] = reading.temperature.unwrap_or(UNKNOWN).to_be_bytes();
    let light = reading.illuminance.map_or(UNKNOWN_LIGHT, |light| light.min(UNKNOWN_LIGHT - 1));
    vec![ANSWER, temperature, light]
}

fn information(data: &DisplayData) -> Vec<u8> {
    let most = MOST_TENTHS;
    let tenths = data.temperature.map(|tenths| tenths.clamp(-most, most));
    let degrees = tenths.and_then(|tenths| i8::try_from(whole_degrees(tenths)).ok());
    let mut bytes = vec![INFORMATION];
    bytes.extend(temperature_text(tenths).bytes());
    bytes.resize(1 + TEXT, 0);
    bytes.extend(degrees.unwrap_or(UNKNOWN).to_be_bytes());
    bytes.extend(data.time.to_be_bytes());
    bytes.push(data.brightness);
    bytes
}

fn known(byte: u8) -> Option<i8> {
    Some(i8::from_be_bytes([byte])).filter(|number| *number != UNKNOWN)
}

/// Tenths of a degree of a text, which goes with this number.
fn temperature(bytes: [u8; TEXT], number: Option<i8>) -> Result<Option<i16>, PacketError> {
    let length = bytes.iter().position(|byte| *byte == 0);
    let (text, _) = bytes.split_at(length.ok_or(PacketError::Temperature)?);
    let text = std::str::from_utf8(text).or(Err(PacketError::Temperature))?;
    if text == UNKNOWN_TEXT && number.is_none() {
        return Ok(None);
    }
    let tenths = tenths(text).ok_or(PacketError::Temperature)?;
    let whole = number.ok_or(PacketError::Temperature)?;
    let apart = tenths.abs_diff(i16::from(whole) * 10);
    if apart < 10 { Ok(Some(tenths)) } else { Err(PacketError::Temperature) }
}

/// A number as programs print one; what is finer than a tenth is cut off.
fn tenths(text: &str) -> Option<i16> {
    let text = text.trim_matches(' ');
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, decimals) = size.split_once('.').unwrap_or((size, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) {
        return None;
    }
    let tenth = decimals.get(..1)?;
    let (whole, tenth): (i16, i16) = (whole.parse().ok()?, tenth.parse().ok()?);
    let size = whole.checked_mul(10)?.checked_add(tenth)?;
    (size <= MOST_TENTHS).then_some(sign * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::codec::tests::documented;

    fn reading(temperature: Option<i8>, illuminance: Option<u8>) -> Message {
        Message::SensorData(Reading { temperature, illuminance })
    }

    fn shows(temperature: Option<i16>) -> DisplayData {
        DisplayData { temperature, time: 1_735_787_045, brightness: 200 }
    }

    /// V9
    #[test]
    fn every_packet_has_the_bytes_that_the_document_shows() {
        for (name, message) in [
            ("control", Message::SensorRequest),
            ("answer", reading(Some(-5), Some(180))),
            ("answer-unknown", reading(None, Some(180))),
            ("answer-without-light", reading(Some(21), None)),
            ("answer-full-light", reading(Some(21), Some(254))),
            ("information", Message::DisplayData(shows(Some(215)))),
            ("information-unknown", Message::DisplayData(shows(None))),
            ("vote", Ballot::Vote(0xdead_beef).into()),
            ("reset", Ballot::Reset.into()),
        ] {
            let bytes = documented(name);
            assert_eq!(encode(&message).as_ref(), Some(&bytes), "{name}");
            assert_eq!(decode(&bytes), Ok(message), "{name}");
        }
    }

    /// The bytes of an information packet with this text, padded with NULs, and number.
    fn with(text: &str, number: i8) -> Vec<u8> {
        let mut bytes = information(&shows(None));
        bytes[1..6].fill(0);
        bytes[1..=text.len()].copy_from_slice(text.as_bytes());
        bytes[6..7].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    /// V9: the source does not say how numbers are rounded, nor what follows the NUL.
    #[test]
    fn whatever_the_table_permits_is_understood() {
        for (text, number, tenths) in [
            ("21.5", 21, 215),
            ("21.9", 21, 219),
            ("-7.3", -8, -73),
            ("-0.4", 0, -4),
            ("21\0\x7f\x07", 21, 210),
            ("+3.5", 3, 35),
            (" 3.5", 3, 35),
            ("1.25", 1, 12),
            ("-127", -127, -1270),
        ] {
            let told = Message::DisplayData(shows(Some(tenths)));
            assert_eq!(decode(&with(text, number)), Ok(told), "{text:?} {number}");
        }
    }

    /// V9: at most four characters, so that a NUL ends them.
    #[test]
    fn the_temperature_is_text_and_a_number_that_go_together() {
        for (tenths, text, number) in [
            (5, "0.5", 1),
            (-4, "-0.4", 0),
            (999, "99.9", 100),
            (1000, "100", 100),
            (-125, "-13", -13),
            (i16::MAX, "127", 127),
            (i16::MIN, "-127", -127),
        ] {
            assert_eq!(information(&shows(Some(tenths)))[..7], with(text, number)[..7], "{tenths}");
        }
    }

    /// V9
    #[test]
    fn what_is_no_packet_is_refused_and_says_why() {
        for wrong in [&[][..], &[0], &[6]] {
            assert_eq!(decode(wrong), Err(PacketError::Type), "{wrong:?}");
        }
        for (kind, lengths) in [(1, [2, 3]), (2, [2, 4]), (3, [11, 13]), (4, [4, 6]), (5, [2, 3])] {
            for length in lengths {
                let refused = Err(PacketError::Length(kind, length));
                assert_eq!(decode(&vec![kind; length]), refused, "{kind} {length}");
            }
        }
        let full =
            ["21.55", "21.5\x01", "2 .5", ".", "", "+1.5", "21.", "-", "1\x001", "23.0", "21.0"];
        for text in full.into_iter().chain(["--", "21,5"]) {
            let refused = Err(PacketError::Temperature);
            assert_eq!(decode(&with(text, 22)), refused, "{text:?}");
        }
    }
}
