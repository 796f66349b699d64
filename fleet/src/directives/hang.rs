//! Why cars hung: `hang/CAR`, with the evidence, or `off`.
//!
//! No operator commands it: the node of the car sets it as it ends, so that every other node can show
//! the evidence. A node that runs has no car that hung, and sets `off`.

use super::{Directives, Key, OFF};
use crate::model::NodeId;

/// The key of the directive about this car.
pub(crate) fn hang_key(car: &NodeId) -> Key {
    let text = format!("hang/{car}");
    Key::new(&text).unwrap_or_else(|error| unreachable!("a name is short: {error}"))
}

impl Directives {
    /// The evidence of a hang of this car, as its node has told it. Only `off` ends that.
    pub(crate) fn hang(&self, car: &NodeId) -> Option<&str> {
        let told = self.get(&hang_key(car)).map(|it| it.value.as_str());
        told.filter(|evidence| *evidence != OFF)
    }
}
