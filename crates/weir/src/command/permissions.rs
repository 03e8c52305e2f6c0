//! `weir permissions`: rules, where each came from, and changes of them (C3, C9).

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin, RuleSet};
use weir_core::ids::SessionId;
use weir_core::view::plain::visible;
use weir_engine::engine::{Hands, SessionOptions, load};
use weir_engine::ports::{FileMark, Store};
use weir_engine::scene::SceneOptions;
use weir_install::config;
use weir_install::cx::Cx;
use weir_install::session_ids;
use weir_install::trust::Trust;
use weir_install::wiring::{self, SESSION_RULE, Wishes};
use weir_scripted_model::ScriptedModel;

use crate::failure::{engine_failure, usage};
use crate::options::{PermissionsCommand, RuleAddArgs, RuleRemoveArgs, UnmarkArgs};
use crate::terminal::{err, out, out_json, table};

#[cfg(test)]
mod tests;

/// Lists, adds, removes, explains.
pub(crate) async fn permissions(cx: &Cx, command: PermissionsCommand) -> anyhow::Result<ExitCode> {
    match command {
        PermissionsCommand::List(flag) => list(cx, flag.json)?,
        PermissionsCommand::Add(args) => add(cx, &args).await?,
        PermissionsCommand::Remove(args) => remove(cx, &args).await?,
        PermissionsCommand::Explain(args) => return super::explain::explain(cx, args).await,
        PermissionsCommand::Marks(flag) => marks(cx, flag.json).await?,
        PermissionsCommand::Unmark(args) => unmark(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(cx: &Cx, as_json: bool) -> anyhow::Result<()> {
    let workspace = cx.workspace()?;
    let rules = wiring::rules(cx, &workspace, &Wishes::default(), None)?;
    check_tools(&rules)?;
    if as_json {
        return out_json(&rules.iter().collect::<Vec<_>>());
    }
    if rules.is_empty() {
        return out("No rules: only the permission mode decides.");
    }
    let row = |rule: &Rule| {
        let origin = rule.origin().to_string();
        vec![rule.action().to_string(), rule.text().to_owned(), origin]
    };
    out(&table(&rules.iter().map(row).collect::<Vec<_>>()))
}

/// Files of this workspace that hold foreign words (Z1).
async fn marks(cx: &Cx, as_json: bool) -> anyhow::Result<()> {
    let workspace = cx.folder.display().to_string();
    let marks = cx.store()?.marks(&workspace).await?;
    if as_json {
        return out_json(&marks);
    }
    if marks.is_empty() {
        return out("No file of this workspace is marked as outside content.");
    }
    let row = |mark: &FileMark| {
        let when = format!("{} UTC", super::sessions::moment(mark.ts));
        let origin = format!("from {}", visible(&mark.origin));
        vec![visible(&mark.path), origin, when, format!("session {}", mark.session)]
    };
    out(&table(&marks.iter().map(row).collect::<Vec<_>>()))
}

async fn unmark(cx: &Cx, args: &UnmarkArgs) -> anyhow::Result<()> {
    let workspace = cx.folder.display().to_string();
    let named = args.path.strip_prefix("./").unwrap_or(&args.path);
    let named = named.strip_prefix(&format!("{workspace}/")).unwrap_or(named);
    if !cx.store()?.unmark(&workspace, named).await? {
        return Err(usage(format!(
            "{} is not marked as outside content in {workspace}; `weir permissions marks` lists \
             the marked files",
            args.path
        )));
    }
    out(&format!(
        "{} is no longer marked as outside content: you vouch for what it contains",
        visible(named)
    ))
}

/// Rules that name a tool which does not exist.
fn check_tools(rules: &RuleSet) -> anyhow::Result<()> {
    let tools = weir_tools::tools();
    let known: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    match rules.check_tools(&known).first() {
        Some(error) => Err(usage(error.to_string())),
        None => Ok(()),
    }
}

/// The rule, understood for this workspace; a rule that can never match is refused.
fn checked(cx: &Cx, action: RuleAction, text: &str, origin: RuleOrigin) -> anyhow::Result<Rule> {
    let workspace = cx.workspace()?;
    let mut set = RuleSet::new(wiring::rule_context(cx, &workspace));
    let rule = set.parse(action, text, origin).map_err(|error| usage(error.to_string()))?;
    set.add(rule.clone());
    check_tools(&set)?;
    Ok(rule)
}

async fn add(cx: &Cx, args: &RuleAddArgs) -> anyhow::Result<()> {
    let action = RuleAction::from(args.action);
    if let Some(session) = &args.target.session {
        let rule = checked(cx, action, &args.rule, RuleOrigin::new(SESSION_RULE))?;
        let shown = rule.text().to_owned();
        let id = change_session(cx, session, |rules| rules.add(rule)).await?;
        return out(&format!("{action} {shown} is added to session {id}"));
    }
    let files = cx.files();
    let path = if args.target.project { files.project_for_writing()? } else { &files.user };
    let origin = RuleOrigin::new(path.display().to_string());
    let rule = checked(cx, action, &args.rule, origin)?;
    let is_new = config::add_rule(path, action, rule.text())?;
    if args.target.project {
        // Looked up only now: the change itself may have ended trust.
        match cx.trust() {
            Trust::Trusted { .. } => {}
            Trust::Never if action != RuleAction::Allow => {}
            trust => err(&format!(
                "warning: the workspace is {trust}; its allow rules have no effect until you run \
                 `weir trust`"
            )),
        }
    }
    let place = path.display();
    let word = if is_new { "is added to" } else { "is already in" };
    out(&format!("{action} {} {word} {place}", rule.text()))
}

async fn remove(cx: &Cx, args: &RuleRemoveArgs) -> anyhow::Result<()> {
    let text = args.rule.trim();
    if let Some(session) = &args.target.session {
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
        return out(&format!("{text} is removed from session {id}"));
    }
    let files = cx.files();
    let every: [&Path; 3] = [&files.user, &files.here, &files.project];
    let places = match (args.target.project, args.target.user) {
        (true, _) => &every[1..],
        (_, true) => &every[..1],
        _ => &every[..],
    };
    let mut removed = Vec::new();
    for path in places {
        if *path == files.project.as_path() && path.exists() {
            files.project_for_writing()?;
        }
        removed.extend(config::remove_rule(path, text)?);
    }
    if removed.is_empty() {
        return Err(usage(format!(
            "there is no rule {text} in {}; `weir permissions list` lists the rules",
            places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ")
        )));
    }
    for rule in removed {
        out(&format!("{} {} is removed from {}", rule.action, rule.text, rule.origin))?;
    }
    Ok(())
}

/// Changes the rules of a session that is at rest. The change is a fact of its journal.
async fn change_session(
    cx: &Cx,
    session: &str,
    change: impl FnOnce(&mut RuleSet),
) -> anyhow::Result<SessionId> {
    let store = cx.store()?;
    let id = session_ids::find(store.as_ref(), session).await?;
    let loaded = load(store.as_ref() as &dyn Store, &id).await.map_err(engine_failure)?;
    if loaded.session.run().is_some() || !loaded.session.queued().is_empty() {
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
    let there = cx.at(Path::new(&config.workspace))?;
    let scene = SceneOptions { timezone: "UTC".into(), ..SceneOptions::default() };
    // A session at rest asks its model nothing, so none has to be reached for this.
    let model = Arc::new(ScriptedModel::from_text("says: only settings are being changed")?);
    let options = SessionOptions {
        workspace: there.workspace()?,
        model,
        scene,
        config,
        profiles: Arc::new(weir_engine::ports::NoProfiles),
        hands: Hands::default(),
    };
    let engine = wiring::engine(&there, "weir permissions")?;
    let handle = engine.resume(id.clone(), options).await.map_err(engine_failure)?;
    handle.close().await.map_err(engine_failure)?;
    Ok(id)
}
