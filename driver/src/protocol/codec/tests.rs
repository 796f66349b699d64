use std::fmt::Debug;

use proptest::prelude::*;

use super::super::frame::{ControllerFrame, DISPLAY_BYTES, PanelFrame};
use super::*;
use crate::testing::{boot, floors};
use crate::vocabulary::Display;

fn any_id() -> impl Strategy<Value = FrameId> {
    (1_u32.., any::<u32>()).prop_map(|(id, number)| FrameId { boot: boot(id), number })
}

fn any_header() -> impl Strategy<Value = Header> {
    (any_id(), proptest::option::of(any_id())).prop_map(|(id, answers)| Header { id, answers })
}

/// Any frame of one direction: whatever a body means that is made of mostly small numbers.
fn any_frame<F: Frame + Debug>() -> impl Strategy<Value = F> {
    let byte = prop_oneof![6 => 0_u8..3, 1 => 3_u8..8, 1 => Just(0xFF), 2 => any::<u8>()];
    let body = proptest::collection::vec(byte, 24);
    F::KINDS.prop_flat_map(move |kind| {
        body.clone().prop_filter_map("no frame", move |body| F::decode_body(kind, &body))
    })
}

fn decode_all<F: Frame>(bytes: &[u8]) -> Vec<Result<Numbered<F>, FrameError>> {
    let mut decoder = Decoder::new();
    bytes.iter().filter_map(|&byte| decoder.push(byte)).collect()
}

fn intact<F: Frame>(bytes: &[u8]) -> Vec<Numbered<F>> {
    decode_all(bytes).into_iter().flatten().collect()
}

proptest! {
    #[test]
    fn every_frame_survives_the_line(
        to_panel in any_frame::<ControllerFrame>(),
        to_controller in any_frame::<PanelFrame>(),
        header in any_header(),
    ) {
        let lines = [encode(header, &to_panel), encode(header, &to_controller)];
        prop_assert!(lines.iter().all(|bytes| bytes.len() <= MAX_WIRE_LENGTH));
        prop_assert_eq!(decode_all(&lines[0]), [Ok(Numbered { header, frame: to_panel })]);
        prop_assert_eq!(decode_all(&lines[1]), [Ok(Numbered { header, frame: to_controller })]);
    }

    // F5
    #[test]
    fn overwritten_bytes_never_make_another_frame(
        frame in any_frame::<ControllerFrame>(),
        header in any_header(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = encode(header, &frame);
        let length = bytes.len();
        for (place, value) in damage {
            bytes[place.index(length)] = value;
        }
        let original = Numbered { header, frame };
        for read in intact::<ControllerFrame>(&bytes) {
            prop_assert_eq!(&read, &original);
        }
    }
}

#[test]
fn a_text_is_cut_to_32_bytes_at_a_character_boundary() {
    let long = format!("{}é", "x".repeat(31));
    let display = Display { position: long.clone(), text: long, brightness: None };
    let read = intact::<ControllerFrame>(&encode(header(), &ControllerFrame::Display(display)));
    let Some(ControllerFrame::Display(read)) = read.into_iter().next().map(|read| read.frame)
    else {
        panic!("no display frame");
    };
    for text in [read.position, read.text] {
        assert_eq!(text, "x".repeat(31));
        assert!(text.len() <= DISPLAY_BYTES);
    }
}

fn header() -> Header {
    let id = |number| FrameId { boot: boot(0xC0FF_EE01), number };
    Header { id: id(9), answers: Some(id(8)) }
}

/// The bytes of [`header`] after the type.
const HEADER: [u8; 16] = [0xC0, 0xFF, 0xEE, 1, 0, 0, 0, 9, 0xC0, 0xFF, 0xEE, 1, 0, 0, 0, 8];

/// A frame with a correct check sum and any content.
fn sealed(content: &[u8]) -> Vec<u8> {
    let mut raw = content.to_vec();
    raw.extend_from_slice(&CRC.checksum(content).to_be_bytes());
    cobs::encode_vec_including_sentinels(&raw)
}

#[test]
fn an_unknown_type_another_version_and_an_impossible_value_are_told_apart() {
    let only = |bytes: &[u8]| decode_all::<ControllerFrame>(bytes).pop();
    assert_eq!(
        only(&sealed(&[&[VERSION, 0x7F], &HEADER[..], &[1, 2, 3]].concat())),
        Some(Err(FrameError::Unknown { kind: 0x7F, id: header().id }))
    );
    assert_eq!(only(&sealed(&[1, 0x01, 9, 4])), Some(Err(FrameError::Version(1))));
    assert_eq!(
        only(&sealed(&[&[VERSION, 0x01], &HEADER[..], &[255]].concat())),
        Some(Err(FrameError::Malformed { kind: 1, id: header().id }))
    );
    assert_eq!(only(&sealed(&[VERSION])), Some(Err(FrameError::Framing)));
}

#[test]
fn further_bytes_at_the_end_of_a_body_are_skipped() {
    assert_eq!(
        intact::<ControllerFrame>(&sealed(
            &[&[VERSION, 0x01], &HEADER[..], &[4, 0xAB, 0xCD]].concat()
        )),
        [Numbered { header: header(), frame: ControllerFrame::Hello { floors: floors(4) } }]
    );
}

#[test]
fn noise_without_a_delimiter_is_not_hoarded() {
    let mut decoder = Decoder::<PanelFrame>::new();
    for _ in 0..100_000 {
        assert_eq!(decoder.push(0x55), None);
    }
    assert!(decoder.pending.len() <= MAX_WIRE_LENGTH);
    assert_eq!(decoder.push(DELIMITER), Some(Err(FrameError::Framing)));
}
