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
fn a_key_that_was_made_is_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let setting = fresh(&directory, "a.key");
    let mode = fs::metadata(&setting).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);

    let (one, two) = (read(&setting).expect("a key"), read(&setting).expect("a key"));
    let (one, two) = (one.sent().expect("a key"), two.sent().expect("a key"));
    let tag = one.tag(Purpose::Datagram, b"beacon");
    assert!(two.verifies(Purpose::Datagram, b"beacon", &tag));

    let other = read(&fresh(&directory, "b.key")).expect("a key");
    assert!(!other.sent().expect("a key").verifies(Purpose::Datagram, b"beacon", &tag));
}

#[test]
fn a_key_file_is_never_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let setting = fresh(&directory, "a.key");
    let before = fs::read(&setting).expect("there");
    let error = create(setting.as_ref(), &KeyText::draw().expect("random numbers"));
    assert_eq!(error.map_err(|error| error.kind()), Err(std::io::ErrorKind::AlreadyExists));
    assert_eq!(fs::read(&setting).expect("there"), before);
    let link = directory.path().join("link.key");
    std::os::unix::fs::symlink(directory.path().join("nothing"), &link).expect("a link");
    assert!(create(&link, &KeyText::draw().expect("random numbers")).is_err());
    let names = fs::read_dir(directory.path()).expect("there").count();
    assert_eq!(names, 2, "nothing else is left");
}

/// The three stages of a rotation, and of the migration of a fleet that had no key.
#[test]
fn the_first_key_is_sent_and_all_are_accepted() {
    let directory = tempfile::tempdir().expect("a directory");
    let (old, new) = (fresh(&directory, "old.key"), fresh(&directory, "new.key"));
    let id = |setting: &str| read(setting).expect("keys").sent().map(FleetKey::id);
    assert_eq!(id(&format!("{old},{new}")), id(&old));
    assert_eq!(id(&format!("{new}, {old}")), id(&new));
    assert_eq!(id(&format!("none,{new}")), None);
    for (setting, anybody) in
        [(format!("none,{new}"), true), (format!("{new},none"), true), (new.clone(), false)]
    {
        assert_eq!(read(&setting).expect("keys").accepts_anybody(), anybody, "{setting}");
        let files = KeyFiles::parse(&setting).expect("a setting");
        assert_eq!(keys(&setting).let_anybody_in(), anybody, "{setting}");
        assert_eq!(KeyFiles::parse(&files.to_string()), Some(files), "{setting}");
    }
}

#[test]
fn without_a_key_only_loopback_is_used() {
    let at = |address| Keys::new(KeyFiles::default(), fleet(), address);
    let none = at(Ipv4Addr::new(127, 3, 0, 1));
    none.read().expect("no key");
    assert!(none.get().expect("none is needed").accepts_anybody());
    assert!(none.let_machine_in());
    let none = at(LAN);
    let refused = none.read().expect_err("no key").to_string();
    assert!(none.get().is_none());
    assert!(!none.let_machine_in());
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
fn a_key_that_others_may_read_or_change_is_refused_with_the_fix() {
    let directory = tempfile::tempdir().expect("a directory");
    let setting = fresh(&directory, "a.key");
    let with = |mode| {
        fs::set_permissions(&setting, Permissions::from_mode(mode)).expect("set");
        read(&setting)
    };
    for (mode, fix) in [(0o604, "0600"), (0o602, "0600"), (0o644, "0640"), (0o660, "0640")] {
        let refused = with(mode).expect_err("exposed").to_string();
        let expected = format!("(mode {mode:04o}); fix it with: chmod {fix} {setting}");
        assert!(refused.ends_with(&expected), "{refused}");
    }
    for mode in [0o600, 0o400, 0o640, 0o440] {
        assert!(with(mode).is_ok(), "{mode:o}");
    }
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

/// Each key is used from the moment it is there, and each that is not is named.
#[test]
fn keys_that_are_only_accepted_come_one_by_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a path").to_owned();
    let keys = keys(&["a.key", "b.key", "c.key"].map(path).join(","));
    let missing = || {
        let texts = keys.read().map_err(|error| error.to_string()).err().unwrap_or_default();
        ["a.key", "b.key", "c.key"].map(|name| texts.contains(&format!("{name}: No such file")))
    };
    let in_use = || keys.get().map(|keyring| keyring.ids().count());

    fresh(&directory, "c.key");
    assert_eq!((missing(), in_use()), ([true, true, false], None));
    fresh(&directory, "a.key");
    assert_eq!((missing(), in_use()), ([false, true, false], Some(2)));
    // What was read stays in use.
    fs::remove_file(path("c.key")).expect("removed");
    let sent = keys.get().expect("two").sent().map(FleetKey::id);
    fresh(&directory, "b.key");
    assert_eq!((missing(), in_use()), ([false, false, false], Some(3)));
    assert_eq!(keys.get().expect("all").sent().map(FleetKey::id), sent);

    // A node that sends none needs no other.
    let introduced = self::keys("none,/nowhere/d.key");
    let refused = introduced.read().expect_err("not there").to_string();
    assert!(refused.contains("d.key: No such file"), "{refused}");
    assert!(introduced.get().is_some_and(|keyring| keyring.sent().is_none()));
}

/// Who waits is woken by the first keys, whatever is missing.
#[tokio::test]
async fn who_waits_for_keys_is_woken_by_the_one_that_is_sent() {
    let directory = tempfile::tempdir().expect("a directory");
    let late = directory.path().join("late.key");
    let keys = keys(&format!("{},/nowhere/b.key", late.to_str().expect("a path")));
    let waiting = keys.wait();
    tokio::pin!(waiting);
    assert!(keys.read().is_err());
    assert!(at_once(waiting.as_mut()).await.is_none());
    fresh(&directory, "late.key");
    assert!(keys.read().is_err());
    assert!(at_once(waiting).await.is_some());
}

/// What a future comes to without waiting.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = std::future::ready(()) => None,
    }
}

/// Which owner, group and mode of a key file a node accepts that runs as user 1000, in the groups 1000
/// and 44.
#[test]
fn only_the_node_and_root_may_read_a_key() {
    const OWN: u32 = 1000;
    let verdict = |mode, owner, group, groups: Option<&[u32]>| match (Rights { mode, owner, group })
        .check(Path::new("k"), OWN, groups)
    {
        Ok(()) => "accepted",
        Err(FileError::OtherOwner { .. }) => "owner",
        Err(FileError::Exposed { fix, .. }) => fix,
        Err(FileError::OtherGroup { .. }) => "group",
        Err(FileError::Io { .. }) => "unreadable",
        Err(FileError::NoKey { .. }) => "no key",
    };
    let cases = [
        // Of the node's user: its group does not matter unless the group may read it.
        (0o600, OWN, OWN, "accepted"),
        (0o400, OWN, 7, "accepted"),
        (0o640, OWN, OWN, "accepted"),
        (0o640, OWN, 44, "accepted"),
        (0o640, OWN, 7, "group"),
        // Root's group reads everything anyway: so systemd hands out credentials.
        (0o640, OWN, 0, "accepted"),
        (0o440, 0, 0, "accepted"),
        (0o640, 0, 44, "accepted"),
        (0o640, 0, 7, "group"),
        (0o600, 0, 0, "accepted"),
        // Another user can change it whatever the mode says.
        (0o600, 7, OWN, "owner"),
        (0o440, 7, 0, "owner"),
        // The group may read it, and do nothing more; others may do nothing.
        (0o660, OWN, OWN, "0640"),
        (0o620, 0, 0, "0640"),
        (0o604, OWN, OWN, "0600"),
        (0o602, OWN, OWN, "0600"),
        (0o644, OWN, OWN, "0640"),
        (0o644, 0, 0, "0640"),
    ];
    for (mode, owner, group, expected) in cases {
        let said = verdict(mode, owner, group, Some(&[OWN, 44]));
        assert_eq!(said, expected, "{mode:04o}, user {owner}, group {group}");
    }
    // The groups of another user than this process's are not known, nor what it can open.
    assert_eq!(verdict(0o600, OWN, 7, None), "accepted");
    assert_eq!(verdict(0o640, 0, 0, None), "group");
    assert_eq!(verdict(0o640, OWN, OWN, None), "group");
    assert_eq!(verdict(0o600, 0, 0, None), "unreadable");
}
