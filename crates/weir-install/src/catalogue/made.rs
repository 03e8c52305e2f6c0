//! Tools that somebody made (T5): found, accepted, switched off, taken away. A person is shown all
//! of one before it counts (Z9). Not here: which of them a session has (`weir_engine::made`).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::view::plain::visible;
use weir_engine::made::{self, Acceptance, DISABLED, Found, Look};
use weir_engine::ports::{Clock as _, Kept, NoHost, Script, ScriptKind};
use weir_engine::workspace::Workspace;

use crate::cx::Cx;
use crate::failure::usage;
use crate::wiring;

/// Time in which code must have said whether it is a module.
const CHECK_TIME: Duration = Duration::from_secs(15);

/// Every made tool of this folder.
pub async fn survey(cx: &Cx) -> anyhow::Result<(Arc<Workspace>, Vec<Found>)> {
    let workspace = cx.workspace()?;
    let store = cx.journal()?;
    let root = workspace.root().display().to_string();
    let marks = store.marks(&root).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let names = weir_tools::names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let look = Look { workspace: &workspace, trusted: cx.is_trusted(), built_in: &built_in };
    let found = made::survey(store.as_ref(), look).await?;
    Ok((workspace, found))
}

/// All of it, as a person has to read it.
pub fn described(found: &Found) -> String {
    let mut text = String::new();
    let state = found.why_not.as_deref().unwrap_or("in use");
    let _ = writeln!(text, "From: {}\nState: {}", visible(&found.source), visible(state));
    if let Some(kept) = &found.kept {
        let by = visible(&kept.by);
        let _ = writeln!(text, "Version {}, {}, by {by}", kept.version, kept.ts);
    }
    let whose = match found.label.is_clean() {
        true => "only the person's own words".to_owned(),
        false => found.label.to_string(),
    };
    let _ = writeln!(text, "Its author had read: {}", visible(&whose));
    match &found.definition {
        Some(definition) => {
            let _ = writeln!(text, "SHA-256: {}\n", definition.hash());
            text.push_str(&plain(&definition.shown()));
        }
        None => {
            let kept = found.kept.as_ref().map(|kept| plain(&kept.text)).unwrap_or_default();
            let _ = writeln!(text, "\n{kept}");
        }
    }
    text
}

pub fn plain(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible).collect();
    format!("{}\n", lines.join("\n"))
}

/// The definition of a tool, if it can be used at all.
pub async fn usable(found: &Found) -> anyhow::Result<&ToolDefinition> {
    let Some(definition) = &found.definition else {
        let why = found.why_not.clone().unwrap_or_default();
        return Err(usage(format!("{} cannot be used: {}", found.name, visible(&why))));
    };
    check(definition).await?;
    Ok(definition)
}

pub fn trusted(found: &Found, untrusted: bool) -> anyhow::Result<()> {
    if !found.label.is_external() || untrusted {
        return Ok(());
    }
    Err(usage(format!(
        "the author of {} had read outside content ({}), which may have influenced this code. Read \
         it; if it does what you want, accept it with `weir tools accept {} --untrusted`",
        found.name,
        visible(&found.label.to_string()),
        found.name
    )))
}

/// Lets a tool that a person read be used.
///
/// # Errors
/// It cannot be used, it has words from outside and nobody said that they were read, or it is
/// another one meanwhile.
pub async fn accepted(cx: &Cx, found: &Found, untrusted: bool) -> anyhow::Result<Kept> {
    let definition = usable(found).await?;
    trusted(found, untrusted)?;
    // Between reading and accepting it may have become another one.
    let (workspace, again) = survey(cx).await?;
    if one(again, &found.name)?.definition.as_ref() != Some(definition) {
        return Err(usage("the tool has changed meanwhile; review it again"));
    }
    let made = acceptance(cx, found.label.clone());
    let kept = match found.source.as_str() {
        "kept" => made::kept(definition, made),
        _ => made::pin(&workspace, definition, made),
    };
    Ok(cx.journal()?.keep(&kept).await?)
}

/// Switches a tool off that was accepted.
///
/// # Errors
/// Nobody made or accepted one of this name.
pub async fn disabled(cx: &Cx, name: &str) -> anyhow::Result<Kept> {
    let (_, found) = survey(cx).await?;
    let Some(kept) = one(found, name)?.kept else {
        return Err(usage(format!("{name} is not enabled: nobody has accepted it")));
    };
    Ok(cx.journal()?.keep(&Kept { state: DISABLED.into(), ..kept }).await?)
}

/// Takes a tool away; what was kept of it, and where it came from.
///
/// # Errors
/// Nobody made or accepted one of this name.
pub async fn removed(cx: &Cx, name: &str) -> anyhow::Result<(Kept, String)> {
    let (_, found) = survey(cx).await?;
    let found = one(found, name)?;
    let Some(kept) = found.kept else {
        return Err(usage(format!(
            "{name} is a file of the workspace that nobody has accepted; delete {} to remove it",
            visible(&found.source)
        )));
    };
    cx.journal()?.unkeep(&kept.what, &kept.name).await?;
    Ok((kept, found.source))
}

/// The made tool of this name: the one in use, else the first.
pub fn one(found: Vec<Found>, name: &str) -> anyhow::Result<Found> {
    let mut named: Vec<Found> = found.into_iter().filter(|found| found.name == name).collect();
    named.sort_by_key(|found| found.why_not.is_some());
    let first = named.into_iter().next();
    first.ok_or_else(|| {
        let name = visible(name);
        usage(format!("there is no custom tool {name}; `weir tools list` lists all tools"))
    })
}

/// What is kept of who lets a tool be used.
pub fn acceptance(cx: &Cx, label: Label) -> Acceptance {
    let (by, ts) = (wiring::principal(cx), wiring::SystemClock::default().now());
    Acceptance { by, label, ts }
}

/// What can be said of a definition without anybody's judgement.
pub async fn check(definition: &ToolDefinition) -> anyhow::Result<()> {
    let names = weir_tools::names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let findings = definition.findings(&built_in);
    if !findings.is_empty() {
        return Err(usage(format!("it cannot be used: {}", visible(&findings.join("; ")))));
    }
    weir_engine::toolbox::check_schema(&definition.input_schema).map_err(usage)?;
    let script = Script {
        kind: ScriptKind::Check,
        code: definition.code.clone(),
        input: Value::Null,
        time: CHECK_TIME,
    };
    let ran = wiring::scripts()?.run(script, &NoHost, &CancellationToken::new()).await;
    let wrong = |why: String| usage(format!("its code cannot be used: {}", visible(&why)));
    ran.map(|_| ()).map_err(wrong)
}
