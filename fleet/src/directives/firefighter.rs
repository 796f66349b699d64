//! Which cars firefighters have: `firefighter/CAR`, `on` or `off`.
//!
//! No operator commands it: the node of the car sets it as the key is turned, so that it outlives a
//! restart of that node, and so that other nodes know that the car takes no calls. To the car itself
//! it says something at the start only; after that the key decides.

use super::{Directives, Key, ON};
use crate::model::NodeId;

/// The key of the directive about this car.
pub(crate) fn firefighter_key(car: &NodeId) -> Key {
    let text = format!("firefighter/{car}");
    Key::new(&text).unwrap_or_else(|error| unreachable!("a name is short: {error}"))
}

impl Directives {
    /// Whether a firefighter has this car by its key, as far as is known here.
    #[must_use]
    pub fn has_firefighter(&self, car: &NodeId) -> bool {
        self.get(&firefighter_key(car)).is_some_and(|it| it.value.as_str() == ON)
    }
}
