//! The server's own certificate: read at the start, read again when its files change, and looked at
//! for the day on which it ends. Not here: certificates of others.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use weir_core::ids::Timestamp;
use weir_install::maintenance::{HealthFinding, HealthLevel};

use crate::x509::read_certificate;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A certificate that ends in less is told of.
const CERTIFICATE_DAYS_MIN: i64 = 14;
const DAY_US: i64 = 86_400_000_000;

/// A certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the certificate {}: {why}", .path.display())]
pub struct TlsError {
    /// The file that cannot be used.
    path: PathBuf,
    /// What is wrong with it, and what to do.
    why: String,
}

/// A certificate with its key, and when it ends.
#[derive(Debug)]
struct LoadedCertificate {
    key: Arc<CertifiedKey>,
    ends: Timestamp,
}

/// The certificate that is shown to whoever connects.
#[derive(Debug)]
pub(crate) struct ServerCertificate {
    chain: PathBuf,
    key: PathBuf,
    loaded: RwLock<LoadedCertificate>,
}

impl ServerCertificate {
    /// Reads both files.
    ///
    /// # Errors
    /// One of them cannot be read, or the key is not that of the certificate.
    pub(crate) fn read_files(chain: &Path, key: &Path) -> Result<Arc<ServerCertificate>, TlsError> {
        let loaded = RwLock::new(load_certificate(chain, key)?);
        Ok(Arc::new(ServerCertificate { chain: chain.into(), key: key.into(), loaded }))
    }

    /// When it ends.
    pub(crate) fn ends_at(&self) -> Timestamp {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).ends
    }

    /// What accepts connections with it: TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// The library refuses its own defaults.
    pub(crate) fn tls_acceptor(self: &Arc<ServerCertificate>) -> Result<TlsAcceptor, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_error(&self.chain, error))?;
        let mut config = config.with_no_client_auth().with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Reads the files again whenever they change, for as long as it is polled. Files that cannot be
    /// used leave the certificate that was there.
    pub(crate) async fn follow_files(&self) {
        let mut seen = self.changed_at();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.changed_at();
            if now == seen {
                continue;
            }
            // Both files are written one after the other: what does not fit yet is looked at again.
            match load_certificate(&self.chain, &self.key) {
                Ok(loaded) => {
                    seen = now;
                    *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                    tracing::info!(file = %self.chain.display(), "the new certificate is in use");
                }
                Err(error) => tracing::error!(%error, "the old certificate stays in use"),
            }
        }
    }

    fn changed_at(&self) -> [Option<SystemTime>; 2] {
        [&self.chain, &self.key].map(|path| std::fs::metadata(path).ok()?.modified().ok())
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.loaded.read().unwrap_or_else(PoisonError::into_inner).key.clone())
    }
}

/// How long the certificate in these files holds at `now`.
///
/// # Errors
/// One of them cannot be read, or the key is not that of the certificate.
pub fn certificate_finding(
    chain: &Path,
    key: &Path,
    now: Timestamp,
) -> Result<HealthFinding, TlsError> {
    Ok(check_certificate(load_certificate(chain, key)?.ends, now))
}

fn tls_error(path: &Path, why: impl std::fmt::Display) -> TlsError {
    TlsError { path: path.into(), why: why.to_string() }
}

fn load_certificate(chain_path: &Path, key_path: &Path) -> Result<LoadedCertificate, TlsError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(chain_path)
        .and_then(Iterator::collect)
        .map_err(|error| tls_error(chain_path, error))?;
    let first = chain.first().ok_or_else(|| {
        tls_error(chain_path, "there is none in the file; it is a PEM file with the server's first")
    })?;
    let ends = read_certificate(first)
        .ok_or_else(|| tls_error(chain_path, "the first one cannot be understood"))?
        .ends;
    let key = PrivateKeyDer::from_pem_file(key_path).map_err(|error| tls_error(key_path, error))?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key)
        .map_err(|error| tls_error(key_path, error))?;
    let key = CertifiedKey::new(chain, key);
    match key.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => (),
        Err(_) => return Err(tls_error(key_path, "this key is not that of the certificate")),
    }
    Ok(LoadedCertificate { key: Arc::new(key), ends })
}

/// How long a certificate holds.
pub(crate) fn check_certificate(ends: Timestamp, now: Timestamp) -> HealthFinding {
    let days = (ends.micros() - now.micros()).div_euclid(DAY_US);
    let of = |health, says: String| HealthFinding::new("certificate", health, says);
    let left = ends.micros() - now.micros();
    match days {
        ..0 => of(
            HealthLevel::Warn,
            format!(
                "the certificate ended {} ago: browsers refuse it; renew it",
                duration_text(-left)
            ),
        ),
        days if days < CERTIFICATE_DAYS_MIN => of(
            HealthLevel::Warn,
            format!("the certificate ends in {}; renew it", duration_text(left)),
        ),
        days => of(HealthLevel::Good, format!("the certificate holds for {days} days")),
    }
}

/// A time in the largest unit of which there are at least two.
fn duration_text(us: i64) -> String {
    let minutes = us / 60_000_000;
    match minutes {
        ..120 => format!("{minutes} minutes"),
        120..2_880 => format!("{} hours", minutes / 60),
        _ => format!("{} days", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s15_a_certificate_is_told_of_before_it_ends() {
        let day = |days: i64| Timestamp(days * DAY_US);
        assert_eq!(check_certificate(day(100), day(1)).health, HealthLevel::Good);
        assert_eq!(check_certificate(day(14), day(1)).health, HealthLevel::Warn);
        let ended = check_certificate(day(10), day(13));
        assert!(
            ended.health == HealthLevel::Warn && ended.says.contains("3 days ago"),
            "{ended:?}"
        );
        let hour = |hours: i64| Timestamp(hours * DAY_US / 24);
        let just = check_certificate(hour(10), hour(13));
        assert!(just.health == HealthLevel::Warn && just.says.contains("3 hours ago"), "{just:?}");
        assert!(check_certificate(hour(30), hour(13)).says.contains("ends in 17 hours"));
    }
}
