use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory;
use elevator_driver::Floor;
use elevator_fleet::model::{Mode, NodeId, Reason};
use elevator_fleet::node::FleetKeysStatus;
use elevator_fleet::settings::{
    Asked, Request, RequestId, Session, SessionEnd, SessionState, Setting,
};

use super::*;
use crate::journal::{Account, AuditEvent, AuditRecord};

fn parse(line: &str) -> Command {
    let words = line.split_whitespace();
    Cli::try_parse_from(words).unwrap().command
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

/// Each command and each experiment has its place in `docs/COMMANDS.md`, and nothing else has.
#[test]
fn the_page_of_commands_has_every_command() {
    let page = include_str!("../../docs/COMMANDS.md");
    let command = Cli::command();
    let shown = || command.get_subcommands().filter(|it| !it.is_hide_set());
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `liftmesh "));
    let rows: BTreeMap<&str, &str> = rows.filter_map(|row| row.split_once('`')).collect();
    assert!(rows.keys().copied().eq(shown().map(clap::Command::get_name).collect::<BTreeSet<_>>()));
    for lab in shown().filter(|it| it.get_name() == "lab") {
        for experiment in lab.get_subcommands() {
            let name = format!("`lab {}`", experiment.get_name());
            assert!(rows["lab"].contains(&name), "{name}");
        }
    }
}

#[test]
fn every_key_is_a_flag_of_run_and_of_check_config() {
    for command in ["run", "check-config"] {
        let keys = crate::config::KEYS.iter();
        let short = keys.clone().filter_map(|key| Some((key, key.short_flag()?)));
        for (key, flag) in keys.map(|key| (key, key.flag())).chain(short) {
            let line = format!("liftmesh {command} --{flag} x");
            let config = match parse(&line) {
                Command::Run(run) => run.service.config,
                Command::CheckConfig { config, .. } => config,
                _ => panic!("{line}"),
            };
            assert_eq!(config.settings.0[key.path], "x");
            assert_eq!(config.settings.0.len(), 1);
        }
    }
}

/// Also what is wrong with it, and with the fleet.
#[test]
fn the_page_of_a_node_shows_who_leads_what_is_open_and_where_the_car_is() {
    let mut status = crate::operator::tests::busy_status();
    (status.refused.impossible, status.log_lines_lost) = (2, 7);
    let page = status::page(&status);
    for part in [
        "Node A: master, term ",
        "  refused records of peers: 2 impossible orders, 3 over the limit\n",
        "  log: 7 lines lost",
        "\nCar A: floor ",
        "  stuck buttons: car 2\n  since 2026-05-01T12:00:00Z: 40 trips, 300 starts, 39 door cycles, \
         19 h running, 360 m\n  maintenance is due: starts, door cycles, hours\n  lit lamps: hall 3 \
         down\n",
        "\nClimate: the display shows ",
        "\nConflicts\n  CONFLICT  WHAT  ",
        "  building  node D has 9 floors, but this one has 4  20s  0s ago\n",
        "  B     cabin  slave of A  127.0.0.2  12 ms   1.5 ms  1.2 %  synced  differs\n",
        "  door blocked  ",
        "  C     127.0.0.3  1m 15s ago  hung\n",
        "  hall 1 up  12.3 s  A    yes       2\n",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for (sent, accepted, accepts_anybody, expected) in [
        (Some(7), &[7][..], false, "\n  fleet key 7\n"),
        (Some(7), &[7], true, "\n  fleet key 7; also accepted: messages without a key\n"),
        (None, &[], true, "\n  messages are sent and accepted without a fleet key\n"),
        (None, &[], false, "\n  no fleet key: any account on this machine can command"),
    ] {
        let accepted = accepted.to_vec();
        status.fleet_keys = FleetKeysStatus { sent, accepted, accepts_anybody, missing: None };
        let page = status::page(&status);
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

/// What is commanded for all cars comes first, then what is wrong with the node that was asked;
/// each car's mode has its column, and what it says is not said again.
#[test]
fn the_page_of_the_fleet_shows_modes_and_what_is_commanded_for_all_cars() {
    let mut state = crate::operator::tests::busy_fleet();
    assert!(!status::fleet::page(&state).contains("failed"));
    state.fleet.fire_recall = true;
    state.fleet.emergency_power = true;
    state.fleet.turn = NodeId::new("B").ok();
    state.fleet.locked_floors = vec![Floor::BOTTOM];
    state.fleet.disk_failed = true;
    state.fleet.fleet_keys_missing = Some("/etc/liftmesh/fleet.key is not there".to_owned());
    state.cars[0].mode = Mode::Attendant;
    state.cars[0].unavailable = None;
    state.cars[1].mode = Mode::FireService;
    state.cars[1].unavailable = Some(Reason::Mode(Mode::FireService));
    let page = status::fleet::page(&state);
    let said = "\n  fire recall of all cars\n  emergency power, car B's turn\n  floor 0 is locked\n  \
                the disk of A has failed\n  a fleet key is missing: /etc/liftmesh/fleet.key is not \
                there\n\nNodes\n";
    assert!(page.contains(said), "{page}");
    for row in ["  attendant     in service", "  fire-service  not in service"] {
        assert!(page.contains(row), "{row}: {page}");
    }
}

#[test]
fn a_session_is_told_in_words() {
    use SessionState::{Coming, Ended, Queued};

    let [at, to] = [3, 5].map(|index| Floor::try_from(index).unwrap());
    let [b, c] = ["B", "C"].map(|name| NodeId::new(name).unwrap());
    for (to, car, state, expected) in [
        (Some(to), Some(b), Queued, "waits at floor 3 for car B to floor 5"),
        (Some(to), None, Coming(c), "car C is on its way to floor 3, then to floor 5"),
        (None, None, Ended(SessionEnd::CarLost), "has ended: its car was lost"),
    ] {
        let mut status = crate::operator::tests::busy_status();
        let id = RequestId::parse("7d3d9ef7c0ffee00c0ffee00").unwrap();
        let asked = Asked { floor: at, to, seconds: 30, car };
        let session = Session { id, asked, floor: at, to, seconds: 30, leg: 1, state };
        status.settings[0].setting = Setting::Request(Request::Session(session));
        let line = format!("session/7d3d9ef7c0ffee00c0ffee00  {expected}  ");
        assert!(status::page(&status).contains(&line), "{line}");
    }
}

#[test]
fn an_audit_record_says_where_a_command_was_entered_and_what_keys_are_accepted() {
    let node = |name| NodeId::new(name).unwrap();
    let register = |account| AuditEvent::Setting {
        operator: "kovac".to_owned(),
        reason: None,
        account,
        entered_at: node("B"),
        key: "mode/C".to_owned(),
        value: "independent".to_owned(),
    };
    let account = Account { uid: 7, token: Some("phone".to_owned()), ..Account::default() };
    let unrecorded = AuditEvent::Unrecorded { account: account.name(), commands: 47 };
    let keys = AuditEvent::FleetKeys { sent: None, accepted: vec![7], accepts_anybody: true };
    for (event, expected) in [
        (register(None), "  setting  kovac     at node B  "),
        (register(Some(account)), "  setting  kovac     uid 7, token phone over HTTP  "),
        (unrecorded, "47 further commands of token phone in this hour were not recorded"),
        (keys, "sends none, accepts 7, anybody\n"),
    ] {
        let record = AuditRecord::now(node("A"), event, std::time::UNIX_EPOCH);
        let page = audit::page(&[record]);
        assert!(page.contains(expected), "{page}");
    }
}
