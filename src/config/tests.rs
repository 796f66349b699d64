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

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn what_is_not_given_is_as_the_brain_would_have_it() {
    let settings = check(REQUIRED).unwrap();
    assert_eq!(settings.mesh, MeshTimes::default());
    assert_eq!(settings.climate, ClimateSettings::default());
    assert_eq!(settings.kinematics, Kinematics::default());
    let car = CarSettings::new(settings.floors);
    let flight_limit = settings.kinematics.travel(2) + Duration::from_secs(4);
    assert_eq!(settings.car, CarSettings { flight_limit, ..car });
    assert_eq!(settings.panel_line, LineSettings::default());
    assert_eq!(settings.link_port, 46100);
    assert_eq!(settings.fleet.as_str(), "liftmesh");
    assert_eq!(settings.packets, None);
    // F15: how often the server is polled says nothing of how fast it has to answer.
    let line = "[panel_line]\npoll_period = \"1 s\"\nreply_limit = \"10 ms\"\n";
    assert!(check(&format!("{REQUIRED}{line}")).is_ok());
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
        "interface = \"\"",
        "interface = \"a/b\"",
        "interface = \"sixteen-letters-\"",
        "patience = 0",
    ] {
        let error = wrong(&format!("[ballot]\n{more}\n"));
        assert!(error.contains(&format!("ballot.{more} is wrong")), "{error}");
    }
}

#[test]
fn a_flag_overrides_the_environment_and_that_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("node.toml");
    let text = format!(
        "{REQUIRED}link_port = 1\n[door]\ndwell = \"2 s\"\n[mesh]\nbeacon_gap = \"1 ms\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let sources = Sources {
        file: Some(file.clone()),
        variables: variables(&[
            ("LIFTMESH__LINK_PORT", "2"),
            ("LIFTMESH__DOOR__DWELL", "4 s"),
            ("HOME", "/root"),
        ]),
        flags: BTreeMap::from([("link_port", "3".to_owned())]),
    };
    let effective = sources.read().unwrap();
    let settings = effective.settings().unwrap();
    assert_eq!(settings.link_port, 3);
    assert_eq!(settings.car.dwell, Duration::from_secs(4));
    assert_eq!(settings.kinematics.dwell, Duration::from_secs(4));
    assert_eq!(settings.mesh.beacon_gap, Duration::from_millis(1));

    let origin = |path| effective.get(path).unwrap().origin.as_str();
    assert_eq!(origin("link_port"), "flag --link-port");
    assert_eq!(origin("door.dwell"), "variable LIFTMESH__DOOR__DWELL");
    assert_eq!(origin("mesh.beacon_gap"), format!("{}:12:14", file.display()));
    assert_eq!(origin("fleet"), "default");
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
[motion] ¶ jerk = 0
    8:8: motion.jerk = 0 is wrong; expected a number from 0.1 to 10, in m/s³
[log] ¶ filter = "a=loud"
    8:10: log.filter = "a=loud" is wrong; expected a level, or levels by module, such as info,liftmesh::mesh=debug
[door] ¶ dwel = "3 s"
    8:1: unknown key `door.dwel`; did you mean `door.dwell`?
dwell = "3 s"
    7:1: unknown key `dwell`; did you mean `door.dwell`?
[doors] ¶ dwell = "3 s"
    7:2: unknown key `doors`; did you mean `[door]`?
[dor] ¶ dwell = "3 s"
    7:2: unknown key `dor`; did you mean `[door]`?
[log] ¶ colour = true
    8:1: unknown key `log.colour`; [log] has filter, format
[door] ¶ nudge_after = "6 s"
    8:15: door.nudge_after = "6 s" is wrong; it must be longer than twice dwell = 6s
[door] ¶ blocked_after = "20 s"
    8:17: door.blocked_after = "20 s" is wrong; it must be longer than nudge_after = 20s
[service] ¶ recall_floor = 4
    8:16: service.recall_floor = 4 is wrong; it must be below floors = 4
[service] ¶ bypass_load = 110
    8:15: service.bypass_load = 110 is wrong; it must be below overload = 110
[mesh] ¶ dead_after = "90 ms"
    default: mesh.beacon_period = "25 ms" is wrong; it must be at most a quarter of dead_after = 22ms 500us
[climate] ¶ gather_time = "1 s"
    8:15: climate.gather_time = "1 s" is wrong; it must be below poll_period = 1s
[climate] ¶ poll_period = "3 s" ¶ reading_limit = "9 s"
    default: climate.display_limit = "5 s" is wrong; it must be at least twice poll_period = 6s
[climate] ¶ brightness_most = 20
    default: climate.brightness_least = 30 is wrong; it must be at most brightness_most = 20
[mesh] ¶ probe_after = "20 ms"
    8:15: mesh.probe_after = "20 ms" is wrong; it must be at least beacon_period = 25ms
[ballot] ¶ lost_after = "199 ms"
    8:14: ballot.lost_after = "199 ms" is wrong; it must be at least twice control_period = 200ms
[ballot] ¶ round = "200 ms"
    default: ballot.lost_after = "200 ms" is wrong; it must be longer than round = 200ms
election = "ballot" ¶ [ballot] ¶ port = 46100
    9:8: ballot.port = 46100 is wrong; it must be a port other than that of broadcast = 192.168.1.255:46100
unit = "attic"
    7:8: unit = "attic" is wrong; it must be left out with the role cabin: set car instead
[bully] ¶ ask_again = "300 ms"
    8:13: bully.ask_again = "300 ms" is wrong; it must be at most answer_wait = 200ms
[bully] ¶ answer_wait = "1 s"
    8:15: bully.answer_wait = "1 s" is wrong; it must be at most coordinator_wait = 400ms
[bully] ¶ estimate = "best"
    8:12: bully.estimate = "best" is wrong; expected a whole number from 0 to 10000, or health, in quotes
[senior] ¶ request_period = "400 ms"
    8:18: senior.request_period = "400 ms" is wrong; it must be at most half of master_loss = 250ms
[token_ring] ¶ t = "100 ms"
    8:5: token_ring.t = "100 ms" is wrong; it must be longer than acknowledgement_wait = 150ms
[token_ring] ¶ hold = "0 s"
    8:8: token_ring.hold = "0 s" is wrong; it must be longer than search_wait = 100ms
[panel_line] ¶ silence_limit = "100 ms"
    8:17: panel_line.silence_limit = "100 ms" is wrong; it must be at least three times heartbeat = 150ms
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
    let environment = |name, value| {
        let mut findings = Findings::default();
        Layer::of_environment(variables(&[(name, value)]), &mut findings);
        findings.errors.pop().unwrap().to_string()
    };
    assert_eq!(
        environment("LIFTMESH__FLOORS", "1"),
        "variable LIFTMESH__FLOORS: floors = 1 is wrong; expected a whole number from 2 to 254"
    );
    assert_eq!(
        environment("LIFTMESH__FLORS", "4"),
        "environment: unknown key `LIFTMESH__FLORS`; did you mean `LIFTMESH__FLOORS`?"
    );
    // A mistyped address is no name of an interface.
    for wrong in ["0.0.0.0", "192.168.1.300"] {
        let flags = BTreeMap::from([("address", wrong.to_owned())]);
        let sources = Sources { flags, ..Sources::default() };
        assert_eq!(
            sources.read().unwrap_err().to_string(),
            format!(
                "flag --address: address = \"{wrong}\" is wrong; expected the IPv4 address of one \
                 host, such as 192.168.1.11, or the name of a network interface, such as eth0"
            )
        );
    }
}

/// Every layer and every part is looked through, whatever is wrong before it, and whatever overrides
/// it.
#[test]
fn every_error_is_told_at_once_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("node.toml");
    let text = "car = \"A\"\nfloors = 1\ncolour = 2\naddress = \"192.168.1.11\"\n\
                broadcast = \"255.255.255.255:1\"\n[door]\nnudge_after = \"6 s\"\ndwel = 1\n\
                [ballot]\nround = \"300 ms\"\n[log]\nfilter = \"a=loud\"\n";
    std::fs::write(&file, text).unwrap();
    let sources = Sources {
        file: Some(file.clone()),
        variables: variables(&[("LIFTMESH__FLORS", "4")]),
        flags: BTreeMap::from([("link_port", "0".to_owned()), ("floors", "4".to_owned())]),
    };
    let errors = sources.check().unwrap_err();
    let place = |place: &str| format!("{}:{place}: ", file.display());
    for start in [
        place("2:10") + "floors = 1 is wrong",
        place("3:1") + "unknown key `colour`",
        place("8:1") + "unknown key `door.dwel`",
        place("12:10") + "log.filter",
        "environment: unknown key `LIFTMESH__FLORS`".to_owned(),
        "flag --link-port: link_port = 0 is wrong".to_owned(),
        place("5:13") + "broadcast = \"255.255.255.255:1\" is wrong",
        place("7:15") + "door.nudge_after = \"6 s\" is wrong",
        "default: ballot.lost_after".to_owned(),
        "panel is not set".to_owned(),
        "data_dir is not set".to_owned(),
    ] {
        let told = errors.iter().filter(|e| e.to_string().starts_with(&start));
        assert_eq!(told.count(), 1, "{start}\n{errors}");
    }
    assert_eq!(errors.iter().count(), 11, "{errors}");
    let text = errors.to_string();
    assert!(text.starts_with("the configuration has 11 errors\n  "));
    assert_eq!(text.lines().count(), 12, "{text}");
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

/// No key is without effect: another value of it gives other settings.
#[test]
fn every_key_changes_the_settings() {
    const OTHERS: &str = "/etc/liftmesh/new.key|1|7|26|51|81|99|2.5|2 ms|12 ms|30 ms|60 ms|120 ms|\
        220 ms|300 ms|450 ms|2 s|4 s|12 s|25 s|40 s|2 min|name|10.0.0.7|10.0.0.255:7|239.1.2.3|\
        02:00:00:00:00:01|tcp://host:1|127.0.0.9:7081|mqtt://host|daily 22:00-06:00 park 0";
    // `role` and `unit` go together, and with no car: C7 above.
    for key in KEYS.iter().filter(|key| !["role", "unit"].contains(&key.path)) {
        let (table, name) = key.split();
        let protocol = Protocol::ALL.map(|protocol| protocol.to_string());
        let protocol =
            protocol.iter().find(|&name| table.is_some_and(|t| t.replace('_', "-") == *name));
        let base = format!("election = \"{}\"\n{REQUIRED}", protocol.map_or("bully", |name| name));
        let partner = match key.path {
            "operator.read_only_group" => "read_only_socket = \"/run/status\"\n",
            "mqtt.broker" => "",
            "mqtt.password_file" => "broker = \"mqtts://broker\"\nusername = \"node\"\n",
            path if path.starts_with("mqtt.") => "broker = \"mqtts://broker\"\n",
            "http.certificate" => "key = \"/etc/node.key\"\n",
            "http.key" => "certificate = \"/etc/node.crt\"\n",
            _ => "",
        };
        // Their partners are wrong without them.
        let is_paired = ["http.certificate", "http.key"].contains(&key.path);
        let settings = |value: Option<&str>| {
            let value = value.or(is_paired.then_some("/etc/plain"));
            let line = value.map(|value| format!("{name} = {}\n", key.kind.written(value)));
            let line = line.unwrap_or_default();
            let others = base
                .lines()
                .filter(|other| line.is_empty() || !other.starts_with(&format!("{} = ", key.path)));
            let others = others.collect::<Vec<_>>().join("\n");
            let text = match table {
                Some(table) => format!("{others}\n[{table}]\n{line}{partner}"),
                None => line + &others,
            };
            check(&text).map(|settings| format!("{settings:?}"))
        };
        let plain = settings(None).unwrap();
        let words = key.kind.offered();
        let others = OTHERS.split('|').chain(words.iter().map(String::as_str));
        let changes = |value| settings(Some(value)).is_ok_and(|changed| changed != plain);
        assert!(others.filter(|value| key.kind.accepts(value)).any(changes), "{}", key.path);
    }
}

/// To renew the file: `liftmesh check-config --example > config/node.toml`.
#[test]
fn the_example_file_is_the_one_that_the_keys_make() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/node.toml");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text == example(), "config/node.toml is out of date");
}

#[test]
fn the_example_file_is_right_and_its_commented_keys_are_the_defaults() {
    let (given, _) = of_text(&example());
    given.settings().unwrap();

    // With every key that is commented out given.
    let mut text = String::new();
    for line in example().lines() {
        let entry = line.strip_prefix("# ").filter(|line| {
            line.split_once(" = ")
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        });
        text.push_str(entry.unwrap_or(line));
        text.push('\n');
    }
    let (all, findings) = of_text(&text);
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
        ("daily 07:00-09:30 park 4", "floors from 0 to 3, because floors = 4"),
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
