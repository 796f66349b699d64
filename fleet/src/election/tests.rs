use super::*;

/// C3: the document has the bounds of a fleet of five.
#[test]
fn documented_bounds_are_those_of_the_defaults() {
    let document = include_str!("../../../docs/ELECTIONS.md");
    for protocol in Protocol::ALL {
        let bound = ElectionSettings::of(protocol).bound(&MeshTimes::default(), 5);
        let row = format!("| `{protocol}` | {} s |", bound.as_secs_f64());
        assert!(document.contains(&row), "{row}");
    }
}
