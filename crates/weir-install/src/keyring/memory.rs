//! What the keyring answered a moment ago: a server makes its surroundings anew for every request, and
//! must not ask the keyring, which may take seconds, each time. Not here: how it is asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use weir_core::secret::Secret;

use super::{Keyring, KeyringItem};

/// How long an answer, also that there is none, is as good as asking again.
const FRESH_TIME: Duration = Duration::from_secs(30);
/// Configuration folders of which answers are kept. A program has one.
const FOLDERS_MAX: usize = 16;

/// What is said to a question for several keys.
type KeysAnswer = Result<Vec<Option<Secret>>, String>;

/// An answer, and to what.
#[derive(Clone)]
struct RememberedAnswer {
    asked: Instant,
    wanted: Vec<KeyringItem>,
    answer: KeysAnswer,
}

/// By configuration folder.
static REMEMBERED: Mutex<BTreeMap<String, RememberedAnswer>> = Mutex::new(BTreeMap::new());
/// Held by whoever asks, so that ten requests ask once.
static ASKING: Mutex<()> = Mutex::new(());

/// The keys of these items, in their order, as the keyring says or said a moment ago.
///
/// # Errors
/// Why it cannot be used.
pub(crate) fn read_remembered_keys(keyring: &Keyring, wanted: &[KeyringItem]) -> KeysAnswer {
    let older = match find_answer(keyring, wanted) {
        Some(found) if found.asked.elapsed() < FRESH_TIME => return found.answer,
        Some(found) => Some(found.answer),
        None => None,
    };
    let _asking = match (ASKING.try_lock(), older) {
        (Ok(asking), _) => asking,
        (Err(TryLockError::Poisoned(poisoned)), _) => poisoned.into_inner(),
        // Somebody asks: what was said before is good enough until they know.
        (Err(TryLockError::WouldBlock), Some(older)) => return older,
        (Err(TryLockError::WouldBlock), None) => {
            ASKING.lock().unwrap_or_else(PoisonError::into_inner)
        }
    };
    if let Some(found) = find_answer(keyring, wanted)
        && found.asked.elapsed() < FRESH_TIME
    {
        return found.answer;
    }
    let answer = keyring.open_default().and_then(|open| open.read_keys(wanted));
    let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    if remembered.len() >= FOLDERS_MAX {
        remembered.clear();
    }
    let (asked, wanted) = (Instant::now(), wanted.to_vec());
    let one = RememberedAnswer { asked, wanted, answer: answer.clone() };
    remembered.insert(keyring.folder.clone(), one);
    answer
}

/// Forgets what was said to the keys of this keyring's folder: they change.
pub(crate) fn forget_answers(keyring: &Keyring) {
    REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner).remove(&keyring.folder);
}

/// The answer to exactly this question.
fn find_answer(keyring: &Keyring, wanted: &[KeyringItem]) -> Option<RememberedAnswer> {
    let remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    remembered.get(&keyring.folder).filter(|one| one.wanted == wanted).cloned()
}
