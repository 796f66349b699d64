//! What a screen reader is told: the accessibility tree, as the browser has it.

use serde_json::{Value, json};

use super::browser::Browser;
use super::viewer;

/// What can be operated: roles of ARIA.
const OPERABLE: &str = "button link textbox combobox checkbox radio searchbox slider spinbutton";

/// The nodes of the page's tree that a screen reader gets.
fn tree(browser: &Browser) -> Vec<Value> {
    let mut tree = browser.ask_devtools("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array_mut().expect("nodes");
    nodes.drain(..).filter(|node| node["ignored"] == false).collect()
}

/// Every control of the page has a name. Returns how many there are.
fn assert_that_all_are_named(browser: &Browser, what: &str) -> usize {
    let is_operable = |node: &Value| OPERABLE.split(' ').any(|role| node["role"]["value"] == *role);
    let operable: Vec<Value> = tree(browser).into_iter().filter(is_operable).collect();
    for node in &operable {
        let name = node["name"]["value"].as_str();
        assert!(name.is_some_and(|name| !name.trim().is_empty()), "{what}: without a name: {node}");
    }
    operable.len()
}

/// Whether something on the page is read out when it changes.
fn has_live_region(browser: &Browser, role: Option<&str>, live: &str) -> bool {
    tree(browser).iter().any(|node| {
        let properties = node["properties"].as_array().into_iter().flatten();
        let mut said = properties.filter(|property| property["name"] == "live");
        role.is_none_or(|role| node["role"]["value"] == role)
            && said.any(|property| property["value"]["value"] == live)
    })
}

#[test]
fn every_control_has_a_name_and_alarms_are_read_out() {
    let Some((_building, browser)) = viewer("") else { return };
    browser.wait_for("[data-call=car-C-0]");
    for (page, least) in [("bank", 30), ("fleet", 5), ("events", 8), ("service", 8)] {
        browser.open_page(page);
        if page == "service" {
            browser.wait_for("[data-window=week]");
        }
        let count = assert_that_all_are_named(&browser, page);
        assert!(count >= least, "{page}: {count} controls");
        assert!(has_live_region(&browser, Some("status"), "polite"), "{page}: announcements");
        assert!(has_live_region(&browser, None, "assertive"), "{page}: messages");
    }
    browser.open_page("bank");
    for dialog in ["[data-mode-of=B]", ".lock", ".priority", ".power", ".recall"] {
        browser.click(&format!("button{dialog}"));
        browser.wait_for("dialog");
        let count = assert_that_all_are_named(&browser, dialog);
        assert!(count >= 4, "{dialog}: {count} controls");
        browser.click("dialog .actions button[type=button]");
        browser.wait_until_gone("dialog");
    }
}
