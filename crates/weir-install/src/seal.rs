//! Secrets in the database are sealed; the key lies outside it, in a file of its own for the owner
//! alone (Z7). Whoever has the database alone has none of them.

use std::path::Path;

use anyhow::Context as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::failure::{InstallationError, usage};
use crate::files;

/// Seals and opens.
pub struct SecretSeal(LessSafeKey);

impl SecretSeal {
    /// With this key.
    ///
    /// # Errors
    /// Never for 32 bytes.
    pub fn new(key: &[u8; 32]) -> Result<SecretSeal, InstallationError> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| {
            InstallationError::Failed("the key of the installation cannot be used".into())
        })?;
        Ok(SecretSeal(LessSafeKey::new(key)))
    }

    /// Seals `secret` for one `place`: in another place it does not open.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn seal(&self, place: &str, secret: &str) -> Result<String, InstallationError> {
        let failed = |_| InstallationError::Failed("a secret could not be sealed".into());
        let mut nonce = [0_u8; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut sealed = secret.as_bytes().to_vec();
        let aad = Aad::from(place.as_bytes());
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(unique, aad, &mut sealed).map_err(failed)?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Ok(STANDARD_NO_PAD.encode(whole))
    }

    /// Opens what was sealed for this place.
    ///
    /// # Errors
    /// It was sealed with another key, for another place, or changed.
    pub fn open(&self, place: &str, sealed: &str) -> Result<String, InstallationError> {
        let wrong = || {
            InstallationError::Failed(format!(
                "the secret of {place} does not open with the key of this installation: put the key file \
                 that it was made with back, or enter the secret again"
            ))
        };
        let mut bytes = STANDARD_NO_PAD.decode(sealed).map_err(|_| wrong())?;
        if bytes.len() < NONCE_LEN {
            return Err(wrong());
        }
        let mut rest = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).map_err(|_| wrong())?;
        let aad = Aad::from(place.as_bytes());
        let opened = self.0.open_in_place(nonce, aad, &mut rest).map_err(|_| wrong())?;
        String::from_utf8(opened.to_vec()).map_err(|_| wrong())
    }
}

/// The file's name in the state folder.
const FILE: &str = "server.key";

/// Reads the key; the first time it is made.
///
/// # Errors
/// The file cannot be read or written, or is no key.
pub fn read_key(state: &Path) -> anyhow::Result<[u8; 32]> {
    let path = state.join(FILE);
    let no_key = || usage(format!("{} is no key: it must have 32 bytes", path.display()));
    match std::fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| no_key()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut key = [0_u8; 32];
            SystemRandom::new()
                .fill(&mut key)
                .map_err(|_| usage("the system gives no random bytes"))?;
            // Of two that start at once one makes it, and both have that one.
            let made = files::create_file_once(&path, &key, 0o600)?;
            let bytes = match made {
                true => key.to_vec(),
                false => {
                    std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?
                }
            };
            bytes.try_into().map_err(|_| no_key())
        }
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::SecretSeal;

    #[test]
    fn z7_a_sealed_secret_opens_at_its_place_with_its_key_alone() {
        let seal = SecretSeal::new(&[7; 32]).expect("a key");
        let sealed = seal.seal("mail/ann", "hunter2").expect("sealed");
        assert!(!sealed.contains("hunter2"));
        assert_ne!(sealed, seal.seal("mail/ann", "hunter2").expect("sealed"));
        assert_eq!(seal.open("mail/ann", &sealed).expect("opened"), "hunter2");
        assert!(seal.open("mail/bob", &sealed).is_err());
        assert!(SecretSeal::new(&[8; 32]).expect("a key").open("mail/ann", &sealed).is_err());
        for broken in ["", "x", "AAAA", &sealed[1..]] {
            assert!(seal.open("mail/ann", broken).is_err(), "{broken}");
        }
    }
}
