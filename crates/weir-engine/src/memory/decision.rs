//! What a person decides about a fact, the one way by which every face does it (M4, R10): words of
//! their own are held against the form of a fact and searched for secrets, and the store decides in one
//! step with looking. Not here: what becomes of the fact (`weir_core::memory`).

use weir_core::governance::filter::redact_text;
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{
    MemoryAction, MemoryDecision, MemoryEdit, MemoryFact, MemoryKeep, MemoryOutcome, fact_text,
};

use crate::ports::{Store, StoreError};

/// A decision about a fact was not made; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SettleFactError {
    /// There is no such fact.
    #[error("the fact {0} is gone")]
    Missing(MemoryId),
    /// The fact is another one than was seen.
    #[error("this fact changed since it was looked at, so nothing was changed; look at it again")]
    Changed(Box<MemoryFact>),
    /// The words cannot be a fact: why, and what to do.
    #[error("{0}")]
    Words(String),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a person writes as a fact, as it is kept. `secrets`: known values that stand nowhere.
///
/// # Errors
/// It has not the form of a fact, or a secret stands in it: what to do.
pub fn check_own_words(text: &str, secrets: &[String]) -> Result<String, String> {
    let text = fact_text(text)?;
    if redact_text(&text, secrets) != text {
        return Err("this looks like a key or password. Facts are given to models, so it is not \
                    remembered; `weir auth set` saves keys"
            .into());
    }
    Ok(text)
}

/// A decision whose new words, if it has any, were looked at.
///
/// # Errors
/// As [`check_own_words`].
pub fn check_decision(
    decision: MemoryDecision,
    secrets: &[String],
) -> Result<MemoryDecision, String> {
    let MemoryAction::Keep(MemoryKeep { private, edit: Some(edit) }) = decision.action else {
        return Ok(decision);
    };
    let edit = MemoryEdit { text: check_own_words(&edit.text, secrets)?, by: edit.by };
    let action = MemoryAction::Keep(MemoryKeep { private, edit: Some(edit) });
    Ok(MemoryDecision { action, ..decision })
}

/// Does what a person decided about the fact `id`, and gives the fact as it is then: another one than
/// was named where they wrote it in other words. `secrets` as in [`check_own_words`].
///
/// # Errors
/// Nothing was changed: why.
pub async fn settle_fact(
    store: &dyn Store,
    id: &MemoryId,
    decision: MemoryDecision,
    secrets: &[String],
    now: Timestamp,
) -> Result<MemoryFact, SettleFactError> {
    let decision = check_decision(decision, secrets).map_err(SettleFactError::Words)?;
    match store.settle_memory(id, &decision, now).await? {
        MemoryOutcome::Settled(fact) => Ok(*fact),
        MemoryOutcome::Changed(fact) => Err(SettleFactError::Changed(fact)),
        MemoryOutcome::Missing => Err(SettleFactError::Missing(id.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_own_words_are_held_against_the_form_of_a_fact_and_searched_for_secrets() {
        let secrets = ["hunter2-hunter2".to_owned()];
        assert_eq!(check_own_words("  Use tabs. ", &secrets), Ok("Use tabs.".into()));
        let long = "word ".repeat(200);
        for (text, why) in [
            ("", "no words"),
            ("one\ntwo", "one line"),
            (long.as_str(), "characters"),
            ("The password is hunter2-hunter2", "key or password"),
            (concat!("Use sk-ant-", "api03-aaaaaaaaaaaaaaaaaaaa"), "key or password"),
        ] {
            let error = check_own_words(text, &secrets).expect_err(text);
            assert!(error.contains(why), "{text:?}: {error}");
        }
        let edit = MemoryEdit { text: " Use tabs. ".into(), by: "ada".into() };
        let keep = |edit| MemoryAction::Keep(MemoryKeep { private: true, edit: Some(edit) });
        let decision = MemoryDecision { action: keep(edit), seen: Some("h".into()) };
        let checked = check_decision(decision, &secrets).expect("it is fine");
        let edit = MemoryEdit { text: "Use tabs.".into(), by: "ada".into() };
        assert_eq!(checked, MemoryDecision { action: keep(edit), seen: Some("h".into()) });
    }
}
