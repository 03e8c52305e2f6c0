//! `weir worktrees`: the copies of a project that sessions work in, and taking over what was done in them
//! (R7). What a merge is, is worked out by the installation; here it is named and shown.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::governance::filter::one_line;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{CopiedFile, Divergence, FileContent};
use weir_install::content_difference::{self, compare_path_contents};
use weir_install::context::InstallationContext;
use weir_install::worktrees::{self, BrokenWorktree, MergePlan, SessionWorktree};

use crate::failure::{exit, usage};
use crate::options::{WorktreeArgs, WorktreesCommand, WorktreesDropArgs, WorktreesMergeArgs};
use crate::terminal::{format_table, out_json, out_line};

/// Characters of a commit that are shown.
const COMMIT_CHARS: usize = 10;

/// Does what was asked.
pub(crate) async fn run_worktrees_command(
    cx: &InstallationContext,
    command: WorktreesCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        WorktreesCommand::List(flag) => list(cx, flag.json).await?,
        WorktreesCommand::Diff(args) => diff(cx, &args).await?,
        WorktreesCommand::Merge(args) => return merge(cx, &args).await,
        WorktreesCommand::Drop(args) => drop_worktree(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let found = worktrees::list_worktrees(cx).await?;
    if as_json {
        let row = |one: &Result<SessionWorktree, BrokenWorktree>| match one {
            Ok(one) => row_as_json(one),
            Err(broken) => json!({"name": broken.name, "broken": broken.why}),
        };
        let rows: Vec<Value> = found.iter().map(row).collect();
        return out_json(&rows);
    }
    if found.is_empty() {
        return out_line(
            "No worktrees of sessions here; `weir run --worktree \"your task\"` begins one.",
        );
    }
    let head = ["name", "of commit", "newest session", "status", "title"].map(String::from);
    let row = |one: &Result<SessionWorktree, BrokenWorktree>| {
        let one = match one {
            Ok(one) => one,
            Err(broken) => {
                let empty = || "–".to_owned();
                let why = one_line(&broken.why);
                return vec![broken.name.clone(), empty(), empty(), "broken".into(), why];
            }
        };
        let newest = one.sessions.first();
        let text = |of: Option<String>| of.unwrap_or_else(|| "–".to_owned());
        vec![
            one.name.clone(),
            one.base.chars().take(COMMIT_CHARS).collect(),
            text(newest.map(|session| session.id.to_string())),
            text(newest.map(|session| session.status.clone())),
            text(newest.map(|session| one_line(&session.title))),
        ]
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(found.iter().map(row));
    out_line(&format_table(&rows))
}

fn row_as_json(one: &SessionWorktree) -> Value {
    let sessions: Vec<String> = one.sessions.iter().map(|session| session.id.to_string()).collect();
    json!({
        "name": one.name, "project": one.project, "folder": one.folder, "base": one.base,
        "sessions": sessions,
    })
}

async fn diff(cx: &InstallationContext, args: &WorktreeArgs) -> anyhow::Result<()> {
    let worktree = worktrees::find_worktree(cx, &args.name).await?;
    let name = worktree.name.clone();
    let left = tokio::task::spawn_blocking(move || worktree.changes()).await??;
    let shown: Vec<(String, String)> = left.iter().map(render_divergence).collect();
    if args.json.json {
        let files = shown.iter().map(|(path, text)| json!({ "path": path, "diff": text }));
        let files: Vec<Value> = files.collect();
        return out_json(&json!({ "worktree": name, "files": files }));
    }
    let text: String = shown.into_iter().map(|(_, text)| text).collect();
    match text.is_empty() {
        true => out_line("Nothing was changed in it."),
        false => out_line(&content_difference::make_diff_visible(&text)),
    }
}

fn render_divergence(file: &Divergence) -> (String, String) {
    if let Some(why) = &file.obstacle {
        return (file.path.clone(), format!("{}: {why}\n", visible_text(&file.path)));
    }
    let content = |side: &Option<CopiedFile>| match side {
        None => FileContent::Absent,
        Some(file) => FileContent::File {
            bytes: file.bytes.as_slice().into(),
            mode: if file.is_executable { 0o755 } else { 0o644 },
        },
    };
    let (before, after) = (content(&file.base), content(&file.theirs));
    (file.path.clone(), content_difference::render_unified_diff(&file.path, &before, &after))
}

async fn merge(cx: &InstallationContext, args: &WorktreesMergeArgs) -> anyhow::Result<ExitCode> {
    let worktree = worktrees::find_worktree(cx, &args.worktree.name).await?;
    let (plan, checkpoint) = match args.dry_run {
        true => (worktrees::plan_merge(cx, &worktree).await?, None),
        false => {
            let done = worktrees::merge_worktree(cx, &worktree, "weir worktrees merge").await?;
            (done.plan, done.checkpoint)
        }
    };
    let is_clean = plan.conflicts.is_empty();
    let dropped = args.drop && is_clean;
    if dropped {
        worktree.drop_copy(cx).await?;
    }
    if args.worktree.json.json {
        out_json(&json!({
            "worktree": worktree.name, "project": worktree.project, "checkpoint": checkpoint,
            "changes": plan.entries.iter().map(|entry| json!({
                "path": entry.path,
                "change": compare_path_contents(&entry.before, &entry.after),
            })).collect::<Vec<_>>(),
            "conflicts": plan.conflicts, "already": plan.already, "dropped": dropped,
        }))?;
    } else {
        show_merge(&worktree, &plan, args.dry_run)?;
        if dropped {
            out_line(&format!("The worktree {} is removed.", worktree.name))?;
        }
    }
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}

fn show_merge(worktree: &SessionWorktree, plan: &MergePlan, is_dry: bool) -> anyhow::Result<()> {
    if !plan.conflicts.is_empty() {
        out_line("Nothing was changed, because of:")?;
        for why in &plan.conflicts {
            out_line(&format!("  {}", one_line(why)))?;
        }
        return out_line(&format!(
            "Change these by hand, in the project or in {}, and merge again.",
            worktree.folder.display()
        ));
    }
    let verb = if is_dry { "Would take over" } else { "Took over" };
    match plan.entries.len() {
        0 => return out_line("There is nothing to take over: the project has all of it."),
        1 => out_line(&format!("{verb} 1 file into {}:", worktree.project.display()))?,
        n => out_line(&format!("{verb} {n} files into {}:", worktree.project.display()))?,
    }
    for entry in &plan.entries {
        out_line(&format!("  {}", visible_text(&entry.path)))?;
    }
    match is_dry {
        true => Ok(()),
        false => out_line("`weir undo` takes it back."),
    }
}

async fn drop_worktree(cx: &InstallationContext, args: &WorktreesDropArgs) -> anyhow::Result<()> {
    if let Some(broken) = worktrees::find_broken_worktree(cx, &args.name) {
        if !args.force {
            let why = format!("{}; --force takes away what is left of it", broken.why);
            return Err(usage(why));
        }
        broken.drop_rest(cx);
        return out_line(&format!("What was left of the worktree {} is removed.", broken.name));
    }
    let worktree = worktrees::find_worktree(cx, &args.name).await?;
    if !args.force {
        // What cannot be read may hold anything.
        let plan = worktrees::plan_merge(cx, &worktree).await?;
        let open = plan.entries.len() + plan.conflicts.len();
        if open > 0 {
            return Err(usage(format!(
                "{open} file(s) of the worktree {0} are not in the project yet: `weir worktrees diff \
                 {0}` shows them, --force removes them",
                worktree.name
            )));
        }
    }
    worktree.drop_copy(cx).await?;
    out_line(&format!("The worktree {} is removed.", worktree.name))
}
