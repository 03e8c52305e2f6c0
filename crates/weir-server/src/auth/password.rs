//! Passwords: which are good enough, and Argon2id over them (S2). A check costs time and memory on
//! purpose, so it runs beside the requests and only a few at a time.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::{OnceCell, Semaphore};
use unicode_normalization::UnicodeNormalization;
use weir_engine::blocking::run_blocking;

use crate::problem::{HandlerResult, ProblemDetails};

/// Memory of one hash, KiB: what OWASP asks for at least.
const MEMORY_KIB: u32 = 19 * 1024;
/// Passes over it.
const PASSES: u32 = 2;
/// Lanes.
const LANES: u32 = 1;
/// Hashes at the same time: 4 × 19 MiB.
const AT_ONCE_MAX: usize = 4;
/// Requests that wait for a hash; more are sent away.
const WAITING_MAX: usize = 64;
/// Fewest characters.
pub(crate) const LENGTH_MIN: usize = 12;
/// Most bytes: longer ones would only cost time.
pub(crate) const BYTES_MAX: usize = 1024;

/// What many people choose and every guesser tries first, of those that are long enough.
const COMMON: &[&str] = &[
    "password1234",
    "password12345",
    "passwordpassword",
    "password123456",
    "123456789012",
    "1234567890123",
    "1234567890ab",
    "qwertyuiop12",
    "qwertyuiop123",
    "qwertyuiopasdf",
    "qwerty123456",
    "qwerty1234567",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "q1w2e3r4t5y6",
    "zaq12wsxcde3",
    "administrator",
    "administrator1",
    "admin1234567",
    "adminadminadmin",
    "letmeinletmein",
    "letmein12345",
    "iloveyou1234",
    "iloveyouiloveyou",
    "welcome12345",
    "welcomewelcome",
    "changemechangeme",
    "changeme1234",
    "football1234",
    "baseball1234",
    "superman1234",
    "trustno1trustno1",
    "abcdefghijkl",
    "abcdefghijklm",
    "abc123abc123",
    "abcd1234abcd",
    "asdfghjkl123",
    "monkeymonkey",
    "dragondragon",
    "sunshine1234",
    "princess1234",
    "passw0rd1234",
    "p@ssw0rd1234",
    "p@ssword1234",
    "p@ssw0rd12345",
    "secretsecret",
    "testtesttest",
    "test12345678",
    "temporary123",
    "defaultpassword",
];

/// Different characters that a password has at least.
const DISTINCT_MIN: usize = 5;

/// Why a new password is not good enough; `None`: it is.
pub(crate) fn password_complaint(password: &str, name: &str) -> Option<String> {
    let count = password.chars().count();
    if count < LENGTH_MIN {
        return Some(format!(
            "the password has {count} characters; it needs {LENGTH_MIN}. Four random words do well"
        ));
    }
    if password.len() > BYTES_MAX {
        return Some(format!("the password is longer than {BYTES_MAX} bytes"));
    }
    let plain = password.to_lowercase();
    let mut distinct: Vec<char> = plain.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if COMMON.contains(&plain.as_str()) || distinct.len() < DISTINCT_MIN || in_a_row(&plain) {
        return Some("the password is one that is guessed first; choose another".into());
    }
    let rest = plain.replace(name, "");
    if !name.is_empty() && rest.chars().count() < LENGTH_MIN / 2 {
        return Some("the password is little more than the name; choose another".into());
    }
    None
}

/// Whether each character follows the one before it, up or down: `abcdefghijkl`.
fn in_a_row(password: &str) -> bool {
    let codes: Vec<i64> = password.chars().map(|c| i64::from(u32::from(c))).collect();
    let steps = |step: i64| codes.windows(2).all(|pair| pair[1] - pair[0] == step);
    steps(1) || steps(-1)
}

/// Hashes passwords and checks them.
pub(crate) struct PasswordService {
    room: Semaphore,
    waiting: Semaphore,
    nobody: OnceCell<String>,
}

/// The outcome of checking a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PasswordCheck {
    /// It is another.
    Wrong,
    /// It is right.
    Right,
    /// It is right, and its hash is weaker than today's: this one takes its place.
    Renewed(String),
}

fn argon2_hasher() -> HandlerResult<Argon2<'static>> {
    let params =
        Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(ProblemDetails::internal_failure)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// The same letters typed on another machine are the same bytes.
fn normalise_password(password: &str) -> String {
    password.nfkc().collect()
}

fn hash_now(password: &str) -> HandlerResult<String> {
    let hash = argon2_hasher()?
        .hash_password(normalise_password(password).as_bytes())
        .map_err(ProblemDetails::internal_failure)?;
    Ok(hash.to_string())
}

fn is_weak(hash: &PasswordHash) -> bool {
    let number = |name: &str| hash.params.get_decimal(name).unwrap_or(0);
    hash.algorithm.as_str() != "argon2id"
        || number("m") < MEMORY_KIB
        || number("t") < PASSES
        || number("p") < LANES
}

fn check_now(password: &str, hash: &str) -> HandlerResult<PasswordCheck> {
    let parsed = PasswordHash::new(hash).map_err(|error| {
        ProblemDetails::internal_failure(format!("a kept password cannot be read: {error}"))
    })?;
    if argon2_hasher()?.verify_password(normalise_password(password).as_bytes(), &parsed).is_err() {
        return Ok(PasswordCheck::Wrong);
    }
    match is_weak(&parsed) {
        true => Ok(PasswordCheck::Renewed(hash_now(password)?)),
        false => Ok(PasswordCheck::Right),
    }
}

impl PasswordService {
    /// Nothing under way.
    pub(crate) fn new() -> PasswordService {
        PasswordService {
            room: Semaphore::new(AT_ONCE_MAX),
            waiting: Semaphore::new(WAITING_MAX),
            nobody: OnceCell::new(),
        }
    }

    async fn run_hashing<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> HandlerResult<T> + Send + 'static,
    ) -> HandlerResult<T> {
        let busy =
            || ProblemDetails::too_many(2, "too many sign-ins at once; try again in a moment");
        let _place = self.waiting.try_acquire().map_err(|_| busy())?;
        let _room = self.room.acquire().await.map_err(ProblemDetails::internal_failure)?;
        run_blocking(work).await.map_err(ProblemDetails::internal_failure)?
    }

    /// What is kept of a password.
    pub(crate) async fn hash(&self, password: &str) -> HandlerResult<String> {
        let password = password.to_owned();
        self.run_hashing(move || hash_now(&password)).await
    }

    /// Whether `password` is the one of `hash`. `None`: there is no such account; it takes as long
    /// as if there were one, and the answer is the same.
    pub(crate) async fn check_password(
        &self,
        password: &str,
        hash: Option<&str>,
    ) -> HandlerResult<PasswordCheck> {
        if password.len() > BYTES_MAX {
            return Ok(PasswordCheck::Wrong);
        }
        let password = password.to_owned();
        match hash {
            Some(hash) => {
                let hash = hash.to_owned();
                self.run_hashing(move || check_now(&password, &hash)).await
            }
            None => {
                let nobody = self.nobody.get_or_try_init(|| self.hash("nobody has this one"));
                let hash = nobody.await?.clone();
                self.run_hashing(move || check_now(&password, &hash)).await?;
                Ok(PasswordCheck::Wrong)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_weak_passwords_are_refused_with_a_reason() {
        for (password, name, reason) in [
            ("short", "ann", "needs 12"),
            ("Password1234", "ann", "guessed first"),
            ("aaaaaaaaaaaaaaa", "ann", "guessed first"),
            ("abcdefghijklmno", "ann", "guessed first"),
            ("ann.the.great1", "ann.the.great", "little more than the name"),
        ] {
            let said = password_complaint(password, name).unwrap_or_default();
            assert!(said.contains(reason), "{password}: {said}");
        }
        assert_eq!(password_complaint("correct horse battery staple", "ann"), None);
        assert_eq!(password_complaint("größer-als-zwölf-ist-gut", "ann"), None);
        assert!(password_complaint(&"ab3 ".repeat(400), "ann").is_some());
    }

    #[tokio::test]
    async fn s2_a_hash_is_argon2id_of_today_and_an_older_one_is_renewed() {
        let passwords = PasswordService::new();
        let hash = passwords.hash("correct horse battery staple").await.expect("hashed");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let check = async |password: &str, hash: &str| {
            passwords.check_password(password, Some(hash)).await.expect("checked")
        };
        assert_eq!(check("correct horse battery staple", &hash).await, PasswordCheck::Right);
        assert_eq!(check("correct horse battery stable", &hash).await, PasswordCheck::Wrong);
        let params = Params::new(8 * 1024, 1, 1, None).expect("weak");
        let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password("correct horse battery staple".as_bytes())
            .expect("hashed")
            .to_string();
        let PasswordCheck::Renewed(renewed) = check("correct horse battery staple", &weak).await
        else {
            panic!("it is renewed");
        };
        assert_eq!(check("correct horse battery staple", &renewed).await, PasswordCheck::Right);
        assert_eq!(
            passwords.check_password("nobody has this one", None).await.expect("no"),
            PasswordCheck::Wrong
        );
    }

    #[tokio::test]
    async fn s2_the_same_letters_in_another_form_are_the_same_password() {
        let passwords = PasswordService::new();
        let hash = passwords.hash("zwo\u{308}lf lange Wörter").await.expect("hashed");
        let checked =
            passwords.check_password("zwölf lange Wörter", Some(&hash)).await.expect("checked");
        assert_eq!(checked, PasswordCheck::Right);
    }
}
