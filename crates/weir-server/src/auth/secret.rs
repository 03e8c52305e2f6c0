//! Random words and what is kept of them. Not here: passwords (`password`), which are not random.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};

use crate::problem::{HandlerResult, ProblemDetails};

/// Letters and digits that nobody confuses, 32 of them.
const PLAIN_LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// So many random bytes.
///
/// # Errors
/// The system gives none: nothing may go on without them.
pub(crate) fn random_bytes<const N: usize>() -> HandlerResult<[u8; N]> {
    let mut bytes = [0_u8; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| ProblemDetails::internal_failure("the system gives no random bytes"))?;
    Ok(bytes)
}

/// 256 random bits as text that fits into cookies and addresses.
pub(crate) fn random_token() -> HandlerResult<String> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))
}

/// A short random name, 96 bits: not a secret.
pub(crate) fn random_name() -> HandlerResult<String> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<12>()?).replace(['-', '_'], "x"))
}

/// The same where nothing depends on it being hard to guess.
pub(crate) fn random_id() -> String {
    random_name().expect("a system that serves has random bytes")
}

/// A code for people to type: groups of four letters, five bits each.
pub(crate) fn random_code<const LETTERS: usize>() -> HandlerResult<String> {
    let letters = random_bytes::<LETTERS>()?;
    let mut code = String::new();
    for (at, byte) in letters.iter().enumerate() {
        if at > 0 && at % 4 == 0 {
            code.push('-');
        }
        code.push(char::from(PLAIN_LETTERS[usize::from(byte % 32)]));
    }
    Ok(code)
}

/// A code as somebody typed it, in the form that is kept: capitals, nothing between.
pub(crate) fn plain_code(typed: &str) -> String {
    typed.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

/// What is kept of a random word: finding it again needs the word.
pub(crate) fn secret_digest(secret: &str) -> String {
    encode_hex(&Sha256::digest(secret.as_bytes()))
}

/// SHA-256 of bytes.
pub(crate) fn sha256_digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Bytes as text.
pub(crate) fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_a_code_is_read_as_people_type_it() {
        let code = random_code::<8>().expect("random");
        assert_eq!(code.len(), 9, "{code}");
        assert_eq!(plain_code(&format!(" {} ", code.to_lowercase())), code.replace('-', ""));
    }

    #[test]
    fn s2_words_are_random_and_only_their_hash_is_kept() {
        let (one, other) = (random_token().expect("random"), random_token().expect("random"));
        assert_ne!(one, other);
        assert_eq!(one.len(), 43, "256 bits");
        assert_eq!(secret_digest("abc").len(), 64);
        assert!(!secret_digest(&one).contains(&one));
    }
}
