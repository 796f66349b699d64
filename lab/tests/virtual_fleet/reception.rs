//! What a node says of its peers' beacons is what the network does to them.

use std::time::Duration;

use elevator_fleet::node::PeerStatus;
use liftmesh_lab::{Weather, WorldSettings};

use crate::building::{Building, millis, mins, seed};

const NODES: usize = 3;

/// What every node says of every other after a minute in this network.
fn said(weather: Weather) -> Vec<PeerStatus> {
    let mut settings = WorldSettings::new(NODES, seed());
    settings.weather = weather;
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(mins(1));
    let statuses = (0..NODES).filter_map(|node| building.status(node));
    let said: Vec<_> = statuses.flat_map(|status| status.peers).collect();
    assert!(!said.is_empty());
    said
}

#[test]
fn the_loss_that_is_shown_is_the_loss_of_the_network() {
    for loss in [0, 5, 10, 30] {
        for peer in said(Weather { loss, ..Weather::default() }) {
            let shown = peer.loss.expect("it is heard");
            let expected = f64::from(loss) / 100.0;
            assert!((shown - expected).abs() < 0.01 + expected / 4.0, "{loss} %: {shown}");
        }
    }
}

/// Late, doubled and overtaken beacons are not lost.
#[test]
fn what_only_arrives_in_another_order_does_not_count_as_lost() {
    let weather = Weather { duplication: 20, reordering: 20, ..Weather::default() };
    for peer in said(weather) {
        assert!(peer.loss.is_some_and(|loss| loss < 0.02), "{peer:?}");
    }
}

/// It is the round trip, and at most what the peer and this node wait until their next beacons.
#[test]
fn the_round_trip_that_is_shown_is_that_of_the_network() {
    for delay in [1_000, 15_000] {
        for peer in said(Weather { delay: delay..=delay, ..Weather::default() }) {
            let shown = peer.round_trip.expect("it echoes");
            let least = Duration::from_micros(2 * delay);
            assert!((least..=least + millis(26)).contains(&shown), "{delay}: {shown:?}");
        }
    }
}
