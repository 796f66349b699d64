//! The certificates of HTTP over TLS.

use std::fs::{self, Permissions};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::command_line::{NODE, fails};

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
fn http_beyond_loopback_needs_certificate_and_key() {
    let beyond = ["--http-address", "192.168.1.11:7080"];
    let half = ["--http-certificate", "/etc/node.crt"];
    for (flags, says) in [
        (beyond, "unless http.certificate and http.key are set"),
        (half, "set together with http."),
    ] {
        let words: Vec<&str> = ["check-config"].into_iter().chain(NODE.split(' ')).collect();
        let said = fails(2, &[&words[..], &flags].concat());
        assert!(said.contains(says), "{said}");
    }
}
