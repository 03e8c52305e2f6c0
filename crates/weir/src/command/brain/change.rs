//! `weir brain add`, `edit`, `forget`, `restore` and `delete`: what a person decides about entries.

use std::io::Read as _;
use std::path::Path;

use weir_core::brain::{
    BrainEdit, BrainEntry, BrainEntryKind, BrainEntryState, BrainOrigin, NewBrainEntry,
    TEXT_BYTES_MAX, person_label, redacted_edit, redacted_entry,
};
use weir_core::governance::label::Label;
use weir_core::memory::BY_PERSON;
use weir_core::tool::{PathAccess, PathPlace};
use weir_engine::brain::{self, BrainError, BrainFilter};
use weir_engine::marks::marks_in;
use weir_install::context::InstallationContext;
use weir_install::files::named_text;
use weir_install::wiring::secret_texts;
use weir_install::wording::external_origins_text;
use weir_tui::compose::editor;

use super::{entry_json, find_entry, load_entries, tell};
use crate::command::current_timestamp;
use crate::failure::usage;
use crate::options::{BrainAddArgs, BrainEditArgs, BrainIdsArgs};
use crate::terminal::{err_line, out_json, out_line};

/// What stands for standard input.
const STDIN: &str = "-";

pub(super) async fn add_entry(cx: &InstallationContext, args: BrainAddArgs) -> anyhow::Result<()> {
    let is_file = args.file.is_some();
    let text = given_text(args.text.as_deref(), args.file.as_deref())?.unwrap_or_default();
    let usual = if is_file { BrainEntryKind::File } else { BrainEntryKind::Note };
    let kind = args.kind.map_or(usual, Into::into);
    let path = args.file.as_ref().map(|path| path.display().to_string());
    let from = args.source.or(path);
    let mut label = person_label(kind, from.as_deref());
    if let Some(file) = &args.file {
        label.join(&file_label(cx, file).await?);
    }
    let said = NewBrainEntry {
        title: args.title.unwrap_or_default(),
        text,
        kind,
        topics: args.topics,
        origin: BrainOrigin { by: BY_PERSON.into(), from, ..BrainOrigin::default() },
        label,
    };
    let new = redacted_entry(said.clone(), &secret_texts(cx)?);
    let is_redacted = new.text != said.text || new.title != said.title;
    let (store, now) = (cx.session_store()?, current_timestamp());
    let id = brain::person_entry_id(&new, now);
    let entry = brain::add_entry(store.as_ref(), &id, new, now).await.map_err(person_failure)?;
    if args.json.json {
        return out_json(&entry_json(&entry));
    }
    out_line(&format!("{} is in your brain: {}", entry.id, tell::short_title(&entry.title)))?;
    print_remarks(&entry, is_redacted)
}

pub(super) async fn edit_entry(
    cx: &InstallationContext,
    args: BrainEditArgs,
) -> anyhow::Result<()> {
    let entries = load_entries(cx, BrainFilter::default()).await?;
    let entry = find_entry(&entries, &args.id)?;
    let mut text = given_text(args.text.as_deref(), args.file.as_deref())?;
    let by_hand = text.is_none() && args.title.is_none() && args.topics.is_empty();
    if by_hand && entry.state == BrainEntryState::Forgotten {
        let id = &entry.id;
        return Err(usage(format!("{id} was forgotten; `weir brain restore {id}` brings it back")));
    }
    if by_hand {
        let command = editor::configured_editor();
        let edited = editor::edit_text(command.as_deref(), &entry.text);
        text = Some(edited.map_err(|error| usage(error.to_string()))?);
    }
    let said = BrainEdit {
        title: args.title,
        text,
        topics: (!args.topics.is_empty()).then_some(args.topics),
        label: Label::default(),
    };
    let edit = redacted_edit(said.clone(), &secret_texts(cx)?);
    let (store, now) = (cx.session_store()?, current_timestamp());
    let changed =
        brain::update_entry(store.as_ref(), entry.id.as_str(), entry.version, &edit, now).await;
    if let (Err(_), true, Some(written)) = (&changed, by_hand, &said.text) {
        err_line(&format!("This was not saved:\n\n{written}\n"));
    }
    let changed = changed.map_err(person_failure)?;
    if args.json.json {
        return out_json(&entry_json(&changed));
    }
    out_line(&format!("{} is changed: {}", changed.id, tell::short_title(&changed.title)))?;
    print_remarks(&changed, edit != said)
}

/// Forgets or restores. All of them are found first: a word that names none changes nothing.
pub(super) async fn set_entries_state(
    cx: &InstallationContext,
    args: &BrainIdsArgs,
    state: BrainEntryState,
) -> anyhow::Result<()> {
    let (store, mut settled) = (cx.session_store()?, Vec::new());
    for before in named_entries(cx, &args.ids).await? {
        let (id, now) = (before.id.as_str(), current_timestamp());
        let after = brain::set_entry_state(store.as_ref(), id, state, now).await;
        settled.push((before, after.map_err(person_failure)?));
    }
    if args.json.json {
        return out_json(&settled.iter().map(|(_, after)| entry_json(after)).collect::<Vec<_>>());
    }
    for (before, after) in &settled {
        let word = match (state, before.state == state) {
            (BrainEntryState::Forgotten, false) => "is forgotten",
            (BrainEntryState::Forgotten, true) => "was already forgotten",
            (BrainEntryState::Active, false) => "is restored",
            (BrainEntryState::Active, true) => "was not forgotten",
        };
        out_line(&format!("{} {word}: {}", after.id, tell::short_title(&after.title)))?;
    }
    Ok(())
}

pub(super) async fn delete_entries(
    cx: &InstallationContext,
    args: &BrainIdsArgs,
) -> anyhow::Result<()> {
    let (store, entries) = (cx.session_store()?, named_entries(cx, &args.ids).await?);
    for entry in &entries {
        let deleted = brain::delete_entry(store.as_ref(), entry.id.as_str()).await;
        deleted.map_err(person_failure)?;
    }
    if args.json.json {
        return out_json(&entries.iter().map(entry_json).collect::<Vec<_>>());
    }
    for entry in &entries {
        out_line(&format!("{} is deleted: {}", entry.id, tell::short_title(&entry.title)))?;
    }
    Ok(())
}

async fn named_entries(
    cx: &InstallationContext,
    ids: &[String],
) -> anyhow::Result<Vec<BrainEntry>> {
    let entries = load_entries(cx, BrainFilter::default()).await?;
    ids.iter().map(|id| find_entry(&entries, id)).collect()
}

/// The text that was given on the command line, in a file or on standard input.
fn given_text(text: Option<&str>, file: Option<&Path>) -> anyhow::Result<Option<String>> {
    match (text, file) {
        (_, Some(file)) => named_text("--file", file).map(Some),
        (Some(STDIN), None) => stdin_text().map(Some),
        (Some(text), None) => Ok(Some(text.to_owned())),
        (None, None) => Ok(None),
    }
}

fn stdin_text() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    // One more than an entry may have: the rest is said to be too long, not left out.
    let most = TEXT_BYTES_MAX as u64 + 1;
    std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    // The limit may have cut the last letter of what is too long anyway.
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if error.as_bytes().len() > TEXT_BYTES_MAX => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(_) => Err(usage("what stands on standard input is not valid UTF-8")),
    }
}

/// Whose words stand in a file: foreign ones, where an agent wrote it while such were about.
async fn file_label(cx: &InstallationContext, file: &Path) -> anyhow::Result<Label> {
    let Ok(path) = file.canonicalize() else { return Ok(Label::default()) };
    let workspace = cx.open_workspace()?;
    let folder = workspace.root().display().to_string();
    let marks = marks_in(&*cx.session_store()?, &folder).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let at = workspace.resolve(&path.to_string_lossy(), PathAccess::Read);
    let origin = at.marked.filter(|_| at.place == PathPlace::Inside);
    Ok(origin.map(Label::external).unwrap_or_default())
}

fn person_failure(error: BrainError) -> anyhow::Error {
    match error {
        BrainError::Store(error) => error.into(),
        BrainError::Missing { .. } | BrainError::Changed { .. } | BrainError::Refused(_) => {
            usage(error.to_string())
        }
    }
}

/// Says what a person should know of what was kept.
fn print_remarks(entry: &BrainEntry, is_redacted: bool) -> anyhow::Result<()> {
    if is_redacted {
        out_line(
            "  What looked like a key or password was taken out, because entries are given to \
             models; `weir auth set` saves keys.",
        )?;
    }
    let Some(origins) = external_origins_text(&entry.label) else { return Ok(()) };
    out_line(&format!(
        "  It is untrusted, because content from {origins} is in it: a model gets it as data only, \
         never as an instruction. To make it yours, add it in your own words."
    ))
}
