//! A disk that fails and works again.

use super::planning::up;
use super::*;
use crate::model::{Counters, Mode};
use crate::settings::Setting;
use crate::store::RecordState;

/// What the node wants written, with the last batch.
fn written(node: &mut Node) -> (Option<Lsn>, Vec<Change>) {
    let batches = persists(&drain(node));
    let lsn = batches.last().map(|(lsn, _)| *lsn);
    (lsn, batches.into_iter().flat_map(|(_, changes)| changes).collect())
}

fn is_promised(node: &Node, call: HallCall) -> bool {
    node.store.presses(call).iter().any(|press| node.store.is_promised(*press))
}

/// P5, P1, O1: alone, it lights no lamp before its disk has the order, and serves what stands
/// there.
#[test]
fn a_disk_that_works_again_gets_everything_before_a_lamp_depends_on_it() {
    let (mut node, now) = cabin(1);
    written(&mut node);
    node.handle_disk_failed(now);
    let (while_failed, on_disk) = (up(2), up(1));
    node.have_set(Setting::Mode(name(2), Mode::OutOfService), now);
    assert_eq!(node.order(&Call::Hall(while_failed), now), Ok(Taken::Placed));
    assert_eq!(written(&mut node), (None, Vec::new()));
    let waits = RecordState::open(Duration::from_secs(3));
    let record = forged::press(9, 4, Call::Hall(on_disk), waits.clone());
    // The node has served it while the disk did not work.
    let over = forged::press(9, 1, Call::Hall(while_failed), waits);
    let later = forged::press(9, 5, over.call.clone(), RecordState::served());
    node.merge_record(&later, None, now);
    let restored = Restored { records: vec![record, over.clone()], ..Restored::default() };
    node.handle_disk_recovered(&restored, now);
    let (lsn, changes) = written(&mut node);
    let is_record_of = |change: &Change, call: HallCall| matches!(change, Change::Record(record) if record.call == Call::Hall(call));
    for call in [while_failed, on_disk] {
        assert!(changes.iter().any(|change| is_record_of(change, call)), "{changes:?}");
    }
    assert!(changes.contains(&Change::Forget(over.dot)), "{changes:?}");
    assert!(changes.iter().any(|it| matches!(it, Change::Setting(_))), "{changes:?}");
    assert!(changes.iter().any(|it| matches!(it, Change::Term(_))), "{changes:?}");
    assert!(![while_failed, on_disk].iter().any(|call| is_promised(&node, *call)));
    let status = node.status(now);
    assert_eq!((status.disk_failed, status.durable), (false, false));
    node.handle_durable(lsn.expect("a batch"), now);
    assert!([while_failed, on_disk].iter().all(|call| is_promised(&node, *call)));
    assert!(node.status(now).durable);
}

/// O1: what stands on it was promised before a recall that was over before the disk could be read.
#[test]
fn a_disk_that_works_again_after_a_recall_keeps_its_calls() {
    let (mut node, now) = cabin(1);
    node.handle_disk_failed(now);
    for on in [true, false] {
        node.command(Command::FireRecall { on }, now);
    }
    let waits = RecordState::open(Duration::from_secs(3));
    let record = forged::press(9, 4, Call::Hall(up(2)), waits);
    let dot = record.dot;
    let restored = Restored { records: vec![record], ..Restored::default() };
    node.handle_disk_recovered(&restored, now);
    assert_eq!(node.orders().get(dot).map(|order| order.recall), Some(1));
}

fn counted(node: &mut Node) -> Option<Counters> {
    written(node).1.into_iter().find_map(|change| {
        if let Change::Counters(counters) = change { Some(counters) } else { None }
    })
}

/// They outlive a process, and a disk that fails, and what is written lags by 10 s at most.
#[test]
fn counters_of_the_car_are_written_in_time_and_go_on() {
    let (mut node, mut now) = cabin(1);
    let drive = DriveFeedback::Driven(Direction::Up);
    let run = |node: &mut Node, now| {
        for inputs in [PanelInputs { drive, ..at_rest() }, at_rest()] {
            node.see(inputs, now);
        }
    };
    run(&mut node, now);
    node.handle_timeout(now + Duration::from_secs(9));
    assert_eq!(written(&mut node).0, None);
    now = now + Duration::from_secs(10);
    node.handle_timeout(now);
    let on_disk = counted(&mut node).expect("written");
    assert_eq!((on_disk.starts, on_disk.trips, &on_disk.stops), (1, 1, &vec![1]));
    // With the next change, and at an orderly end, they don't wait.
    run(&mut node, now);
    node.have_set(Setting::Mode(name(2), Mode::OutOfService), now);
    assert_eq!(counted(&mut node).map(|it| it.starts), Some(2));
    run(&mut node, now);
    assert_eq!(counted(&mut node), None);
    node.shut_down(now);
    let last = counted(&mut node).expect("written");
    assert_eq!(last.starts, 3);

    let restored = Restored { counters: Some(last.clone()), ..Restored::default() };
    let mut node = with_car(1, 2, restored, Timestamp::START);
    let restored = node.status(now).car.expect("a car").counters;
    assert_eq!(restored, last);
    // A disk that could not be read at first has more of it.
    node.handle_disk_failed(now);
    written(&mut node);
    let more = Counters { starts: 7, trips: 0, ..last };
    let restored = Restored { counters: Some(more), ..Restored::default() };
    node.handle_disk_recovered(&restored, now);
    let counters = node.status(now).car.expect("a car").counters;
    assert_eq!((counters.starts, counters.trips), (7, 3));
    assert_eq!(counted(&mut node), Some(counters));
}
