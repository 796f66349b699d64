use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use elevator_fleet::wire::keyring::Purpose;

use super::file::Rights;
use super::*;

const LAN: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 11);

fn fleet() -> FleetName {
    FleetName::new("tower").expect("a name")
}

/// Writes a fresh key; returns the setting that names it.
fn fresh(directory: &tempfile::TempDir, name: &str) -> String {
    let path = directory.path().join(name);
    create(&path, &KeyText::draw().expect("random numbers")).expect("written");
    path.to_str().expect("a path").to_owned()
}

fn keys(setting: &str) -> Keys {
    Keys::new(KeyFiles::parse(setting).expect("a setting"), fleet(), LAN)
}

fn read(setting: &str) -> Result<Arc<Keyring>, KeyError> {
    let keys = keys(setting);
    keys.read()?;
    Ok(keys.get().expect("all of them"))
}

#[test]
fn a_key_that_was_made_is_read_and_never_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let setting = fresh(&directory, "a.key");
    let mode = fs::metadata(&setting).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let error = create(setting.as_ref(), &KeyText::draw().expect("random numbers"));
    assert_eq!(error.map_err(|error| error.kind()), Err(std::io::ErrorKind::AlreadyExists));

    let (one, two) = (read(&setting).expect("a key"), read(&setting).expect("a key"));
    let (one, two) = (one.sent().expect("a key"), two.sent().expect("a key"));
    let tag = one.tag(Purpose::Datagram, b"beacon");
    assert!(two.verifies(Purpose::Datagram, b"beacon", &tag));
    let other = read(&fresh(&directory, "b.key")).expect("a key");
    assert!(!other.sent().expect("a key").verifies(Purpose::Datagram, b"beacon", &tag));
}

#[test]
fn without_a_key_only_loopback_is_used() {
    let at = |address| Keys::new(KeyFiles::default(), fleet(), address);
    let none = at(Ipv4Addr::new(127, 3, 0, 1));
    none.read().expect("no key");
    assert!(none.get().expect("none is needed").accepts_anybody());
    assert!(none.let_anybody_in());
    let none = at(LAN);
    let refused = none.read().expect_err("no key").to_string();
    assert!(none.get().is_none());
    assert!(!none.let_anybody_in());
    assert!(refused.contains("192.168.1.11 is not on loopback"), "{refused}");
    assert!(refused.contains("liftmesh keygen"), "{refused}");
    assert!(read("none").expect("as asked for").accepts_anybody());
}

#[test]
fn a_setting_that_names_no_files_is_refused() {
    for wrong in ["", ",", "fleet.key", "/a,", "/a,/a", "none,none", "/a,/b,/c,/d,/e"] {
        assert_eq!(KeyFiles::parse(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_fix() {
    let directory = tempfile::tempdir().expect("a directory");
    let setting = fresh(&directory, "a.key");
    fs::set_permissions(&setting, Permissions::from_mode(0o644)).expect("set");
    let refused = read(&setting).expect_err("exposed").to_string();
    let expected = format!("(mode 0644); fix it with: chmod 0640 {setting}");
    assert!(refused.ends_with(&expected), "{refused}");
}

#[test]
fn what_is_no_key_is_refused_and_never_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let setting = fresh(&directory, "a.key");
    let key = fs::read_to_string(&setting).expect("there");
    let key = key.trim_end();
    for wrong in [
        "",
        "secret",
        &key[..key.len() - 1],
        &format!("{key}0"),
        &key.replace("key-1", "key-2"),
        &format!("{}g", &key[..key.len() - 1]),
        &"x".repeat(100_000),
    ] {
        fs::write(&setting, wrong).expect("written");
        let refused = read(&setting).expect_err("no key").to_string();
        assert!(refused.contains("not a key"), "{refused}");
        assert!(!refused.contains(&key[20..]), "{refused}");
    }
    fs::write(&setting, [0xff, 0xfe]).expect("written");
    assert!(read(&setting).is_err());
    fs::write(&setting, format!("  {key}\r\n\n")).expect("written");
    assert!(read(&setting).is_ok(), "blanks do no harm");
    let printed = format!("{:?}", KeyText::draw().expect("random numbers"));
    assert_eq!(printed, "KeyText(..)");
}

/// A pipe without a writer, and a device that never ends, keep nobody waiting.
#[test]
fn only_a_file_is_a_key() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    for path in [pipe.to_str().expect("a path"), "/dev/zero", "/tmp"] {
        let refused = read(path).expect_err("no key").to_string();
        assert!(refused.contains("not a key"), "{refused}");
    }
}

/// Who may own and read the key file of a node that runs as user 1000.
#[test]
fn only_the_node_its_group_and_root_may_read_a_key() {
    const OWN: u32 = 1000;
    let verdict =
        |mode, owner, asker| match (Rights { mode, owner }).check(Path::new("k"), OWN, asker) {
            Ok(()) => "accepted",
            Err(FileError::OtherOwner { .. }) => "owner",
            Err(FileError::Exposed { fix, .. }) => fix,
            Err(FileError::Io { .. }) => "unreadable",
            Err(FileError::NoKey { .. }) => "no key",
        };
    for (mode, owner, expected) in [
        (0o600, OWN, "accepted"),
        (0o400, OWN, "accepted"),
        (0o640, OWN, "accepted"),
        (0o440, 0, "accepted"),
        (0o600, 0, "accepted"),
        // Another user can change it whatever the mode says.
        (0o600, 7, "owner"),
        // The group may read it, and do nothing more; others may do nothing.
        (0o660, OWN, "0640"),
        (0o620, 0, "0640"),
        (0o604, OWN, "0600"),
        (0o602, OWN, "0600"),
        (0o644, 0, "0640"),
    ] {
        assert_eq!(verdict(mode, owner, OWN), expected, "{mode:04o}, user {owner}");
    }
    // Root could open it, which says nothing of the node.
    assert_eq!(verdict(0o600, OWN, 0), "accepted");
    assert_eq!(verdict(0o600, 0, 0), "unreadable");
}
