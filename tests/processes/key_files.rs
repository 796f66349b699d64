//! The files of fleet keys: `liftmesh keygen` makes them, and `doctor` looks at them.

use std::fs::{self, Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use liftmesh_harness::building::skip;

use super::command_line::{done, fails, run};

#[test]
fn keygen_makes_a_key_that_only_its_owner_reads_and_never_overwrites_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("fleet.key");
    let path = file.to_str().unwrap();
    assert_eq!(done(&["keygen", "--out", path]), format!("fleet key written to {path}\n"));
    let key = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = fails(2, &["keygen", "--out", path]);
    assert!(again.contains("never overwritten"), "{again}");
    assert_eq!(fs::read_to_string(&file).unwrap(), key);
    let nowhere = fails(1, &["keygen", "--out", "/nowhere/fleet.key"]);
    assert!(nowhere.contains("/nowhere/fleet.key can't be written"), "{nowhere}");

    let printed = done(&["keygen"]);
    assert!(printed.starts_with("liftmesh-key-1-") && printed.len() == key.len(), "{printed}");
    assert_ne!(printed, key);
}

/// What it says of the fleet keys.
fn doctor(data_dir: &Path, keys: &[&str]) -> String {
    let data_dir = data_dir.to_str().unwrap();
    let mut words = vec!["doctor", "--car", "A", "--floors", "4"];
    words.extend(["--address", "127.0.0.1", "--broadcast", "127.255.255.255:46100"]);
    words.extend(["--panel", "serial:///dev/null", "--data-dir", data_dir]);
    words.extend(keys);
    let shown = String::from_utf8(run(&words).stdout).unwrap();
    shown.lines().find(|line| line.contains(" fleet_keys: ")).unwrap().to_owned()
}

#[test]
fn the_doctor_tells_whether_the_fleet_key_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("fleet.key");
    let path = file.to_str().unwrap();
    done(&["keygen", "--out", path]);
    let doctor = |keys: &[&str]| doctor(directory.path(), keys);
    assert_eq!(doctor(&[]), "ok       fleet_keys: messages are sent without a key");
    let shown = doctor(&["--fleet-keys", path]);
    assert!(shown.starts_with("ok       fleet_keys: messages are sent with key "), "{shown}");
    set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let shown = doctor(&["--fleet-keys", path]);
    assert!(shown.starts_with("error    fleet_keys: ") && shown.contains("chmod 0640"), "{shown}");
    set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let gone = format!("{path}.gone");
    let shown = doctor(&["--fleet-keys", &gone]);
    assert!(shown.contains("fleet.key.gone: No such file"), "{shown}");
    let both = format!("{path},{gone}");
    let shown = doctor(&["--fleet-keys", &both]);
    assert!(shown.ends_with("until then nodes that send it are not heard"), "{shown}");
}

/// As SECURITY.md and the README have it: the key is given to the node's user, and root looks.
#[test]
fn the_doctor_of_root_judges_the_fleet_key_for_the_node_s_user() {
    const NODE: u32 = 54_321;
    let directory = tempfile::tempdir().unwrap();
    let (file, data_dir) = (directory.path().join("fleet.key"), directory.path().join("data"));
    let path = file.to_str().unwrap();
    done(&["keygen", "--out", path]);
    if let Err(error) = chown(&file, Some(NODE), Some(NODE)) {
        return skip(&format!("only root can give files to others: {error}"));
    }
    let doctor = || doctor(&data_dir, &["--fleet-keys", path]);
    let shown = doctor();
    assert!(shown.starts_with("-        fleet_keys: not checked"), "{shown}");
    fs::create_dir(&data_dir).unwrap();
    let shown = doctor();
    assert!(shown.starts_with("error    fleet_keys: ") && shown.contains("user 54321"), "{shown}");
    chown(&data_dir, Some(NODE), Some(NODE)).unwrap();
    let shown = doctor();
    assert!(shown.starts_with("ok       fleet_keys: messages are sent with key "), "{shown}");
    // Which groups the node has is not known.
    set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let shown = doctor();
    assert!(shown.starts_with("-        fleet_keys: not checked"), "{shown}");
    chown(&file, Some(0), None).unwrap();
    set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let shown = doctor();
    assert!(shown.starts_with("error    fleet_keys: ") && shown.contains("denied"), "{shown}");
}

/// A key that can't be made to last is not made: nobody takes it for one.
#[test]
fn keygen_leaves_nothing_where_it_can_t_see_to_it_that_the_key_lasts() {
    const NOBODY: u32 = 65_534;
    let directory = tempfile::tempdir().unwrap();
    set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
    let blind = directory.path().join("blind");
    fs::create_dir(&blind).unwrap();
    if let Err(error) = chown(&blind, Some(NOBODY), None) {
        return skip(&format!("only root can give files to others: {error}"));
    }
    // It can be written, but not opened.
    set_permissions(&blind, Permissions::from_mode(0o300)).unwrap();
    let program = directory.path().join("liftmesh");
    fs::copy(env!("CARGO_BIN_EXE_liftmesh"), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    let Ok(output) = command.args(["keygen", "--out"]).arg(blind.join("fleet.key")).output() else {
        return skip("no setpriv (util-linux)");
    };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't be written"), "{output:?}");
    assert_eq!(fs::read_dir(&blind).unwrap().count(), 0);
}
