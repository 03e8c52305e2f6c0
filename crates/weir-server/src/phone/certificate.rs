//! A certificate of the server's own for the local network, made where a telephone is to be paired and kept
//! with its key in the state folder, for its owner alone. No authority vouches for it: a browser warns once,
//! and whoever compares the fingerprint that the terminal shows knows that it is this one. Not here: how it
//! is served (`tls`), certificates that somebody has (`server.certificate`).

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, SanType,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use weir_core::ids::Timestamp;
use weir_install::files;

use crate::auth::secret::sha256_digest;
use crate::x509;

/// Where it lies in the state folder.
const FOLDER: &str = "phone";
const DAY_US: i64 = 86_400_000_000;
/// Browsers take none that holds for longer than 398 days.
const HOLDS_DAYS: i64 = 390;
/// One that ends in less is made anew, with the same key.
const LEFT_DAYS_MIN: i64 = 30;

/// The certificate and its key, as files, and by what a person knows it.
#[derive(Debug, Clone)]
pub struct LanCertificate {
    /// The certificate, PEM.
    pub chain: PathBuf,
    /// Its key, PEM, for the owner alone.
    pub key: PathBuf,
    /// SHA-256 of the certificate, as browsers show it.
    pub fingerprint: String,
}

/// The certificate for `address`: the one that is there, or one that is made now.
///
/// # Errors
/// The files cannot be read or written: a sentence.
pub fn lan_certificate(
    state: &Path,
    address: IpAddr,
    now: Timestamp,
) -> Result<LanCertificate, String> {
    let folder = state.join(FOLDER);
    let name = format!("{address}").replace([':', '.'], "-");
    let (chain, key_path) = (folder.join(format!("{name}.pem")), folder.join("key.pem"));
    let failed = |why: String| format!("a certificate could not be made for {address}: {why}");
    let key = load_or_make_key(&key_path).map_err(failed)?;
    // One of another key (that one was lost, say) could not be served.
    let is_good = |kept: &KeptCertificate| {
        kept.public_key == key.public_key_raw()
            && kept.ends.micros() - now.micros() >= LEFT_DAYS_MIN * DAY_US
    };
    let der = match read_certificate(&chain).filter(is_good) {
        Some(kept) => kept.der,
        None => make_certificate(&chain, &key, address, now).map_err(failed)?,
    };
    let fingerprint: Vec<String> =
        sha256_digest(&der).iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(LanCertificate { chain, key: key_path, fingerprint: fingerprint.join(":") })
}

/// A certificate that is there.
struct KeptCertificate {
    der: Vec<u8>,
    /// The key that it is for, as it stands in it.
    public_key: Vec<u8>,
    ends: Timestamp,
}

fn read_certificate(path: &Path) -> Option<KeptCertificate> {
    let der = CertificateDer::from_pem_file(path).ok()?.to_vec();
    let fields = x509::read_certificate(&der)?;
    let (public_key, ends) = (fields.public_key.to_vec(), fields.ends);
    Some(KeptCertificate { der, public_key, ends })
}

fn make_certificate(
    chain: &Path,
    key: &KeyPair,
    address: IpAddr,
    now: Timestamp,
) -> Result<Vec<u8>, String> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::IpAddress(address)];
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, format!("Weir at {address}"));
    params.distinguished_name = subject;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Another one each time: by default it follows from the key, which stays, and browsers refuse two
    // certificates of one issuer with one number.
    params.serial_number = Some(u64::try_from(now.micros()).unwrap_or(1).into());
    // From a day ago, for clocks that differ.
    let (Some(first), Some(last)) = (day_from(now, -1), day_from(now, HOLDS_DAYS)) else {
        return Err("the clock is not set".to_owned());
    };
    params.not_before = rcgen::date_time_ymd(first.0, first.1, first.2);
    params.not_after = rcgen::date_time_ymd(last.0, last.1, last.2);
    let made = params.self_signed(key).map_err(|error| error.to_string())?;
    files::replace_file(chain, made.pem().as_bytes(), 0o600)
        .map_err(|error| format!("{error:#}"))?;
    Ok(made.der().to_vec())
}

/// The day so many days from now: year, month, day.
fn day_from(now: Timestamp, days: i64) -> Option<(i32, u8, u8)> {
    let at = jiff::Timestamp::from_microsecond(now.micros() + days * DAY_US).ok()?;
    let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
    Some((i32::from(date.year()), date.month().unsigned_abs(), date.day().unsigned_abs()))
}

/// The key; it stays the same when the certificate is made anew.
fn load_or_make_key(path: &Path) -> Result<KeyPair, String> {
    if !path.exists() {
        let made = KeyPair::generate().map_err(|error| error.to_string())?;
        files::create_file_once(path, made.serialize_pem().as_bytes(), 0o600)
            .map_err(|error| format!("{error:#}"))?;
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("reading {}: {error}", path.display()))?;
    KeyPair::from_pem(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn r5_the_certificate_of_the_local_network_stays_until_it_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let address: IpAddr = "192.168.7.20".parse().expect("an address");
        let now = Timestamp(1_800_000_000_000_000);
        let made = |at: Timestamp| lan_certificate(folder.path(), address, at).expect("made");
        let first = made(now);
        assert_eq!(first.fingerprint.len(), 32 * 3 - 1, "{}", first.fingerprint);
        let mode = std::fs::metadata(&first.key).expect("a key").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "for the owner alone");
        assert_eq!(made(Timestamp(now.0 + 300 * DAY_US)).fingerprint, first.fingerprint);
        let next = made(Timestamp(now.0 + 380 * DAY_US));
        assert_ne!(next.fingerprint, first.fingerprint, "it would end soon");
        let serial = |made: &LanCertificate| {
            let der = CertificateDer::from_pem_file(&made.chain).expect("it is there");
            x509::tests::serial_number(&der).expect("readable")
        };
        let number = serial(&next);
        let later = made(Timestamp(now.0 + 760 * DAY_US));
        assert_ne!(serial(&later), number, "of one issuer and key, each has a number of its own");
        std::fs::remove_file(&later.key).expect("it was there");
        let anew = made(Timestamp(now.0 + 761 * DAY_US));
        assert_ne!(anew.fingerprint, later.fingerprint, "one of a lost key is not served");
        let other = lan_certificate(folder.path(), "10.0.0.9".parse().expect("one"), now);
        assert_ne!(other.expect("made").fingerprint, first.fingerprint, "another address");
    }
}
