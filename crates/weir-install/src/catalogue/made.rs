//! Tools that somebody made (T5): found, accepted, switched off, taken away. A person is shown all
//! of one before it counts (Z9). Not here: which of them a session has (`weir_engine::made`).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::sorting::sort_stably_by_key;
use weir_core::view::plain::visible_text;
use weir_engine::made::{self, Acceptance, DISABLED, DynamicToolFinding, ToolSurveyScope};
use weir_engine::marks::marks_in;
use weir_engine::ports::{Clock as _, NoHost, ScriptKind, ScriptTask, StoredItem};
use weir_engine::workspace::Workspace;

use crate::context::InstallationContext;
use crate::failure::{stale, usage};
use crate::wiring;

/// Time in which code must have said whether it is a module.
const CHECK_TIME: Duration = Duration::from_secs(15);

/// Every made tool of this folder.
pub async fn survey(
    cx: &InstallationContext,
) -> anyhow::Result<(Arc<Workspace>, Vec<DynamicToolFinding>)> {
    let workspace = cx.open_workspace()?;
    let store = cx.session_store()?;
    let root = workspace.root().display().to_string();
    let marks = marks_in(store.as_ref(), &root).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let names = weir_tools::built_in_names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let look =
        ToolSurveyScope { workspace: &workspace, trusted: cx.is_trusted(), built_in: &built_in };
    let found = made::find_dynamic_tools(store.as_ref(), look).await?;
    Ok((workspace, found))
}

/// All of it, as a person has to read it.
pub fn described(found: &DynamicToolFinding) -> String {
    let mut text = String::new();
    let state = found.why_not.as_deref().unwrap_or("in use");
    let _ = writeln!(text, "From: {}\nState: {}", visible_text(&found.source), visible_text(state));
    if let Some(kept) = &found.kept {
        let by = visible_text(&kept.by);
        let _ = writeln!(text, "Version {}, {}, by {by}", kept.version, kept.ts);
    }
    let whose = match found.label.is_clean() {
        true => "only the person's own words".to_owned(),
        false => found.label.to_string(),
    };
    let _ = writeln!(text, "Its author had read: {}", visible_text(&whose));
    match &found.definition {
        Some(definition) => {
            let _ = writeln!(text, "SHA-256: {}\n", definition.hash());
            text.push_str(&plain(&definition.describe_definition()));
        }
        None => {
            let kept = found.kept.as_ref().map(|kept| plain(&kept.text)).unwrap_or_default();
            let _ = writeln!(text, "\n{kept}");
        }
    }
    text
}

pub fn plain(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible_text).collect();
    format!("{}\n", lines.join("\n"))
}

/// The definition of a tool, if it can be used at all.
pub async fn require_usable(found: &DynamicToolFinding) -> anyhow::Result<&ToolDefinition> {
    let Some(definition) = &found.definition else {
        let why = found.why_not.clone().unwrap_or_default();
        return Err(usage(format!("{} cannot be used: {}", found.name, visible_text(&why))));
    };
    check(definition).await?;
    Ok(definition)
}

pub fn trusted(found: &DynamicToolFinding, untrusted: bool) -> anyhow::Result<()> {
    if !found.label.is_external() || untrusted {
        return Ok(());
    }
    Err(usage(format!(
        "the author of {} had read outside content ({}), which may have influenced this code. Read \
         it; if it does what you want, accept it with `weir tools accept {} --untrusted`",
        found.name,
        visible_text(&found.label.to_string()),
        found.name
    )))
}

/// Lets a tool that a person read be used.
///
/// # Errors
/// It cannot be used, it has words from outside and nobody said that they were read, or it is
/// another one meanwhile.
pub async fn accepted(
    cx: &InstallationContext,
    found: &DynamicToolFinding,
    untrusted: bool,
) -> anyhow::Result<StoredItem> {
    let definition = require_usable(found).await?;
    trusted(found, untrusted)?;
    // Between reading and accepting it may have become another one.
    let (workspace, again) = survey(cx).await?;
    if one(again, &found.name)?.definition.as_ref() != Some(definition) {
        return Err(stale("the tool has changed meanwhile; review it again"));
    }
    let made = acceptance(cx, found.label.clone());
    let kept = match found.source.as_str() {
        "kept" => made::stored_definition(definition, made),
        _ => made::pin_definition(&workspace, definition, made),
    };
    Ok(cx.session_store()?.store_item(&kept).await?)
}

/// Switches a tool off that was accepted.
///
/// # Errors
/// Nobody made or accepted one of this name.
pub async fn disable_tool_by_name(
    cx: &InstallationContext,
    name: &str,
) -> anyhow::Result<StoredItem> {
    let (_, found) = survey(cx).await?;
    let Some(kept) = one(found, name)?.kept else {
        return Err(usage(format!("{name} is not enabled: nobody has accepted it")));
    };
    Ok(cx.session_store()?.store_item(&StoredItem { state: DISABLED.into(), ..kept }).await?)
}

/// Takes a tool away; what was kept of it, and where it came from.
///
/// # Errors
/// Nobody made or accepted one of this name.
pub async fn removed(cx: &InstallationContext, name: &str) -> anyhow::Result<(StoredItem, String)> {
    let (_, found) = survey(cx).await?;
    let found = one(found, name)?;
    let Some(kept) = found.kept else {
        return Err(usage(format!(
            "{name} is a file of the workspace that nobody has accepted; delete {} to remove it",
            visible_text(&found.source)
        )));
    };
    cx.session_store()?.remove_stored_item(&kept.what, &kept.name).await?;
    Ok((kept, found.source))
}

/// The made tool of this name: the one in use, else the first.
pub fn one(found: Vec<DynamicToolFinding>, name: &str) -> anyhow::Result<DynamicToolFinding> {
    let mut named: Vec<DynamicToolFinding> =
        found.into_iter().filter(|found| found.name == name).collect();
    sort_stably_by_key(&mut named, |found| found.why_not.is_some());
    let first = named.into_iter().next();
    first.ok_or_else(|| {
        let name = visible_text(name);
        usage(format!("there is no custom tool {name}; `weir tools list` lists all tools"))
    })
}

/// What is kept of who lets a tool be used.
pub fn acceptance(cx: &InstallationContext, label: Label) -> Acceptance {
    let (by, ts) = (wiring::principal_name(cx), wiring::SystemClock::default().now());
    Acceptance { by, label, ts }
}

/// What can be said of a definition without anybody's judgement.
pub async fn check(definition: &ToolDefinition) -> anyhow::Result<()> {
    let names = weir_tools::built_in_names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let findings = definition.findings(&built_in);
    if !findings.is_empty() {
        return Err(usage(format!("it cannot be used: {}", visible_text(&findings.join("; ")))));
    }
    weir_engine::toolbox::check_schema(&definition.input_schema).map_err(usage)?;
    let script = ScriptTask {
        kind: ScriptKind::Check,
        code: definition.code.clone(),
        input: Value::Null,
        time: CHECK_TIME,
    };
    let ran = wiring::script_runner()?.run(script, &NoHost, &CancellationToken::new()).await;
    let wrong = |why: String| usage(format!("its code cannot be used: {}", visible_text(&why)));
    ran.map(|_| ()).map_err(wrong)
}
