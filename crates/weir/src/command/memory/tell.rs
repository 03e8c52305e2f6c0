//! Facts in words for a terminal. Everything that somebody else wrote is shown with its hidden
//! characters written out.

use std::collections::BTreeSet;

use weir_core::ids::MemoryId;
use weir_core::memory::{MemoryFact, MemoryStatus};
use weir_core::view::plain::visible_text;
use weir_install::wording::{
    clip_line, external_origins_text, private_sources_text, single_visible_line, timestamp_text,
};

use crate::terminal::format_table;

/// Digits of an id in lists; more where two begin alike.
const ID_CHARS: usize = 8;
/// Characters of a fact in an error.
const SHORT_CHARS: usize = 40;

/// A list: id, kind, importance, where, text with what must be said of it.
pub(super) fn render_fact_rows(
    facts: &[MemoryFact],
    ids: &BTreeSet<MemoryId>,
    here: &str,
) -> String {
    let row = |fact: &MemoryFact| {
        let mut text = fact_text_line(&fact.fact.text);
        if !fact.fact.topics.is_empty() {
            text = format!("{text}  [{}]", fact_text_line(&fact.fact.topics.join(", ")));
        }
        if fact.fact.label.is_private() {
            text = format!("(private) {text}");
        }
        if let Some(origins) = external_origins_text(&fact.fact.label) {
            text = format!("UNTRUSTED (from {origins}) {text}");
        }
        if fact.fact.status != MemoryStatus::Kept {
            text = format!("({}) {text}", memory_status_word(fact.fact.status));
        }
        let importance = format!("{}/5", fact.fact.importance);
        let kind = fact.fact.kind.as_str().to_owned();
        vec![
            unique_id_prefix(&fact.id, ids),
            kind,
            importance,
            describe_fact_place(fact, here),
            text,
        ]
    };
    format_table(&facts.iter().map(row).collect::<Vec<_>>())
}

/// A fact that waits, with all that a person needs to decide.
pub(super) fn describe_waiting_fact(
    fact: &MemoryFact,
    all: &[MemoryFact],
    ids: &BTreeSet<MemoryId>,
) -> String {
    let mut text =
        format!("{}  {}\n", unique_id_prefix(&fact.id, ids), fact_text_line(&fact.fact.text));
    let mut add = |name: &str, value: &str| text.push_str(&format!("  {name:<12} {value}\n"));
    if let Some(origins) = external_origins_text(&fact.fact.label) {
        add(
            "UNTRUSTED",
            &format!("content from {origins} was involved; a model will get it as data only"),
        );
    }
    if let Some(sources) = private_sources_text(&fact.fact.label) {
        let what = match external_origins_text(&fact.fact.label) {
            Some(_) => "it stays private when you accept it",
            None => "once accepted it no longer counts as private, unless you add --private",
        };
        add(
            "private",
            &format!("written while private data was in the context ({sources}); {what}"),
        );
    }
    let kind = fact.fact.kind.as_str();
    add("kind", &format!("{kind}, importance {} of 5", fact.fact.importance));
    if !fact.fact.topics.is_empty() {
        add("topics", &fact_text_line(&fact.fact.topics.join(", ")));
    }
    match &fact.fact.workspace {
        Some(workspace) => add("applies in", &fact_text_line(workspace)),
        None => add("applies", "everywhere"),
    }
    let times = match fact.confirmed {
        0 => String::new(),
        1 => ", stated once more since".to_owned(),
        more => format!(", stated {more} times more since"),
    };
    add(
        "from",
        &format!("{}, {} UTC{times}", describe_fact_source(fact), timestamp_text(fact.created)),
    );
    let older = fact.fact.supersedes.as_ref();
    if let Some(older) = older.and_then(|id| all.iter().find(|other| other.id == *id)) {
        add(
            "replaces",
            &format!("{} {}", unique_id_prefix(&older.id, ids), fact_text_line(&older.fact.text)),
        );
    }
    text
}

/// Who wrote it, where.
pub(super) fn describe_fact_source(fact: &MemoryFact) -> String {
    let source = &fact.fact.source;
    let mut text = match source.by.as_str() {
        "person" => "you".to_owned(),
        "condensing" => "condensing of old turns".to_owned(),
        "run" => "a finished run".to_owned(),
        other => visible_text(other),
    };
    if let Some(session) = &source.session {
        text.push_str(&format!(" in session {session}"));
    }
    if let Some(call) = source.call {
        text.push_str(&format!(", call {call}"));
    }
    if let Some(file) = &source.file {
        text.push_str(&format!(", file {}", fact_text_line(file)));
    }
    if let Some(person) = &source.edited_by {
        text.push_str(&format!(", in words of {}", fact_text_line(person)));
    }
    text
}

/// Where it holds.
pub(super) fn describe_fact_place(fact: &MemoryFact, here: &str) -> String {
    match &fact.fact.workspace {
        None => "everywhere".to_owned(),
        Some(workspace) if workspace == here => "here".to_owned(),
        Some(workspace) => format!("in {}", fact_text_line(workspace)),
    }
}

pub(super) fn memory_status_word(status: MemoryStatus) -> &'static str {
    match status {
        MemoryStatus::Proposed => "waiting",
        MemoryStatus::Kept => "kept",
        MemoryStatus::Rejected => "rejected",
        MemoryStatus::Forgotten => "forgotten",
        MemoryStatus::Superseded => "replaced",
    }
}

/// So much of an id that it names one fact.
fn unique_id_prefix(id: &MemoryId, ids: &BTreeSet<MemoryId>) -> String {
    let same = |other: &MemoryId| {
        let pairs = id.as_str().bytes().zip(other.as_str().bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    // Whoever begins most alike stands beside it in the order.
    let before = ids.range(..id).next_back().map_or(0, same);
    let after = ids.range(id..).find(|other| *other != id).map_or(0, same);
    let chars = ID_CHARS.max(before.max(after) + 1);
    id.as_str().get(..chars).unwrap_or(id.as_str()).to_owned()
}

/// Facts that somebody may have meant: whose id begins a little like it, or that hold it as a word.
pub(super) fn find_similar_facts<'a>(facts: &'a [MemoryFact], wanted: &str) -> Vec<&'a MemoryFact> {
    let alike = |fact: &&MemoryFact| {
        let begin = wanted.get(..4);
        let same_begin = begin.is_some_and(|begin| fact.id.as_str().starts_with(begin));
        let text = fact.fact.text.to_lowercase();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        same_begin || words.any(|word| !word.is_empty() && word == wanted)
    };
    facts.iter().filter(alike).collect()
}

/// In one line that can be looked at without harm.
pub(super) fn fact_text_line(text: &str) -> String {
    single_visible_line(text)
}

/// Its first words.
pub(super) fn shorten_fact_text(text: &str) -> String {
    clip_line(text, SHORT_CHARS)
}
