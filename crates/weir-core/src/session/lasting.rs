//! What an answer that lasts would give: the grant of a name that covers the call, and whether the
//! person has said yes to this kind of question so often that it should be offered first (U13).
//!
//! Not here: the rules that it adds (`calls`), and what becomes of the answer (`apply`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Decision;
use crate::governance::grants;
use crate::governance::rules::{Rule, RuleOrigin};
use crate::tool::NamedGrant;

use super::{CallState, Session};

/// So many single answers of yes to one kind of question are often.
const OFTEN_YES: u32 = 3;
/// Kinds that are remembered at a time.
const KINDS_MAX: usize = 256;

/// How often the person said yes, each time to one call, by the kind of the question: what an answer
/// that lasts would have added.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SingleAgreements {
    by_kind: BTreeMap<String, u32>,
}

impl SingleAgreements {
    /// Whether that was often.
    pub(super) fn are_frequent(&self, rules: &[Rule], grant: Option<&NamedGrant>) -> bool {
        let kind = question_kind(rules, grant);
        kind.is_some_and(|kind| self.by_kind.get(&kind).is_some_and(|yes| *yes >= OFTEN_YES))
    }

    /// A question for which this was offered was answered: yes to one call counts, and any other
    /// answer of the person begins anew.
    pub(super) fn note_answer(
        &mut self,
        rules: &[Rule],
        grant: Option<&NamedGrant>,
        decision: Decision,
    ) {
        let Some(kind) = question_kind(rules, grant) else { return };
        match decision {
            Decision::Once => {
                if self.by_kind.len() >= KINDS_MAX && !self.by_kind.contains_key(&kind) {
                    self.by_kind.pop_first();
                }
                let yes = self.by_kind.entry(kind).or_default();
                *yes = yes.saturating_add(1);
            }
            Decision::Session | Decision::Always | Decision::Deny => {
                self.by_kind.remove(&kind);
            }
            Decision::Cancelled | Decision::Expired => (),
        }
    }
}

/// Questions are of one kind when the same would save the next.
fn question_kind(rules: &[Rule], grant: Option<&NamedGrant>) -> Option<String> {
    if let Some(grant) = grant {
        return Some(grant.name.clone());
    }
    let texts: Vec<&str> = rules.iter().map(Rule::text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

impl Session {
    /// The grant that an answer for the session gives instead of `rules`; none where no rule could be
    /// offered either: then only an answer to this very call counts.
    pub(super) fn offered_grant(&self, call: &CallState, rules: &[Rule]) -> Option<NamedGrant> {
        let effects = &call.inspection.as_ref()?.effects;
        let grant = grants::covering_grant(effects).filter(|_| !rules.is_empty())?;
        let config = self.config.as_ref()?;
        let origin = RuleOrigin::new("an approval");
        let suffices = config.rules.granted_rules(grant, &call.tool, effects, &origin);
        (!suffices.is_empty()).then(|| grant.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::RuleAction;

    fn offered(text: &str) -> Vec<Rule> {
        let origin = RuleOrigin::new("an approval");
        vec![Rule::parse(RuleAction::Allow, text, origin).expect("a rule")]
    }

    #[test]
    fn u13_three_single_yeses_to_one_kind_are_often() {
        let (tests, make) = (offered("Shell(cargo test:*)"), offered("Shell(make:*)"));
        let mut agreed = SingleAgreements::default();
        for _ in 0..3 {
            assert!(!agreed.are_frequent(&tests, None));
            agreed.note_answer(&tests, None, Decision::Once);
            agreed.note_answer(&[], None, Decision::Once);
        }
        assert!(agreed.are_frequent(&tests, None) && !agreed.are_frequent(&make, None));
        assert!(!agreed.are_frequent(&[], None), "there is nothing to offer");
        agreed.note_answer(&tests, None, Decision::Expired);
        agreed.note_answer(&make, None, Decision::Deny);
        assert!(agreed.are_frequent(&tests, None), "no answer, and another kind");
        agreed.note_answer(&tests, None, Decision::Deny);
        assert!(!agreed.are_frequent(&tests, None), "a no begins anew");
    }

    #[test]
    fn u13_questions_that_one_grant_would_save_are_of_one_kind() {
        let grant = NamedGrant {
            name: "crates.io for cargo".into(),
            hosts: vec!["crates.io".into()],
            commands: vec!["cargo add".into()],
        };
        let mut agreed = SingleAgreements::default();
        for text in ["Shell(cargo add:*)", "Shell(cargo build:*)", "Shell(cargo test:*)"] {
            agreed.note_answer(&offered(text), Some(&grant), Decision::Once);
        }
        assert!(agreed.are_frequent(&offered("Shell(cargo doc:*)"), Some(&grant)));
        assert!(!agreed.are_frequent(&offered("Shell(cargo add:*)"), None));
    }

    #[test]
    fn u13_kinds_are_bounded() {
        let mut agreed = SingleAgreements::default();
        for n in 0..2 * KINDS_MAX {
            agreed.note_answer(&offered(&format!("Shell(x{n})")), None, Decision::Once);
        }
        assert_eq!(agreed.by_kind.len(), KINDS_MAX);
    }
}
