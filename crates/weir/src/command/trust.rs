//! `weir trust`: shows what a workspace's own files would do, asks a person, and keeps the answer
//! (C5). What trust means is in `trust`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_install::catalogue::trust_review::{TrustReview, review_workspace, save_trust_record};
use weir_install::context::InstallationContext;
use weir_install::trust::{
    OfferKind, TrustOffer, TrustStore, WorkspaceTrust, judge_record, judge_workspace, offer_row,
    summarize_offers,
};

use crate::failure::{exit, usage};
use crate::options::{TrustArgs, TrustCommand, TrustRemoveArgs};
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
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
    match &args.command {
        Some(TrustCommand::List(flag)) => {
            list_trusted_workspaces(cx, flag.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(TrustCommand::Remove(args)) => {
            remove_trust(cx, args)?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    // Whoever wants to trust less must not trust more.
    if let Some(word) = args.misplaced_word() {
        return Err(usage(format!(
            "write flags behind the word: `weir trust {word} …`; a folder of that name is `./{word}`"
        )));
    }
    if args.list {
        list_trusted_workspaces(cx, args.json.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.remove {
        remove_trust(cx, &TrustRemoveArgs { folder: args.folder.clone(), json: args.json })?;
        return Ok(ExitCode::SUCCESS);
    }
    match &args.folder {
        Some(folder) => grant_trust(&cx.in_folder(folder)?, args),
        None => grant_trust(cx, args),
    }
}

fn grant_trust(cx: &InstallationContext, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    if cx.project != cx.folder {
        return Err(usage(format!(
            "{} is a worktree of a session, which is trusted as its project is: weir trust {}",
            cx.folder.display(),
            cx.project.display()
        )));
    }
    // A damaged file would be found when the answer is written: that is too late.
    TrustStore::read_from_state(&cx.dirs.state).map_err(usage)?;
    let shown = review_workspace(cx)?;
    let trusted = cx.workspace_trust();
    let agreed = match review_trust(cx, args, &shown)? {
        ReviewOutcome::Previewed => return Ok(ExitCode::SUCCESS),
        ReviewOutcome::Agreed => true,
        ReviewOutcome::Unsaid => args.yes,
    };
    if !agreed && args.json.json {
        out_json(&as_json(cx, trusted, &shown))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !agreed && !trusted.is_trusted() && !is_attended() {
        return Err(usage(
            "nobody can be asked here; review what would be trusted with `weir trust --json`, then \
             confirm with `weir trust --yes`",
        ));
    }
    if !args.json.json && !args.review.is_given() {
        out_line(&describe_trust_review(cx, trusted, &shown, FILES_SHOWN_MAX))?;
    }
    if !trusted.is_trusted() {
        if !agreed && !confirm_by_person(&trust_question(cx, &shown))? {
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

/// Shows all that would be trusted, or holds it against what was shown.
fn review_trust(
    cx: &InstallationContext,
    args: &TrustArgs,
    shown: &TrustReview,
) -> anyhow::Result<ReviewOutcome> {
    if !args.review.is_given() {
        return Ok(ReviewOutcome::Unsaid);
    }
    // Whoever agrees to it later has no second look: nothing of it is shortened.
    let text = describe_trust_review(cx, cx.workspace_trust(), shown, usize::MAX);
    let identity = shown.hash(cx);
    let question = trust_question(cx, shown);
    let reviewed = ReviewSubject {
        deed: "trust",
        text: &text,
        question: &question,
        identity: &identity,
        editable: None,
    };
    settle_review(&args.review, &reviewed, args.json.json)
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
    files_max: usize,
) -> String {
    let folder = visible_text(&cx.folder.display().to_string());
    let mut text = format!("{folder} is {trust}.\n");
    let changes = trust.file_changes();
    let changes_max = files_max.max(CHANGES_SHOWN_MAX);
    for change in changes.iter().take(changes_max) {
        text.push_str(&format!("  {:<8} {}\n", change.change, visible_text(&change.path)));
    }
    if changes.len() > changes_max {
        let more = changes.len() - changes_max;
        text.push_str(&format!("  and {more} more (`weir trust --json` lists all)\n"));
    }
    if shown.offers.is_empty() {
        text.push_str("\nIts files contain nothing that requires trust.\n");
    } else {
        let word = if trust.is_trusted() { "does" } else { "would do" };
        text.push_str(&format!("\nThis is what trust {word}:\n"));
        let is_file = |offer: &&TrustOffer| offer.kind <= OfferKind::Profile;
        let files = shown.offers.iter().filter(is_file).count();
        if files > files_max {
            let more = files - files_max;
            text.push_str(&format!("  {more} more files (`weir trust --json` lists all)\n"));
        }
        let rows = shown.offers.iter().skip(files.saturating_sub(files_max)).map(offer_row);
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

fn remove_trust(cx: &InstallationContext, args: &TrustRemoveArgs) -> anyhow::Result<()> {
    let folder = match &args.folder {
        Some(folder) => canonical_or_absolute(folder)?,
        None => cx.folder.clone(),
    };
    let shown = visible_text(&folder.display().to_string());
    if !TrustStore::remove(&cx.dirs.state, &folder)? {
        return Err(usage(format!(
            "{shown} was not trusted; `weir trust list` lists the trusted workspaces"
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
