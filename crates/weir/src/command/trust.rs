//! `weir trust`: shows what a workspace's own files would do, asks a person, and keeps the answer
//! (C5). What trust means is in `trust`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible;
use weir_engine::ports::Clock as _;
use weir_install::config::Config;
use weir_install::cx::Cx;
use weir_install::trust::{
    Offer, OfferKind, Record, Snapshot, Trust, TrustStore, find, judge, judge_record, offers, row,
    snapshot, summary,
};
use weir_install::wiring::{self, SystemClock};

use crate::failure::{exit, usage};
use crate::options::TrustArgs;
use crate::terminal::{confirm, is_attended, out, out_json, table};

/// Scripts, files and profiles that are shown to a person; `--json` names all.
const FILES_SHOWN_MAX: usize = 60;
/// Changed files that are shown to a person.
const CHANGES_SHOWN_MAX: usize = 60;

/// Trusts, lists, removes.
pub(crate) fn trust(cx: &Cx, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        list(cx, args.json.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.remove {
        remove(cx, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    match &args.folder {
        Some(folder) => grant(&cx.at(folder)?, args),
        None => grant(cx, args),
    }
}

/// What a person is shown, and what they then trust.
struct Shown {
    offers: Vec<Offer>,
    files: Snapshot,
}

fn grant(cx: &Cx, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    // A damaged file would be found when the answer is written: that is too late.
    TrustStore::read(&cx.dirs.state).map_err(usage)?;
    let shown = look(cx)?;
    let trusted = cx.trust();
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
        out(&text(cx, trusted, &shown))?;
    }
    if !trusted.is_trusted() {
        if !args.yes && !confirm(&question(cx, &shown))? {
            out("Not trusted; nothing was changed.")?;
            return Ok(ExitCode::from(exit::FAILED));
        }
        keep(cx, shown.files.clone())?;
    }
    let now = judge(&cx.dirs.state, &cx.folder);
    if args.json.json {
        out_json(&as_json(cx, &now, &shown))?;
    } else if !trusted.is_trusted() {
        out("Trusted. When one of its files changes, you are asked again.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads everything that would be trusted. Files are hashed before and after they are understood:
/// what is shown is what is trusted.
fn look(cx: &Cx) -> anyhow::Result<Shown> {
    let cannot =
        |why: String| usage(format!("this workspace cannot be trusted: {}", visible(&why)));
    let found = find(&cx.folder).map_err(cannot)?;
    let files = snapshot(&found).map_err(cannot)?;
    // Read as trusted too: what is wrong in it is said now and not at the next run.
    Config::load(&cx.files(), &cx.environment, true)?;
    let config = Config::load(&cx.files(), &cx.environment, false)?;
    let offers = offers(&config.withheld, &found).map_err(cannot)?;
    unchanged(cx, &files)?;
    Ok(Shown { offers, files })
}

fn unchanged(cx: &Cx, files: &Snapshot) -> anyhow::Result<()> {
    match find(&cx.folder).and_then(|found| snapshot(&found)) {
        Ok(now) if now == *files => Ok(()),
        _ => Err(usage("its files have changed meanwhile; nothing was trusted, review them again")),
    }
}

fn keep(cx: &Cx, files: Snapshot) -> anyhow::Result<()> {
    unchanged(cx, &files)?;
    let trusted_at = SystemClock::default().now();
    let record = Record { trusted_at, by: wiring::principal(cx), files };
    TrustStore::add(&cx.dirs.state, &cx.folder, record)
}

fn question(cx: &Cx, shown: &Shown) -> String {
    let folder = visible(&cx.folder.display().to_string());
    match summary(&shown.offers) {
        (_, 0) => format!("Trust {folder}?"),
        (text, _) => format!("Trust {folder}, with {text}?"),
    }
}

fn text(cx: &Cx, trust: &Trust, shown: &Shown) -> String {
    let folder = visible(&cx.folder.display().to_string());
    let mut text = format!("{folder} is {trust}.\n");
    let changes = trust.changes();
    for change in changes.iter().take(CHANGES_SHOWN_MAX) {
        text.push_str(&format!("  {:<8} {}\n", change.change, visible(&change.path)));
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
        let is_file = |offer: &&Offer| offer.kind <= OfferKind::Profile;
        let files = shown.offers.iter().filter(is_file).count();
        if files > FILES_SHOWN_MAX {
            let more = files - FILES_SHOWN_MAX;
            text.push_str(&format!("  {more} more files (`weir trust --json` lists all)\n"));
        }
        let rows = shown.offers.iter().skip(files.saturating_sub(FILES_SHOWN_MAX)).map(row);
        for line in table(&rows.collect::<Vec<_>>()).lines() {
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

fn as_json(cx: &Cx, trust: &Trust, shown: &Shown) -> Value {
    let mut json = state_json(&cx.folder, trust);
    json["offers"] = json!(shown.offers);
    json["files"] = json!(shown.files);
    json
}

fn state_json(folder: &Path, trust: &Trust) -> Value {
    let (since, by) = match trust {
        Trust::Trusted { since, by } => (json!(since), json!(by)),
        Trust::Never | Trust::Changed { .. } | Trust::Unclear { .. } => (Value::Null, Value::Null),
    };
    json!({
        "workspace": folder,
        "state": trust.word(),
        "detail": trust.to_string(),
        "trusted_at": since,
        "by": by,
        "changes": trust.changes(),
    })
}

fn list(cx: &Cx, as_json: bool) -> anyhow::Result<()> {
    let store = TrustStore::read(&cx.dirs.state).map_err(usage)?;
    let judged = store.all().map(|(folder, record)| {
        let trust = match folder.is_dir() {
            true => judge_record(record, folder),
            false => Trust::Unclear { reason: "the folder no longer exists".into() },
        };
        (folder, trust)
    });
    if as_json {
        return out_json(&judged.map(|(path, trust)| state_json(path, &trust)).collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = judged
        .map(|(folder, trust)| vec![visible(&folder.display().to_string()), trust.to_string()])
        .collect();
    match rows.is_empty() {
        true => out("No workspaces are trusted."),
        false => out(&table(&rows)),
    }
}

fn remove(cx: &Cx, args: &TrustArgs) -> anyhow::Result<()> {
    let folder = match &args.folder {
        Some(folder) => real(folder)?,
        None => cx.folder.clone(),
    };
    let shown = visible(&folder.display().to_string());
    if !TrustStore::remove(&cx.dirs.state, &folder)? {
        return Err(usage(format!(
            "{shown} was not trusted; `weir trust --list` lists the trusted workspaces"
        )));
    }
    if args.json.json {
        return out_json(&state_json(&folder, &Trust::Never));
    }
    out(&format!("{shown} is no longer trusted."))
}

/// The path without links; of a folder that has gone, the path as it was written.
fn real(folder: &Path) -> anyhow::Result<PathBuf> {
    std::fs::canonicalize(folder)
        .or_else(|_| std::path::absolute(folder))
        .map_err(|error| usage(format!("{}: {error}", folder.display())))
}
