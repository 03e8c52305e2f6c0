//! `weir trust`: shows what a workspace's own files would do, asks a person, and keeps the answer
//! (C5). What trust means is in `trust`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_engine::ports::Clock as _;
use weir_install::config::WorkspaceConfig;
use weir_install::context::InstallationContext;
use weir_install::trust::{
    FileSnapshot, OfferKind, TrustOffer, TrustRecord, TrustStore, WorkspaceTrust,
    collect_trust_offers, find_governed_files, judge_record, judge_workspace, offer_row,
    snapshot_files, summarize_offers,
};
use weir_install::wiring::{self, SystemClock};

use crate::failure::{exit, usage};
use crate::options::TrustArgs;
use crate::terminal::{confirm_by_person, format_table, is_attended, out_json, out_line};

/// Scripts, files and profiles that are shown to a person; `--json` names all.
const FILES_SHOWN_MAX: usize = 60;
/// Changed files that are shown to a person.
const CHANGES_SHOWN_MAX: usize = 60;

/// Trusts, lists, removes.
pub(crate) fn run_trust_command(
    cx: &InstallationContext,
    args: &TrustArgs,
) -> anyhow::Result<ExitCode> {
    if args.list {
        list_trusted_workspaces(cx, args.json.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.remove {
        remove(cx, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    match &args.folder {
        Some(folder) => grant_trust(&cx.in_folder(folder)?, args),
        None => grant_trust(cx, args),
    }
}

/// What a person is shown, and what they then trust.
struct TrustReview {
    offers: Vec<TrustOffer>,
    files: FileSnapshot,
}

fn grant_trust(cx: &InstallationContext, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    // A damaged file would be found when the answer is written: that is too late.
    TrustStore::read_from_state(&cx.dirs.state).map_err(usage)?;
    let shown = review_workspace(cx)?;
    let trusted = cx.workspace_trust();
    if !args.yes && args.json.json {
        out_json(&as_json(cx, trusted, &shown))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !trusted.is_trusted() && !is_attended() {
        return Err(usage(
            "nobody can be asked here; review what would be trusted with `weir trust --json`, then \
             confirm with `weir trust --yes`",
        ));
    }
    if !args.json.json {
        out_line(&describe_trust_review(cx, trusted, &shown))?;
    }
    if !trusted.is_trusted() {
        if !args.yes && !confirm_by_person(&trust_question(cx, &shown))? {
            out_line("Not trusted; nothing was changed.")?;
            return Ok(ExitCode::from(exit::FAILED));
        }
        save_trust_record(cx, shown.files.clone())?;
    }
    let now = judge_workspace(&cx.dirs.state, &cx.folder);
    if args.json.json {
        out_json(&as_json(cx, &now, &shown))?;
    } else if !trusted.is_trusted() {
        out_line("Trusted. When one of its files changes, you are asked again.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads everything that would be trusted. Files are hashed before and after they are understood:
/// what is shown is what is trusted.
fn review_workspace(cx: &InstallationContext) -> anyhow::Result<TrustReview> {
    let cannot =
        |why: String| usage(format!("this workspace cannot be trusted: {}", visible_text(&why)));
    let found = find_governed_files(&cx.folder).map_err(cannot)?;
    let files = snapshot_files(&found).map_err(cannot)?;
    // Read as trusted too: what is wrong in it is said now and not at the next run.
    WorkspaceConfig::load(&cx.config_files(), &cx.environment, true)?;
    let config = WorkspaceConfig::load(&cx.config_files(), &cx.environment, false)?;
    let offers = collect_trust_offers(&config.withheld, &found).map_err(cannot)?;
    check_unchanged(cx, &files)?;
    Ok(TrustReview { offers, files })
}

fn check_unchanged(cx: &InstallationContext, files: &FileSnapshot) -> anyhow::Result<()> {
    match find_governed_files(&cx.folder).and_then(|found| snapshot_files(&found)) {
        Ok(now) if now == *files => Ok(()),
        _ => Err(usage("its files have changed meanwhile; nothing was trusted, review them again")),
    }
}

fn save_trust_record(cx: &InstallationContext, files: FileSnapshot) -> anyhow::Result<()> {
    check_unchanged(cx, &files)?;
    let trusted_at = SystemClock::default().now();
    let record = TrustRecord { trusted_at, by: wiring::principal_name(cx), files };
    TrustStore::add_record(&cx.dirs.state, &cx.folder, record)
}

fn trust_question(cx: &InstallationContext, shown: &TrustReview) -> String {
    let folder = visible_text(&cx.folder.display().to_string());
    match summarize_offers(&shown.offers) {
        (_, 0) => format!("Trust {folder}?"),
        (text, _) => format!("Trust {folder}, with {text}?"),
    }
}

fn describe_trust_review(
    cx: &InstallationContext,
    trust: &WorkspaceTrust,
    shown: &TrustReview,
) -> String {
    let folder = visible_text(&cx.folder.display().to_string());
    let mut text = format!("{folder} is {trust}.\n");
    let changes = trust.file_changes();
    for change in changes.iter().take(CHANGES_SHOWN_MAX) {
        text.push_str(&format!("  {:<8} {}\n", change.change, visible_text(&change.path)));
    }
    if changes.len() > CHANGES_SHOWN_MAX {
        let more = changes.len() - CHANGES_SHOWN_MAX;
        text.push_str(&format!("  and {more} more (`weir trust --json` lists all)\n"));
    }
    if shown.offers.is_empty() {
        text.push_str("\nIts files contain nothing that requires trust.\n");
    } else {
        let word = if trust.is_trusted() { "does" } else { "would do" };
        text.push_str(&format!("\nThis is what trust {word}:\n"));
        let is_file = |offer: &&TrustOffer| offer.kind <= OfferKind::Profile;
        let files = shown.offers.iter().filter(is_file).count();
        if files > FILES_SHOWN_MAX {
            let more = files - FILES_SHOWN_MAX;
            text.push_str(&format!("  {more} more files (`weir trust --json` lists all)\n"));
        }
        let rows = shown.offers.iter().skip(files.saturating_sub(FILES_SHOWN_MAX)).map(offer_row);
        for line in format_table(&rows.collect::<Vec<_>>()).lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text.push_str(&match shown.files.len() {
        0 => "\nYou will be asked again if a file of these kinds is added.\n".to_owned(),
        1 => "\n1 file is watched: if it changes, or another one is added, you will be asked \
              again.\n"
            .to_owned(),
        files => format!(
            "\n{files} files are watched: if any of them changes, you will be asked again.\n"
        ),
    });
    text
}

fn as_json(cx: &InstallationContext, trust: &WorkspaceTrust, shown: &TrustReview) -> Value {
    let mut json = state_json(&cx.folder, trust);
    json["offers"] = json!(shown.offers);
    json["files"] = json!(shown.files);
    json
}

fn state_json(folder: &Path, trust: &WorkspaceTrust) -> Value {
    let (since, by) = match trust {
        WorkspaceTrust::Trusted { since, by } => (json!(since), json!(by)),
        WorkspaceTrust::Never | WorkspaceTrust::Changed { .. } | WorkspaceTrust::Unclear { .. } => {
            (Value::Null, Value::Null)
        }
    };
    json!({
        "workspace": folder,
        "state": trust.state_word(),
        "detail": trust.to_string(),
        "trusted_at": since,
        "by": by,
        "changes": trust.file_changes(),
    })
}

fn list_trusted_workspaces(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let store = TrustStore::read_from_state(&cx.dirs.state).map_err(usage)?;
    let judged = store.all_records().map(|(folder, record)| {
        let trust = match folder.is_dir() {
            true => judge_record(record, folder),
            false => WorkspaceTrust::Unclear { reason: "the folder no longer exists".into() },
        };
        (folder, trust)
    });
    if as_json {
        return out_json(&judged.map(|(path, trust)| state_json(path, &trust)).collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = judged
        .map(|(folder, trust)| vec![visible_text(&folder.display().to_string()), trust.to_string()])
        .collect();
    match rows.is_empty() {
        true => out_line("No workspaces are trusted."),
        false => out_line(&format_table(&rows)),
    }
}

fn remove(cx: &InstallationContext, args: &TrustArgs) -> anyhow::Result<()> {
    let folder = match &args.folder {
        Some(folder) => canonical_or_absolute(folder)?,
        None => cx.folder.clone(),
    };
    let shown = visible_text(&folder.display().to_string());
    if !TrustStore::remove(&cx.dirs.state, &folder)? {
        return Err(usage(format!(
            "{shown} was not trusted; `weir trust --list` lists the trusted workspaces"
        )));
    }
    if args.json.json {
        return out_json(&state_json(&folder, &WorkspaceTrust::Never));
    }
    out_line(&format!("{shown} is no longer trusted."))
}

/// The path without links; of a folder that has gone, the path as it was written.
fn canonical_or_absolute(folder: &Path) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(folder)
        .or_else(|_| std::path::absolute(folder))
        .map_err(|error| usage(format!("{}: {error}", folder.display())))
}
