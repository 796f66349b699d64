//! `liftmesh assign`, from outside.

use std::io::Write;
use std::process::{Output, Stdio};

use super::command_line::{fails, liftmesh};

/// The example of the course's program, in several lines.
const EXAMPLE: &str = r#"{
    "hallRequests": [[false,false],[true,false],[false,false],[false,true]],
    "states": {
        "one": {
            "behaviour": "moving", "floor": 2, "direction": "up",
            "cabRequests": [false,false,true,true]
        },
        "two": {
            "behaviour": "idle", "floor": 0, "direction": "stop",
            "cabRequests": [false,false,false,false]
        }
    }
}
"#;

const ANSWER: &str = concat!(
    r#"{"one":[[false,false],[false,false],[false,false],[false,true]],"#,
    r#""two":[[false,false],[true,false],[false,false],[false,false]]}"#,
    "\n",
);

/// Runs `liftmesh assign` with these words; the input stays open until it ends.
fn assign(words: &[&str], input: &str) -> Output {
    let mut command = liftmesh(&[&["assign"], words].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    // Kept from `wait_with_output`, which would close it.
    let mut pipe = process.stdin.take().unwrap();
    pipe.write_all(input.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    drop(pipe);
    output
}

#[track_caller]
fn answer(words: &[&str], input: &str) -> String {
    let output = assign(words, input);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_is_answered_from_standard_input_and_from_the_command_line() {
    assert_eq!(answer(&[], EXAMPLE), ANSWER);
    let one_line = EXAMPLE.replace('\n', "") + "\n";
    assert_eq!(answer(&["--includeCab=false"], &one_line), ANSWER);
    for words in [["-i", EXAMPLE], ["--input", &one_line]] {
        assert_eq!(answer(&words, ""), ANSWER);
    }
    let with_cab = concat!(
        r#"{"one":[[false,false,false],[false,false,false],[false,false,true],[false,true,true]],"#,
        r#""two":[[false,false,false],[true,false,false],[false,false,false],[false,false,false]]}"#,
        "\n",
    );
    assert_eq!(answer(&["--includeCab", "-i", EXAMPLE], ""), with_cab);
}

/// Six floors, one hall call, and two idle cars: `a` at the bottom with these car calls, `b` at the
/// top without any. Whether `a` gets the call.
fn goes_to_a(words: &[&str], call: (usize, usize), car_calls: &[usize]) -> bool {
    let hall: Vec<_> = (0..6).map(|at| [0, 1].map(|column| call == (at, column))).collect();
    let cab: Vec<_> = (0..6).map(|at| car_calls.contains(&at)).collect();
    let input = format!(
        r#"{{"hallRequests": {hall:?}, "states": {{
            "a": {{"behaviour": "idle", "floor": 0, "direction": "up", "cabRequests": {cab:?}}},
            "b": {{"behaviour": "idle", "floor": 5, "direction": "stop",
                   "cabRequests": [false,false,false,false,false,false]}}
        }}}}"#
    );
    let answer: serde_json::Value = serde_json::from_str(&answer(words, &input)).unwrap();
    let [a, b] = ["a", "b"].map(|car| answer[car][call.0][call.1].as_bool().unwrap());
    assert!(a != b);
    a
}

#[test]
fn times_and_what_a_stop_clears_are_options() {
    // Two floors and a door on the way take 8 s, three floors 7.5 s.
    let by_time = |words: &[&str]| goes_to_a(words, (2, 0), &[1]);
    assert!(!by_time(&[]));
    assert!(by_time(&["--travelDuration", "4000"]));
    assert!(by_time(&["--doorOpenDuration=1000"]));
    // `a` stops at 1 on its way up to 3, where a passenger wants to go down.
    let by_direction = |words: &[&str]| goes_to_a(words, (1, 1), &[1, 3]);
    assert!(!by_direction(&["--clearRequestType", "inDirn"]));
    assert!(by_direction(&["--clearRequestType", "all"]));
}

#[test]
fn what_is_wrong_is_told_and_what_the_original_takes_is_taken_unless_strict() {
    assert!(fails(2, &["assign"]).contains("liftmesh: empty input"));
    let wrong = EXAMPLE.replace("\"floor\": 0", "\"floor\": -1");
    assert!(fails(2, &["assign", "-i", &wrong]).contains("states.two: floor is -1"));
    fails(2, &["assign", "--travelDuration", "-1", "-i", EXAMPLE]);
    let mistaken = EXAMPLE.replace("\"floor\": 2", "\"floor\": \"2\", \"5\": false");
    let output = assign(&["-e", "--TravelDuration", "2500", "--includecab=false"], &mistaken);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), ANSWER);
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert_eq!(warnings.matches("liftmesh: warning: ").count(), 5, "{warnings}");
    fails(2, &["assign", "--strict", "-i", &mistaken]);
}
