use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use elevator_driver::LineSettings;
use elevator_fleet::car::CarSettings;
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::{Mac, Role};
use elevator_fleet::node::{MeshTimes, Restored};
use elevator_fleet::wire::{Nonce, Protocol};

use super::*;
use crate::mesh::PacketSettings;

const REQUIRED: &str = r#"
car = "A"
address = "192.168.1.11"
broadcast = "192.168.1.255:46100"
panel = "tcp://127.0.0.1:15657"
floors = 4
data_dir = "/var/lib/liftmesh"
"#;

fn of_text(text: &str) -> (Effective, Findings) {
    let mut findings = Findings::default();
    let file = Layer::of_text("node.toml", text, &mut findings);
    (Effective::layered(vec![file]).expect("they merge"), findings)
}

fn check(text: &str) -> Result<Settings, ConfigErrors> {
    let (values, findings) = of_text(text);
    values.check(findings)
}

/// Every error of this text, a line each.
fn lines(text: &str) -> Vec<String> {
    let errors = check(text).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

fn wrong(more: &str) -> String {
    check(&format!("{}{more}", REQUIRED.trim_start())).unwrap_err().to_string()
}

#[test]
fn what_is_not_given_is_as_the_brain_would_have_it() {
    let settings = check(REQUIRED).unwrap();
    assert_eq!(settings.mesh, MeshTimes::default());
    assert_eq!(settings.climate, ClimateSettings::default());
    assert_eq!(settings.kinematics, Kinematics::default());
    let car = CarSettings::new(settings.building.floors());
    let flight_limit = settings.kinematics.travel(2) + Duration::from_secs(4);
    assert_eq!(settings.car, CarSettings { flight_limit, ..car });
    assert_eq!(settings.panel_line, LineSettings::default());
    assert_eq!(settings.link_port, 46100);
    assert_eq!(settings.fleet.as_str(), "liftmesh");
    assert_eq!(settings.packets, None);
    // F15: how often the server is polled says nothing of how fast it has to answer.
    let line = "[panel_line]\npoll_period = \"1 s\"\nreply_limit = \"10 ms\"\n";
    let settings = check(&format!("{REQUIRED}{line}[door]\ndwell = \"4 s\"\n")).unwrap();
    assert_eq!([settings.car.dwell, settings.kinematics.dwell], [Duration::from_secs(4); 2]);
}

/// V8, V10
#[test]
fn the_packets_of_ballot_have_a_port_and_may_have_a_group_and_an_interface() {
    let text = format!("{REQUIRED}election = \"ballot\"\n");
    let settings = check(&text).unwrap();
    assert_eq!(settings.election, ElectionSettings::of(Protocol::Ballot));
    assert_eq!(settings.packets, Some(PacketSettings::default()));
    let more = "[ballot]\nport = 7\nmulticast = \"239.1.2.3\"\ninterface = \"eth0\"\n";
    let settings = check(&format!("{text}{more}")).unwrap();
    let packets = PacketSettings {
        port: 7,
        group: Some("239.1.2.3".parse().unwrap()),
        interface: Some("eth0".to_owned()),
        ..PacketSettings::default()
    };
    assert_eq!(settings.packets, Some(packets));
    for more in [
        "port = 0",
        "multicast = \"192.168.1.255\"",
        "interface = \"a/b\"",
        "interface = \"sixteen-letters-\"",
    ] {
        let error = wrong(&format!("[ballot]\n{more}\n"));
        assert!(error.contains(&format!("ballot.{more} is wrong")), "{error}");
    }
}

/// A file, with ¶ for the ends of lines, and below it what is said of it: the place, the key, and what
/// is right.
const WRONG: &str = r#"
[door] ¶ dwell = "3 parsecs"
    8:9: door.dwell = "3 parsecs" is wrong; expected a time with its unit, from 1s to 30s
[door] ¶ dwell = 3
    8:9: door.dwell = 3 is wrong; write it in quotes: a time with its unit, from 1s to 30s
link_port = "46100"
    7:13: link_port = "46100" is wrong; write it without quotes: a port from 1 to 65535
link_port = [1]
    7:13: link_port = [1] is wrong; expected a port from 1 to 65535
election = "raft"
    7:12: election = "raft" is wrong; expected lowest-ip, bully, senior, ballot, token-ring
[log] ¶ filter = "a=loud"
    8:10: log.filter = "a=loud" is wrong; expected a level, or levels by module, such as info,liftmesh::mesh=debug
[door] ¶ dwel = "3 s"
    8:1: unknown key `door.dwel`; did you mean `door.dwell`?
dwell = "3 s"
    7:1: unknown key `dwell`; did you mean `door.dwell`?
[dor] ¶ dwell = "3 s"
    7:2: unknown key `dor`; did you mean `[door]`?
[log] ¶ colour = true
    8:1: unknown key `log.colour`; [log] has filter, format
[door] ¶ nudge_after = "6 s"
    8:15: door.nudge_after = "6 s" is wrong; it must be longer than twice dwell = 6s
[service] ¶ recall_floor = 4
    8:16: service.recall_floor = 4 is wrong; it must be a floor that the car serves
[mesh] ¶ dead_after = "90 ms"
    default: mesh.beacon_period = "25 ms" is wrong; it must be at most a quarter of dead_after = 22ms 500us
election = "ballot" ¶ [ballot] ¶ port = 46100
    9:8: ballot.port = 46100 is wrong; it must be a port other than that of broadcast = 192.168.1.255:46100
unit = "attic"
    7:8: unit = "attic" is wrong; it must be left out with the role cabin: set car instead
[bully] ¶ estimate = "best"
    8:12: bully.estimate = "best" is wrong; expected a whole number from 0 to 10000, or health, in quotes
[senior] ¶ request_period = "400 ms"
    8:18: senior.request_period = "400 ms" is wrong; it must be at most half of master_loss = 250ms
[token_ring] ¶ hold = "0 s"
    8:8: token_ring.hold = "0 s" is wrong; it must be longer than search_wait = 100ms
"#;

#[test]
fn an_error_names_its_place_the_key_and_what_is_right() {
    let cases: Vec<&str> = WRONG.trim().lines().collect();
    for case in cases.chunks(2) {
        let told = wrong(&(case[0].replace(" ¶ ", "\n") + "\n"));
        assert_eq!(told.trim_start_matches("node.toml:"), case[1].trim());
    }
    for (more, start) in [
        (
            "[motion]\nflight_limit = \"1 s\"\n",
            "8:16: motion.flight_limit = \"1 s\" is wrong; it must be longer than",
        ),
        // No TOML.
        ("link_port = = 3\n", "7:13: "),
        ("floors = 5\n", "7:1: "),
    ] {
        let error = wrong(more);
        assert!(error.starts_with(&format!("node.toml:{start}")), "{error}");
    }
    let told = lines(&REQUIRED.replace("192.168.1.255", "127.255.255.255"));
    assert!(told.len() == 1 && told[0].contains("broadcast"), "{told:?}");
}

/// C1, C5, M3, B1: a line chooses the protocol, and another one its preset.
#[test]
fn a_preset_holds_for_every_key_that_is_not_given() {
    for protocol in Protocol::ALL {
        let table = protocol.to_string().replace('-', "_");
        for (name, preset) in [("fleet", Preset::Fleet), ("source", Preset::Source)] {
            let lines = format!("election = \"{protocol}\"\n[{table}]\npreset = \"{name}\"\n");
            let settings = check(&format!("{REQUIRED}{lines}")).unwrap();
            assert_eq!(settings.election, ElectionSettings::preset(protocol, preset));
            assert_eq!(settings.packets.is_some(), protocol == Protocol::Ballot);
        }
    }
    let (values, _) = of_text("[senior]\npreset = \"emulator\"\nattempts = 7\n");
    let setting = |path: &str| {
        let Setting { value, origin } = values.get(path).unwrap();
        format!("{value}, {origin}")
    };
    assert_eq!(setting("senior.master_loss"), "30 s, preset emulator");
    assert_eq!(setting("senior.attempts"), "7, node.toml:3:12");
    assert_eq!(setting("ballot.round"), "100 ms, default");
}

/// C5
#[test]
fn mesh_detection_beside_a_preset_without_it_is_refused() {
    for (election, table, preset) in [
        ("bully", "bully", "source"),
        ("senior", "senior", "emulator"),
        ("ballot", "ballot", "source"),
        ("token-ring", "token_ring", "source"),
    ] {
        let lines = |mesh_detection: &str| {
            format!("election = \"{election}\"\n{mesh_detection}[{table}]\npreset = \"{preset}\"\n")
        };
        let error = wrong(&lines("mesh_detection = true\n"));
        let right = format!("it must be false or left out, because {table}.preset = {preset}");
        assert!(error.contains("mesh_detection = true is wrong"), "{error}");
        assert!(error.contains(&right), "{error}");
        for fine in ["", "mesh_detection = false\n"] {
            assert!(check(&format!("{REQUIRED}{}", lines(fine))).is_ok(), "{election} {fine}");
        }
        // The preset of a protocol that is not chosen does not count.
        let other =
            lines("mesh_detection = true\n").replace(&format!("\"{election}\""), "\"lowest-ip\"");
        assert!(check(&format!("{REQUIRED}{other}")).is_ok(), "{other}");
    }
}

/// C7
#[test]
fn a_node_without_a_car_has_a_unit_name_and_may_do_without_a_panel() {
    let unit = "role = \"control-unit\"\nunit = \"attic\"\nmac = \"02:00:00:00:00:01\"\n";
    let others =
        REQUIRED.lines().filter(|line| !line.starts_with("car") && !line.starts_with("panel"));
    let text = format!("{unit}{}", others.collect::<Vec<_>>().join("\n"));
    let settings = check(&text).unwrap();
    assert_eq!(settings.node.as_str(), "attic");
    assert_eq!(settings.role, Role::ControlUnit);
    assert_eq!(settings.panel, None);
    assert_eq!(settings.mac, Some(Mac([2, 0, 0, 0, 0, 1])));
    let (nonce, restored) = (Nonce(1), Restored::default());
    assert_eq!(settings.brain(Ipv4Addr::LOCALHOST, Mac([0; 6]), nonce, restored, 1).car, None);
    let told = lines(&REQUIRED.replace("car =", "role = \"indicator\"\n# car ="));
    assert!(told[0].starts_with("unit is not set; give --unit NAME"), "{told:?}");
}

#[test]
fn a_wrong_variable_and_a_wrong_flag_are_named() {
    for (flag, name, value, told) in [
        (
            None,
            "LIFTMESH__FLOORS",
            "1",
            "variable LIFTMESH__FLOORS: floors = 1 is wrong; expected a whole number from 2 to 254",
        ),
        (
            None,
            "LIFTMESH__FLORS",
            "4",
            "environment: unknown key `LIFTMESH__FLORS`; did you mean `LIFTMESH__FLOORS`?",
        ),
        // A mistyped address is no name of an interface.
        (Some("address"), "HOME", "0.0.0.0", "flag --address: address = \"0.0.0.0\" is wrong"),
        (Some("address"), "HOME", "192.168.1.300", "flag --address: address = \"192.168.1.300\""),
    ] {
        let flags = flag.map(|flag| (flag, value.to_owned())).into_iter().collect();
        let variables = vec![(name.into(), value.into())];
        let sources = Sources { file: None, variables, flags };
        let error = sources.read().unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
}

/// What stands in for a wrong or missing value is nobody's mistake.
#[test]
fn a_wrong_value_makes_no_other_value_wrong() {
    let text = REQUIRED.replace("floors = 4", "floors = 300");
    let text = format!(
        "{text}[service]\nrecall_floor = 7\n[door]\ndwell = \"1 h\"\nnudge_after = \"5 s\"\n"
    );
    let told = lines(&text);
    assert_eq!(told.len(), 2, "{told:#?}");
    // Whether `car` or `unit` is missing, and whether a panel has to be there, the role tells.
    let text = REQUIRED.replace("car = \"A\"", "role = \"butler\"\nunit = \"x\"");
    let told = lines(&text.replace("panel", "#"));
    assert_eq!(told.len(), 1, "{told:#?}");
    // Nothing is missing from a file that could not be read.
    let told = lines("car = = 1\n");
    assert_eq!(told.len(), 1, "{told:#?}");
}

#[test]
fn every_key_is_right_by_its_own_range_and_has_a_flag_of_its_own() {
    let short = KEYS.iter().filter_map(Key::short_flag);
    let mut flags: Vec<_> = KEYS.iter().map(Key::flag).chain(short).collect();
    flags.sort_unstable();
    let all = flags.len();
    flags.dedup();
    assert_eq!(flags.len(), all);
    for key in KEYS.iter() {
        assert!(key.kind.accepts(key.default.text()), "{}", key.path);
        if let KeyDefault::Preset(values) = key.default {
            let presets = key.preset().expect("its table has presets");
            let names: Vec<_> = values.iter().map(|(preset, _)| *preset).collect();
            assert_eq!(names, presets.kind.offered(), "{}", key.path);
            assert_eq!(names.first(), Some(&presets.default.text()), "{}", key.path);
            assert!(values.iter().all(|(_, value)| key.kind.accepts(value)), "{}", key.path);
        }
        let table = key.split().0;
        assert!(table.is_none_or(|table| Table::names().any(|name| name == table)));
    }
}

/// To renew the file: `liftmesh check-config --example > config/node.toml`.
#[test]
fn the_example_file_is_up_to_date_and_its_commented_keys_are_the_defaults() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/node.toml");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text == example(), "config/node.toml is out of date");
    let (given, _) = of_text(&text);
    given.check(Findings::default()).unwrap();
    // With every key that is commented out given.
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let lines = text.lines().map(|line| {
        let entry = line
            .strip_prefix("# ")
            .filter(|line| line.split_once(" = ").is_some_and(|(name, _)| is_name(name)));
        format!("{}\n", entry.unwrap_or(line))
    });
    let (all, findings) = of_text(&lines.collect::<String>());
    assert!(findings.errors.is_empty(), "{:?}", findings.errors);
    for key in KEYS.iter() {
        let setting = all.get(key.path).unwrap();
        assert!(setting.origin.starts_with("node.toml:"), "{}", key.path);
        if let KeyDefault::Value(value) = key.default {
            assert_eq!(setting.value, value, "{}", key.path);
            assert_eq!(given.get(key.path).unwrap().origin, "default");
        }
    }
}

#[test]
fn a_schedule_is_in_the_building_and_each_of_its_entries_can_hold() {
    let table = |schedule: &str| format!("[dispatch]\nschedule = {schedule:?}\n");
    let text = "mon-fri 07:00-09:30 park 0; daily 22:00-06:00 park 0 3 cars 2";
    let settings = check(&format!("{REQUIRED}{}", table(text))).unwrap();
    assert_eq!(settings.dispatch.schedule.to_string(), text);
    for (schedule, expected) in [
        ("daily 7:00-9:30 park 0", "expected entries such as mon-fri 07:00-09:30 park 0"),
        ("daily 07:00-09:30 park 4", "floors from 0 to 3"),
        (
            "sun 07:00-09:30 park 0; daily 07:00-10:00 park 3",
            "without an entry that later ones always override, such as `sun 07:00-09:30 park 0`",
        ),
    ] {
        let error = wrong(&table(schedule));
        assert!(error.contains("node.toml:8:12: dispatch.schedule"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}
