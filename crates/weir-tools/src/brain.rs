//! `brain`: finds, reads, keeps, changes and forgets entries of the person's own knowledge store (K12).
//! What is kept has whose label, and whether a person is asked before, is decided by engine and gate,
//! never here.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::brain::{
    self, BrainEdit, BrainEntry, BrainEntryKind, BrainEntryState, BrainOrigin, NewBrainEntry,
};
use weir_core::governance::label::{Integrity, Label};
use weir_core::profile::PermissionMode;
use weir_core::tool::built_in::BRAIN_KEEPER;
use weir_core::tool::{
    BrainChange, BrainEffect, EffectClass, Effects, RawResult, ToolGroup, ToolSpec,
};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::{diff, text};

mod tell;

const LIMIT_DEFAULT: usize = 8;
const LIMIT_MAX: usize = 20;
const SUMMARY_CHARACTERS_MAX: usize = 80;

pub(crate) struct BrainKeeper;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum BrainAction {
    Search,
    Read,
    Add,
    Update,
    Forget,
}

// The kinds of `BrainEntryKind`, without descriptions: a doc comment here would be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum KindWord {
    Note,
    Snippet,
    Page,
    File,
}

impl From<KindWord> for BrainEntryKind {
    fn from(word: KindWord) -> BrainEntryKind {
        match word {
            KindWord::Note => BrainEntryKind::Note,
            KindWord::Snippet => BrainEntryKind::Snippet,
            KindWord::Page => BrainEntryKind::Page,
            KindWord::File => BrainEntryKind::File,
        }
    }
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    action: BrainAction,
    /// For search: a question or words; none: the newest entries.
    #[serde(default)]
    query: String,
    /// For read, update, forget.
    #[serde(default)]
    id: String,
    /// For update: the version that you read.
    #[serde(default)]
    version: Option<u32>,
    /// For add, update.
    #[serde(default)]
    title: Option<String>,
    /// For add, update: the whole text, in Markdown.
    #[serde(default)]
    text: Option<String>,
    /// For add; default note.
    #[serde(default)]
    kind: Option<KindWord>,
    /// For add, update: a few words to find it by.
    #[serde(default)]
    topics: Option<Vec<String>>,
    /// For add: the address or file that it comes from.
    #[serde(default)]
    source: Option<String>,
    /// For search: default 8, at most 20.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for BrainKeeper {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                BRAIN_KEEPER,
                ToolGroup::Agent,
                "The person's brain, their own knowledge store beside chats and files: search, read, \
                 add, update, forget. Changes ask the person unless they gave a standing permission; \
                 what is forgotten they can bring back.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = call_summary(&input);
        match plan_action(&input, cx).await {
            Ok(BrainPlan::Looks(effects)) => CallPlan::new(EffectClass::Read, effects, summary),
            Ok(BrainPlan::Changes { effects, diff }) => {
                // An entry knows its call, and a change its version: said twice it is done once.
                CallPlan { diff: Some(diff), ..CallPlan::new(EffectClass::Keyed, effects, summary) }
            }
            Err(why) => empty_plan(summary).with_failure(why),
        }
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let done = match input.action {
            BrainAction::Search => search_brain(&input, cx).await,
            BrainAction::Read => read_entry(&input.id, cx).await,
            BrainAction::Add => add_entry(input, cx).await,
            BrainAction::Update => update_entry(input, effects, cx).await,
            BrainAction::Forget => forget_entry(&input.id, cx).await,
        };
        done.unwrap_or_else(RawResult::error)
    }
}

fn call_summary(input: &Input) -> String {
    let title = input.title.as_deref().or(input.text.as_deref()).unwrap_or_default();
    let shown = |words: &str| text::one_line(words, SUMMARY_CHARACTERS_MAX);
    match input.action {
        BrainAction::Search if input.query.trim().is_empty() => "Look at the brain".to_owned(),
        BrainAction::Search => format!("Look in the brain for {}", shown(&input.query)),
        BrainAction::Read => format!("Read {} of the brain", shown(&input.id)),
        BrainAction::Add => format!("Keep in the brain: {}", shown(title)),
        BrainAction::Update => format!("Change {} in the brain", shown(&input.id)),
        BrainAction::Forget => format!("Forget {} of the brain", shown(&input.id)),
    }
}

/// What a call would do.
enum BrainPlan {
    Looks(Effects),
    Changes { effects: Effects, diff: String },
}

/// Whatever stands there is the person's own.
fn brain_label() -> Label {
    Label::private(Integrity::Person, "brain")
}

async fn plan_action(input: &Input, cx: &ToolContext) -> Result<BrainPlan, String> {
    let changes = !matches!(input.action, BrainAction::Search | BrainAction::Read);
    if changes && cx.mode == PermissionMode::Plan {
        return Err(
            "in plan mode the brain is only searched and read; say in the plan what is to \
                    be kept"
                .into(),
        );
    }
    match input.action {
        BrainAction::Search => {
            let searches = vec![input.query.clone()];
            let effects = Effects { searches, gives: brain_label(), ..Effects::default() };
            Ok(BrainPlan::Looks(effects))
        }
        BrainAction::Read => {
            let entry = cx.knows.brain().read_entry(&entry_id(input)?).await?;
            let gives = brain_label().joined_with(&entry.label);
            Ok(BrainPlan::Looks(Effects { gives, ..Effects::default() }))
        }
        BrainAction::Add => plan_adding(input),
        BrainAction::Update => plan_update(input, cx).await,
        BrainAction::Forget => {
            let entry = active_entry(input, cx).await?;
            Ok(planned_change(BrainChange::Forget, &entry, None))
        }
    }
}

fn plan_adding(input: &Input) -> Result<BrainPlan, String> {
    let new = brain::checked_entry(new_entry(input))?;
    let kept = shown_text(&new.title, &new.topics, &new.text);
    let effect = BrainEffect {
        change: BrainChange::Add,
        title: new.title,
        entry: String::new(),
        version: 0,
    };
    let diff = diff::whole_text_diff(&effect.title, None, &kept);
    let effects = Effects { remembers: vec![kept], brain: Some(effect), ..Effects::default() };
    Ok(BrainPlan::Changes { effects, diff })
}

async fn plan_update(input: &Input, cx: &ToolContext) -> Result<BrainPlan, String> {
    let entry = active_entry(input, cx).await?;
    let Some(version) = input.version else {
        return Err(format!(
            "say which version the change is for: read {} first; what you read says it",
            entry.id
        ));
    };
    if version != entry.version {
        return Err(format!(
            "{} has version {} now, not {version}: somebody changed it since; read it again and \
             change that",
            entry.id, entry.version
        ));
    }
    if input.kind.is_some() || input.source.is_some() {
        return Err("kind and source stay as they were; change title, text or topics".into());
    }
    let changed = brain::changed_entry(&entry, &edit_of(input))?;
    if changed == entry {
        return Err(format!("that is what {} says already", entry.id));
    }
    Ok(planned_change(BrainChange::Update, &entry, Some(&changed)))
}

/// The plan of a change of an entry; `after`: what stands there then, where anything does.
fn planned_change(
    change: BrainChange,
    before: &BrainEntry,
    after: Option<&BrainEntry>,
) -> BrainPlan {
    let shown = |entry: &BrainEntry| shown_text(&entry.title, &entry.topics, &entry.text);
    let new = after.map(shown).unwrap_or_default();
    let diff = diff::whole_text_diff(&before.title, Some(&shown(before)), &new);
    let effect = BrainEffect {
        change,
        title: before.title.clone(),
        entry: before.id.to_string(),
        version: before.version,
    };
    let remembers = if new.is_empty() { Vec::new() } else { vec![new] };
    let effects = Effects { remembers, brain: Some(effect), ..Effects::default() };
    BrainPlan::Changes { effects, diff }
}

fn entry_id(input: &Input) -> Result<String, String> {
    match input.id.trim() {
        "" => Err("say which entry: its id, as search shows it".into()),
        id => Ok(id.to_owned()),
    }
}

/// The entry that a change is about, which nobody forgot.
async fn active_entry(input: &Input, cx: &ToolContext) -> Result<BrainEntry, String> {
    let entry = cx.knows.brain().read_entry(&entry_id(input)?).await?;
    match entry.state {
        BrainEntryState::Active => Ok(entry),
        BrainEntryState::Forgotten => Err(format!(
            "{} was forgotten; only the person brings it back (`weir brain restore {}`)",
            entry.id, entry.id
        )),
    }
}

/// An entry as the person is shown it before they agree: all of it.
fn shown_text(title: &str, topics: &[String], text: &str) -> String {
    let topics = match topics.is_empty() {
        true => String::new(),
        false => format!("topics: {}\n", topics.join(", ")),
    };
    format!("{title}\n{topics}\n{text}\n")
}

fn new_entry(input: &Input) -> NewBrainEntry {
    NewBrainEntry {
        title: input.title.clone().unwrap_or_default(),
        text: input.text.clone().unwrap_or_default(),
        kind: input.kind.map(BrainEntryKind::from).unwrap_or_default(),
        topics: input.topics.clone().unwrap_or_default(),
        origin: BrainOrigin {
            from: input.source.clone().filter(|source| !source.trim().is_empty()),
            ..BrainOrigin::default()
        },
        label: Label::default(),
    }
}

fn edit_of(input: &Input) -> BrainEdit {
    BrainEdit {
        title: input.title.clone(),
        text: input.text.clone(),
        topics: input.topics.clone(),
        label: Label::default(),
    }
}

async fn search_brain(input: &Input, cx: &ToolContext) -> Result<RawResult, String> {
    let limit = input.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let hits = cx.knows.brain().search_brain(&input.query, limit).await?;
    if hits.is_empty() {
        let said = match input.query.trim().is_empty() {
            true => "The brain is empty.",
            false => "Nothing in the brain fits. Try fewer or other words.",
        };
        return Ok(RawResult::ok(said).with_summary("Nothing found"));
    }
    let mut label = brain_label();
    hits.iter().for_each(|hit| label.join(&hit.entry.label));
    let raw = RawResult::ok(tell::describe_hits(&hits))
        .with_summary(text::count_noun(hits.len(), "result"));
    Ok(RawResult { label, ..raw })
}

async fn read_entry(id: &str, cx: &ToolContext) -> Result<RawResult, String> {
    let entry = cx.knows.brain().read_entry(id.trim()).await?;
    let label = brain_label().joined_with(&entry.label);
    let raw = RawResult::ok(tell::describe_entry(&entry))
        .with_summary(text::one_line(&entry.title, SUMMARY_CHARACTERS_MAX));
    Ok(RawResult { label, ..raw })
}

async fn add_entry(input: Input, cx: &ToolContext) -> Result<RawResult, String> {
    let entry = cx.knows.brain().add_entry(cx.call, new_entry(&input)).await?;
    let text = format!("Kept as {} (version {}): {}", entry.id, entry.version, entry.title);
    Ok(RawResult::ok(text).with_summary("Kept"))
}

async fn update_entry(
    input: Input,
    effects: &Effects,
    cx: &ToolContext,
) -> Result<RawResult, String> {
    // The version that the person was shown, whatever happened since.
    let judged = effects.brain.as_ref().ok_or("the call was not planned as a change")?;
    let brain = cx.knows.brain();
    let entry = brain.update_entry(&judged.entry, judged.version, edit_of(&input)).await?;
    let text = format!("{} is changed; it has version {} now.", entry.id, entry.version);
    Ok(RawResult::ok(text).with_summary("Changed"))
}

async fn forget_entry(id: &str, cx: &ToolContext) -> Result<RawResult, String> {
    let entry = cx.knows.brain().forget_entry(id.trim()).await?;
    let text = format!(
        "{} is forgotten: it is found no more. The person can bring it back: `weir brain restore {}`.",
        entry.id, entry.id
    );
    Ok(RawResult::ok(text).with_summary("Forgotten"))
}
