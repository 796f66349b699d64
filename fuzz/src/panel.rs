//! Both ends of the serial line to a panel.

use std::collections::VecDeque;
use std::time::Duration;

use elevator_driver::protocol::{
    BootId, ControllerFrame, ControllerSession, Decoder, Frame, FrameError, FrameId, Header,
    MAX_WIRE_LENGTH, Numbered, PanelFrame, PanelSession, SessionSettings, encode,
};
use elevator_driver::{
    Button, Climate, Direction, DoorCommand, DoorState, Floor, FloorCount, MotorCommand,
    PanelEvent, PanelInputs, PanelOutputs, Trip,
};

use crate::split::{as_stream, pieces};

const NOW: Duration = Duration::from_secs(1);

/// What a panel sends, as a controller hears it.
pub(crate) fn panel(bytes: &[u8]) {
    let (stream, pieces) = pieces(bytes);
    let hello = PanelFrame::Hello { floors: floors(), acknowledged: 7 };
    stream_of(stream, &hello);
    let whole = heard_by_controller(&[stream]);
    assert_eq!(heard_by_controller(&pieces), whole, "the pieces matter");
}

/// What the controller reports and sends.
fn heard_by_controller(pieces: &[&[u8]]) -> (Vec<PanelEvent>, String) {
    let mut session = controller_session();
    session.set_outputs(moving());
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
            PanelEvent::Inputs(inputs) => assert_inside(inputs),
            PanelEvent::Refused(why) => assert!(why.len() < 100, "a log line of {}", why.len()),
            PanelEvent::Connected | PanelEvent::Disconnected(_) => {}
        }
    }
    let mut sent = Decoder::<ControllerFrame>::new();
    let mut count = 0;
    while let Some(bytes) = session.poll_transmit(NOW) {
        assert!(bytes.len() <= MAX_WIRE_LENGTH);
        count += 1;
        assert!(count < 1000, "it sends for ever");
        for frame in bytes.into_iter().filter_map(|byte| sent.push(byte)) {
            let frame = frame.expect("its own frame").frame;
            // S1
            if let ControllerFrame::Drive(drive) = frame {
                let opens = drive.door != DoorCommand::Close;
                assert!(!opens || drive.motor == MotorCommand::Stop, "{drive:?}");
            }
        }
    }
    assert!(session.poll_timeout() > NOW, "it wants to be asked again at once");
    let counters = format!("{:?}", session.counters());
    (events, counters)
}

fn assert_inside(inputs: &PanelInputs) {
    let named = inputs.floor.into_iter().chain(inputs.next_stop);
    for floor in named {
        assert!(floors().contains(floor), "{inputs:?}");
    }
    assert!(inputs.stuck.iter().all(|button| floors().has_button(*button)), "{inputs:?}");
}

/// What a controller sends, as a panel hears it.
pub(crate) fn controller(bytes: &[u8]) {
    let (stream, pieces) = pieces(bytes);
    stream_of(stream, &ControllerFrame::Hello { floors: floors() });
    let whole = heard_by_panel(&[stream]);
    assert_eq!(heard_by_panel(&pieces), whole, "the pieces matter");
}

/// What the panel is to do.
fn heard_by_panel(pieces: &[&[u8]]) -> (PanelOutputs, usize) {
    let mut session = PanelSession::new(floors(), boot(), Duration::from_millis(50), NOW);
    session.press(Button::Hall(floor(2), Direction::Up));
    session.press(Button::Car(floor(1)));
    // What the controller answers.
    session.poll_transmit(NOW).expect("a greeting");
    for piece in pieces {
        session.handle_bytes(piece, NOW);
    }
    let outputs = session.outputs().clone();
    let named = outputs.indicator.into_iter().chain(match outputs.motor {
        MotorCommand::Run { stop_at, .. } => Some(stop_at),
        MotorCommand::Stop | MotorCommand::Home { .. } => None,
    });
    for floor in named {
        assert!(floors().contains(floor), "{outputs:?}");
    }
    assert!(outputs.lamps.orders.iter().all(|button| floors().has_button(*button)));
    assert!(outputs.kiosks.keys().all(|trip| floors().has_trip(*trip)));
    assert!(u8::try_from(outputs.kiosks.len()).is_ok());
    let mut sent = 0;
    while session.poll_transmit(NOW).is_some() {
        sent += 1;
        assert!(sent < 1000, "it sends for ever");
    }
    (outputs, session.pending_presses())
}

/// What holds of the frames of either direction.
fn stream_of<F: Frame + PartialEq + std::fmt::Debug + Clone>(stream: &[u8], next: &F) {
    let mut decoder = Decoder::<F>::new();
    for heard in stream.iter().filter_map(|byte| decoder.push(*byte)) {
        match heard {
            // A body may have further bytes at its end, which nobody reads.
            Ok(Numbered { header, frame }) => {
                let again = decoded::<F>(&encode(header, &frame));
                assert_eq!(again, [Ok(Numbered { header, frame })]);
            }
            Err(
                FrameError::Framing
                | FrameError::Checksum
                | FrameError::Version(_)
                | FrameError::Unknown { .. }
                | FrameError::Malformed { .. },
            ) => {}
        }
    }
    // Whatever came before, the next frame is found.
    let mut after: Vec<_> =
        encode(header(9), next).into_iter().filter_map(|byte| decoder.push(byte)).collect();
    assert_eq!(after.pop(), Some(Ok(Numbered { header: header(9), frame: next.clone() })));
    assert!(after.len() <= 1, "the rest of the garbage is one frame at most");
}

fn decoded<F: Frame>(bytes: &[u8]) -> Vec<Result<Numbered<F>, FrameError>> {
    let mut decoder = Decoder::new();
    bytes.iter().filter_map(|byte| decoder.push(*byte)).collect()
}

/// What a panel says to a controller, frame by frame and in one stream.
pub(crate) fn panel_seeds() -> Vec<Vec<u8>> {
    let mut panel = PanelSession::new(floors(), boot(), Duration::from_millis(50), NOW);
    panel.press(Button::Hall(floor(2), Direction::Up));
    panel.request(Trip::new(floor(0), floor(3)).expect("two floors"));
    let mut controller = controller_session();
    let mut frames: VecDeque<Vec<u8>> = VecDeque::new();
    for _ in 0..4 {
        let sent: Vec<_> = std::iter::from_fn(|| panel.poll_transmit(NOW)).collect();
        controller.handle_bytes(&sent.concat(), NOW);
        frames.extend(sent);
        let answer: Vec<_> = std::iter::from_fn(|| controller.poll_transmit(NOW)).collect();
        panel.handle_bytes(&answer.concat(), NOW);
        panel.poll_outputs();
        panel.set_inputs(panel_inputs());
    }
    let wrong = PanelFrame::Press { sequence: 2, button: Err([9, 9]) };
    frames.push_back(encode(header(200), &wrong));
    streams(frames.into_iter().collect())
}

fn panel_inputs() -> PanelInputs {
    PanelInputs {
        floor: Some(floor(2)),
        door: DoorState::Closed,
        climate: Climate { temperature: Some(21), illuminance: Some(90) },
        stuck: [Button::Car(floor(1))].into_iter().collect(),
        ..PanelInputs::default()
    }
}

/// What a controller says to a panel.
pub(crate) fn controller_seeds() -> Vec<Vec<u8>> {
    let mut panel = PanelSession::new(floors(), boot(), Duration::from_millis(50), NOW);
    let mut controller = controller_session();
    let mut outputs = moving();
    outputs.lamps.orders = [Button::Car(floor(3))].into_iter().collect();
    let trip = Trip::new(floor(0), floor(3)).expect("two floors");
    outputs.kiosks = [(trip, "B".to_owned())].into_iter().collect();
    controller.set_outputs(outputs);
    let mut frames = Vec::new();
    for step in 0..20_u32 {
        let now = NOW + Duration::from_millis(10) * step;
        panel.poll_outputs();
        panel.set_inputs(PanelInputs { floor: Some(floor(2)), ..PanelInputs::default() });
        while let Some(bytes) = panel.poll_transmit(now) {
            controller.handle_bytes(&bytes, now);
        }
        while let Some(bytes) = controller.poll_transmit(now) {
            panel.handle_bytes(&bytes, now);
            frames.push(bytes);
        }
    }
    streams(frames)
}

fn streams(frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let whole = frames.concat();
    frames.into_iter().chain([whole]).map(|frame| as_stream(&frame)).collect()
}

fn moving() -> PanelOutputs {
    PanelOutputs {
        motor: MotorCommand::Run { direction: Direction::Up, stop_at: floor(3) },
        ..PanelOutputs::default()
    }
}

fn floors() -> FloorCount {
    FloorCount::new(4).expect("a count")
}

fn floor(index: u8) -> Floor {
    floors().floor(index).expect("a floor")
}

fn boot() -> BootId {
    BootId::new(0x0102_0304).expect("not zero")
}

fn controller_boot() -> BootId {
    BootId::new(0x0506_0708).expect("not zero")
}

fn controller_session() -> ControllerSession {
    ControllerSession::new(floors(), controller_boot(), SessionSettings::default(), NOW)
}

/// The header of this frame of the panel, which answers the controller's first one.
fn header(number: u32) -> Header {
    let answers = FrameId { boot: controller_boot(), number: 0 };
    Header { id: FrameId { boot: boot(), number }, answers: Some(answers) }
}
