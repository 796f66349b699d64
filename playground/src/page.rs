//! What JavaScript sees: numbers and JSON.

use std::time::Duration;

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::throw_str;

use crate::{Playground, Program, Race, Settings};

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
        let run = Settings::from_json(settings).and_then(Playground::new);
        run.map(Self).map_err(|wrong| wrong.to_string())
    }

    /// Why no fleet can be made of these settings; nothing if one can.
    pub fn wrong(settings: &str) -> Option<String> {
        Settings::from_json(settings).and_then(|it| it.check()).err().map(|it| it.to_string())
    }

    /// Lets this many seconds pass, 60 at most.
    pub fn advance(&mut self, seconds: f64) {
        if seconds.is_finite() {
            self.0.advance(Duration::from_secs_f64(seconds.clamp(0.0, MOST)));
        }
    }

    /// Does something to it, in JSON: a fault, a press, or other traffic.
    ///
    /// # Errors
    /// It is nothing that can be done, or names what is not there.
    pub fn act(&mut self, act: &str) -> Result<(), String> {
        self.0.show_labels();
        let act = serde_json::from_str(act).map_err(|wrong| format!("the act: {wrong}"))?;
        let is_done = self.0.act(act);
        let wrong = "there is no such node or floor, or there are too many passengers";
        if is_done { Ok(()) } else { Err(wrong.to_owned()) }
    }

    /// What there is to see, as JSON: see [`Playground::picture`].
    pub fn picture(&mut self, node: usize) -> String {
        self.0.show_labels();
        json(&self.0.picture(node))
    }

    /// Which node knows of which call, as JSON: see [`Playground::orders`].
    pub fn orders(&mut self) -> String {
        self.0.show_labels();
        json(&self.0.orders())
    }

    /// The settings that replay the run so far, as JSON.
    pub fn run(&self) -> String {
        self.0.show_labels();
        json(&self.0.run())
    }

    /// Records messages from here on, or not any more.
    pub fn watch(&mut self, on: bool) {
        self.0.watch(on);
    }

    /// The messages of this many seconds until now, 10 at most, as JSON; nothing if they are not
    /// recorded. Older ones are forgotten.
    pub fn messages(&mut self, seconds: f64) -> Option<String> {
        self.0.messages(time(seconds)).map(|messages| json(&messages))
    }

    /// The same as a drawing, in SVG.
    pub fn drawing(&mut self, seconds: f64) -> Option<String> {
        self.0.drawing(time(seconds))
    }
}

#[wasm_bindgen]
extern "C" {
    /// What the page's own dispatcher answers to a line: a function of the page that a race with it
    /// needs. It may throw.
    fn liftmesh_ask(line: &str, is_first: bool) -> String;
}

#[derive(Debug)]
struct Page;

impl Program for Page {
    fn ask(line: &str, is_first: bool) -> String {
        liftmesh_ask(line, is_first)
    }

    fn fail(mistake: &str) {
        throw_str(mistake);
    }
}

/// Two strategies on the same passengers, for a page.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Dispatchers(Race);

#[wasm_bindgen]
impl Dispatchers {
    /// A race made of settings in JSON.
    ///
    /// # Errors
    /// There is no such race; the text says why.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str) -> Result<Self, String> {
        let settings =
            serde_json::from_str(settings).map_err(|wrong| format!("the race: {wrong}"))?;
        Race::new::<Page>(settings).map(Self).map_err(|wrong| wrong.to_string())
    }

    /// Makes the next run; `false` once all are made. Throws if the program made a mistake: then
    /// this can't be used any more.
    ///
    /// # Errors
    /// There is no such bank.
    pub fn run(&mut self) -> Result<bool, String> {
        self.0.run().map_err(|wrong| wrong.to_string())
    }

    /// What the race shows so far, as JSON: see [`Race::standing`].
    pub fn standing(&self) -> String {
        json(&self.0.standing())
    }
}

/// What can't be written as JSON would be a defect.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A time that messages are looked at.
fn time(seconds: f64) -> Duration {
    let seconds = if seconds.is_finite() { seconds.clamp(0.001, 10.0) } else { 1.0 };
    Duration::from_secs_f64(seconds)
}
