//! The scripts of the page without what they are shown: called in a browser that has them.

use serde_json::json;

use super::browser::Browser;
use super::{building, panel};

#[test]
fn the_scripts_of_the_page_do_as_they_say() {
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    browser.wait_for(".light.live");
    nothing_of_a_fleet_is_left_when_another_one_is_shown(&browser);
    events_from_before_the_first_state_are_segments_and_masters(&browser);
    a_master_leads_since_it_became_master_for_the_last_time(&browser);
    a_car_is_never_drawn_where_it_can_not_be(&browser);
}

/// A source says so when it begins to show another fleet, as that of the playground does.
fn nothing_of_a_fleet_is_left_when_another_one_is_shown(browser: &Browser) {
    let left = browser.evaluate(
        "return Promise.all([import('/assets/model.js'), import('/assets/source.js')]).then(([{ Model }, { Source }]) => {
            const source = new Source();
            const model = new Model(source);
            const show = (node, at) => {
                const nodes = [{ node, node_state: { kind: 'master' } }];
                const fleet = { node, master: node, term: 1, nodes, lost: [], hung: [], at: new Date(at).toISOString() };
                const state = { fleet, cars: [{ car: node }], orders: [] };
                source.emit({ type: 'state', state, received: 0 });
            };
            source.emit({ type: 'missed', events: 3 });
            show('A', 60_000);
            source.emit({ type: 'event', event: { event: 'hung', at: new Date(60_000).toISOString(), direction: 'up', actual: 1, expected: 1 } });
            model.pending.set('hall-1-up', 0);
            const seen = [model.events.length, model.hangs.size, model.history.master.node];
            source.emit({ type: 'reset' });
            // The clock of the new fleet begins anew.
            show('Z', 1_000);
            return [seen, model.events.length, model.hangs.size, model.missed, model.pending.size,
                    model.history.master.node, [...model.history.nodes.keys()]];
        })",
    );
    let expected = json!([[1, 1, "A"], 0, 0, 0, 0, "Z", ["Z"]]);
    assert_eq!(left, expected);
}

fn events_from_before_the_first_state_are_segments_and_masters(browser: &Browser) {
    let history = browser.evaluate(
        "return import('/assets/history.js').then(({ History }) => {
            const history = new History();
            const nodes = [['B', 'master'], ['C', 'slave']].map(([node, kind]) => ({ node, node_state: { kind } }));
            const fleet = { nodes, lost: [{ node: 'A', cause: 'silent' }], node: 'B', master: 'B', term: 3,
                            at: new Date(9000).toISOString(), master_since: 4, uptime: 8 };
            history.take({ fleet }, 9000);
            const happens = (at, event, more) =>
                history.onEvent({ event, at: new Date(at).toISOString(), ...more }, 'B');
            happens(1000, 'node_state', { to: { kind: 'slave', master: 'A' }, term: 2 });
            happens(1500, 'peer_discovered', { node: 'C' });
            happens(5000, 'peer_lost', { node: 'A' });
            happens(5000, 'node_state', { to: { kind: 'master' }, term: 3 });
            // The state says it already.
            happens(9500, 'peer_lost', { node: 'C' });
            const segments = [...history.nodes].map(([node, of]) =>
                [node, of.map(({ kind, from, to }) => [kind, from, to])]);
            const masters = history.masters.map(({ node, from, isObserved, isStartKnown }) =>
                [node, from, isObserved, isStartKnown]);
            return { segments, masters, earliest: history.earliest };
        })",
    );
    let expected = json!({
        "segments": [
            ["B", [["slave", 1000, 5000], ["master", 5000, 9000], ["master", 9000, 9000]]],
            ["C", [["heard", 1500, 9000], ["slave", 9000, 9000]]],
            ["A", [["lost", 5000, 9000], ["lost", 9000, 9000]]],
        ],
        "masters": [["A", 1000, false, false], ["B", 5000, true, true]],
        "earliest": 1000,
    });
    assert_eq!(history, expected);
}

fn a_master_leads_since_it_became_master_for_the_last_time(browser: &Browser) {
    let led_since = browser.evaluate(
        "return import('/assets/history.js').then(({ History }) => {
            const history = new History();
            const nodes = [{ node: 'A', node_state: { kind: 'master' } }];
            history.take({ fleet: { nodes, lost: [], master: 'A', term: 3 } }, 9000);
            const become = (at, to) =>
                history.onEvent({ event: 'node_state', at: new Date(at).toISOString(), to }, 'A');
            become(1000, { kind: 'master' });
            become(2000, { kind: 'slave', master: 'B' });
            become(3000, { kind: 'seeking' });
            become(4000, { kind: 'master' });
            return [history.master.from, history.master.isStartKnown];
        })",
    );
    assert_eq!(led_since, json!([4000, true]));
}

fn a_car_is_never_drawn_where_it_can_not_be(browser: &Browser) {
    let drawn = browser.evaluate(
        "return import('/assets/motion.js').then(({ estimate }) => [0, 0.5, 1, 60].map((age) => \
         estimate({ position: 2.4, speed: 0.5, floor: 2 }, age)))",
    );
    assert_eq!(drawn, json!([2.4, 2.65, 2.9, 2.9]));
    let drawn = browser.evaluate(
        "return import('/assets/motion.js').then(({ estimate }) => [\
         estimate({ position: 2.2, speed: -0.5, floor: 3 }, 1), \
         estimate({ position: 2.9, speed: 0.5, floor: 2 }, 1), \
         estimate({ position: null, speed: 0, floor: null }, 1)])",
    );
    assert_eq!(drawn, json!([2.02, 2.98, null]));
    let doors = browser.evaluate(
        "return import('/assets/motion.js').then(({ Motion }) => {
            const motion = new Motion();
            motion.update({ position: 2, speed: 0, floor: 2, door: 'open' }, 0);
            motion.advance(0);
            const before = motion.door;
            motion.update({ position: 2.1, speed: 0.5, floor: 2, door: 'closed' }, 20);
            motion.advance(20);
            return [before, motion.door];
        })",
    );
    assert_eq!(doors, json!([1, 0]), "no car moves with its door open");
}
