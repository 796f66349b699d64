//! The process that takes the place of a node that hung, so that the hang can be cleared in a browser.
//! The demo is the supervisor of both.

use super::{Stage, start};
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Weight};
use crate::exit::Exit;

impl Stage {
    pub(super) fn start_caretaker(&mut self, car: usize) -> Result<(), DemoError> {
        let what = format!("caretaker of {}", self.site.name(car));
        let started =
            start(what, self.site.caretaker(car), self.site.place.node_log(self.site.name(car)))?;
        self.actors[car].caretaker = Some(started);
        Ok(())
    }

    /// Starts the node again once the hang was cleared at its panel.
    pub(super) fn look_after_caretaker(&mut self, car: usize) -> Result<(), DemoError> {
        let Some(caretaker) = &mut self.actors[car].caretaker else {
            return Ok(());
        };
        let Some(status) = caretaker.ended() else {
            return Ok(());
        };
        let failure = DemoError::ended(caretaker, status);
        self.actors[car].caretaker = None;
        if status.code() == Some(i32::from(Exit::Done as u8)) {
            self.scene.cars[car].node.life = Life::Cleared;
            self.log(Some(car), Weight::Notable, "hang cleared at its web panel");
            return self.start(car);
        }
        self.log(Some(car), Weight::Bad, failure.to_string().replace('\n', " "));
        Ok(())
    }
}
