//! Power cuts and returns: what stood on disk is there again.

use std::time::Duration;

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};

use super::THREE;

/// F13, P3: all processes end at one moment, as soon as the lamps are lit, with the memory of every
/// panel. A node that nobody else could tell lights its lamps from its disk, and then all do.
#[test]
fn every_lit_order_is_served_after_a_power_cut_of_the_whole_building() {
    let mut building = Building::without_parking(8, Line::Serial, &THREE);
    building.open_books();
    // Nobody can serve, so that no lamp may go out.
    for name in THREE {
        building.take_out(name);
    }
    let halls = [building.hall(6, Direction::Up), building.hall(3, Direction::Down)];
    let cars =
        [("A", building.car_call(7)), ("B", building.car_call(2)), ("C", building.car_call(4))];
    for (name, button) in cars {
        building.press(name, button);
    }
    for button in halls {
        building.press("B", button);
        building.wait_lit(&THREE, button);
    }
    for (name, button) in cars {
        building.wait_lit(&[name], button);
    }
    building.wait("C has it all on disk", |building| {
        building.status("C").is_some_and(|status| status.durable)
    });
    building.kill_all(&THREE);
    for name in THREE {
        building.tell(name, "fault panel restart");
        building.wait("the lamps are dark", |building| building.car(name).lamps.is_empty());
    }

    building.start("C");
    let mut alone = Duration::ZERO;
    for button in [halls[0], halls[1], cars[2].1] {
        alone += building.wait_lit(&["C"], button);
    }
    let status = building.status("C").expect("it runs");
    assert!(status.peers.is_empty(), "{status:?}");
    for name in ["B", "A"] {
        building.start(name);
    }
    let merged = building.wait_for_master("A");
    for button in halls {
        building.wait_lit(&THREE, button);
    }
    for (name, button) in cars {
        building.wait_lit(&[name], button);
    }
    for name in THREE {
        building.put_in(name);
    }
    building.wait_in_service(&THREE);
    let report = building.close_books();
    assert_eq!(report.tally.served, 5, "{report:?}");
    building.assert_safe();
    println!(
        "power cut: lamps lit {alone:?} after the start of one alone, one group {merged:?} after that of the others; {report:?}"
    );
}
