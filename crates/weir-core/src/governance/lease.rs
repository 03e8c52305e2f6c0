//! Leases: narrow rights that an approval grants for a while (Z2): for so many calls, for so long,
//! or for the session. Shown, revocable, journaled. Not here: who is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::governance::rules::{Rule, RuleOrigin, RuleSet};
use crate::ids::Timestamp;

/// How far an approval for the session reaches. Nothing set: to the end of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LeaseTerms {
    /// For so many further calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// For so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
}

/// A right that was granted and not revoked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseGrant {
    /// Its number in the session: 1, 2, …
    pub lease: u32,
    /// Rules of calls that it lets pass.
    pub rules: Vec<Rule>,
    /// Calls that it still covers; `None`: any number.
    pub uses_left: Option<u32>,
    /// Until when; `None`: to the end of the session.
    pub until: Option<Timestamp>,
    /// Name of the person who granted it.
    pub by: String,
}

impl LeaseGrant {
    /// Whether the lease still covers a call at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.uses_left != Some(0) && self.until.is_none_or(|until| now < until)
    }

    /// Where its rules come from, as people read it: `lease 2 (3 calls left)`.
    pub fn origin(&self) -> RuleOrigin {
        let left = match self.uses_left {
            Some(1) => " (1 call left)".to_string(),
            Some(left) => format!(" ({left} calls left)"),
            None => String::new(),
        };
        RuleOrigin::new(format!("lease {}{left}", self.lease))
    }
}

/// `rules` with what the live `leases` allow, and without the one numbered `but`.
pub(crate) fn with_leases(
    rules: &RuleSet,
    leases: &[LeaseGrant],
    now: Timestamp,
    but: Option<u32>,
) -> RuleSet {
    let mut all = rules.clone();
    let live = leases.iter().filter(|lease| lease.is_live(now) && Some(lease.lease) != but);
    for lease in live {
        all.extend(lease.rules.iter().map(|rule| rule.clone().with_origin(lease.origin())));
    }
    all
}
