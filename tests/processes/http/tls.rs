//! The certificates of HTTP over TLS.

use std::fs::{self, Permissions};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes a certificate for an address; where it and its key are.
pub(crate) fn certificate(directory: &Path, of: IpAddr) -> [PathBuf; 2] {
    let made = rcgen::generate_simple_self_signed([of.to_string()]).expect("a certificate");
    let paths = ["node.crt", "node.key"].map(|name| directory.join(name));
    fs::write(&paths[0], made.cert.pem()).expect("written");
    fs::write(&paths[1], made.signing_key.serialize_pem()).expect("written");
    fs::set_permissions(&paths[1], Permissions::from_mode(0o600)).expect("rights");
    paths
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let refusal = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
            .env("LIFTMESH_CONFIG", "")
            .args(["check-config", "--car", "A", "--address", "192.168.1.11"])
            .args(["--broadcast", "192.168.1.255:46100", "--panel", "tcp://127.0.0.1:1"])
            .args(["--floors", "4", "--data-dir", "/tmp/none"])
            .args(flags)
            .output()
            .expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    let beyond = ["--http-address", "192.168.1.11:7080"];
    let both = ["--http-certificate", "/etc/node.crt", "--http-key", "/etc/node.key"];
    for (flags, code, says) in [
        (&[&beyond[..], &both[..]].concat()[..], 0, ""),
        (&beyond, 2, "unless http.certificate and http.key are set"),
        (&both[..2], 2, "set together with http."),
    ] {
        let (found, said) = refusal(flags);
        assert!(found == Some(code) && said.contains(says), "{said}");
    }
}
