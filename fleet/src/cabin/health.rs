//! The health of a node, on which its fitness to lead depends (B1).

/// A node's health, from 1 to 100: 1 because it runs, 49 for a disk that works, 30 for a panel that
/// answers, 20 for a car in service.
///
/// A master without a disk can't promise orders on its own (P1), and one without a panel drives no
/// car; a car out of service says little about the node. A node without a car reaches 50.
#[must_use]
pub fn health(disk_works: bool, panel_answers: bool, car_in_service: bool) -> u32 {
    let worth = |is_so: bool, points: u32| if is_so { points } else { 0 };
    1 + worth(disk_works, 49) + worth(panel_answers, 30) + worth(car_in_service, 20)
}
