use super::*;
use crate::protocol::codec::{Decoder, FrameId, encode};
use crate::testing::{boot, floor, floors, run};
use crate::vocabulary::{Button, Direction, Kiosks, Trip};

const BOOT: u32 = 0x1234_5678;

const OWN: u32 = 0x9ABC_DEF0;

/// The panel's end as plain frames, so that each one can be chosen.
struct Bench {
    session: ControllerSession,
    decoder: Decoder<ControllerFrame>,
    boot: u32,
    number: u32,
    /// The frame that the panel's next one answers.
    echo: u32,
    now: Duration,
}

impl Bench {
    fn new() -> Self {
        let now = Duration::from_secs(1);
        let settings = SessionSettings::default();
        Self {
            session: ControllerSession::new(floors(9), boot(OWN), settings, now),
            decoder: Decoder::new(),
            boot: BOOT,
            number: 0,
            echo: 0,
            now,
        }
    }

    fn connected() -> Self {
        let mut bench = Self::new();
        assert_eq!(bench.sent(), [ControllerFrame::Hello { floors: floors(9) }]);
        bench.hear(&hello(9));
        bench.hear(&status(&PanelInputs::default()));
        assert_eq!(
            bench.events(),
            [PanelEvent::Connected, PanelEvent::Inputs(PanelInputs::default())]
        );
        bench.sent();
        bench
    }

    fn hear(&mut self, frame: &PanelFrame) {
        let id = FrameId { boot: boot(self.boot), number: self.number };
        let answers = Some(FrameId { boot: boot(OWN), number: self.echo });
        let bytes = encode(Header { id, answers }, frame);
        self.number += 1;
        self.session.handle_bytes(&bytes, self.now);
    }

    fn events(&mut self) -> Vec<PanelEvent> {
        std::iter::from_fn(|| self.session.poll_event()).collect()
    }

    fn sent(&mut self) -> Vec<ControllerFrame> {
        let bytes: Vec<u8> =
            std::iter::from_fn(|| self.session.poll_transmit(self.now)).flatten().collect();
        bytes
            .iter()
            .filter_map(|&byte| self.decoder.push(byte))
            .map(|read| read.unwrap().frame)
            .collect()
    }

    fn sent_drives(&mut self) -> Vec<Drive> {
        let drives = self.sent().into_iter().filter_map(|frame| match frame {
            ControllerFrame::Drive(drive) => Some(drive),
            _ => None,
        });
        drives.collect()
    }

    /// Lets time pass up to the session's own next deadline.
    fn wait(&mut self) {
        self.now = self.session.poll_timeout();
    }
}

fn hello(count: u8) -> PanelFrame {
    PanelFrame::Hello { floors: floors(count), acknowledged: 0, rear_door: false }
}

fn status(inputs: &PanelInputs) -> PanelFrame {
    PanelFrame::Status(Status::of(inputs))
}

fn press(sequence: PressSequence, button: Button) -> PanelFrame {
    PanelFrame::Press { sequence, button: Ok(button) }
}

fn run_up() -> PanelOutputs {
    run(Direction::Up, 5)
}

#[test]
fn a_changed_output_is_sent_at_once_and_told_again_at_each_heartbeat() {
    let mut bench = Bench::connected();
    assert_eq!(bench.sent(), []);
    bench.session.set_outputs(run_up());
    let drives = bench.sent_drives();
    assert_eq!(drives.len(), 1);
    assert_eq!(drives[0].motor, run_up().motor);
    assert_eq!(bench.sent(), []);
    bench.wait();
    assert_eq!(bench.now, Duration::from_millis(1050));
    assert_eq!(bench.sent_drives(), drives);
}

fn trips(of: &[(u8, u8)]) -> Kiosks {
    let trip = |(from, to): &(u8, u8)| Trip::new(floor(*from), floor(*to)).expect("a trip");
    of.iter().map(|ends| (trip(ends), "A".to_owned())).collect()
}

/// A line takes seconds to show every kiosk what it shows already.
#[test]
fn a_trip_that_comes_or_goes_is_all_that_is_sent_of_the_kiosks() {
    let mut bench = Bench::connected();
    let mut show = |of: &[(u8, u8)]| -> Vec<(u8, u8, Option<u8>)> {
        let outputs = PanelOutputs { kiosks: trips(of), ..PanelOutputs::default() };
        bench.session.set_outputs(outputs);
        let slots = bench.sent().into_iter().filter_map(|frame| match frame {
            ControllerFrame::Kiosk(slot) => Some(slot),
            _ => None,
        });
        let from = |shown: &(Trip, String)| shown.0.from().index();
        slots.map(|slot| (slot.count, slot.slot, slot.shown.as_ref().map(from))).collect()
    };
    let first = [(3, 0), (4, 0), (5, 0)];
    assert_eq!(show(&first), [(3, 0, Some(3)), (3, 1, Some(4)), (3, 2, Some(5))]);
    assert_eq!(show(&[(2, 0), (3, 0), (4, 0), (5, 0)]), [(4, 3, Some(2))]);
    assert_eq!(show(&[(2, 0), (3, 0), (5, 0)]), [(4, 1, None)]);
    assert_eq!(show(&[(1, 0), (2, 0), (3, 0), (5, 0)]), [(4, 1, Some(1))]);
    assert_eq!(show(&[(1, 0), (3, 0), (5, 0)]), [(3, 2, Some(5))]);
    assert_eq!(show(&[(5, 0)]), [(3, 0, None), (3, 1, None)]);
    assert_eq!(show(&[]), [(0, 0, None)]);
}

#[test]
fn a_press_is_told_once_and_acknowledged_at_once_however_often_it_comes() {
    let mut bench = Bench::connected();
    let button = Button::Car(floor(3));
    bench.hear(&press(1, button));
    assert_eq!(bench.events(), [PanelEvent::Pressed(button)]);
    assert_eq!(bench.sent_drives()[0].acknowledged, 1);
    bench.hear(&press(1, button));
    assert_eq!(bench.events(), []);
    assert_eq!(bench.sent_drives()[0].acknowledged, 1);
    // The second press is missing: the third must wait for it.
    bench.hear(&press(3, button));
    assert_eq!(bench.events(), []);
    assert_eq!(bench.sent_drives(), []);
}

#[test]
fn a_panel_of_another_height_is_named_once_and_stays_disconnected() {
    let mut bench = Bench::new();
    for _ in 0..20 {
        bench.hear(&hello(4));
        bench.hear(&status(&PanelInputs::default()));
        bench.wait();
        assert!(bench.sent().iter().all(|frame| matches!(frame, ControllerFrame::Hello { .. })));
    }
    assert_eq!(
        bench.events(),
        [PanelEvent::Disconnected(
            "the panel has 4 floors, but the configuration says 9".to_owned()
        )]
    );
}

#[test]
fn a_car_with_a_rear_door_needs_a_panel_with_one() {
    for (needed, there) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut bench = Bench::new();
        bench.session.settings.rear_door = needed;
        let acknowledged = 0;
        bench.sent();
        bench.hear(&PanelFrame::Hello { floors: floors(9), acknowledged, rear_door: there });
        bench.hear(&status(&PanelInputs::default()));
        assert_eq!(bench.session.is_connected(), there || !needed, "{needed} {there}");
    }
}

#[test]
fn a_panel_that_is_silent_or_hears_nothing_is_disconnected_and_connected_when_it_speaks_again() {
    for speaks in [false, true] {
        let mut bench = Bench::connected();
        while bench.session.is_connected() {
            bench.wait();
            bench.sent();
            if speaks {
                bench.hear(&status(&PanelInputs::default()));
            }
        }
        assert_eq!(bench.now, Duration::from_millis(1250));
        let reason = ["the panel is silent", "the panel does not hear the controller"];
        let told = PanelEvent::Disconnected(reason[usize::from(speaks)].to_owned());
        assert_eq!(bench.events(), [told]);
        bench.wait();
        bench.sent();
        bench.hear(&hello(9));
        bench.hear(&status(&PanelInputs::default()));
        assert_eq!(bench.events()[0], PanelEvent::Connected);
    }
    let mut never = Bench::new();
    for _ in 0..50 {
        never.sent();
        never.wait();
    }
    assert_eq!(never.events(), [PanelEvent::Disconnected("the panel does not answer".to_owned())]);
}

// K1
#[test]
fn a_climate_that_is_not_told_again_becomes_unknown() {
    let mut bench = Bench::connected();
    let climate = Climate { temperature: Some(-3), illuminance: Some(40) };
    bench.hear(&PanelFrame::Climate(climate));
    let told = PanelInputs { climate, ..PanelInputs::default() };
    assert_eq!(bench.events(), [PanelEvent::Inputs(told)]);
    while bench.events().is_empty() {
        bench.wait();
        bench.sent();
        bench.echo += 1;
        bench.hear(&status(&PanelInputs::default()));
    }
    assert_eq!(bench.now, Duration::from_secs(6));
    assert!(bench.session.is_connected());
}

#[test]
fn a_floor_that_the_shaft_does_not_have_is_refused() {
    let mut bench = Bench::connected();
    let damaged = bench.session.counters().damaged;
    let high = PanelInputs { floor: Some(floors(20).top()), ..PanelInputs::default() };
    bench.hear(&status(&high));
    assert_eq!(bench.events(), []);
    assert_eq!(bench.session.counters().damaged, damaged + 1);
}

#[test]
fn a_gap_in_the_numbers_is_counted_as_loss() {
    let mut bench = Bench::connected();
    bench.number += 3;
    bench.hear(&status(&PanelInputs::default()));
    assert_eq!(bench.session.counters().lost, 3);
}
