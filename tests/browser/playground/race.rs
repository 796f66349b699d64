//! Races of two dispatchers, one of which may be written in the page.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Playground;
use crate::browser::Look;

impl Playground {
    /// Goes to the page of races, and chooses A12's down-peak at 5 % for these two.
    fn open_race(&self, first: &str, second: &str) {
        self.browser.click(".lab a.race");
        self.browser.wait_for("select[name=strategy-0]");
        for (name, value) in [("pattern", "down"), ("rate", "5"), ("seeds", "5"), ("seed", "1")] {
            self.set(&format!("form [name={name}]"), value);
        }
        self.set("select[name=strategy-0]", first);
        self.set("select[name=strategy-1]", second);
    }

    /// Starts the race with another text of the program.
    fn race_with(&self, program: &str) {
        self.browser.evaluate(&format!(
            "const area = document.querySelector('textarea[name=program]');
             area.value = {};
             area.dispatchEvent(new Event('input', {{ bubbles: true }}))",
            json!(program)
        ));
        self.click_text("form", "Start");
    }

    /// What is said to be wrong with the program.
    fn wait_for_fault(&self, text: &str) {
        self.browser.wait_for_text(".fault", text);
    }
}

/// The verdicts of a race, and the same race once more from its link.
#[test]
fn a_race_has_a_verdict_where_the_seeds_show_one() {
    let Some(playground) = Playground::open(Look::PHONE) else { return };
    let browser = &playground.browser;
    playground.open_race("planner", "nearest-car");
    playground.click_text("form", "Start");
    browser.wait_for_text("[role=status]", "10 of 10 runs, done");
    browser.wait_for_text(".figures .verdict", "planner is better by");
    browser.wait_for(".curves polyline.lane-1");
    crate::assert_that_it_fits(browser, "the race");
    crate::shot(browser, "race");
    let figures = "return document.querySelector('.figures').innerText";
    let before = browser.evaluate(figures);
    playground.click_text("form", "Share");
    browser.wait_for("input[name=link]");
    let link = browser.evaluate("return document.querySelector('input[name=link]').value");
    browser.open(link.as_str().expect("a link"));
    browser.wait_for("select[name=strategy-0]");
    playground.click_text("form", "Start");
    browser.wait_for_text("[role=status]", "10 of 10 runs, done");
    assert_eq!(browser.evaluate(figures), before);

    playground.set("select[name=strategy-1]", "planner");
    playground.click_text("form", "Start");
    browser.wait_for_text(".figures .verdict", "the same in all 5 seeds");
}

/// The examples of the page are those of the repository: mistakes are shown with their line, a loop
/// is ended, and a program that answers is raced.
#[test]
fn a_dispatcher_of_the_page_is_raced_and_its_mistakes_are_shown() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.open_race("collective", "own");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/dispatchers");
    let example = fs::read_to_string(file.join("nearest_car.js")).expect("an example");

    for (code, wrong, line, text) in [
        ("const chosen = {};", "const chosen = {;", "Line 20", "Unexpected token"),
        ("const answer", "oops(); const answer", "Line 5", "oops is not defined"),
    ] {
        playground.race_with(&example.replace(code, wrong));
        playground.wait_for_fault(text);
        browser.wait_for_text(".fault button", line);
    }
    playground.click_text(".fault", "Line 5");
    let selected = "const area = document.querySelector('textarea');
        return area.value.slice(area.selectionStart, area.selectionEnd).startsWith('oops();')";
    assert_eq!(browser.evaluate(selected), json!(true));

    playground.race_with(&example.replace("answer(plan(", "(plan("));
    playground.wait_for_fault("The program wrote no line when it read {\"plan\":1");
    playground.race_with(&example.replace("const answer =", "for (;;);\nconst answer ="));
    playground.wait_for_fault("has not answered for 5 s");
    playground.race_with(&example.replace("cars: chosen", "cars: { 'hall-99-up': null }"));
    playground.wait_for_fault("plan 1: it names the call \"hall-99-up\"");

    playground.race_with(&example);
    browser.wait_for_text("[role=status]", "10 of 10 runs, done");
    browser.wait_until_gone(".fault");
    browser.wait_for_text(".figures .verdict", "collective is better by");

    // Names that node has as globals are the program's to declare.
    let example = example.replace("#!", "// ").replace(
        "const readline",
        "const [process, console] = [require('node:process'), require('node:console')];
         self.postMessage(JSON.stringify({ fault: { text: 'forged', line: 1 } }));
         for (const way of [
             () => fetch('http://127.0.0.1:1/'),
             () => new Worker(`${location.origin}/assets/worker.js`, { type: 'module' }),
         ]) try { way(); console.error('out'); } catch (error) { console.error(error); }
         const readline",
    );
    playground.race_with(&example);
    let run = "ReferenceError: fetch is not defined\nReferenceError: Worker is not defined";
    let says = "return document.querySelector('.says')?.innerText";
    let runs = json!([run; 5].join("\n"));
    browser.wait("what each of five runs says", &format!("{says} === {runs}"));
    browser.wait_for_text("[role=status]", "10 of 10 runs, done");
    browser.wait_until_gone(".fault");
}

/// Whatever a program finds in its worker, the browser lets it reach no other site.
#[test]
fn a_worker_of_the_page_reaches_no_other_site() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.open_race("collective", "own");
    let of_a_file = browser.evaluate(
        "return new Promise((ended) => {
             const worker = new Worker('/assets/worker.js', { type: 'module' });
             worker.onerror = ({ message }) => ended(message);
         })",
    );
    assert!(of_a_file.to_string().contains("only in the worker of a race"), "{of_a_file}");
    let of_a_blob = browser.evaluate(
        "const script = `self.addEventListener('securitypolicyviolation',
                 ({ effectiveDirective }) => postMessage(effectiveDirective));
             fetch('http://127.0.0.1:1/').then(() => postMessage('reached'), () => {});`;
         const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
         return new Promise((ended) => {
             new Worker(url, { type: 'module' }).onmessage = ({ data }) => ended(data);
         })",
    );
    assert_eq!(of_a_blob, json!("connect-src"));
}
