//! Text that must not be seen: keys and tokens (Z7).
//!
//! Not a vault: where a secret is kept is the caller's matter. This type only makes sure that
//! printing one by accident prints stars.

use serde::{Deserialize, Deserializer};

/// A key or token. Printing it prints stars; only [`Secret::reveal`] gives the text. It cannot be
/// serialised.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`, without the white space around it (a newline at the end of a key file).
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into().trim().to_owned())
    }

    /// The text, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the secret has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` with every occurrence of this secret as stars: for messages that come from outside.
    pub fn scrub(&self, text: &str) -> String {
        /// Shorter ones would tear ordinary words out of messages.
        const SCRUBBED_LENGTH_MIN: usize = 6;
        if self.0.len() < SCRUBBED_LENGTH_MIN {
            return text.to_owned();
        }
        text.replace(&self.0, "***")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Secret::new(String::deserialize(d)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z7_a_secret_prints_stars() {
        let secret = Secret::new("sk-0123456789\n");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
        assert_eq!(secret.reveal(), "sk-0123456789");
        assert_eq!(secret.scrub("key sk-0123456789 is wrong"), "key *** is wrong");
        assert_eq!(Secret::new("a").scrub("a banana"), "a banana");
    }
}
