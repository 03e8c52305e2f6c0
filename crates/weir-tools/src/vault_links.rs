//! Links of a vault when files move or go: notes that are written anew with a move, links that break
//! with a deletion. Only in a vault; elsewhere nothing is looked at.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::record::sha256_hex;
use weir_core::tool::PathAccess;
use weir_engine::ports::FileContent;
use weir_engine::workspace::Workspace;
use weir_notes::index::NoteIndex;
use weir_notes::note::NOTE_BYTES_MAX;
use weir_notes::resolve::NameTable;
use weir_notes::rewrite::{FileEdits, LinkEdits, VaultMoves, apply_edits, plan_link_edits};

use crate::draft::{PlanDraft, file_content};
use crate::vault::NoteVault;
use crate::{text, vault};

/// How often edits are planned where notes change meanwhile.
const PLANS_MAX: usize = 3;
/// Broken links that are named.
const LINKS_SHOWN_MAX: usize = 20;

/// A note whose links follow a move.
pub(crate) struct RewrittenNote {
    pub(crate) before: FileContent,
    pub(crate) after: FileContent,
    /// Links that are written anew.
    pub(crate) links: usize,
}

/// Whether a path is one of the vault: not outside, and no folder on the way begins with a dot.
pub(crate) fn is_of_vault(path: &str) -> bool {
    !path.split('/').any(|part| part.is_empty() || part.starts_with('.'))
}

/// Notes by their old paths, as they become when these files move.
///
/// # Errors
/// A sentence for the model: a note cannot be read or written, so nothing may move.
pub(crate) fn rewrite_links(
    workspace: &Workspace,
    moves: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, RewrittenNote>, String> {
    let mut vault_moves = VaultMoves::default();
    for (from, to) in moves {
        match (is_of_vault(from), is_of_vault(to)) {
            (_, true) => {
                vault_moves.moves.insert(from.clone(), to.clone());
            }
            (true, false) => {
                vault_moves.leaving.insert(from.clone());
            }
            (false, false) => {}
        }
    }
    if vault_moves.moves.is_empty() {
        return Ok(BTreeMap::new());
    }
    rewrite_notes(workspace, |vault| Ok(plan_link_edits(vault.index(), &vault_moves)))
}

/// Files of the vault that these moves take out of it.
pub(crate) fn leaving_paths(moves: &BTreeMap<String, String>) -> Vec<String> {
    let leaving = moves.iter().filter(|(from, to)| is_of_vault(from) && !is_of_vault(to));
    leaving.map(|(from, _)| from.clone()).collect()
}

/// Notes as they become by edits that `plan` makes from the index. Where a note was changed since it was
/// indexed, the edits are made anew.
///
/// # Errors
/// As [`rewrite_links`]; and what `plan` says.
pub(crate) fn rewrite_notes(
    workspace: &Workspace,
    plan: impl Fn(&NoteVault) -> Result<LinkEdits, String>,
) -> Result<BTreeMap<String, RewrittenNote>, String> {
    if !vault::is_vault(workspace) {
        return Ok(BTreeMap::new());
    }
    let mut changed = String::new();
    for _ in 0..PLANS_MAX {
        let edits = vault::ask_vault(workspace, &plan)??;
        match edit_notes(workspace, edits)? {
            EditedNotes::Made(notes) => return Ok(notes),
            EditedNotes::Changed(path) => changed = path,
        }
    }
    Err(format!("{changed} changed while its links were looked at; try again"))
}

enum EditedNotes {
    Made(BTreeMap<String, RewrittenNote>),
    /// This one is not what was indexed.
    Changed(String),
}

fn edit_notes(workspace: &Workspace, edits: LinkEdits) -> Result<EditedNotes, String> {
    let mut notes = BTreeMap::new();
    for (path, FileEdits { hash, edits }) in edits {
        let at = workspace.resolve(&path, PathAccess::Read);
        let before = workspace.read(&at, NOTE_BYTES_MAX).map_err(|why| why.to_string())?;
        let FileContent::File { bytes, .. } = &before else {
            return Ok(EditedNotes::Changed(path));
        };
        let text = std::str::from_utf8(bytes).ok().filter(|_| sha256_hex(bytes) == hash);
        let Some(changed) = text.and_then(|text| apply_edits(text, &edits)) else {
            return Ok(EditedNotes::Changed(path));
        };
        let after = file_content(changed.into_bytes(), &before);
        notes.insert(path, RewrittenNote { before, after, links: edits.len() });
    }
    Ok(EditedNotes::Made(notes))
}

/// Puts the changes of notes that stay where they are into a draft; what is left are those that move.
pub(crate) fn draft_rewritten(
    workspace: &Workspace,
    notes: &mut BTreeMap<String, RewrittenNote>,
    moves: &BTreeMap<String, String>,
    draft: &mut PlanDraft,
) {
    let staying: Vec<String> =
        notes.keys().filter(|path| !moves.contains_key(*path)).cloned().collect();
    for path in staying {
        if let Some(note) = notes.remove(&path) {
            let at = workspace.resolve(&path, PathAccess::Write);
            draft.add_change(at, &note.before, &note.after);
        }
    }
}

/// `; 3 links in 2 notes follow`, or nothing.
pub(crate) fn describe_rewritten(notes: &BTreeMap<String, RewrittenNote>) -> String {
    let links: usize = notes.values().map(|note| note.links).sum();
    match links {
        0 => String::new(),
        links => format!(
            "; {} in {} {}",
            text::count_noun(links, "link"),
            text::count_noun(notes.len(), "note"),
            if links == 1 { "follows" } else { "follow" }
        ),
    }
}

/// What becomes of links to files that go.
#[derive(Default)]
pub(crate) struct LostLinks {
    /// Those that lead nowhere then: a line each.
    broken: Vec<String>,
    /// Those that lead to another file of that name then.
    elsewhere: Vec<String>,
    /// Why it is not known.
    unknown: Option<String>,
}

/// What becomes of links that lead to files at these paths, or that led there when they are gone
/// already, in notes beside them. Nothing where there is no vault.
pub(crate) fn links_lost_with(workspace: &Workspace, paths: &[String]) -> LostLinks {
    if !vault::is_vault(workspace) || paths.is_empty() {
        return LostLinks::default();
    }
    let gone: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let asked = vault::ask_vault(workspace, |vault| find_lost(vault.index(), &gone));
    // What cannot be said stops no deletion.
    asked.unwrap_or_else(|why| LostLinks { unknown: Some(why), ..LostLinks::default() })
}

fn find_lost(index: &NoteIndex, gone: &BTreeSet<&str>) -> LostLinks {
    let (mut before, mut after) = (NameTable::default(), NameTable::default());
    let mut next = 0;
    for (number, file) in index.list_files() {
        next = next.max(number.saturating_add(1));
        before.insert(number, file.path);
        if !gone.contains(file.path) {
            after.insert(number, file.path);
        }
    }
    for (path, number) in gone.iter().filter(|path| index.find_file(path).is_none()).zip(next..) {
        before.insert(number, path);
    }
    let (mut broken, mut elsewhere) = (BTreeSet::new(), BTreeSet::new());
    for link in gone.iter().flat_map(|path| index.links_named(path)) {
        let source = index.name_table().path_of(link.source);
        let led = before.resolve_link(link.link.form, &link.link.path, source);
        let led_there = led.is_some_and(|number| gone.contains(before.path_of(number)));
        if gone.contains(source) || !led_there {
            continue;
        }
        let line = format!("{source}: {}", link.link.target_text());
        match after.resolve_link(link.link.form, &link.link.path, source) {
            None => broken.insert(line),
            Some(other) => elsewhere.insert(format!("{line} leads to {}", after.path_of(other))),
        };
    }
    let (broken, elsewhere) = (broken.into_iter().collect(), elsewhere.into_iter().collect());
    LostLinks { broken, elsewhere, unknown: None }
}

/// Lost links as the end of an answer; empty: none is.
pub(crate) fn describe_lost(lost: &LostLinks) -> String {
    let list = |lines: &[String], one: &str, several: &str| match lines.len() {
        0 => String::new(),
        n => format!(
            "\n{} {} now:\n{}",
            text::count_noun(n, "link"),
            if n == 1 { one } else { several },
            text::bullet_list(lines, LINKS_SHOWN_MAX)
        ),
    };
    let unknown = lost.unknown.as_deref();
    let unknown = unknown.map(|why| format!("\nWhich links break is not known: {why}"));
    list(&lost.broken, "is broken", "are broken")
        + &list(&lost.elsewhere, "leads to another file", "lead to other files")
        + &unknown.unwrap_or_default()
}

/// The person sees which links break before they agree, and the call is judged for looking at them.
pub(crate) fn draft_lost(workspace: &Workspace, paths: &[String], draft: &mut PlanDraft) {
    if vault::is_vault(workspace) {
        draft.touch(vault::vault_effect(workspace));
        let lost = describe_lost(&links_lost_with(workspace, paths));
        if !lost.is_empty() {
            draft.add_note(&format!("{}\n", lost.trim_start()));
        }
    }
}
