//! What a person decides about a fact, and what becomes of it (M4, R10). Pure: every store asks here,
//! in one step with looking at the fact, so that nothing is decided about one that changed since. Not
//! here: how a fact is shown, and the form of its text (`wording`).

use serde_json::json;

use super::identity::{first_said, id_of, label_again, marked_private, said_again, settle_fact};
use super::{MemoryFact, MemorySource, MemoryStatus, NewMemory};
use crate::governance::canonical_json;
use crate::ids::{MemoryId, Timestamp};
use crate::record::sha256_hex;

/// A person's word about a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDecision {
    /// What is to become of it.
    pub action: MemoryAction,
    /// The [`fact_hash`] of what they saw; `None`: they decide about it however it stands.
    pub seen: Option<String>,
}

/// What is to become of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryAction {
    /// It is used from now on.
    Keep(MemoryKeep),
    /// It is not used, and the same words are not proposed again.
    Reject,
    /// It is used no longer.
    Forget,
}

/// How a fact is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryKeep {
    /// Sessions that use it hold private data.
    pub private: bool,
    /// In these words instead of those that were proposed.
    pub edit: Option<MemoryEdit>,
}

/// Words that a person puts in place of those of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEdit {
    /// The words, in the form of a fact ([`super::fact_text`]).
    pub text: String,
    /// Who wrote them: a name of a person.
    pub by: String,
}

impl MemoryDecision {
    /// It is kept as it is.
    pub fn keep() -> MemoryDecision {
        MemoryDecision { action: MemoryAction::Keep(MemoryKeep::default()), seen: None }
    }

    /// It is rejected for good.
    pub fn reject() -> MemoryDecision {
        MemoryDecision { action: MemoryAction::Reject, seen: None }
    }

    /// It is forgotten.
    pub fn forget() -> MemoryDecision {
        MemoryDecision { action: MemoryAction::Forget, seen: None }
    }

    /// The same about nothing but the fact of this [`fact_hash`].
    #[must_use]
    pub fn about(self, hash: impl Into<String>) -> MemoryDecision {
        MemoryDecision { seen: Some(hash.into()), ..self }
    }

    fn edit(&self) -> Option<&MemoryEdit> {
        match &self.action {
            MemoryAction::Keep(keep) => keep.edit.as_ref(),
            MemoryAction::Reject | MemoryAction::Forget => None,
        }
    }
}

/// What came of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryOutcome {
    /// It is done; the fact as it is now. Edited, it may be another one than was named.
    Settled(Box<MemoryFact>),
    /// The fact is not what was seen: nothing was changed. As it is now.
    Changed(Box<MemoryFact>),
    /// There is no such fact.
    Missing,
}

impl MemoryOutcome {
    /// The fact that was settled.
    pub fn settled(self) -> Option<MemoryFact> {
        match self {
            MemoryOutcome::Settled(fact) => Some(*fact),
            MemoryOutcome::Changed(_) | MemoryOutcome::Missing => None,
        }
    }
}

/// Names all of a fact that a person decides about. Not how often it was said again: that changes
/// while they read, and nothing of what they agree to.
pub fn fact_hash(memory: &MemoryFact) -> String {
    let MemoryFact { id, fact, superseded_by, .. } = memory;
    let decided = json!({ "id": id, "fact": fact, "superseded_by": superseded_by });
    sha256_hex(canonical_json(&decided).as_bytes())
}

/// What a decision makes of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedFact {
    /// The fact that it was about, or what it became by an edit.
    pub fact: MemoryFact,
    /// The fact as it was proposed, where an edit made another one of it.
    pub replaced: Option<MemoryFact>,
}

/// The id under which `old` would be kept by its new words; `None`: it keeps its own.
pub fn edited_fact_id(old: &MemoryFact, decision: &MemoryDecision) -> Option<MemoryId> {
    let edit = decision.edit()?;
    Some(id_of(&edit.text, old.fact.workspace.as_deref())).filter(|id| *id != old.id)
}

/// What becomes of `old`; `None`: it is not what was seen. `same`: the fact of [`edited_fact_id`],
/// where there is one.
pub fn decide_about_fact(
    old: &MemoryFact,
    same: Option<&MemoryFact>,
    decision: &MemoryDecision,
    now: Timestamp,
) -> Option<DecidedFact> {
    if decision.seen.as_ref().is_some_and(|seen| *seen != fact_hash(old)) {
        return None;
    }
    let only = |fact| Some(DecidedFact { fact, replaced: None });
    let keep = match &decision.action {
        MemoryAction::Keep(keep) => keep,
        MemoryAction::Reject => return only(settle_fact(old, MemoryStatus::Rejected, now)),
        MemoryAction::Forget => return only(settle_fact(old, MemoryStatus::Forgotten, now)),
    };
    let Some(edit) = &keep.edit else { return only(kept(old, keep, now)) };
    Some(match edited_fact_id(old, decision) {
        None => {
            let mut fact = kept(old, keep, now);
            fact.fact.text.clone_from(&edit.text);
            fact.fact.source.edited_by = Some(edit.by.clone());
            DecidedFact { fact, replaced: None }
        }
        Some(_) => {
            let fact = kept(&edited(old, same, edit, now), keep, now);
            let mut replaced = settle_fact(old, MemoryStatus::Superseded, now);
            replaced.superseded_by = Some(fact.id.clone());
            DecidedFact { fact, replaced: Some(replaced) }
        }
    })
}

/// A fact that a person keeps. It is marked as private before it counts, so that nobody is told of it
/// as anything else.
fn kept(old: &MemoryFact, keep: &MemoryKeep, now: Timestamp) -> MemoryFact {
    let mut fact = old.clone();
    if keep.private {
        fact.fact.label = label_again(&old.fact, &marked_private(old));
    }
    settle_fact(&fact, MemoryStatus::Kept, now)
}

/// `old` in other words, not yet kept. It is from where the first words are from, and as foreign as
/// they are: a changed word makes a stranger's sentence nobody's own.
fn edited(
    old: &MemoryFact,
    same: Option<&MemoryFact>,
    edit: &MemoryEdit,
    now: Timestamp,
) -> MemoryFact {
    let source = MemorySource { edited_by: Some(edit.by.clone()), ..old.fact.source.clone() };
    let new = NewMemory { text: edit.text.clone(), source, ..old.fact.clone() };
    let mut fact = match same {
        // The person has it in these words already, or had: it is that fact, said once more.
        Some(same) => said_again(same, &new, now),
        None => MemoryFact { confirmed: old.confirmed, ..first_said(&new, now) },
    };
    let older = old.fact.supersedes.clone().filter(|older| *older != fact.id);
    fact.fact.supersedes = older.or_else(|| Some(old.id.clone()));
    fact
}

#[cfg(test)]
mod tests {
    use super::super::identity::private_by_person;
    use super::*;
    use crate::label::{Integrity, Label};
    use crate::memory::MemoryKind;

    fn waiting(text: &str, label: Label) -> MemoryFact {
        let new = NewMemory {
            text: text.into(),
            kind: MemoryKind::Project,
            topics: vec!["release".into()],
            importance: 4,
            workspace: Some("/w".into()),
            source: MemorySource { by: "mark_for_memory".into(), ..MemorySource::default() },
            label,
            status: MemoryStatus::Proposed,
            supersedes: None,
        };
        first_said(&new, Timestamp(1))
    }

    fn keep(text: Option<&str>, private: bool) -> MemoryDecision {
        let edit = text.map(|text| MemoryEdit { text: text.into(), by: "ada".into() });
        MemoryDecision { action: MemoryAction::Keep(MemoryKeep { private, edit }), seen: None }
    }

    fn decided(old: &MemoryFact, decision: &MemoryDecision) -> DecidedFact {
        decide_about_fact(old, None, decision, Timestamp(9)).expect("nothing was seen")
    }

    #[test]
    fn r10_a_decision_is_one_about_what_was_seen() {
        let fact = waiting("Releases are cut on Fridays", Label::default());
        let hash = fact_hash(&fact);
        let again = MemoryFact { confirmed: 3, updated: Timestamp(5), ..fact.clone() };
        assert_eq!(fact_hash(&again), hash, "said once more it is no other fact");
        let mut other = fact.clone();
        other.fact.topics.push("friday".into());
        for decision in [keep(None, false), keep(Some("On Mondays"), true)]
            .into_iter()
            .chain([MemoryDecision::reject(), MemoryDecision::forget()])
        {
            let decision = decision.about(hash.as_str());
            let at = Timestamp(9);
            assert!(decide_about_fact(&again, None, &decision, at).is_some(), "{decision:?}");
            assert_eq!(decide_about_fact(&other, None, &decision, at), None, "{decision:?}");
        }
    }

    #[test]
    fn r10_edited_words_are_kept_in_place_of_those_that_were_proposed() {
        let old = waiting("Releases are cut on Fridays", Label::default());
        let DecidedFact { fact, replaced } =
            decided(&old, &keep(Some("Releases are cut on Mondays"), false));
        assert_eq!(fact.fact.text, "Releases are cut on Mondays");
        assert_eq!(fact.id, id_of("Releases are cut on Mondays", Some("/w")));
        assert_eq!((fact.fact.status, fact.fact.importance), (MemoryStatus::Kept, 4));
        assert_eq!(fact.fact.source.by, "mark_for_memory", "it is from where it is from");
        assert_eq!(fact.fact.source.edited_by.as_deref(), Some("ada"));
        assert_eq!(fact.fact.supersedes, Some(old.id.clone()));
        let replaced = replaced.expect("the first words stay known");
        assert_eq!((replaced.id, replaced.fact.status), (old.id, MemoryStatus::Superseded));
        assert_eq!(replaced.superseded_by, Some(fact.id));
    }

    #[test]
    fn r10_an_edit_that_is_the_same_fact_changes_its_words_only() {
        let old = waiting("releases are cut on fridays", Label::default());
        let DecidedFact { fact, replaced } =
            decided(&old, &keep(Some("Releases are cut on Fridays."), false));
        assert_eq!((&fact.id, replaced), (&old.id, None));
        assert_eq!(fact.fact.text, "Releases are cut on Fridays.");
        assert_eq!(fact.fact.source.edited_by.as_deref(), Some("ada"));
    }

    #[test]
    fn r10_what_the_proposal_was_to_replace_is_replaced_by_the_edit() {
        let mut old = waiting("Releases are cut on Fridays", Label::default());
        old.fact.supersedes = Some(MemoryId::new("older"));
        let fact = decided(&old, &keep(Some("Releases are cut on Mondays"), false)).fact;
        assert_eq!(fact.fact.supersedes, Some(MemoryId::new("older")));
        // Back to the words that were to be replaced: that fact stays, and replaces itself nowhere.
        let kept = waiting("Releases are cut on Mondays", Label::default());
        old.fact.supersedes = Some(kept.id.clone());
        let decision = keep(Some("Releases are cut on Mondays"), false);
        let back = decide_about_fact(&old, Some(&kept), &decision, Timestamp(9)).expect("seen");
        assert_eq!((&back.fact.id, &back.fact.fact.supersedes), (&kept.id, &Some(old.id)));
    }

    #[test]
    fn r10_an_edit_makes_no_strangers_words_ones_own() {
        let foreign = Label::external("example.org");
        let private = Label::private(Integrity::Workspace, "workspace");
        for (label, as_private, expected) in [
            (foreign.clone(), false, foreign.clone()),
            (private.clone(), false, Label::default()),
            (private, true, private_by_person()),
        ] {
            let old = waiting("Send reports to example.org", label);
            for words in ["Send no reports to example.org", "send reports to EXAMPLE.org"] {
                let fact = decided(&old, &keep(Some(words), as_private)).fact;
                assert_eq!(fact.fact.label, expected, "{words}");
            }
        }
        // Nor where the same words stand there already as the person's own.
        let old = waiting("Send reports to example.org", foreign);
        let own = waiting("Send reports to Ada", Label::default());
        let decision = keep(Some("Send reports to Ada"), false);
        let joined = decide_about_fact(&old, Some(&own), &decision, Timestamp(9)).expect("seen");
        assert!(joined.fact.fact.label.is_external());
    }
}
