//! `weir permissions`: rules, where each came from, and changes of them (C3, C9).

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin, RuleSet};
use weir_core::ids::SessionId;
use weir_core::view::plain::visible_text;
use weir_engine::engine::{SessionOptions, SessionResources, load};
use weir_engine::marks::{marks_in, unmark};
use weir_engine::ports::{FileMark, Store};
use weir_engine::scene::SceneOptions;
use weir_install::catalogue::rules::{check_rule_tools, describe_rule_action, parse_checked_rule};
use weir_install::config;
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::trust::WorkspaceTrust;
use weir_install::wiring::{self, SESSION_RULE, SessionOverrides};
use weir_scripted_model::ScriptedModel;

use crate::failure::{engine_failure, usage};
use crate::options::{JsonFlag, PermissionsCommand, RuleAddArgs, RuleRemoveArgs, UnmarkArgs};
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{err_message, format_table, out_json, out_line};

#[cfg(test)]
mod tests;

/// Lists, adds, removes, explains.
pub(crate) async fn run_permissions_command(
    cx: &InstallationContext,
    command: PermissionsCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        PermissionsCommand::List(flag) => list_rules(cx, flag.json)?,
        PermissionsCommand::Add(args) => add_permission_rule(cx, &args).await?,
        PermissionsCommand::Remove(args) => remove(cx, &args).await?,
        PermissionsCommand::Explain(args) => return super::explain::explain_call(cx, args).await,
        PermissionsCommand::Marks(flag) => list_file_marks(cx, flag.json).await?,
        PermissionsCommand::Unmark(args) => unmark_file(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list_rules(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let workspace = cx.open_workspace()?;
    let rules = wiring::session_rules(cx, &workspace, &SessionOverrides::default(), None)?;
    check_rule_tools(&rules)?;
    if as_json {
        return out_json(&rules.iter().collect::<Vec<_>>());
    }
    if rules.is_empty() {
        return out_line("No rules: only the permission mode decides.");
    }
    let row = |rule: &Rule| {
        let origin = rule.origin().to_string();
        vec![rule.action().to_string(), rule.text().to_owned(), origin]
    };
    out_line(&format_table(&rules.iter().map(row).collect::<Vec<_>>()))
}

/// Files of this workspace that hold foreign words (Z1).
async fn list_file_marks(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let workspace = cx.folder.display().to_string();
    let marks = marks_in(&*cx.local_store()?, &workspace).await?;
    if as_json {
        return out_json(&marks);
    }
    if marks.is_empty() {
        return out_line("No file of this workspace is marked as outside content.");
    }
    let row = |mark: &FileMark| {
        let when = format!("{} UTC", super::sessions::timestamp_text(mark.ts));
        let origin = format!("from {}", visible_text(&mark.origin));
        vec![visible_text(&mark.path), origin, when, format!("session {}", mark.session)]
    };
    out_line(&format_table(&marks.iter().map(row).collect::<Vec<_>>()))
}

async fn unmark_file(cx: &InstallationContext, args: &UnmarkArgs) -> anyhow::Result<()> {
    let workspace = cx.folder.display().to_string();
    let named = args.path.strip_prefix("./").unwrap_or(&args.path);
    let named = named.strip_prefix(&format!("{workspace}/")).unwrap_or(named);
    let store = cx.local_store()?;
    if !unmark(&*store, &workspace, named).await? {
        let marks = marks_in(&*store, &workspace).await?;
        let why = match marks.iter().any(|mark| mark.path == named) {
            true => {
                "was marked with the project or the folder that it is a part of; say it from there"
            }
            false => {
                "is not marked as outside content; `weir permissions marks` lists the marked files"
            }
        };
        return Err(usage(format!("{}, seen from {workspace}, {why}", args.path)));
    }
    out_line(&format!(
        "{} is no longer marked as outside content: you vouch for what it contains",
        visible_text(named)
    ))
}

async fn add_permission_rule(cx: &InstallationContext, args: &RuleAddArgs) -> anyhow::Result<()> {
    let action = RuleAction::from(args.action);
    if review_added_rule(cx, args, action)? == ReviewOutcome::Previewed {
        return Ok(());
    }
    if let Some(session) = &args.target.session {
        let rule = parse_checked_rule(cx, action, &args.rule, RuleOrigin::new(SESSION_RULE))?;
        let shown = rule.text().to_owned();
        let id = change_session(cx, session, |rules| rules.add(rule)).await?;
        let told = json!({ "action": action, "rule": shown, "place": id });
        return print_change(
            args.json,
            &told,
            &format!("{action} {shown} is added to session {id}"),
        );
    }
    let files = cx.config_files();
    let path = if args.target.project { files.project_for_writing()? } else { &files.user };
    let origin = RuleOrigin::new(path.display().to_string());
    let rule = parse_checked_rule(cx, action, &args.rule, origin)?;
    let is_new = config::add_rule(&files.file_at(path), action, rule.text())?;
    if args.target.project {
        // Looked up only now: the change itself may have ended trust.
        match cx.workspace_trust() {
            WorkspaceTrust::Trusted { .. } => {}
            WorkspaceTrust::Never if action != RuleAction::Allow => {}
            trust => err_message(&format!(
                "warning: the workspace is {trust}; its allow rules have no effect until you run \
                 `weir trust`"
            )),
        }
    }
    let place = path.display();
    let word = if is_new { "is added to" } else { "is already in" };
    let told = json!({ "action": action, "rule": rule.text(), "place": path, "new": is_new });
    print_change(args.json, &told, &format!("{action} {} {word} {place}", rule.text()))
}

fn print_change(flag: JsonFlag, told: &Value, text: &str) -> anyhow::Result<()> {
    match flag.json {
        true => out_json(told),
        false => out_line(text),
    }
}

/// Shows a rule that would be added, or holds it against what was shown.
fn review_added_rule(
    cx: &InstallationContext,
    args: &RuleAddArgs,
    action: RuleAction,
) -> anyhow::Result<ReviewOutcome> {
    if !args.review.is_given() {
        return Ok(ReviewOutcome::Unsaid);
    }
    let files = cx.config_files();
    let (place, about) = match (&args.target.session, args.target.project) {
        (Some(session), _) => (format!("session {session}"), "this session alone"),
        (None, true) => {
            let path = files.project_for_writing()?;
            (path.display().to_string(), "whoever trusts this workspace")
        }
        (None, false) => (files.user.display().to_string(), "all your workspaces"),
    };
    let rule = parse_checked_rule(cx, action, &args.rule, RuleOrigin::new(place.clone()))?;
    let does = describe_rule_action(action);
    let text = format!(
        "{action} {}\n{does}, in {about}.\nKept in: {}\n",
        visible_text(rule.text()),
        visible_text(&place)
    );
    let identity = json!([action, rule.text(), place]).to_string();
    let (deed, question) = ("permissions add", "Add it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    settle_review(&args.review, &reviewed, args.json.json)
}

/// Shows rules that would be removed, or holds them against what was shown.
fn review_removed_rules(args: &RuleRemoveArgs, places: &[&Path]) -> anyhow::Result<ReviewOutcome> {
    if !args.review.is_given() {
        return Ok(ReviewOutcome::Unsaid);
    }
    let text = args.rule.trim();
    let mut found = Vec::new();
    for path in places {
        found.extend(config::find_rules(path, text)?);
    }
    if found.is_empty() {
        return Err(no_such_rule(text, places));
    }
    let line = |rule: &config::RawRule| {
        format!("{} {}, in {}\n", rule.action, visible_text(&rule.text), rule.origin)
    };
    let mut shown: String = found.iter().map(line).collect();
    if found.iter().any(|rule| rule.action != RuleAction::Allow) {
        shown.push_str("Without it, calls that match it may run that it kept from running.\n");
    }
    let (deed, question) = ("permissions remove", "Remove it?");
    let reviewed = ReviewSubject { deed, text: &shown, question, identity: text, editable: None };
    settle_review(&args.review, &reviewed, args.json.json)
}

fn no_such_rule(text: &str, places: &[&Path]) -> anyhow::Error {
    usage(format!(
        "there is no rule {text} in {}; `weir permissions list` lists the rules",
        places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ")
    ))
}

async fn remove(cx: &InstallationContext, args: &RuleRemoveArgs) -> anyhow::Result<()> {
    let text = args.rule.trim();
    if let Some(session) = &args.target.session {
        if args.review.is_given() {
            return Err(usage("a rule of a session is removed without a look at it first"));
        }
        let mut had = false;
        let id = change_session(cx, session, |rules| {
            had = rules.iter().any(|rule| rule.text() == text);
            let kept: Vec<Rule> = rules.iter().filter(|r| r.text() != text).cloned().collect();
            *rules = RuleSet::new(rules.context().clone());
            rules.extend(kept);
        })
        .await?;
        if !had {
            return Err(usage(format!("session {id} has no rule {text}")));
        }
        let told = json!([{ "rule": text, "place": id }]);
        return print_change(args.json, &told, &format!("{text} is removed from session {id}"));
    }
    let files = cx.config_files();
    let every: [&Path; 3] = [&files.user, &files.here, &files.project];
    let places = match (args.target.project, args.target.user) {
        (true, _) => &every[1..],
        (_, true) => &every[..1],
        _ => &every[..],
    };
    if review_removed_rules(args, places)? == ReviewOutcome::Previewed {
        return Ok(());
    }
    let mut removed = Vec::new();
    for path in places {
        if *path == files.project.as_path() && path.exists() {
            files.project_for_writing()?;
        }
        removed.extend(config::remove_rule(&files.file_at(path), text)?);
    }
    if removed.is_empty() {
        return Err(no_such_rule(text, places));
    }
    let line = |rule: &config::RawRule| {
        format!("{} {} is removed from {}", rule.action, rule.text, rule.origin)
    };
    let told = removed.iter().map(|rule| {
        json!({ "action": rule.action, "rule": rule.text, "place": rule.origin.to_string() })
    });
    let lines: Vec<String> = removed.iter().map(line).collect();
    print_change(args.json, &told.collect(), &lines.join("\n"))
}

/// Changes the rules of a session that is at rest. The change is a fact of its journal.
async fn change_session(
    cx: &InstallationContext,
    session: &str,
    change: impl FnOnce(&mut RuleSet),
) -> anyhow::Result<SessionId> {
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), session).await?;
    let loaded = load(store.as_ref() as &dyn Store, &id).await.map_err(engine_failure)?;
    if loaded.session.run().is_some() || !loaded.session.queued_inputs().is_empty() {
        return Err(usage(format!(
            "session {id} has an unfinished run; finish it (`weir run --resume {id}`) and try again"
        )));
    }
    let kept = loaded.session.config().ok_or_else(|| usage(format!("{id} was never opened")))?;
    let mut config = kept.as_ref().clone();
    change(&mut config.rules);
    if config.rules == kept.rules {
        return Ok(id);
    }
    let there = cx.in_folder(Path::new(&config.workspace))?;
    let scene = SceneOptions { timezone: "UTC".into(), ..SceneOptions::default() };
    // A session at rest asks its model nothing, so none has to be reached for this.
    let model = Arc::new(ScriptedModel::from_text("says: only settings are being changed")?);
    let options = SessionOptions {
        workspace: there.open_workspace()?,
        model,
        scene,
        config,
        profiles: Arc::new(weir_engine::ports::NoProfiles),
        resources: SessionResources::default(),
    };
    let engine = wiring::open_engine(&there, "weir permissions").await?;
    let handle = engine.resume(id.clone(), options).await.map_err(engine_failure)?;
    handle.close().await.map_err(engine_failure)?;
    Ok(id)
}
