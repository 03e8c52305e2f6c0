//! The memory of a scenario: its policy, facts that were kept before the session, and what people do
//! with the inbox. Not here: what is remembered during the play; that is the engine's business.

use anyhow::{Context as _, bail};
use weir_core::governance::label::{Integrity, Label};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::memory::{MemoryDecision, MemoryKind, MemorySource, MemoryStatus, NewMemory};
use weir_core::session::MemoryPolicy;
use weir_engine::memory::decision::settle_fact;
use weir_engine::ports::{MemoryFilter, Store};

use crate::parse::Setup;

/// What may be remembered: `accept`, `off`, `after-run`.
///
/// # Errors
/// A word means nothing.
pub fn policy(setup: &Setup) -> anyhow::Result<MemoryPolicy> {
    let mut policy = MemoryPolicy::default();
    for word in &setup.memory {
        match word.as_str() {
            "accept" => policy.accepts = true,
            "off" => policy.off = true,
            "after-run" => policy.after_run = true,
            _ => bail!("memory accept, off or after-run, not {word:?}"),
        }
    }
    Ok(policy)
}

/// Keeps the facts that were there before, one after the other. Doing it twice changes nothing.
///
/// # Errors
/// A fact has no known kind, or the store refuses it.
pub async fn seed(
    store: &dyn Store,
    setup: &Setup,
    workspace: &str,
    now: Timestamp,
) -> anyhow::Result<()> {
    let mut before = i64::try_from(setup.remembers.len()).unwrap_or(i64::MAX);
    for (kind, label, text) in &setup.remembers {
        let then = Timestamp(now.0.saturating_sub(before));
        before -= 1;
        let kind: MemoryKind = serde_json::from_value(kind.as_str().into())
            .with_context(|| format!("there is no kind of fact {kind:?}"))?;
        let everywhere = matches!(kind, MemoryKind::Identity | MemoryKind::Preference);
        let new = NewMemory {
            text: text.clone(),
            kind,
            topics: Vec::new(),
            importance: 3,
            workspace: (!everywhere).then(|| workspace.to_string()),
            source: MemorySource {
                by: "mark_for_memory".into(),
                session: Some(SessionId::new("earlier")),
                ..MemorySource::default()
            },
            label: match label.as_str() {
                "own" => Label::default(),
                "private" | "accepted" => Label::private(Integrity::Workspace, "workspace"),
                origin => Label::external(origin),
            },
            status: match label.as_str() {
                "accepted" => MemoryStatus::Proposed,
                _ => MemoryStatus::Kept,
            },
            supersedes: None,
        };
        let fact = store.remember_fact(&new, then).await?;
        if label == "accepted" && fact.fact.status == MemoryStatus::Proposed {
            store.settle_memory(&fact.id, &MemoryDecision::keep(), then).await?;
        }
    }
    Ok(())
}

/// What a person does with the fact of the inbox in which these words stand.
///
/// # Errors
/// There is no such fact.
pub async fn settle(
    store: &dyn Store,
    words: &str,
    decision: MemoryDecision,
    now: Timestamp,
) -> anyhow::Result<()> {
    let waiting =
        MemoryFilter { statuses: vec![MemoryStatus::Proposed], ..MemoryFilter::default() };
    let waiting = store.find_memories(&waiting).await?;
    let fact = waiting.iter().find(|fact| fact.fact.text.contains(words));
    let fact = fact.with_context(|| format!("nothing with {words:?} waits in the inbox"))?;
    settle_fact(store, &fact.id, decision, &[], now).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_core::message::plain_text;

    use crate::parse::parse;
    use crate::play::{Depth, play};

    /// What is about the person, and what the words are about, is told however much was kept since.
    #[test]
    fn m4_a_large_memory_hides_nothing_that_is_called_for() {
        let newer: String = (0..400)
            .map(|n| format!("remembers project own Module {n} of the workspace is generated.\n"))
            .collect();
        let text = format!(
            "# A large memory\n\n```setup\n\
             remembers identity own The person is called Ada.\n\
             remembers project own Releases are cut on Fridays.\n{newer}```\n\
             ```script\nsays: Yes.\n```\n```people\nsays When are releases cut?\n```\n"
        );
        let scenario = parse(&text).expect("a scenario");
        for depth in [Depth::Memory, Depth::Disk] {
            let played = play(&scenario, depth, 0).expect("it is played");
            let told = |words: &str| {
                let request = played.requests.last().expect("a request");
                request.iter().any(|message| plain_text(&message.blocks).contains(words))
            };
            for words in ["is called Ada", "are cut on Fridays"] {
                assert!(told(words), "{words} ({depth:?})");
            }
            assert!(!told("Module 7 of"), "{depth:?}");
        }
    }
}
