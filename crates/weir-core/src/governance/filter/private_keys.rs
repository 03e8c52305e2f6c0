//! Where private keys stand in a text, in the way in which files have them (G8): from the line that says so, from
//! the first line of the content, or back from the line that ends it. Not here: a piece from the middle, which looks
//! like anything else in base64, and which files hold keys (the workspace looks at them).

use std::ops::Range;

/// Fewest letters in a row that are a line of a key.
const KEY_RUN_MIN: usize = 40;
/// Longest line that begins or ends a key, in bytes.
const HEADER_MAX: usize = 80;

/// A private key, or what of one stands in the text, that is told by what is written at `at`.
pub(super) fn find_private_key(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    match bytes[at] {
        b'-' => whole_private_key(text, at).or_else(|| end_of_private_key(text, at)),
        // At the beginning of a word, or of a line as JSON writes it.
        _ if at == 0 || !is_of_word(bytes[at - 1]) || bytes[..at].ends_with(b"\\n") => {
            content_of_private_key(text, at)
        }
        _ => None,
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `-----BEGIN … PRIVATE KEY-----` up to its end, or to the end of the text.
fn whole_private_key(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    let rest = text[at..].strip_prefix("-----BEGIN ")?;
    let (label, body) = rest.split_once("-----")?;
    if !label.contains("PRIVATE KEY") || label.len() > HEADER_MAX {
        return None;
    }
    let end = format!("-----END {label}-----");
    let length = match body.find(&end) {
        Some(found) => text[at..].len() - body.len() + found + end.len(),
        None => text.len() - at,
    };
    Some((at..at + length, "private key"))
}

/// The lines of a key that end with `-----END … PRIVATE KEY-----`, where its beginning does not stand in
/// the text: the end of a file, a page of one.
fn end_of_private_key(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    // Room for the number of a line.
    const BEFORE_MAX: usize = 12;
    let (label, _) = text[at..].strip_prefix("-----END ")?.split_once("-----")?;
    if !label.contains("PRIVATE KEY") || label.len() > HEADER_MAX {
        return None;
    }
    // Only so far back: a text without lines would be read again from each place.
    let near = at.saturating_sub(BEFORE_MAX + 1);
    let line = text.as_bytes()[near..at].iter().rposition(|byte| *byte == b'\n');
    let mut from = line.map(|end| near + end + 1).or((at <= BEFORE_MAX).then_some(0))?;
    let (mut is_key, mut is_last) = (false, true);
    while from > 0 {
        let before = text[..from - 1].rfind('\n').map_or(0, |end| end + 1);
        let line = &text[before..from - 1];
        let is_line_of_key = longest_run(line).len() >= KEY_RUN_MIN && !line.contains("-----");
        // The last line of a key may be a short one.
        if !is_line_of_key && !is_last {
            break;
        }
        (is_key, is_last) = (is_key || is_line_of_key, false);
        from = before;
    }
    let end = at + "-----END ".len() + label.len() + "-----".len();
    is_key.then_some((from..end, "private key"))
}

/// How the content of a private key begins in base64, a `?` standing for any letter: the lengths in it
/// differ, what says its kind does not. No certificate and no public key begins like this.
const KEY_BEGINNINGS: &[&str] = &[
    // `openssh-key-v1`.
    "b3BlbnNzaC1rZXktdjEA",
    // RSA and DSA by themselves (RFC 8017): a sequence that begins with the numbers 0 and the modulus.
    "MII???IBAAK",
    "MII???IBAAJB",
    // Keys of every kind (RFC 5958): a sequence that begins with the number 0 and another sequence.
    "MII???IBAD",
    "MIG?AgEAM",
    "MIH?AgEAM",
    "M??CAQAwBQYDK2V",
    "M??CAQEwBQYDK2V",
    // Those of elliptic curves by themselves (RFC 5915): the number 1 and the key.
    "MH?CAQEEI",
    "MIG?AgEBB",
    "MIH?AgEBB",
    // The same under a password (PKCS #5).
    "MII?????BgkqhkiG9w0BBQ",
    "MI??M??GCSqGSIb3DQEF",
];

/// The lines of a private key whose content begins at `at`, where the line before it that says so does not
/// stand in the text: what a command printed of a file from its second line on.
fn content_of_private_key(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    // Of a last line that has no sign that it is one.
    const LAST_RUN_MIN: usize = 16;
    let rest = &text[at..];
    let begins_like = |beginning: &str| {
        let mut pairs = beginning.bytes().zip(rest.bytes());
        rest.len() >= beginning.len() && pairs.all(|(known, byte)| known == b'?' || known == byte)
    };
    if !KEY_BEGINNINGS.iter().any(|beginning| begins_like(beginning)) {
        return None;
    }
    // A shorter one is what somebody writes about keys.
    let first = run_length(rest);
    if first < KEY_RUN_MIN {
        return None;
    }
    let mut end = at + first;
    loop {
        let rest = &text[end..];
        if let Some(next) = after_written_line_end(rest).filter(|next| run_length(next) > 0) {
            end += rest.len() - next.len() + run_length(next);
            continue;
        }
        let blanks = rest.bytes().take_while(|byte| b" \t\r".contains(byte)).count();
        let Some(below) = rest[blanks..].strip_prefix('\n') else { break };
        let line = below.lines().next().unwrap_or_default();
        let run = longest_run(line);
        let is_line = run.len() >= KEY_RUN_MIN && !line.contains("-----");
        let is_last = run == line.trim() && (run.ends_with('=') || run.len() >= LAST_RUN_MIN);
        if !is_line && !is_last {
            break;
        }
        end += blanks + "\n".len() + line.find(run).unwrap_or(0) + run.len();
        if !is_line {
            break;
        }
    }
    Some((at..end, "private key"))
}

/// What stands behind the end of a line as JSON writes it, and JSON in JSON: `\n`, `\r\n`, `\\n`.
fn after_written_line_end(text: &str) -> Option<&str> {
    let after = |text: &str, letter: char| -> Option<usize> {
        let rest = text.trim_start_matches('\\');
        let rest = if rest.len() < text.len() { rest.strip_prefix(letter)? } else { return None };
        Some(text.len() - rest.len())
    };
    let text = &text[after(text, 'r').unwrap_or(0)..];
    Some(&text[after(text, 'n')?..])
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// How many letters of a key stand at the beginning of `text`.
fn run_length(text: &str) -> usize {
    text.bytes().take_while(|byte| is_of_key(*byte)).count()
}

/// The longest piece of a line that may be one of a key; the first of those that are as long.
fn longest_run(line: &str) -> &str {
    let mut longest = "";
    for run in line.split(|c: char| !u8::try_from(c).is_ok_and(is_of_key)) {
        if run.len() > longest.len() {
            longest = run;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::super::redact_text;

    fn redacted(text: &str) -> String {
        redact_text(text, &[]).into_owned()
    }

    #[test]
    fn g8_the_end_of_a_private_key_is_taken_out_with_its_lines() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
        let end = "-----END PRIVATE KEY-----";
        for (text, expected) in [
            (format!("{line}\n{line}\n{end}\nafter"), "[redacted: private key]\nafter"),
            (format!("{line}\nabc=\n{end}"), "[redacted: private key]"),
            (format!("  12\t{line}\n  13\t{end}\n"), "[redacted: private key]\n"),
            (format!("before it\n\n{line}\n{end}"), "before it\n\n[redacted: private key]"),
            (format!("a key ends with\n{end}"), "a key ends with\n-----END PRIVATE KEY-----"),
        ] {
            assert_eq!(redacted(&text), expected);
        }
    }

    /// What begins the content of a key of each kind, up to where it is secret.
    const BEGINNINGS: [(&str, &str); 14] = [
        ("OpenSSH", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"),
        ("RSA of 1024 bits by itself", "MIICXAIBAAKBgQ"),
        ("RSA of 2048 bits by itself", "MIIEpAIBAAKCAQEA"),
        ("RSA of 4096 bits by itself", "MIIJKQIBAAKCAgEA"),
        ("RSA", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"),
        ("DSA", "MIICZQIBADCCAjkGByqGSM44BAEwggIs"),
        ("P-256", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0w"),
        ("P-384", "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGe"),
        ("P-521", "MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHW"),
        ("P-256 by itself", "MHcCAQEEI"),
        ("P-384 by itself", "MIGkAgEBBD"),
        ("Ed25519", "MC4CAQAwBQYDK2VwBCIEI"),
        ("RSA under a password", "MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQww"),
        ("Ed25519 under a password", "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAc"),
    ];

    #[test]
    fn g8_a_private_key_is_taken_out_from_where_its_content_begins() {
        let line = "zq7x".repeat(16);
        for (kind, beginning) in BEGINNINGS {
            let first: String = beginning.chars().chain(line.chars()).take(64).collect();
            for (text, expected) in [
                (format!("{first}\n{line}\n{line}\n"), "[redacted: private key]\n"),
                (format!("{first}\r\n{line}\r\nzq7=\r\nafter"), "[redacted: private key]\r\nafter"),
                (
                    format!("key.txt:{first}\nkey.txt:{line}\nwords"),
                    "key.txt:[redacted: private key]\nwords",
                ),
                (
                    format!("  2\t{first}\n  3\t{line}\n\nafter"),
                    "  2\t[redacted: private key]\n\nafter",
                ),
                (
                    format!("[\"\\n{first}\\n{line}\\nzq\\n\"]"),
                    "[\"\\n[redacted: private key]\\n\"]",
                ),
                (
                    format!("[\"\\r\\n{first}\\r\\n{line}\\r\\n{line}\\r\\n\"]"),
                    "[\"\\r\\n[redacted: private key]\\r\\n\"]",
                ),
                (
                    format!("[\"\\\\n{first}\\\\n{line}\\\\n\"]"),
                    "[\"\\\\n[redacted: private key]\\\\n\"]",
                ),
                (format!("{first}\n{line}\n-----END PRIVATE KEY-----"), "[redacted: private key]"),
                (format!("{first}\ndone\n"), "[redacted: private key]\ndone\n"),
            ] {
                assert_eq!(redacted(&text), expected, "{kind}");
            }
        }
    }

    /// What is in base64 and no private key: certificates, requests, public keys, signatures, sums, pictures.
    #[test]
    fn g8_what_only_looks_like_a_private_key_stays() {
        let line = "zq7x".repeat(16);
        for beginning in [
            "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa",
            "MIIBtzCCAV2gAwIBAgIUQ0Y",
            "MIICvjCCAaYCAQAweTELMAkGA1UEBhMC",
            "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA",
            "MIIBCgKCAQEA61BjmfXGEvWmegnBGSuS",
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
            "MCowBQYDK2VwAyEA",
            "MEUCIQDJ",
            "MIIGSwYJKoZIhvcNAQcCoIIGPDCCBjgCAQExDzAN",
            "AAAAB3NzaC1yc2EAAAADAQABAAABgQ",
            "iVBORw0KGgoAAAANSUhEUgAA",
            "xMIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        ] {
            let first: String = beginning.chars().chain(line.chars()).take(64).collect();
            let text = format!("{first}\n{line}\n{line}=\n");
            assert_eq!(redacted(&text), text, "{beginning}");
        }
        for text in [
            "An RSA key begins with MIIEvQIBADANBgkqhkiG9w0BAQEFAASC.",
            "OpenSSH writes b3BlbnNzaC1rZXktdjEA first",
            "MII",
            "b3Bl",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
