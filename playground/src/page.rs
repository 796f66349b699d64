//! What JavaScript sees: numbers and JSON.

use std::time::Duration;

use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Playground, Settings};

/// The most time that passes in one call, s: a page that was in the background does not catch up.
const MOST: f64 = 60.0;

/// A fleet in virtual time, for a page.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Fleet(Playground);

#[wasm_bindgen]
impl Fleet {
    /// A fleet made of settings in JSON.
    ///
    /// # Errors
    /// The settings are not JSON, or no run can be made of them; the text says why.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str) -> Result<Self, String> {
        let settings: Settings =
            serde_json::from_str(settings).map_err(|wrong| format!("the settings: {wrong}"))?;
        Playground::new(settings).map(Self).map_err(|wrong| wrong.to_string())
    }

    /// Lets so many seconds pass, 60 at most.
    pub fn advance(&mut self, seconds: f64) {
        if seconds.is_finite() {
            self.0.advance(Duration::from_secs_f64(seconds.clamp(0.0, MOST)));
        }
    }

    /// Does something to it, in JSON: a fault or a press.
    ///
    /// # Errors
    /// It is nothing that can be done, or names a node that is not there.
    pub fn act(&mut self, act: &str) -> Result<(), String> {
        let act = serde_json::from_str(act).map_err(|wrong| format!("the act: {wrong}"))?;
        if self.0.act(act) { Ok(()) } else { Err("there is no such node".to_owned()) }
    }

    /// What there is to see, as JSON: see [`Playground::picture`].
    ///
    /// # Errors
    /// It can't be written as JSON, which would be a defect.
    pub fn picture(&mut self, node: usize) -> Result<String, String> {
        serde_json::to_string(&self.0.picture(node)).map_err(|wrong| wrong.to_string())
    }

    /// The settings that replay the run so far, as JSON.
    ///
    /// # Errors
    /// They can't be written as JSON, which would be a defect.
    pub fn run(&self) -> Result<String, String> {
        serde_json::to_string(&self.0.run()).map_err(|wrong| wrong.to_string())
    }

    /// A drawing of the messages within so many seconds from now on, 10 at most, as SVG. The time
    /// passes in the world.
    pub fn messages(&mut self, seconds: f64) -> String {
        let seconds = if seconds.is_finite() { seconds.clamp(0.05, 10.0) } else { 1.0 };
        self.0.messages(Duration::from_secs_f64(seconds))
    }
}
