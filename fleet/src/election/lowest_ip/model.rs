//! A few nodes under the model checker: besides what may always happen, a peer is lost at one end
//! only, at any time and as often as it likes.
//!
//! A peer is heard here as [`Input::Heard`] says: while orders are exchanged with it. To lose it is
//! to lose the link's end, or what the node believed without a link, whether that was to the
//! master, to the heir or to any other peer.
//!
//! In every state nobody follows a node with a higher address (E7), or one that it does not count
//! among the masters; and once nothing more breaks, the nodes come to rest under the lowest address,
//! in whatever order they hear each other (E1, E2, C3).

use std::convert::Infallible;

use stateright::Property;

use super::*;
use crate::election::testing::model::{
    At, Beacons, Bounds, Calms, Check, Misfortunes, Network, Subject, WITHOUT_END, settles,
};

#[derive(Debug)]
struct Lan;

impl Subject for Lan {
    type Machine = LowestIp;
    type Notes = ();
    type Step = Infallible;

    fn machine(&self, own: Candidate, _incarnation: u64) -> LowestIp {
        LowestIp::new(own.node, own.address)
    }

    fn knows(machine: &LowestIp, peer: &NodeId) -> bool {
        machine.masters.iter().any(|(_, master)| master == peer)
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        vec![
            Property::always(
                "slaves follow lower masters",
                |check: &Check<Self>, moment: &At<Self>| {
                    moment.living().all(|(node, machine)| match &machine.state {
                        State::Master => true,
                        State::Slave { master } => {
                            check.index(master) < node && Lan::knows(machine, master)
                        }
                    })
                },
            ),
            Property::sometimes("two lead, for a while", |_, moment: &At<Self>| {
                moment.happened.restarts > 0 && moment.leaders() == 2
            }),
        ]
    }
}

impl Calms for Lan {
    /// All follow the lowest.
    fn is_right(check: &Check<Self>, moment: &At<Self>) -> bool {
        check.agreed_master(moment) == moment.living().next().map(|(lowest, _)| lowest)
    }
}

fn lan(nodes: usize, crashes: u8, restarts: u8) -> Check<Lan> {
    Check::new(
        Lan,
        Bounds {
            nodes,
            network: Network::Repeats(0),
            beacons: Beacons::Late,
            most: Misfortunes { crashes, restarts, breaks: WITHOUT_END, falls: 0 },
        },
    )
}

/// E1, E2, E7, C2, C3, F3, F7
#[test]
fn the_nodes_come_to_rest_whatever_happens() {
    settles("two nodes", lan(2, 2, 2), 13, 6);
    settles("three nodes", lan(3, 2, 2), 72, 35);
    settles("four nodes", lan(4, 1, 1), 491, 361);
}
