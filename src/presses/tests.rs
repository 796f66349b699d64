use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::model::{HallCall, NodeId};
use elevator_fleet::node::OrderRefused;
use elevator_fleet::wire::Nonce;

use super::*;

fn hall(index: u8) -> Call {
    Call::Hall(HallCall::new(Floor::try_from(index).expect("a floor"), Direction::Up))
}

fn order(sequence: u64) -> Pressed {
    Pressed::Order(Dot { incarnation: Nonce(1), sequence })
}

/// A refusal that is like no other one.
fn refused(most: usize) -> Result<Pressed, OrderRefused> {
    Err(OrderRefused::TooManyTrips { call: hall(0), most })
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::START + Duration::from_secs(seconds)
}

impl PressLog {
    fn press(&mut self, call: Call, outcome: Result<Pressed, OrderRefused>, seconds: u64) {
        self.add(Press { call, outcome }, at(seconds));
    }

    fn fates(&self) -> Vec<PressFate> {
        self.ring.iter().map(|entry| entry.fate.clone()).collect()
    }
}

#[test]
fn a_press_is_followed_until_it_is_over() {
    let (call, open) = (hall(2), PressFate::Open { promised: false });
    let mut presses = PressLog::default();
    presses.press(call.clone(), Ok(order(1)), 0);
    presses.press(call.clone(), Ok(order(2)), 3);
    let shown = |presses: &PressLog, promised: u64| {
        let is_promised = |press: Dot, of: &Call| press.sequence == promised && *of == call;
        let clock = SystemTime::UNIX_EPOCH + Duration::from_mins(1);
        presses.latest(is_promised, at(5), clock).presses
    };
    let status = |promised| PressStatus {
        at: "1970-01-01T00:00:55.000Z".to_owned(),
        call: CallForm::from(&call),
        times: 2,
        last: Some("1970-01-01T00:00:58.000Z".to_owned()),
        fate: PressFate::Open { promised },
    };
    assert_eq!([1, 2].map(|promised| shown(&presses, promised)), [[status(false)], [status(true)]]);
    let (waited, car) = (Duration::from_secs(8), NodeId::new("A").ok());
    let served = Report::Served { call: call.clone(), waited, here: false, car: car.clone() };
    presses.note(&Report::Dropped { call: hall(1) }, |_| false);
    presses.note(&served, |press| press.sequence == 2);
    assert_eq!(shown(&presses, 2), [status(true)], "another press of this call was served");
    presses.note(&served, |_| false);
    // Once more: another press, which a recall drops.
    presses.press(call.clone(), Ok(order(3)), 9);
    let served = PressFate::Served { car, waited: Seconds(waited) };
    assert_eq!(presses.fates(), [served.clone(), open]);
    presses.note(&Report::Dropped { call }, |_| false);
    assert_eq!(presses.fates(), [served, PressFate::Dropped]);
}

/// The oldest presses are forgotten, but two stuck buttons push out no other.
#[test]
fn a_button_again_with_the_same_result_is_no_other_press() {
    let mut presses = PressLog::default();
    presses.press(hall(0), Ok(Pressed::Absorbed), 0);
    for second in 1..=5_000 {
        presses.press(hall(1), Ok(order(second)), second);
        presses.press(hall(2), Ok(Pressed::Command), second);
    }
    let kept: Vec<_> = presses.ring.iter().map(|it| (it.call.clone(), it.times)).collect();
    assert_eq!(kept, [(hall(0), 1), (hall(1), 5_000), (hall(2), 5_000)]);
    assert_eq!((presses.ring[1].first, presses.ring[1].last), (at(1), at(5_000)));
    assert_eq!(presses.ring[1].press.map(|press| press.sequence), Some(5_000), "the open order");
    for most in 0..MOST_PRESSES {
        presses.press(hall(2), refused(most), 6_000);
    }
    assert_eq!((presses.ring.len(), presses.ring[0].first), (MOST_PRESSES, at(6_000)));
    assert_eq!(presses.forgotten, 3);
}
