//! A person's brain, their own knowledge store (K12), as API and pages show and change it. What an entry
//! must look like, and how entries are found, is the core's and the engine's.

use serde::{Deserialize, Serialize};
use weir_core::brain::{
    BrainEdit, BrainEntry, BrainEntryKind, BrainEntryState, BrainOrigin, NewBrainEntry,
    person_label, redacted_edit, redacted_entry,
};
use weir_core::ids::Timestamp;
use weir_core::label::Label;
use weir_core::memory::BY_PERSON;
use weir_engine::blocking::run_blocking;
use weir_engine::brain::{self, BrainError, BrainFilter};
use weir_engine::ports::BrainHit;
use weir_install::user_space::UserSpace;

use crate::problem::{HandlerResult, ProblemDetails};

/// Entries that a search brings.
const FOUND_MAX: usize = 50;
/// Characters of an excerpt.
const EXCERPT_CHARS: usize = 240;

/// An entry of the brain.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BrainLine {
    /// Its name.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) title: String,
    /// What it is.
    pub(crate) kind: BrainEntryKind,
    /// Words to find it by.
    pub(crate) topics: Vec<String>,
    /// Whether it counts.
    pub(crate) state: BrainEntryState,
    /// The author: `person`, or the tool of an agent.
    pub(crate) by: String,
    /// The chat in which it was kept.
    pub(crate) session: Option<String>,
    /// The address or file that its words are from.
    pub(crate) source: Option<String>,
    /// Words from outside are in it: models are given it as data only.
    pub(crate) untrusted: bool,
    /// Private data was in the context when it was written.
    pub(crate) private: bool,
    /// Whose words it was made from.
    pub(crate) label: String,
    /// When it was first kept.
    pub(crate) created: Timestamp,
    /// When it was last changed.
    pub(crate) changed: Timestamp,
    /// A change is for the version that was read.
    pub(crate) version: u32,
    /// The passage that was found, or its beginning.
    pub(crate) excerpt: String,
    /// What it says, in Markdown; lists leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

impl BrainLine {
    /// What lists show, with this passage.
    fn with_excerpt(entry: &BrainEntry, passage: &str) -> BrainLine {
        BrainLine {
            id: entry.id.to_string(),
            title: entry.title.clone(),
            kind: entry.kind,
            topics: entry.topics.clone(),
            state: entry.state,
            by: entry.origin.by.clone(),
            session: entry.origin.session.as_ref().map(ToString::to_string),
            source: entry.origin.from.clone(),
            untrusted: entry.label.is_external(),
            private: entry.label.is_private(),
            label: entry.label.to_string(),
            created: entry.created,
            changed: entry.changed,
            version: entry.version,
            excerpt: shorten_text(passage),
            text: None,
        }
    }
}

/// All of it.
impl From<&BrainEntry> for BrainLine {
    fn from(entry: &BrainEntry) -> BrainLine {
        let line = BrainLine::with_excerpt(entry, &entry.text);
        BrainLine { text: Some(entry.text.clone()), ..line }
    }
}

/// A passage on one line.
fn shorten_text(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // No character has more than four bytes: what follows is cut off.
        if line.len() > 4 * EXCERPT_CHARS {
            break;
        }
    }
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}

impl From<BrainError> for ProblemDetails {
    fn from(error: BrainError) -> ProblemDetails {
        match error {
            BrainError::Missing { id } => ProblemDetails::not_found(format!("the entry {id:?}")),
            BrainError::Changed { .. } => ProblemDetails::conflict(error.to_string()),
            BrainError::Refused(why) => ProblemDetails::bad_request(why),
            BrainError::Store(error) => error.into(),
        }
    }
}

/// A filter of entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct BrainQuery {
    /// A question or words; empty: all.
    pub(crate) q: String,
    /// Only in this state; `None`: those that count.
    pub(crate) state: Option<BrainEntryState>,
    /// Only of this kind.
    pub(crate) kind: Option<BrainEntryKind>,
}

/// An entry in a person's own words.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBrainText {
    /// What it says, in Markdown.
    pub(crate) text: String,
    /// What it is called; without it: its first line.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// What it is; without it: a note.
    #[serde(default)]
    pub(crate) kind: Option<BrainEntryKind>,
    /// A few words to find it by.
    #[serde(default)]
    pub(crate) topics: Vec<String>,
    /// The address or file that its words are from.
    #[serde(default)]
    pub(crate) source: Option<String>,
}

/// The entries that are asked for: what fits best first; without words what was changed last.
///
/// # Errors
/// The store refuses.
pub(crate) async fn find_lines(
    space: &UserSpace,
    query: &BrainQuery,
) -> HandlerResult<Vec<BrainLine>> {
    let state = Some(query.state.unwrap_or_default());
    let filter = BrainFilter { state, kind: query.kind };
    let entries = brain::list_entries(space.store().as_ref(), filter).await?;
    let words = query.q.trim().to_owned();
    if words.is_empty() {
        let line = |entry: &BrainEntry| BrainLine::with_excerpt(entry, &entry.text);
        return Ok(entries.iter().map(line).collect());
    }
    let search = move || brain::search_entries(entries, &words, FOUND_MAX);
    let hits = run_blocking(search).await;
    let hits = hits.map_err(ProblemDetails::internal_failure)?;
    let line = |hit: &BrainHit| BrainLine::with_excerpt(&hit.entry, &hit.passage);
    Ok(hits.iter().map(line).collect())
}

/// The entry of this id.
///
/// # Errors
/// There is none, or the store refuses.
pub(crate) async fn find_line(space: &UserSpace, id: &str) -> HandlerResult<BrainLine> {
    let entry = brain::find_entry(space.store().as_ref(), id).await?;
    Ok(BrainLine::from(&entry))
}

/// Keeps what a person says.
///
/// # Errors
/// It is no entry, there is no room, or the store refuses.
pub(crate) async fn add_entry(
    space: &UserSpace,
    wish: NewBrainText,
    now: Timestamp,
) -> HandlerResult<BrainLine> {
    let kind = wish.kind.unwrap_or_default();
    let from = wish.source.filter(|source| !source.trim().is_empty());
    let new = NewBrainEntry {
        title: wish.title.unwrap_or_default(),
        text: wish.text,
        kind,
        topics: wish.topics,
        label: person_label(kind, from.as_deref()),
        origin: BrainOrigin { by: BY_PERSON.into(), from, ..BrainOrigin::default() },
    };
    let new = redacted_entry(new, &space.engine().await?.parts().secrets);
    let id = brain::person_entry_id(&new, now);
    let entry = brain::add_entry(space.store().as_ref(), &id, new, now).await?;
    Ok(BrainLine::from(&entry))
}

/// A change of the `version` of an entry that was read; what is `None` stays.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BrainTextChange {
    /// The version that was read.
    pub(crate) version: u32,
    /// What it is called.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// What it says, in Markdown.
    #[serde(default)]
    pub(crate) text: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    pub(crate) topics: Option<Vec<String>>,
}

/// Changes what an entry says.
///
/// # Errors
/// There is none, somebody else changed it since, or the store refuses.
pub(crate) async fn update_entry(
    space: &UserSpace,
    id: &str,
    change: BrainTextChange,
    now: Timestamp,
) -> HandlerResult<BrainLine> {
    let BrainTextChange { version, title, text, topics } = change;
    let edit = BrainEdit { title, text, topics, label: Label::default() };
    let edit = redacted_edit(edit, &space.engine().await?.parts().secrets);
    let entry = brain::update_entry(space.store().as_ref(), id, version, &edit, now).await?;
    Ok(BrainLine::from(&entry))
}

/// Forgets an entry or brings it back.
///
/// # Errors
/// There is none, or the store refuses.
pub(crate) async fn settle_entry(
    space: &UserSpace,
    id: &str,
    state: BrainEntryState,
    now: Timestamp,
) -> HandlerResult<BrainLine> {
    let entry = brain::set_entry_state(space.store().as_ref(), id, state, now).await?;
    Ok(BrainLine::from(&entry))
}

/// Takes an entry away for good.
///
/// # Errors
/// There is none, or the store refuses.
pub(crate) async fn delete_entry(space: &UserSpace, id: &str) -> HandlerResult<()> {
    Ok(brain::delete_entry(space.store().as_ref(), id).await?)
}
