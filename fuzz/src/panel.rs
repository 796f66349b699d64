//! The serial line to a panel.

use std::time::Duration;

use elevator_driver::protocol::{
    BootId, ControllerFrame, ControllerSession, Decoder, Frame, FrameId, Header, MAX_WIRE_LENGTH,
    Numbered, PanelFrame, PanelSession, SessionSettings, encode,
};
use elevator_driver::{
    Button, Climate, Direction, DoorButtons, DoorCommand, Floor, FloorCount, MotorCommand,
    PanelEvent, PanelInputs, PanelOutputs, Trip,
};

const NOW: Duration = Duration::from_secs(1);

/// What a panel sends, as a controller hears it. Frames of the controller have the same form.
pub(crate) fn panel(bytes: &[u8]) {
    let (stream, pieces) = pieces(bytes);
    assert_found(
        stream,
        &PanelFrame::Hello { floors: floors(), acknowledged: 7, rear_door: false },
    );
    assert_found(stream, &ControllerFrame::Hello { floors: floors() });
    let whole = heard_by_controller(&[stream]);
    assert_eq!(heard_by_controller(&pieces), whole, "the pieces matter");
}

/// What the controller reports, and its counters.
fn heard_by_controller(pieces: &[&[u8]]) -> (Vec<PanelEvent>, String) {
    let mut session = controller_session();
    // What the panel answers.
    session.poll_transmit(NOW).expect("a greeting");
    let mut events = Vec::new();
    for piece in pieces {
        session.handle_bytes(piece, NOW);
        events.extend(std::iter::from_fn(|| session.poll_event()));
    }
    for event in &events {
        match event {
            PanelEvent::Pressed(button) => assert!(floors().has_button(*button), "{button}"),
            PanelEvent::Requested(trip) => assert!(floors().has_trip(*trip), "{trip}"),
            PanelEvent::Inputs(inputs) => {
                let mut named = inputs.floor.into_iter().chain(inputs.next_stop);
                assert!(named.all(|floor| floors().contains(floor)), "{inputs:?}");
                assert!(inputs.stuck.iter().all(|button| floors().has_button(*button)));
            }
            PanelEvent::Refused(why) => assert!(why.len() < 100, "a log line of {}", why.len()),
            PanelEvent::Connected | PanelEvent::Disconnected(_) | PanelEvent::Alarm => {}
        }
    }
    let mut decoder = Decoder::<ControllerFrame>::new();
    let sent: Vec<_> = std::iter::from_fn(|| session.poll_transmit(NOW)).take(1000).collect();
    assert!(sent.len() < 1000, "it sends for ever");
    for bytes in sent {
        assert!(bytes.len() <= MAX_WIRE_LENGTH);
        for frame in bytes.into_iter().filter_map(|byte| decoder.push(byte)) {
            // S1
            if let ControllerFrame::Drive(drive) = frame.expect("its own frame").frame {
                let opens = drive.door != DoorCommand::Close;
                assert!(!opens || drive.motor == MotorCommand::Stop, "{drive:?}");
            }
        }
    }
    assert!(session.poll_timeout() > NOW, "it wants to be asked again at once");
    (events, format!("{:?}", session.counters()))
}

/// Frames of either direction are the same after another journey, and whatever came before, the
/// next frame is found.
fn assert_found<F: Frame + PartialEq + std::fmt::Debug + Clone>(stream: &[u8], next: &F) {
    let mut decoder = Decoder::<F>::new();
    for Numbered { header, frame } in
        stream.iter().filter_map(|byte| decoder.push(*byte)).filter_map(Result::ok)
    {
        // A body may have further bytes at its end, which nobody reads.
        let (mut decoder, bytes) = (Decoder::new(), encode(header, &frame));
        let again: Vec<_> = bytes.iter().filter_map(|byte| decoder.push(*byte)).collect();
        assert_eq!(again, [Ok(Numbered { header, frame })]);
    }
    let bytes = encode(header(9), next);
    let mut after: Vec<_> = bytes.into_iter().filter_map(|byte| decoder.push(byte)).collect();
    assert_eq!(after.pop(), Some(Ok(Numbered { header: header(9), frame: next.clone() })));
    assert!(after.len() <= 1, "the rest of the garbage is one frame at most");
}

/// What a panel and a controller say to each other, frame by frame, and the panel in one stream.
pub(crate) fn panel_seeds() -> Vec<Vec<u8>> {
    let (mut panel, mut controller) = (panel_session(), controller_session());
    panel.press(Button::Hall(floor(2), Direction::Up));
    let trip = Trip::new(floor(0), floor(3)).expect("two floors");
    panel.request(trip);
    panel.alarm();
    let (mut said, mut heard) = (Vec::new(), Vec::new());
    for step in 0..20_u32 {
        let now = NOW + Duration::from_millis(10) * step;
        panel.poll_outputs();
        panel.set_inputs(PanelInputs {
            floor: Some(floor(2)),
            climate: Climate { temperature: Some(21), illuminance: Some(90) },
            stuck: [Button::Car(floor(1))].into_iter().collect(),
            door_buttons: Some(DoorButtons::default()),
            ..PanelInputs::default()
        });
        while let Some(bytes) = panel.poll_transmit(now) {
            controller.handle_bytes(&bytes, now);
            said.push(bytes);
        }
        while let Some(bytes) = controller.poll_transmit(now) {
            panel.handle_bytes(&bytes, now);
            heard.push(bytes);
        }
    }
    let wrong = PanelFrame::Press { sequence: 2, button: Err([9, 9]) };
    said.push(encode(header(200), &wrong));
    let whole = said.concat();
    said.into_iter().chain(heard).chain([whole]).map(|frame| as_stream(&frame)).collect()
}

/// These bytes in pieces of 1 to 64 bytes, whose lengths the first four say: the rest is the
/// stream.
fn pieces(bytes: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let (lengths, stream) = bytes.split_at(bytes.len().min(4));
    let mut lengths = lengths.iter().cycle().map(|length| 1 + usize::from(length % 64));
    let (mut pieces, mut rest) = (Vec::new(), stream);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(lengths.next().unwrap_or(1).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    (stream, pieces)
}

/// A stream that arrives in pieces of very different lengths.
fn as_stream(stream: &[u8]) -> Vec<u8> {
    [&[0, 4, 63, 1], stream].concat()
}

fn floors() -> FloorCount {
    FloorCount::new(4).expect("a count")
}

fn floor(index: u8) -> Floor {
    floors().floor(index).expect("a floor")
}

fn boot(number: u32) -> BootId {
    BootId::new(number).expect("not zero")
}

fn panel_session() -> PanelSession {
    PanelSession::new(floors(), boot(0x0102_0304), Duration::from_millis(50), NOW)
}

/// A controller whose car moves, with a lamp and a kiosk.
fn controller_session() -> ControllerSession {
    let settings = SessionSettings::default();
    let mut session = ControllerSession::new(floors(), boot(0x0506_0708), settings, NOW);
    let mut outputs = PanelOutputs {
        motor: MotorCommand::Run { direction: Direction::Up, stop_at: floor(3) },
        ..PanelOutputs::default()
    };
    outputs.lamps.orders = [Button::Car(floor(3))].into_iter().collect();
    let trip = Trip::new(floor(0), floor(3)).expect("two floors");
    outputs.kiosks = [(trip, "B".to_owned())].into_iter().collect();
    session.set_outputs(outputs);
    session
}

/// The header of this frame of the panel, which answers the controller's first one.
fn header(number: u32) -> Header {
    let answers = FrameId { boot: boot(0x0506_0708), number: 0 };
    Header { id: FrameId { boot: boot(0x0102_0304), number }, answers: Some(answers) }
}
