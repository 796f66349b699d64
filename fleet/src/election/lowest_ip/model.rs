//! A few nodes under the model checker: also, a peer is lost at one end only.

use super::*;
use crate::election::testing::model::{
    At, Bounds, LINKED, Misfortunes, Subject, WITHOUT_END, number, settles,
};
use crate::election::testing::name;

struct Lan;

impl Subject for Lan {
    type Machine = LowestIp;
    type Notes = ();

    fn machine(&self, own: Candidate, _incarnation: u64) -> LowestIp {
        LowestIp::new(own.node, own.address)
    }

    fn broken_in(&self, moment: &At<Self>) -> Option<&'static str> {
        let is_sound = moment.living().all(|(node, machine)| match &machine.state {
            State::Master => true,
            State::Slave { master } => {
                let is_known = machine.masters.iter().any(|(_, known)| known == master);
                is_known && (0..node).any(|lower| *master == name(number(lower)))
            }
        });
        (!is_sound).then_some("E7: a slave follows a lower master")
    }

    fn is_right(&self, moment: &At<Self>) -> bool {
        moment.agreed_master() == moment.living().next().map(|(lowest, _)| lowest)
    }
}

/// E1, E2, E7, C2, C3, F3, F7
#[test]
fn the_nodes_come_to_rest_whatever_happens() {
    for (nodes, crashes, restarts, least) in [(3, 2, 2, 72), (4, 1, 1, 491)] {
        let most = Misfortunes { crashes, restarts, breaks: WITHOUT_END };
        let bound = Settings::default().bound(LINKED, nodes);
        let bounds = Bounds { nodes, messages: 0, is_instant: false, most, bound };
        settles(&format!("{nodes} nodes"), Lan, bounds, least);
    }
}
