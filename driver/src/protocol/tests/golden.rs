//! The bytes of the document.

use super::*;

#[test]
fn the_bytes_on_the_line_are_those_of_the_document() {
    let controller = golden_controller_frames();
    let panel = golden_panel_frames();
    let bytes: Vec<String> = controller
        .iter()
        .map(|(header, frame)| encode(*header, frame))
        .chain(panel.iter().map(|(header, frame)| encode(*header, frame)))
        .map(|bytes| hex(&bytes))
        .collect();
    assert_eq!(bytes, GOLDEN);
    let document = include_str!("../../../../docs/PANEL-PROTOCOL.md");
    for line in GOLDEN {
        assert!(document.contains(line), "missing: {line}");
    }
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

fn golden_controller_frames() -> Vec<(Header, ControllerFrame)> {
    let outputs = some_outputs();
    let header = |number| header(0xFACE_0002, 0xC0FF_EE01, number);
    vec![
        (Header { answers: None, ..header(0) }, ControllerFrame::Hello { floors: floors() }),
        (
            header(1),
            ControllerFrame::Drive(Drive {
                acknowledged: 258,
                motor: outputs.motor,
                door: outputs.door,
                indicator: outputs.indicator,
                lantern: outputs.lantern,
                stop_lamp: outputs.lamps.stop,
                alarm: outputs.alarm,
                gong: outputs.gong,
                light_off: outputs.light_off,
            }),
        ),
        (header(2), ControllerFrame::Lamps(ButtonChunk::of(&outputs.lamps.orders, floors(), 0))),
        (header(3), ControllerFrame::Display(outputs.display.clone())),
        (
            header(4),
            ControllerFrame::Kiosk(KioskSlot {
                count: 2,
                slot: 0,
                shown: Some((trip(), "A".into())),
            }),
        ),
        (header(5), ControllerFrame::Kiosk(KioskSlot { count: 0, slot: 0, shown: None })),
    ]
}

fn golden_panel_frames() -> Vec<(Header, PanelFrame)> {
    let inputs = PanelInputs {
        floor: None,
        next_stop: Some(floor(4)),
        drive: DriveFeedback::Driven(Direction::Up),
        door: DoorState::Closed,
        side: crate::vocabulary::Side::Front,
        stop: false,
        obstruction: true,
        load: Some(35),
        key: KeySwitch::Independent,
        door_buttons: Some(DoorButtons { open: true, ..DoorButtons::default() }),
        climate: Climate { temperature: Some(-5), illuminance: None },
        stuck: [Button::Hall(floor(8), Direction::Down), Button::Car(floor(8))].into(),
    };
    let header = |number| header(0xC0FF_EE01, 0xFACE_0002, number);
    vec![
        (header(0), PanelFrame::Hello { floors: floors(), acknowledged: 257, rear_door: false }),
        (header(1), PanelFrame::Status(Status::of(&inputs))),
        (
            header(2),
            PanelFrame::Press {
                sequence: 258,
                button: Ok(Button::Hall(floor(8), Direction::Down)),
            },
        ),
        (header(255), PanelFrame::Climate(inputs.climate)),
        (header(0), PanelFrame::Stuck(ButtonChunk::of(&inputs.stuck, floors(), 1))),
        (header(1), PanelFrame::Request { sequence: 259, trip: Ok(trip()) }),
        (header(2), PanelFrame::Alarm { sequence: 260 }),
    ]
}

/// The same lines stand in `docs/PANEL-PROTOCOL.md`.
const GOLDEN: [&str; 13] = [
    "00 05 03 01 fa ce 02 02 01 01 01 01 01 01 01 01 01 01 01 06 09 5e c3 f0 c9 00",
    "00 05 03 02 fa ce 02 02 01 01 06 01 c0 ff ee 01 01 01 06 2a 01 02 01 07 0b 03 01 01 01 02 01 df dd 09 9a 00",
    "00 05 03 03 fa ce 02 02 01 01 06 02 c0 ff ee 01 01 01 02 2a 02 01 06 80 3e 30 9f 90 00",
    "00 05 03 04 fa ce 02 02 01 01 06 03 c0 ff ee 01 01 01 14 2a 01 c8 02 42 33 08 32 31 2e 35 20 c2 b0 43 c2 03 29 da 00",
    "00 05 03 05 fa ce 02 02 01 01 06 04 c0 ff ee 01 01 01 03 2a 02 01 08 05 01 41 67 85 24 bf 00",
    "00 05 03 05 fa ce 02 02 01 01 06 05 c0 ff ee 01 01 01 02 2a 01 03 ff ff 05 b0 e3 0d d9 00",
    "00 07 03 81 c0 ff ee 01 01 01 01 03 fa ce 02 02 01 01 09 2a 09 01 01 a8 ca 58 59 00",
    "00 07 03 82 c0 ff ee 01 01 01 04 01 fa ce 02 02 01 01 05 2a ff 04 01 01 0b 01 01 23 01 01 01 bd 25 dd eb 00",
    "00 07 03 83 c0 ff ee 01 01 01 04 02 fa ce 02 02 01 01 0a 2a 01 02 01 08 96 41 e8 5c 00",
    "00 07 03 84 c0 ff ee 01 01 01 04 ff fa ce 02 02 01 01 04 2a 01 fb 01 05 0d 83 50 21 00",
    "00 07 03 85 c0 ff ee 01 01 01 01 03 fa ce 02 02 01 01 03 2a 08 07 01 01 c5 04 d4 67 00",
    "00 07 03 86 c0 ff ee 01 01 01 04 01 fa ce 02 02 01 01 04 2a 01 03 06 05 f7 df 6c 70 00",
    "00 07 03 87 c0 ff ee 01 01 01 04 02 fa ce 02 02 01 01 08 2a 01 04 e8 ae c3 1e 00",
];
