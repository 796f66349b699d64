//! Both sessions on one line, in virtual time.

mod golden;
mod interlock;

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

use self::interlock::Machinery;
use super::*;
use crate::testing::{self, boot, floor};
use crate::vocabulary::{
    Alarm, Button, Climate, Direction, Display, DoorButtons, DoorCommand, DoorState, DriveFeedback,
    FloorCount, HallLantern, KeySwitch, Kiosks, Lamps, MOST_TRIPS, MotorCommand, PanelEvent,
    PanelInputs, PanelOutputs, Side, Trip,
};

const STEP: Duration = Duration::from_millis(1);
const HEARTBEAT: Duration = Duration::from_millis(50);

fn floors() -> FloorCount {
    testing::floors(9)
}

/// What the line does to one burst of bytes.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Deliver,
    Lose,
    Double,
    /// An earlier burst of the same direction comes after it.
    Replay(usize),
    Flip(usize),
    Truncate(usize),
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Deliver),
        1 => Just(Fate::Lose),
        1 => Just(Fate::Double),
        2 => any::<usize>().prop_map(Fate::Replay),
        1 => any::<usize>().prop_map(Fate::Flip),
        1 => any::<usize>().prop_map(Fate::Truncate),
    ]
}

/// One direction of the line, which remembers everything that was sent.
#[derive(Debug, Default)]
struct Wire {
    sent: Vec<Vec<u8>>,
    /// What is on its way, and when it arrives.
    on_its_way: VecDeque<(Duration, Vec<u8>)>,
}

impl Wire {
    fn carry(&mut self, mut bytes: Vec<u8>, fate: Fate, at: Duration) {
        self.sent.push(bytes.clone());
        let bytes = match fate {
            Fate::Deliver => bytes,
            Fate::Lose => Vec::new(),
            Fate::Double => bytes.repeat(2),
            Fate::Replay(which) => [&bytes[..], &self.sent[which % self.sent.len()]].concat(),
            Fate::Flip(bit) => {
                let bit = bit % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
                bytes
            }
            Fate::Truncate(length) => {
                bytes.truncate(length % bytes.len());
                bytes
            }
        };
        self.on_its_way.push_back((at, bytes));
    }

    fn arrived(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.on_its_way.pop_front_if(|(at, _)| *at <= now).map(|(_, bytes)| bytes)
    }
}

struct Pair {
    controller: ControllerSession,
    panel: PanelSession,
    /// The wires to the panel and to the controller.
    wires: [Wire; 2],
    next_boot: u32,
    /// What the panel's sensors say, without machinery.
    inputs: PanelInputs,
    machinery: Option<Machinery>,
    delay: Duration,
    now: Duration,
    events: Vec<PanelEvent>,
}

fn controller(id: u32, now: Duration) -> ControllerSession {
    ControllerSession::new(floors(), boot(id), SessionSettings::default(), now)
}

impl Pair {
    fn new() -> Self {
        let now = Duration::ZERO;
        Self {
            controller: controller(2, now),
            panel: PanelSession::new(floors(), boot(1), HEARTBEAT, now),
            wires: [Wire::default(), Wire::default()],
            next_boot: 3,
            inputs: PanelInputs::default(),
            machinery: None,
            delay: Duration::ZERO,
            now,
            events: Vec::new(),
        }
    }

    fn restart_controller(&mut self) {
        self.controller = controller(self.next_boot, self.now);
        self.next_boot += 1;
    }

    fn restart_panel(&mut self) {
        self.panel = PanelSession::new(floors(), boot(self.next_boot), HEARTBEAT, self.now);
        self.next_boot += 1;
        // Its motor is off and its door closes.
        if let Some(machinery) = &mut self.machinery {
            machinery.command(self.panel.outputs());
        }
    }

    /// Carries what either end has to send and what arrives, in the order that [`PanelSession`]
    /// documents; fates come in turn. Returns what is unsafe (S1).
    fn exchange(&mut self, fates: &mut impl Iterator<Item = Fate>) -> Option<&'static str> {
        let (now, at) = (self.now, self.now + self.delay);
        let [to_panel, to_controller] = &mut self.wires;
        let mut fate = || fates.next().unwrap_or(Fate::Deliver);
        while let Some(bytes) = self.controller.poll_transmit(now) {
            to_panel.carry(bytes, fate(), at);
        }
        let mut machinery = self.machinery.as_mut();
        while let Some(bytes) = to_panel.arrived(now) {
            self.panel.handle_bytes(&bytes, now);
            let command = self.panel.poll_outputs().zip(machinery.as_mut());
            let fault = command.and_then(|(outputs, machinery)| machinery.command(outputs));
            if fault.is_some() {
                return fault;
            }
        }
        let inputs = machinery.map(|machinery| machinery.step(self.panel.outputs()));
        self.panel.set_inputs(inputs.unwrap_or_else(|| self.inputs.clone()));
        while let Some(bytes) = self.panel.poll_transmit(now) {
            to_controller.carry(bytes, fate(), at);
        }
        while let Some(bytes) = to_controller.arrived(now) {
            self.controller.handle_bytes(&bytes, now);
        }
        self.events.extend(std::iter::from_fn(|| self.controller.poll_event()));
        None
    }

    fn run(
        &mut self,
        time: Duration,
        fates: &mut impl Iterator<Item = Fate>,
    ) -> Option<&'static str> {
        let end = self.now + time;
        while self.now < end {
            let fault = self.exchange(fates);
            if fault.is_some() {
                return fault;
            }
            self.now += STEP;
        }
        None
    }

    fn run_clean(&mut self, time: Duration) {
        self.run(time, &mut std::iter::empty());
    }

    fn wishes(&self) -> Vec<PanelEvent> {
        let is_wish = |event: &&PanelEvent| {
            matches!(event, PanelEvent::Pressed(_) | PanelEvent::Requested(_) | PanelEvent::Alarm)
        };
        self.events.iter().filter(is_wish).cloned().collect()
    }
}

fn trip() -> Trip {
    Trip::new(floor(0), floor(5)).expect("a trip")
}

fn back() -> Trip {
    Trip::new(floor(5), floor(0)).expect("a trip")
}

fn some_outputs() -> PanelOutputs {
    PanelOutputs {
        motor: MotorCommand::Run { direction: Direction::Up, stop_at: floor(7) },
        door: DoorCommand::Close,
        lamps: Lamps {
            orders: [
                Button::Hall(floor(0), Direction::Up),
                Button::Hall(floor(8), Direction::Down),
                Button::Car(floor(7)),
            ]
            .into(),
            stop: true,
        },
        indicator: Some(floor(3)),
        lantern: HallLantern::Lit(Direction::Up),
        gong: Some(Direction::Down),
        alarm: Alarm::Sent,
        light_off: true,
        display: Display {
            position: "B3".to_owned(),
            text: "21.5 °C".to_owned(),
            brightness: Some(200),
        },
        kiosks: [(trip(), "A".to_owned()), (back(), "sixteen-letters-".to_owned())].into(),
    }
}

proptest! {
    // F5
    #[test]
    fn a_bad_line_delivers_every_press_once_and_both_ends_agree_in_the_end(
        fates in proptest::collection::vec(any_fate(), 1..400),
        presses in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0_u64..60), 1..30),
    ) {
        let mut fates = fates.into_iter();
        let mut pair = Pair::new();
        // What ends later: a trip that the kiosks show, and a stuck button.
        let ends = Kiosks::from([(Trip::new(floor(1), floor(2)).expect("a trip"), "A".into())]);
        pair.controller.set_outputs(PanelOutputs { kiosks: ends, ..PanelOutputs::default() });
        pair.inputs.stuck =
            [Button::RearCar(floor(2)), Button::Hall(floor(8), Direction::Down)].into();
        let mut all: Vec<_> = floors().buttons().map(PanelEvent::Pressed).collect();
        all.extend([Button::RearCar(floor(2)), Button::RearHall(floor(1), Direction::Up)].map(PanelEvent::Pressed));
        all.extend([trip(), back()].map(PanelEvent::Requested));
        all.push(PanelEvent::Alarm);
        let mut pressed = Vec::new();
        for (index, pause) in presses {
            let wish = index.get(&all);
            match wish {
                PanelEvent::Pressed(button) => pair.panel.press(*button),
                PanelEvent::Requested(trip) => pair.panel.request(*trip),
                PanelEvent::Alarm => pair.panel.alarm(),
                other => unreachable!("{other:?}"),
            }
            pressed.push(wish.clone());
            pair.run(Duration::from_millis(pause), &mut fates);
        }
        let mut outputs = some_outputs();
        outputs.lamps.orders.insert(Button::RearHall(floor(3), Direction::Down));
        pair.controller.set_outputs(outputs.clone());
        let inputs = PanelInputs {
            floor: Some(floor(2)),
            load: Some(30),
            door_buttons: Some(DoorButtons { close: true, ..DoorButtons::default() }),
            ..PanelInputs::default()
        };
        pair.inputs = inputs.clone();
        pair.run(Duration::from_secs(1), &mut fates);
        // The line is good from here on; what is unchanged is told again in turn.
        pair.run_clean(Duration::from_secs(4));
        prop_assert_eq!(pair.wishes(), pressed);
        prop_assert_eq!(pair.panel.pending_presses(), 0);
        prop_assert_eq!(pair.panel.outputs(), &outputs);
        let told = pair.events.iter().rev().find_map(|event| match event {
            PanelEvent::Inputs(inputs) => Some(inputs),
            _ => None,
        });
        prop_assert_eq!(told, Some(&inputs));
    }
}

#[test]
fn a_status_says_which_door_is_not_closed() {
    use DoorState::{Closed, Closing, Open, Opening};
    let both =
        Side::BOTH.into_iter().flat_map(|side| [Opening, Open, Closing].map(|it| (it, side)));
    for (door, side) in both.chain([(Closed, Side::Front)]) {
        let door_buttons = Some(DoorButtons { open_rear: true, ..DoorButtons::default() });
        let inputs = PanelInputs { door, side, door_buttons, ..PanelInputs::default() };
        let (frame, mut body) = (PanelFrame::Status(Status::of(&inputs)), Vec::new());
        frame.encode_body(&mut body);
        assert_eq!(PanelFrame::decode_body(frame.kind(), &body), Some(frame));
    }
}

/// A frame with a correct check sum and any content.
fn sealed(header: &[u8], body: &[u8]) -> Vec<u8> {
    let mut raw = [header, body].concat();
    let checksum = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(&raw);
    raw.extend_from_slice(&checksum.to_be_bytes());
    cobs::encode_vec_including_sentinels(&raw)
}

/// What this panel's next status echoes at this moment.
fn echo(panel: &mut PanelSession, now: Duration) -> Option<FrameId> {
    let mut decoder = Decoder::<PanelFrame>::new();
    let sent = std::iter::from_fn(|| panel.poll_transmit(now));
    let frames: Vec<_> = sent.flatten().filter_map(|byte| decoder.push(byte)).collect();
    let status = frames.into_iter().map(|frame| frame.expect("a frame"));
    let mut status = status.filter(|heard| matches!(heard.frame, PanelFrame::Status(_)));
    status.next().expect("a status").header.answers
}

// S1: whatever the order in which a panel's program makes its calls.
#[test]
fn a_status_echoes_no_frame_whose_effect_its_inputs_may_lack() {
    let mut panel = PanelSession::new(floors(), boot(1), HEARTBEAT, Duration::ZERO);
    let mut now = Duration::ZERO;
    let mut next = |panel: &mut PanelSession| {
        now += HEARTBEAT;
        echo(panel, now)
    };
    assert_eq!(next(&mut panel), None);
    let id = |number| FrameId { boot: boot(2), number };
    let header =
        |number| Header { id: id(number), answers: Some(FrameId { boot: boot(1), number: 0 }) };
    let hello = encode(header(7), &ControllerFrame::Hello { floors: floors() });
    panel.handle_bytes(&hello, Duration::ZERO);
    assert_eq!(next(&mut panel), None, "no outputs, no inputs");
    panel.set_inputs(PanelInputs::default());
    assert_eq!(next(&mut panel), None, "the inputs may be from before the outputs");
    panel.poll_outputs();
    assert_eq!(next(&mut panel), None, "the inputs are from before the outputs");
    panel.set_inputs(PanelInputs::default());
    assert_eq!(next(&mut panel), Some(id(7)));
    let display = encode(header(8), &ControllerFrame::Display(Display::default()));
    panel.handle_bytes(&display, Duration::ZERO);
    panel.set_inputs(PanelInputs::default());
    assert_eq!(next(&mut panel), Some(id(7)));
}

#[test]
fn a_restarted_panel_is_brought_in_line_and_not_moved_before_it_is_known() {
    let mut pair = Pair::new();
    pair.controller.set_outputs(some_outputs());
    pair.run_clean(Duration::from_millis(500));
    assert_eq!(pair.panel.outputs(), &some_outputs());
    pair.events.clear();
    pair.restart_panel();
    // The controller's heartbeat still names the old run.
    pair.now += HEARTBEAT;
    let stale = pair.controller.poll_transmit(pair.now).unwrap();
    pair.panel.handle_bytes(&stale, pair.now);
    assert_eq!(pair.panel.outputs().motor, MotorCommand::Stop);
    assert_eq!(pair.panel.controller_silent_for(pair.now), HEARTBEAT);
    pair.run_clean(Duration::from_millis(10));
    assert_eq!(pair.panel.outputs(), &some_outputs());
    assert_eq!(pair.events[0], PanelEvent::Connected);
}

// S2
#[test]
fn the_watchdog_is_fed_by_the_heartbeat_and_starves_with_the_controller() {
    let mut pair = Pair::new();
    pair.run_clean(Duration::from_secs(2));
    assert!(pair.panel.controller_silent_for(pair.now) <= HEARTBEAT + STEP);
    let lost = &mut std::iter::repeat(Fate::Lose);
    pair.run(Duration::from_secs(1), lost);
    assert!(pair.panel.controller_silent_for(pair.now) >= Duration::from_millis(900));
}

#[test]
fn a_restarted_controller_gets_the_waiting_presses_and_no_old_one() {
    let mut pair = Pair::new();
    pair.run_clean(Duration::from_millis(200));
    pair.panel.press(Button::Car(floor(1)));
    pair.run_clean(Duration::from_millis(200));
    pair.panel.press(Button::Car(floor(2)));
    pair.events.clear();
    pair.restart_controller();
    pair.run_clean(Duration::from_millis(200));
    assert_eq!(pair.wishes(), [PanelEvent::Pressed(Button::Car(floor(2)))]);
}

/// S1: everything that was ever sent comes again, to a run that has heard nothing else, and to one
/// that knows better.
#[test]
fn nothing_that_the_line_repeats_outlives_a_restart() {
    let mut pair = Pair::new();
    pair.controller.set_outputs(some_outputs());
    pair.panel.press(Button::Car(floor(1)));
    pair.run_clean(Duration::from_millis(500));
    assert_eq!(pair.panel.outputs(), &some_outputs());
    let [to_panel, to_controller] = [0, 1].map(|wire: usize| pair.wires[wire].sent.concat());
    pair.events.clear();

    pair.restart_controller();
    pair.controller.handle_bytes(&to_controller, pair.now);
    assert!(!pair.controller.is_connected());
    pair.run_clean(Duration::from_millis(50));
    pair.panel.handle_bytes(&to_panel, pair.now);
    assert_eq!(pair.panel.outputs(), &PanelOutputs::default());

    pair.restart_panel();
    pair.panel.handle_bytes(&to_panel, pair.now);
    assert_eq!(pair.panel.outputs(), &PanelOutputs::default());
    assert_eq!(pair.panel.controller_silent_for(pair.now), Duration::ZERO);
    pair.run_clean(Duration::from_millis(50));
    pair.panel.press(Button::Car(floor(2)));
    pair.run_clean(Duration::from_millis(50));
    pair.controller.handle_bytes(&to_controller, pair.now);
    pair.run_clean(Duration::from_millis(50));
    assert!(pair.controller.is_connected());
    assert_eq!(pair.wishes(), [PanelEvent::Pressed(Button::Car(floor(2)))]);
}

/// A panel repeats a press until it is acknowledged, and no later one overtakes it.
#[test]
fn a_press_of_what_no_shaft_has_keeps_no_later_one_waiting() {
    let mut pair = Pair::new();
    pair.run_clean(Duration::from_millis(100));
    pair.events.clear();
    let impossible = [(0x86, [3, 3]), (0x86, [3, 255]), (0x83, [9, 3]), (0x83, [2, 254])];
    for (sequence, (kind, named)) in (1..).zip(impossible) {
        let header = [VERSION, kind, 0, 0, 0, 1, 0, 0, 0, 100 + sequence, 0, 0, 0, 2, 0, 0, 0, 0];
        let body = [&[0, sequence], &named[..]].concat();
        pair.controller.handle_bytes(&sealed(&header, &body), pair.now);
    }
    let press = PanelFrame::Press { sequence: 5, button: Ok(Button::Car(floor(2))) };
    pair.controller.handle_bytes(&encode(header(1, 2, 105), &press), pair.now);
    let refused = pair.controller.counters().damaged;
    pair.exchange(&mut std::iter::empty());
    assert_eq!(pair.wishes(), [PanelEvent::Pressed(Button::Car(floor(2)))]);
    let is_refusal = |event: &&PanelEvent| matches!(event, PanelEvent::Refused(_));
    assert_eq!(pair.events.iter().filter(is_refusal).count(), impossible.len());
    assert_eq!(refused, 4);
}

#[test]
fn presses_without_a_controller_are_bounded() {
    let mut panel = PanelSession::new(floors(), boot(1), HEARTBEAT, Duration::ZERO);
    for _ in 0..1000 {
        for button in floors().buttons() {
            panel.press(button);
        }
    }
    assert!(panel.pending_presses() <= 64 + floors().buttons().count());
    // Nor do they flood the line.
    let frames = std::iter::from_fn(|| panel.poll_transmit(Duration::ZERO)).count();
    assert!(frames <= 12);
}

#[test]
fn the_presses_count_on_past_65535() {
    let mut pair = Pair::new();
    pair.run_clean(Duration::from_millis(100));
    for _ in 0..=u16::MAX {
        pair.panel.press(Button::Car(floor(5)));
        pair.exchange(&mut std::iter::empty());
    }
    pair.panel.press(Button::Car(floor(5)));
    pair.run_clean(STEP);
    assert_eq!(pair.wishes().len(), usize::from(u16::MAX) + 2);
}

/// The header of frame `number` of run `from`, which answers frame 42 of run `to`.
fn header(from: u32, to: u32, number: u32) -> Header {
    let id = FrameId { boot: boot(from), number };
    Header { id, answers: Some(FrameId { boot: boot(to), number: 42 }) }
}

#[test]
fn kiosks_show_a_bounded_number_of_trips() {
    let trips = floors()
        .floors()
        .flat_map(|from| floors().floors().filter_map(move |to| Trip::new(from, to)));
    let mut slots = KioskSlots::default();
    slots.show(&trips.map(|trip| (trip, "a name that is too long".into())).collect(), floors());
    assert_eq!(slots.frames().count(), MOST_TRIPS);
    for KioskSlot { shown, .. } in slots.frames() {
        assert_eq!(shown.map(|(_, car)| car.len()), Some(16));
    }
}
