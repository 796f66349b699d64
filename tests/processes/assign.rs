//! `liftmesh assign`, from outside.

use std::io::Write;
use std::process::{Command, Output, Stdio};

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
    let mut process = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .arg("assign")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
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

#[track_caller]
fn refusal(words: &[&str], input: &str) -> String {
    let output = assign(words, input);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_example_is_answered_from_standard_input_and_from_the_command_line() {
    assert_eq!(answer(&[], EXAMPLE), ANSWER);
    let one_line = EXAMPLE.replace('\n', "") + "\n";
    assert_eq!(answer(&[], &one_line), ANSWER);
    for words in [["-i", EXAMPLE], ["--input", EXAMPLE], ["-i", &one_line]] {
        assert_eq!(answer(&words, ""), ANSWER);
    }
}

#[test]
fn cab_requests_are_added_on_request() {
    let with_cab = concat!(
        r#"{"one":[[false,false,false],[false,false,false],[false,false,true],[false,true,true]],"#,
        r#""two":[[false,false,false],[true,false,false],[false,false,false],[false,false,false]]}"#,
        "\n",
    );
    for flag in ["--includeCab", "--includeCab=true"] {
        assert_eq!(answer(&[flag, "-i", EXAMPLE], ""), with_cab);
    }
    assert_eq!(answer(&["--includeCab=false"], EXAMPLE), ANSWER);
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
fn times_are_options() {
    // Two floors and a door on the way take 8 s, three floors 7.5 s.
    let goes_to_a = |words: &[&str]| goes_to_a(words, (2, 0), &[1]);
    assert!(!goes_to_a(&[]));
    assert!(goes_to_a(&["--travelDuration", "4000"]));
    assert!(goes_to_a(&["--doorOpenDuration=1000"]));
    assert!(!goes_to_a(&["--doorOpenDuration=10000", "--travelDuration=4000"]));
}

#[test]
fn which_calls_a_stop_clears_is_an_option() {
    // `a` stops at 1 on its way up to 3, where a passenger wants to go down.
    let goes_to_a = |words: &[&str]| goes_to_a(words, (1, 1), &[1, 3]);
    assert!(!goes_to_a(&[]));
    assert!(!goes_to_a(&["--clearRequestType", "inDirn"]));
    assert!(goes_to_a(&["--clearRequestType", "all"]));
}

#[test]
fn an_empty_input_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .arg("assign")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("liftmesh: empty input"), "{errors}");
    assert!(refusal(&["-i", " "], "").contains("empty input"));
}

#[test]
fn what_is_wrong_is_told() {
    for (input, told) in [
        (r#"{"hallRequests": [[true,false]], "states": {}}"#, "states must have at least one car"),
        (&EXAMPLE.replace("\"floor\": 0", "\"floor\": -1"), "states.two: floor is -1"),
        (&EXAMPLE.replace("idle", "flying"), "unknown variant `flying`"),
        (&EXAMPLE.replace("[[false,false],", "["), "cabRequests has 4 floors"),
    ] {
        let error = refusal(&[], input);
        assert!(error.contains(told), "{error}\n{told}");
    }
    for words in [
        &["--travelDuration", "-1"][..],
        &["--doorOpenDuration", "soon"],
        &["--clearRequestType", "some"],
        &["--strict", "--inputs", EXAMPLE],
        &["--strict", "extra"],
    ] {
        refusal(words, "");
    }
}

#[test]
fn what_the_original_takes_is_taken_with_a_warning_unless_strict() {
    let mistaken = EXAMPLE.replace("\"floor\": 2", "\"floor\": \"2\", \"5\": false");
    let words = ["-e", "--TravelDuration", "2500", "--includecab=false"];
    let output = assign(&words, &mistaken);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), ANSWER);
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert_eq!(warnings.matches("liftmesh: warning: ").count(), 5, "{warnings}");
    for (words, input) in [(&["--strict"][..], &mistaken[..]), (&["--strict", "-e"], EXAMPLE)] {
        refusal(words, input);
    }
}
