//! How long a silent peer counts on a busy machine.

use super::*;

/// How long node 1 puts up with the silence of node 2, which has run once in this time for two
/// seconds and then does not run any more. Every so many of what it sends gets lost.
fn lost_after(runs_every: Duration, loses_every: usize) -> Duration {
    let (mut one, mut two) = (node(1, 1), node(2, 1));
    let start = Timestamp::START + PERIOD * 8;
    talk(&mut one, &mut two, Timestamp::START, start);
    let (mut now, mut next, mut ran) = (start, start, start);
    let (mut waiting, mut sent) = (Vec::new(), 0_usize);
    let mut lost = false;
    while !lost {
        one.handle_timeout(now);
        let actions = drain(&mut one);
        waiting.extend(beacons(&actions).cloned());
        lost = reports(actions).any(|report| matches!(report, Report::PeerLost { .. }));
        if now >= next && now < start + Duration::from_secs(2) {
            (next, ran) = (now + runs_every, now);
            for beacon in waiting.drain(..) {
                two.handle_beacon(address(1), &beacon, now);
            }
            two.handle_timeout(now);
            for beacon in beacons(&drain(&mut two)) {
                sent += 1;
                if !sent.is_multiple_of(loses_every) {
                    one.handle_beacon(address(2), beacon, now);
                }
            }
        }
        assert!(now < start + Duration::from_secs(5), "it is never lost");
        now = now + Duration::from_millis(1);
    }
    now.since(ran)
}

/// N2: where peers are often held up, silence says less, and a fleet that flaps serves nobody.
#[test]
fn a_peer_that_is_often_late_is_lost_later() {
    let usual = lost_after(Duration::from_millis(1), usize::MAX);
    let late = lost_after(Duration::from_millis(120), usize::MAX);
    println!("{usual:?}, one that is often late {late:?}");
    let dead_after = MeshTimes::default().dead_after;
    assert!(usual <= dead_after + PERIOD, "{usual:?}");
    assert!(late >= dead_after * 2, "{late:?}");
    assert!(late <= dead_after + Duration::from_secs(1), "{late:?}");
}

/// A beacon that is missing was lost, not late.
#[test]
fn a_peer_whose_beacons_get_lost_is_lost_as_soon_as_any() {
    let after = lost_after(Duration::from_millis(1), 3);
    let dead_after = MeshTimes::default().dead_after;
    assert!(after <= dead_after + PERIOD, "{after:?}");
}
