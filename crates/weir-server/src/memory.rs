//! What is remembered of a person beyond one chat (M4), as API and pages show and change it. What a
//! fact must look like, and when two are one, is the core's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::governance::filter::redact_text;
use weir_core::governance::label::Label;
use weir_core::ids::Timestamp;
use weir_core::memory::{
    BY_PERSON, IMPORTANCE_DEFAULT, MemoryFact, MemoryKind, MemorySource, MemoryStatus, NewMemory,
    fact_text, fact_topics, marked_private,
};
use weir_engine::ports::MemoryFilter;
use weir_install::user_space::UserSpace;

use crate::problem::{HandlerResult, ProblemDetails};

/// A fact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
            untrusted: fact.label.is_external(),
            private: fact.label.is_private(),
            label: fact.label.to_string(),
            confirmed: memory.confirmed,
            created: memory.created,
        }
    }
}

/// A filter of facts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Deserialize, JsonSchema)]
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
    let text = fact_text(&wish.text).map_err(ProblemDetails::bad_request)?;
    if redact_text(&text, &[]) != text {
        return Err(ProblemDetails::bad_request(
            "this looks like a key or password: a fact is told to models, so it is not remembered",
        ));
    }
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
        fact = store.settle_memory(&fact.id, MemoryStatus::Kept, now).await?.unwrap_or(fact);
    }
    Ok(MemoryLine::from(&fact))
}

/// What a person decides about a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactSettlement {
    /// It is in this state from now on.
    Settled(MemoryStatus),
    /// It is kept, and chats that are told of it hold private data.
    KeptPrivate,
}

/// Accepts, rejects or forgets.
///
/// # Errors
/// There is no such fact, or the store refuses.
pub(crate) async fn settle_fact(
    space: &UserSpace,
    id: &str,
    word: FactSettlement,
    now: Timestamp,
) -> HandlerResult<MemoryLine> {
    let missing = || ProblemDetails::not_found(format!("the fact {id:?}"));
    let all = space.store().find_memories(&MemoryFilter::default()).await?;
    let known = all.into_iter().find(|fact| fact.id.as_str() == id).ok_or_else(missing)?;
    let status = match word {
        FactSettlement::Settled(status) => status,
        FactSettlement::KeptPrivate => {
            // Before it counts: between the two nobody is told of it as anything else.
            space.store().remember_fact(&marked_private(&known), now).await?;
            MemoryStatus::Kept
        }
    };
    let settled = space.store().settle_memory(&known.id, status, now).await?;
    settled.as_ref().map(MemoryLine::from).ok_or_else(missing)
}
