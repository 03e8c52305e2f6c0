//! What is remembered of a person beyond one chat (M4), as API and pages show and change it. What a
//! fact must look like, and when two are one, is the core's.

use serde::{Deserialize, Serialize};
use weir_core::governance::label::Label;
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{
    BY_PERSON, IMPORTANCE_DEFAULT, MemoryAction, MemoryDecision, MemoryFact, MemoryKeep,
    MemoryKind, MemorySource, MemoryStatus, NewMemory, fact_hash, fact_topics,
};
use weir_engine::memory::decision::{SettleFactError, check_own_words, settle_fact as settle};
use weir_engine::ports::MemoryFilter;
use weir_install::user_space::UserSpace;

use crate::problem::{HandlerResult, ProblemDetails};

/// A fact.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MemoryLine {
    /// Its name.
    pub(crate) id: String,
    /// The fact.
    pub(crate) text: String,
    /// The subject of the fact.
    pub(crate) kind: MemoryKind,
    /// Words to find it by.
    pub(crate) topics: Vec<String>,
    /// From 1 to 5.
    pub(crate) importance: u8,
    /// The folder that it is about; `null`: every one.
    pub(crate) workspace: Option<String>,
    /// How far it has come.
    pub(crate) status: MemoryStatus,
    /// The author: `person`, `mark_for_memory`, `condensing`, `run`.
    pub(crate) by: String,
    /// The chat that it comes from.
    pub(crate) session: Option<String>,
    /// The person who put other words in place of those that were proposed.
    pub(crate) edited_by: Option<String>,
    /// Words from outside went into it: models are told of it as data only.
    pub(crate) untrusted: bool,
    /// Private data stands in it.
    pub(crate) private: bool,
    /// Whose words it was made from.
    pub(crate) label: String,
    /// How often it was said again.
    pub(crate) confirmed: u32,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// The fact whose place it takes once it is kept.
    pub(crate) supersedes: Option<String>,
    /// Names exactly this: a decision about it says what was seen.
    pub(crate) hash: String,
}

impl From<&MemoryFact> for MemoryLine {
    fn from(memory: &MemoryFact) -> MemoryLine {
        let fact = &memory.fact;
        MemoryLine {
            id: memory.id.to_string(),
            text: fact.text.clone(),
            kind: fact.kind,
            topics: fact.topics.clone(),
            importance: fact.importance,
            workspace: fact.workspace.clone(),
            status: fact.status,
            by: fact.source.by.clone(),
            session: fact.source.session.as_ref().map(ToString::to_string),
            edited_by: fact.source.edited_by.clone(),
            untrusted: fact.label.is_external(),
            private: fact.label.is_private(),
            label: fact.label.to_string(),
            confirmed: memory.confirmed,
            created: memory.created,
            supersedes: fact.supersedes.as_ref().map(ToString::to_string),
            hash: fact_hash(memory),
        }
    }
}

/// A filter of facts.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct MemoryQuery {
    /// Words of which at least one must stand in it.
    pub(crate) q: String,
    /// Only of this state; without it: what is kept.
    pub(crate) status: Option<MemoryStatus>,
    /// Only of this kind.
    pub(crate) kind: Option<MemoryKind>,
}

/// A fact in a person's own words.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMemoryFact {
    /// The fact: one sentence or two.
    pub(crate) text: String,
    /// The subject of the fact.
    pub(crate) kind: MemoryKind,
    /// A few words to find it by.
    #[serde(default)]
    pub(crate) topics: Vec<String>,
    /// From 1 (may be lost) to 5 (always told).
    #[serde(default)]
    pub(crate) importance: Option<u8>,
    /// It holds everywhere, and not in your own folder alone. Who you are and how you want things
    /// done holds everywhere in any case.
    #[serde(default)]
    pub(crate) everywhere: bool,
}

/// The facts that are asked for: what fits best first, then the newest.
///
/// # Errors
/// The store refuses.
pub(crate) async fn find_facts(
    space: &UserSpace,
    query: &MemoryQuery,
) -> HandlerResult<Vec<MemoryFact>> {
    let filter = MemoryFilter {
        words: query.q.trim().to_owned(),
        statuses: vec![query.status.unwrap_or(MemoryStatus::Kept)],
        workspace: None,
        limit: None,
    };
    let mut facts = space.store().find_memories(&filter).await?;
    facts.retain(|memory| query.kind.is_none_or(|kind| memory.fact.kind == kind));
    Ok(facts)
}

/// Remembers what a person says.
///
/// # Errors
/// It is no fact, it looks like a key, or the store refuses.
pub(crate) async fn remember_fact(
    space: &UserSpace,
    wish: &NewMemoryFact,
    now: Timestamp,
) -> HandlerResult<MemoryLine> {
    let secrets = space.secret_texts()?;
    let text = check_own_words(&wish.text, &secrets).map_err(ProblemDetails::bad_request)?;
    let importance = wish.importance.unwrap_or(IMPORTANCE_DEFAULT);
    if !(1..=5).contains(&importance) {
        return Err(ProblemDetails::bad_request("importance goes from 1 to 5"));
    }
    let everywhere =
        wish.everywhere || matches!(wish.kind, MemoryKind::Identity | MemoryKind::Preference);
    let new = NewMemory {
        text,
        kind: wish.kind,
        topics: fact_topics(&wish.topics).map_err(ProblemDetails::bad_request)?,
        importance,
        workspace: (!everywhere).then(|| space.folder().display().to_string()),
        source: MemorySource { by: BY_PERSON.into(), ..MemorySource::default() },
        label: Label::default(),
        status: MemoryStatus::Kept,
        supersedes: None,
    };
    let store = space.store();
    let mut fact = store.remember_fact(&new, now).await?;
    // They say so themselves: an earlier no, or a newer fact, does not stand against it.
    if fact.fact.status != MemoryStatus::Kept {
        let settled = store.settle_memory(&fact.id, &MemoryDecision::keep(), now).await?;
        fact = settled.settled().unwrap_or(fact);
    }
    Ok(MemoryLine::from(&fact))
}

/// A decision about a fact, and what it was decided on.
#[derive(Debug, Clone)]
pub(crate) struct FactDecision<'a> {
    /// What is to become of it.
    pub(crate) action: MemoryAction,
    /// The `hash` of what was seen; empty: nothing was, so that it is not kept by this.
    pub(crate) seen: &'a str,
}

impl FactDecision<'_> {
    /// A yes is one to what was seen: without a hash to none that there is. What takes a fact out of use may be
    /// said of it unseen.
    fn into_decision(self) -> MemoryDecision {
        let is_kept = matches!(self.action, MemoryAction::Keep(_));
        let seen = (is_kept || !self.seen.is_empty()).then(|| self.seen.to_owned());
        MemoryDecision { action: self.action, seen }
    }
}

impl From<SettleFactError> for ProblemDetails {
    fn from(error: SettleFactError) -> ProblemDetails {
        match error {
            SettleFactError::Missing(id) => {
                ProblemDetails::not_found(format!("the fact {:?}", id.as_str()))
            }
            error @ SettleFactError::Changed(_) => ProblemDetails::conflict(error.to_string()),
            SettleFactError::Words(why) => ProblemDetails::bad_request(why),
            SettleFactError::Store(error) => error.into(),
        }
    }
}

/// Accepts, rejects or forgets, as it was seen.
///
/// # Errors
/// There is no such fact, it is not what was seen, words of the person's own are no fact, or the store
/// refuses.
pub(crate) async fn settle_fact(
    space: &UserSpace,
    id: &str,
    decision: FactDecision<'_>,
    now: Timestamp,
) -> HandlerResult<MemoryLine> {
    let decision = decision.into_decision();
    let is_unseen = decision.seen.as_deref() == Some("");
    // Only words that come in are looked at; to forget something asks nothing of the settings.
    let secrets = match &decision.action {
        MemoryAction::Keep(MemoryKeep { edit: Some(_), .. }) => space.secret_texts()?,
        _ => Vec::new(),
    };
    let store = space.store();
    match settle(store.as_ref(), &MemoryId::new(id), decision, &secrets, now).await {
        Ok(settled) => Ok(MemoryLine::from(&settled)),
        Err(SettleFactError::Changed(_)) if is_unseen => Err(ProblemDetails::conflict(
            "a fact is kept only as it was seen: send the `hash` that it had when it was looked at; nothing was \
             changed",
        )),
        Err(error) => Err(error.into()),
    }
}
