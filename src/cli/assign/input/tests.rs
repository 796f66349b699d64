use super::*;

/// A snapshot of four floors with these states.
fn with_states(states: &str) -> String {
    format!(
        r#"{{"hallRequests": [[true,false],[false,false],[false,false],[false,true]],
            "states": {states}}}"#
    )
}

/// A car `a`, with a part of it replaced.
fn with_car(part: &str, replacement: &str) -> String {
    let car = r#"{"a": {"behaviour": "idle", "floor": 1, "direction": "stop",
                        "cabRequests": [false,false,true,false]}}"#;
    assert!(car.contains(part));
    with_states(&car.replace(part, replacement))
}

fn refused(text: &str) -> String {
    let bank = Snapshot::parse(text).and_then(|snapshot| snapshot.bank());
    bank.unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let calls = "[[true,false],[false,false],[false,false],[false,true]]";
    let plain = with_car("1", "1");
    let moving = r#""moving", "floor": 3, "direction": "up""#;
    let moving = with_car(r#""idle", "floor": 1, "direction": "stop""#, moving);
    let cases = [
        (String::new(), "empty input: expected a JSON object"),
        ("hello".to_owned(), "invalid input: expected value at line 1 column 1"),
        ("{}".to_owned(), "missing field `hallRequests`"),
        (r#"{"hallRequests": []}"#.to_owned(), "missing field `states`"),
        (with_states("{}"), "states must have at least one car"),
        (with_states("[]"), "invalid type: sequence, expected a map"),
        (with_states(r#"{"a": {"behaviour": "idle"}}"#), "states.a: missing field `floor`"),
        (with_car("idle", "asleep"), "states.a: unknown variant `asleep`, expected one of `idle`"),
        (with_car("1", "-1"), "states.a: floor is -1, but must be 0 to 3: hallRequests has 4 "),
        (with_car("1", "1.5"), "states.a: invalid type: floating point `1.5`, expected i64"),
        (with_car("1", "\"G\""), "states.a: invalid type: string \"G\", expected i64"),
        (with_car(",true", ""), "states.a: cabRequests has 3 floors, but hallRequests has 4"),
        (with_car("true", "1"), "states.a: invalid type: integer `1`, expected a boolean"),
        (moving, "states.a: behaviour is moving and direction is up, but floor 3 is the last one"),
        (
            plain.replace("[true,false]", "[true,false,false]"),
            "has 3 values, but must have 2: up and down",
        ),
        (plain.replace(calls, "[]"), "hallRequests has 0 floors, but must have 1 to 254"),
    ];
    for (text, told) in cases {
        let error = refused(&text);
        assert!(error.contains(told), "{text}\n{error}\n{told}");
    }
}

#[test]
fn what_the_original_takes_is_taken_with_a_warning() {
    let cases = [
        (with_car("1", "1"), None),
        (with_car("1", "1").replacen('{', r#"{"alive": [{}],"#, 1), Some(r#"unknown key "alive""#)),
        (with_car(r#""floor""#, r#""5": true, "floor""#), Some(r#"states.a: unknown key "5""#)),
        (with_car("1", r#""1""#), Some(r#"states.a: floor "1" is read as 1"#)),
        (with_car(r#""behaviour": "idle","#, ""), Some("states.a: behaviour is missing")),
        (with_car(r#""direction": "stop","#, ""), Some("states.a: direction is missing")),
    ];
    let plain = Snapshot::parse(&with_car("1", "1")).unwrap();
    assert!(plain.bank().is_ok());
    assert!(plain.cars().eq([("a", &[false, false, true, false][..])]));
    for (text, warning) in cases {
        let snapshot = Snapshot::parse(&text).unwrap();
        assert_eq!(format!("{:?}", snapshot.states), format!("{:?}", plain.states));
        let warnings = snapshot.warnings;
        assert_eq!(warnings.len(), usize::from(warning.is_some()), "{warnings:?}");
        assert!(warnings.iter().all(|it| it.starts_with(warning.unwrap())), "{warnings:?}");
    }
}

#[test]
fn reading_ends_with_the_snapshot() {
    /// Fails the test if it is read to its end.
    struct Open<'a>(&'a [u8]);

    impl Read for Open<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0.is_empty(), "this would wait");
            self.0.read(buffer)
        }
    }

    let text = with_car("1", "1");
    assert!(Snapshot::read(Open(text.as_bytes())).is_ok());
    let error = Snapshot::read(&b""[..]).unwrap_err();
    assert!(matches!(error, AssignError::Empty), "{error}");
    let cut = Snapshot::read(&text.as_bytes()[..40]).unwrap_err();
    assert!(cut.to_string().contains("EOF while parsing"), "{cut}");
}
