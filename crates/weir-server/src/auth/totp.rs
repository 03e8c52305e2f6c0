//! Codes of an authenticator app (RFC 6238): six digits of HMAC-SHA-1, a new one every 30 seconds.
//! Not here: where the secret is kept (`factors`).

use data_encoding::BASE32_NOPAD;
use ring::hmac;

/// How long a code holds, seconds.
const STEP_S: u64 = 30;
/// Codes before and after the present one that are taken: clocks differ.
const STEPS_ASIDE: u64 = 1;

/// The code of a step.
fn step_code(secret: &[u8], step: u64) -> u32 {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let at = usize::from(bytes[bytes.len() - 1] & 0x0f);
    let number = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (number & 0x7fff_ffff) % 1_000_000
}

/// The step that `typed` is the code of, around `now_s` and later than `after`: no code is taken
/// twice.
pub(crate) fn step_of(secret: &[u8], typed: &str, now_s: u64, after: u64) -> Option<u64> {
    let digits: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let typed: u32 = digits.parse().ok()?;
    let now = now_s / STEP_S;
    let steps = now.saturating_sub(STEPS_ASIDE)..=now + STEPS_ASIDE;
    // All are computed, so that the time says nothing of which it was.
    let found: Vec<u64> = steps.filter(|step| step_code(secret, *step) == typed).collect();
    found.into_iter().find(|step| *step > after)
}

/// What an app reads from the picture.
pub(crate) fn otpauth_address(secret: &[u8], host: &str, name: &str) -> String {
    let encode = |text: &str| {
        url::form_urlencoded::byte_serialize(text.as_bytes())
            .collect::<String>()
            .replace('+', "%20")
    };
    let (host, name) = (encode(host), encode(name));
    let secret = BASE32_NOPAD.encode(secret);
    format!("otpauth://totp/Weir%20{host}:{name}?secret={secret}&issuer=Weir%20{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Secret of the examples of RFC 6238.
    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn s2_codes_are_those_of_the_standard() {
        for (seconds, expected) in [
            (59, 287_082),
            (1_111_111_109, 81_804),
            (1_111_111_111, 50_471),
            (1_234_567_890, 5_924),
            (2_000_000_000, 279_037),
            (20_000_000_000, 353_130),
        ] {
            assert_eq!(step_code(SECRET, seconds / STEP_S), expected, "{seconds}");
        }
    }

    #[test]
    fn s2_a_code_is_taken_once_and_only_in_its_time() {
        assert_eq!(step_of(SECRET, "287 082", 59, 0), Some(1));
        assert_eq!(step_of(SECRET, "287082", 89, 0), Some(1), "a clock half a minute behind");
        assert_eq!(step_of(SECRET, "287082", 59, 1), None, "taken before");
        assert_eq!(step_of(SECRET, "287082", 120, 0), None, "too late");
        for wrong in ["", "28708", "2870820", "abcdef", "２８７０８２"] {
            assert_eq!(step_of(SECRET, wrong, 59, 0), None, "{wrong}");
        }
    }

    #[test]
    fn s2_an_app_reads_the_secret_in_base_32() {
        assert_eq!(
            otpauth_address(SECRET, "weir.example", "ann b"),
            "otpauth://totp/Weir%20weir.example:ann%20b\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Weir%20weir.example"
        );
    }
}
