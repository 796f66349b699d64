//! HTTP over TLS: a real certificate, and a client that believes nobody else.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use liftmesh_harness::building::{Building, Line, PATIENCE};
use serde_json::json;
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::address;
use super::{call, token};

/// Makes a certificate for an address; where it and its key are.
pub(crate) fn certificate(directory: &Path, of: IpAddr) -> [PathBuf; 2] {
    let made = rcgen::generate_simple_self_signed([of.to_string()]).expect("a certificate");
    let paths = ["node.crt", "node.key"].map(|name| directory.join(name));
    fs::write(&paths[0], made.cert.pem()).expect("written");
    fs::write(&paths[1], made.signing_key.serialize_pem()).expect("written");
    fs::set_permissions(&paths[1], Permissions::from_mode(0o600)).expect("rights");
    paths
}

/// What a node answers over TLS to a client that believes this certificate alone.
fn ask(node: SocketAddr, believed: &Path, head: &str, body: &str) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(believed).expect("a certificate");
    roots.add(certificate).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::from(node.ip());
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(node).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut stream = StreamOwned::new(connection, stream);
    let request = format!(
        "{head}\r\nHost: {node}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
    Ok(answer)
}

/// A building whose node A, with a car, has a certificate.
struct Encrypted {
    building: Building,
    a: SocketAddr,
    certificate: PathBuf,
    key: PathBuf,
    /// Where certificate and key are, as long as they are needed.
    _directory: TempDir,
}

impl Encrypted {
    fn install() -> Self {
        let mut building = Building::new(4, Line::Serial);
        building.install("A", 1);
        let (a, directory) = (address(&building, 1), tempfile::tempdir().expect("a directory"));
        let [certificate, key] = certificate(directory.path(), a.ip());
        Self { building, a, certificate, key, _directory: directory }
    }

    fn start(&mut self) {
        let Self { building, certificate, key, .. } = self;
        building.start_with("A", |command| {
            command.arg("--http-certificate").arg(certificate).arg("--http-key").arg(key);
        });
        building.wait_in_service(&["A"]);
    }

    fn serve() -> Self {
        let mut encrypted = Self::install();
        encrypted.start();
        encrypted.wait_for_tls();
        encrypted
    }

    fn wait_for_tls(&self) {
        self.building.wait("TLS is served", |_| TcpStream::connect(self.a).is_ok());
    }
}

#[test]
fn a_call_is_placed_over_tls() {
    let Encrypted { building, a, certificate, .. } = &Encrypted::serve();
    let a = *a;
    let fleet = ask(a, certificate, "GET /api/v1/fleet HTTP/1.1", "").expect("an answer");
    assert!(fleet.starts_with("HTTP/1.1 200 ") && fleet.contains(r#""node":"A""#), "{fleet}");
    let token = token(building, "A", "kiosk", "call");
    let body = call(&json!({"kind": "hall", "floor": 2, "direction": "up"}), "one");
    let head = format!("POST /api/v1/calls HTTP/1.1\r\nAuthorization: Bearer {token}");
    let placed = ask(a, certificate, &head, &body).expect("an answer");
    assert!(placed.starts_with("HTTP/1.1 201 "), "{placed}");
    building.wait("it is served", |building| {
        building.status("A").is_some_and(|status| status.orders.is_empty())
    });

    // Neither a stranger's certificate nor plain text will do.
    let other = tempfile::tempdir().expect("a directory");
    let [stranger, _] = self::certificate(other.path(), a.ip());
    let refused = ask(a, &stranger, "GET /healthz HTTP/1.1", "").expect_err("a refusal");
    assert!(refused.contains("certificate"), "{refused}");
    let mut plain = TcpStream::connect(a).expect("a connection");
    plain.set_read_timeout(Some(PATIENCE)).expect("a limit");
    plain
        .write_all(format!("GET /healthz HTTP/1.1\r\nHost: {a}\r\n\r\n").as_bytes())
        .expect("sent");
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer).ok();
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
    building.assert_safe();
}

/// A certificate is renewed, and a wrong one does no harm, while the car runs.
#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let Encrypted { building, a, certificate, key, .. } = &Encrypted::serve();
    let believes = |path: &Path| ask(*a, path, "GET /healthz HTTP/1.1", "").is_ok();
    assert!(believes(certificate));
    let fresh = tempfile::tempdir().expect("a directory");
    let [renewed, its_key] = self::certificate(fresh.path(), a.ip());
    let process = building.process_id("A");
    for (path, by) in [(key, &its_key), (certificate, &renewed)] {
        let new = path.with_extension("new");
        fs::copy(by, &new).expect("a copy");
        fs::rename(new, path).expect("a name");
    }
    building.wait("the renewed certificate is presented", |_| believes(&renewed));
    fs::write(certificate, "nothing").expect("written");
    building.wait("the node has looked", |building| {
        building.logged("A").contains("the renewed certificate can't be used")
    });
    assert!(believes(&renewed));
    assert_eq!(building.process_id("A"), process);
    building.assert_safe();
}

/// P5 in spirit: without its key there is no HTTP, and the car runs. Once there is one, HTTP is served.
#[test]
fn a_key_that_others_may_read_is_refused_and_the_car_runs() {
    let mut encrypted = Encrypted::install();
    fs::set_permissions(&encrypted.key, Permissions::from_mode(0o644)).expect("rights");
    encrypted.start();
    let Encrypted { building, a, certificate, key, .. } = &encrypted;
    building.wait("the log says why", |building| {
        let log = building.logged("A");
        log.contains("the HTTP server can't be started")
            && log.contains("others may read or change it (mode 0644)")
    });
    assert!(TcpStream::connect(a).is_err());
    fs::set_permissions(key, Permissions::from_mode(0o600)).expect("rights");
    encrypted.wait_for_tls();
    ask(*a, certificate, "GET /healthz HTTP/1.1", "").expect("an answer");
    building.assert_safe();
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
    let (code, said) = refusal(&[&beyond[..], &both[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = refusal(&beyond);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("unless http.certificate and http.key are set"), "{said}");
    let (code, said) = refusal(&both[..2]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("set together with http."), "{said}");
}
