//! The certificate of `http.certificate`: whether it and its key belong together, and when it counts.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::geteuid;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

use super::Verdict;
use crate::http::TlsFiles;
use crate::http::tls::{TlsError, acceptor, certificates};

/// A certificate that expires sooner is a matter for today.
const SOON: Duration = Duration::from_hours(30 * 24);

const REMEDY: &str = "have its authority renew it, and restart the node";

pub(super) fn certificate(files: &TlsFiles, address: SocketAddr, data_dir: &Path) -> Verdict {
    if let Err(error) = acceptor(files) {
        let is_private = match &error {
            TlsError::Foreign { .. } => true,
            TlsError::Io { source, .. } => source.kind() == ErrorKind::PermissionDenied,
            TlsError::Exposed { .. }
            | TlsError::Pem { .. }
            | TlsError::Empty(_)
            | TlsError::Unfit(_) => false,
        };
        let owner = fs::metadata(data_dir).ok().map(|directory| directory.uid());
        if is_private && owner != Some(geteuid().as_raw()) {
            let why =
                "whether the node can read the key depends on its user: run this as that user";
            return Verdict::unchecked(why.to_owned());
        }
        return Verdict::of_error(&error, "give the node a certificate and its key");
    }
    let Ok(chain) = certificates(&files.certificate) else {
        return Verdict::unchecked("the certificate is being replaced".to_owned());
    };
    judge(&chain, address, SystemTime::now())
}

/// Of the first certificate of a chain, at a time.
fn judge(chain: &[CertificateDer<'static>], address: SocketAddr, now: SystemTime) -> Verdict {
    let shown = |time: UnixTime| {
        let time = UNIX_EPOCH + Duration::from_secs(time.as_secs());
        humantime::format_rfc3339_seconds(time).to_string()
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let Some(verifier) = verifier(chain) else {
        return Verdict::unchecked("this kind of certificate can't be checked".to_owned());
    };
    let fault_at = |time: Duration| {
        let (time, name) = (UnixTime::since_unix_epoch(time), ServerName::from(address.ip()));
        match verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], time) {
            Err(Error::InvalidCertificate(fault)) => Some(fault),
            Ok(_) | Err(_) => None,
        }
    };
    match fault_at(now) {
        Some(CertificateError::NotValidYetContext { not_before, .. }) => {
            let what = format!("the certificate is not valid before {}", shown(not_before));
            return Verdict::wrong(what, "set the clock, or get another certificate");
        }
        Some(CertificateError::ExpiredContext { not_after, .. }) => {
            let what = format!("the certificate expired at {}", shown(not_after));
            return Verdict::wrong(what, REMEDY);
        }
        Some(CertificateError::NotValidForNameContext { .. }) => {
            let ip = address.ip();
            return Verdict::warning(
                format!("the certificate is not for {ip}, where the node listens"),
                "ignore this if clients use a name in the certificate",
            );
        }
        // Who has signed it is for clients to judge.
        Some(_) | None => {}
    }
    match fault_at(Duration::from_secs(u64::MAX)) {
        Some(CertificateError::ExpiredContext { not_after, .. }) => {
            let (left, end) = (not_after.as_secs().saturating_sub(now.as_secs()), shown(not_after));
            if left < SOON.as_secs() {
                Verdict::warning(format!("the certificate expires at {end}"), REMEDY)
            } else {
                Verdict::good(format!("the certificate matches its key and is valid until {end}"))
            }
        }
        Some(_) | None => Verdict::good("the certificate matches its key".to_owned()),
    }
}

/// One that knows only this chain, which is enough to learn when its first certificate counts.
fn verifier(chain: &[CertificateDer<'static>]) -> Option<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn a_certificate_counts_from_its_first_day_to_its_last() {
        let mut params = CertificateParams::new(["10.0.0.1".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2027, 1, 1);
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let chain = [made.der().clone()];
        let of = |address: &str, time: &str| {
            let time = humantime::parse_rfc3339(time).unwrap();
            judge(&chain, format!("{address}:7080").parse().unwrap(), time)
        };
        for (address, time, verdict) in [
            (
                "10.0.0.1",
                "2026-05-01T00:00:00Z",
                "ok       x: the certificate matches its key and is valid",
            ),
            (
                "10.0.0.1",
                "2025-12-31T00:00:00Z",
                "error    x: the certificate is not valid before 2026-01-01",
            ),
            (
                "10.0.0.1",
                "2026-12-20T00:00:00Z",
                "warning  x: the certificate expires at 2027-01-01",
            ),
            ("10.0.0.1", "2027-01-02T00:00:00Z", "error    x: the certificate expired at 2027-01"),
            ("10.0.0.2", "2026-05-01T00:00:00Z", "warning  x: the certificate is not for 10.0.0.2"),
        ] {
            let shown = super::super::finding("x", of(address, time)).to_string();
            assert!(shown.starts_with(verdict), "{time}: {shown}");
        }
    }
}
