//! Whose words an entry is and what must not stand in it (K12), before it is kept. Not here: the label of
//! what an agent keeps, which is that of what its model had read.

use super::{BrainEdit, BrainEntryKind, NewBrainEntry};
use crate::governance::filter::redact_text;
use crate::label::Label;

/// Whose words a person's own entry is: what a page says, anybody may have written, whoever keeps it.
/// `from`: its address or file.
pub fn person_label(kind: BrainEntryKind, from: Option<&str>) -> Label {
    match (kind, from) {
        (BrainEntryKind::Page, Some(from)) => Label::external(page_host(from)),
        (BrainEntryKind::Page, None) => Label::external("a page"),
        (BrainEntryKind::Note | BrainEntryKind::Snippet | BrainEntryKind::File, _) => {
            Label::default()
        }
    }
}

/// The host of an address; where there is none, all of it.
fn page_host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or(host);
    if host.is_empty() { address.to_owned() } else { host.to_lowercase() }
}

/// `new` without these secrets and without what looks like a token.
pub fn redacted_entry(new: NewBrainEntry, secrets: &[String]) -> NewBrainEntry {
    let clean = |text: &str| redact_text(text, secrets).into_owned();
    let mut origin = new.origin;
    origin.from = origin.from.map(|from| clean(&from));
    NewBrainEntry {
        title: clean(&new.title),
        text: clean(&new.text),
        topics: new.topics.iter().map(|topic| clean(topic)).collect(),
        origin,
        ..new
    }
}

/// The same for a change.
pub fn redacted_edit(edit: BrainEdit, secrets: &[String]) -> BrainEdit {
    let clean = |text: &str| redact_text(text, secrets).into_owned();
    let clean_topics = |topics: Vec<String>| topics.iter().map(|topic| clean(topic)).collect();
    BrainEdit {
        title: edit.title.map(|title| clean(&title)),
        text: edit.text.map(|text| clean(&text)),
        topics: edit.topics.map(clean_topics),
        label: edit.label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k12_what_a_page_says_is_foreign_whoever_keeps_it() {
        let origin = |from: Option<&str>| {
            let label = person_label(BrainEntryKind::Page, from);
            label.origins.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(origin(Some("https://ann@A.example/tides?x=1")), ["a.example"]);
        assert_eq!(origin(Some("a.example/tides")), ["a.example"]);
        assert_eq!(origin(None), ["a page"]);
        assert!(person_label(BrainEntryKind::Note, Some("https://a.example")).is_clean());
    }

    #[test]
    fn k12_no_secret_is_kept() {
        let secrets = ["hunter2hunter2".to_owned()];
        let new = NewBrainEntry {
            title: "The key hunter2hunter2".into(),
            text: "It is hunter2hunter2.".into(),
            topics: vec!["hunter2hunter2".into()],
            ..NewBrainEntry::default()
        };
        let kept = redacted_entry(new, &secrets);
        let all = format!("{kept:?}");
        assert!(!all.contains("hunter2") && kept.text.contains("[redacted"), "{all}");
        let edit = BrainEdit { text: Some("hunter2hunter2".into()), ..BrainEdit::default() };
        let edit = redacted_edit(edit, &secrets);
        assert!(edit.text.is_some_and(|text| !text.contains("hunter2")));
    }
}
