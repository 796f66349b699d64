//! The scripts of the page without what they are shown: called in a browser that has them.

use serde_json::json;

use super::viewer;

#[test]
fn a_car_is_never_drawn_where_it_can_not_be() {
    let Some((_building, browser)) = viewer("") else { return };
    let drawn = browser.evaluate(
        "return import('/assets/motion.js').then(({ estimate }) => [0, 0.5, 1, 60].map((age) => \
         estimate({ position: 2.4, speed: 0.5, level: 2 }, age)))",
    );
    assert_eq!(drawn, json!([2.4, 2.65, 2.9, 2.9]));
    let drawn = browser.evaluate(
        "return import('/assets/motion.js').then(({ estimate }) => [\
         estimate({ position: 2.2, speed: -0.5, level: 3 }, 1), \
         estimate({ position: 2.9, speed: 0.5, level: 2 }, 1), \
         estimate({ position: null, speed: 0, level: null }, 1)])",
    );
    assert_eq!(drawn, json!([2.02, 2.98, null]));
    let doors = browser.evaluate(
        "return import('/assets/motion.js').then(({ Motion }) => {
            const motion = new Motion();
            motion.update({ position: 2, speed: 0, level: 2, door: 'open' }, 0);
            motion.advance(0);
            const before = motion.door;
            motion.update({ position: 2.1, speed: 0.5, level: 2, door: 'closed' }, 20);
            motion.advance(20);
            return [before, motion.door];
        })",
    );
    assert_eq!(doors, json!([1, 0]), "no car moves with its door open");
}
