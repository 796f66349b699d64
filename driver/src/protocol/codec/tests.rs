use proptest::prelude::*;

use super::super::frame::{
    BootId, ButtonChunk, ControllerFrame, DISPLAY_BYTES, Drive, KioskSlot, PanelFrame, Press,
    Request, Status,
};
use super::*;
use crate::vocabulary::{
    Button, Climate, Direction, Display, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount,
    HallLantern, KeySwitch, MotorCommand, Trip,
};

fn floor(index: u8) -> Floor {
    Floor::try_from(index).unwrap()
}

fn floors(count: u8) -> FloorCount {
    FloorCount::new(count).unwrap()
}

fn boot(id: u32) -> BootId {
    BootId::new(id).unwrap()
}

fn any_floor() -> impl Strategy<Value = Floor> {
    (0_u8..=253).prop_map(floor)
}

fn any_id() -> impl Strategy<Value = FrameId> {
    (1_u32.., any::<u32>()).prop_map(|(id, number)| FrameId { boot: boot(id), number })
}

fn any_header() -> impl Strategy<Value = Header> {
    (any_id(), proptest::option::of(any_id())).prop_map(|(id, answers)| Header { id, answers })
}

fn any_direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Up), Just(Direction::Down)]
}

fn any_button() -> impl Strategy<Value = Button> {
    prop_oneof![
        (any_floor(), any_direction())
            .prop_map(|(floor, direction)| Button::Hall(floor, direction)),
        any_floor().prop_map(Button::Car),
    ]
}

fn any_motor() -> impl Strategy<Value = MotorCommand> {
    prop_oneof![
        Just(MotorCommand::Stop),
        (any_direction(), any_floor())
            .prop_map(|(direction, stop_at)| MotorCommand::Run { direction, stop_at }),
        any_direction().prop_map(|direction| MotorCommand::Home { direction }),
    ]
}

fn any_drive() -> impl Strategy<Value = Drive> {
    (
        any::<u16>(),
        any_motor(),
        prop_oneof![Just(DoorCommand::Close), Just(DoorCommand::Open), Just(DoorCommand::Nudge)],
        proptest::option::of(any_floor()),
        proptest::option::of(any_direction()),
        any::<bool>(),
    )
        .prop_map(|(acknowledged, motor, door, indicator, lantern, stop_lamp)| Drive {
            acknowledged,
            motor,
            door,
            indicator,
            lantern: lantern.map_or(HallLantern::Dark, HallLantern::Lit),
            stop_lamp,
        })
}

fn any_chunk() -> impl Strategy<Value = ButtonChunk> {
    (proptest::collection::btree_set(any_button(), 0..100), 2_u8..=254, 0_u8..=31)
        .prop_map(|(buttons, count, index)| ButtonChunk::of(&buttons, floors(count), index))
}

fn any_controller_frame() -> impl Strategy<Value = ControllerFrame> {
    prop_oneof![
        (2_u8..=254).prop_map(|count| ControllerFrame::Hello { floors: floors(count) }),
        any_drive().prop_map(ControllerFrame::Drive),
        any_chunk().prop_map(ControllerFrame::Lamps),
        ("\\PC{0,8}", any::<Option<u8>>()).prop_map(|(text, brightness)| {
            ControllerFrame::Display(Display { text, brightness })
        }),
        (1_u8..=32, any::<u8>(), any_floor(), any_floor(), "\\PC{0,4}").prop_map(
            |(count, slot, from, to, car)| {
                let shown = Trip::new(from, to).map(|trip| (trip, car));
                ControllerFrame::Kiosk(KioskSlot { count, slot: slot % count, shown })
            }
        ),
    ]
}

fn any_status() -> impl Strategy<Value = Status> {
    (
        (any::<bool>(), any::<bool>()),
        proptest::option::of(any_floor()),
        proptest::option::of(any_floor()),
        proptest::option::of(any_direction()),
        prop_oneof![
            Just(DoorState::Closed),
            Just(DoorState::Opening),
            Just(DoorState::Open),
            Just(DoorState::Closing)
        ],
        any::<Option<u8>>(),
        proptest::sample::select(&KeySwitch::ALL[..]),
    )
        .prop_map(|((stop, obstruction), floor, next_stop, drive, door, load, key)| Status {
            floor,
            next_stop,
            drive: drive.map_or(DriveFeedback::Stopped, DriveFeedback::Driven),
            door,
            stop,
            obstruction,
            load,
            key,
        })
}

fn any_panel_frame() -> impl Strategy<Value = PanelFrame> {
    prop_oneof![
        (2_u8..=254, any::<u16>()).prop_map(|(count, acknowledged)| {
            PanelFrame::Hello { floors: floors(count), acknowledged }
        }),
        any_status().prop_map(PanelFrame::Status),
        (any::<u16>(), any_button()).prop_map(|(sequence, button)| {
            PanelFrame::Press(Press { sequence, button: Ok(button) })
        }),
        (any::<u16>(), any_floor(), any_floor()).prop_map(|(sequence, from, to)| {
            let trip = Trip::new(from, to).ok_or([from.index(), to.index()]);
            PanelFrame::Request(Request { sequence, trip })
        }),
        (any::<Option<i8>>(), any::<Option<u8>>()).prop_map(|(temperature, illuminance)| {
            PanelFrame::Climate(Climate { temperature, illuminance })
        }),
        any_chunk().prop_map(PanelFrame::Stuck),
    ]
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
    fn every_controller_frame_survives_the_line(frame in any_controller_frame(), header in any_header()) {
        let bytes = encode(header, &frame);
        prop_assert!(bytes.len() <= MAX_WIRE_LENGTH);
        prop_assert_eq!(decode_all(&bytes), vec![Ok(Numbered { header, frame })]);
    }

    #[test]
    fn every_panel_frame_survives_the_line(frame in any_panel_frame(), header in any_header()) {
        let bytes = encode(header, &frame);
        prop_assert!(bytes.len() <= MAX_WIRE_LENGTH);
        prop_assert_eq!(decode_all(&bytes), vec![Ok(Numbered { header, frame })]);
    }

    // F5
    #[test]
    fn flipped_bits_never_make_another_frame(
        frame in any_panel_frame(),
        header in any_header(),
        flips in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
    ) {
        let mut bytes = encode(header, &frame);
        let bits = bytes.len() * 8;
        for flip in flips {
            let bit = flip.index(bits);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let original = Numbered { header, frame };
        for read in intact::<PanelFrame>(&bytes) {
            prop_assert_eq!(&read, &original);
        }
    }

    // F5
    #[test]
    fn overwritten_bytes_never_make_another_frame(
        frame in any_controller_frame(),
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

    // F5
    #[test]
    fn the_frame_right_after_garbage_is_read(
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        frame in any_panel_frame(),
        header in any_header(),
    ) {
        let mut bytes = garbage;
        bytes.extend(encode(header, &frame));
        let last = decode_all(&bytes).pop();
        prop_assert_eq!(last, Some(Ok(Numbered { header, frame })));
    }
}

#[test]
fn a_text_is_cut_to_32_bytes_at_a_character_boundary() {
    let display = Display { text: format!("{}é", "x".repeat(31)), brightness: None };
    let read = intact::<ControllerFrame>(&encode(header(), &ControllerFrame::Display(display)));
    let Some(ControllerFrame::Display(read)) = read.into_iter().next().map(|read| read.frame)
    else {
        panic!("no display frame");
    };
    assert_eq!(read.text, "x".repeat(31));
    assert!(read.text.len() <= DISPLAY_BYTES);
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
