//! What is only shown: profiles and built-in tools.

use weir_core::tool::ToolSpec;

use super::{LibraryItem, LibraryLine, Shelved, TextKind};
use crate::catalogue::{profiles as profile_words, tools as tool_words};
use crate::cx::Cx;
use crate::failure::usage;
use crate::profiles;
use crate::wiring::{self, Wishes};

fn shown(line: LibraryLine, text: String, text_kind: TextKind) -> LibraryItem {
    let (facts, hash, waiting, deeds) = (Vec::new(), String::new(), None, Vec::new());
    LibraryItem { line, facts, text, text_kind, hash, waiting, deeds }
}

/// Every profile.
pub(super) fn profiles(cx: &Cx) -> anyhow::Result<Shelved> {
    let line = |loaded: &profiles::LoadedProfile| LibraryLine {
        name: loaded.profile.name.clone(),
        about: loaded.profile.description.clone(),
        origin: loaded.source.to_string(),
        state: "used".into(),
        waits: false,
        untrusted: false,
    };
    let lines = profiles::all(cx)?.iter().map(line).collect();
    Ok(Shelved { lines, notes: Vec::new() })
}

/// One profile.
pub(super) fn profile(cx: &Cx, name: &str) -> anyhow::Result<LibraryItem> {
    let all = profiles(cx)?;
    let line = all.lines.into_iter().find(|line| line.name == name);
    let line = line.ok_or_else(|| usage(format!("there is no profile {name}")))?;
    let text = profile_words::described(cx, &profiles::find(cx, name)?)?;
    Ok(shown(line, text, TextKind::Plain))
}

fn tool_line(spec: &ToolSpec, denied: &[String]) -> LibraryLine {
    LibraryLine {
        name: spec.name.clone(),
        about: spec.description.split(". ").next().unwrap_or_default().to_owned(),
        origin: tool_words::group(spec),
        state: match (denied.contains(&spec.name), spec.deferred) {
            (true, _) => "not for your account".into(),
            (false, true) => "by name only, loaded when asked for".into(),
            (false, false) => "used".into(),
        },
        waits: false,
        untrusted: false,
    }
}

/// Every built-in tool, with those that a person's account does not have marked.
pub(super) fn tools(cx: &Cx) -> anyhow::Result<Shelved> {
    let denied = wiring::guest::narrowed(cx, &Wishes::default())?.denied;
    let toolbox = wiring::toolbox()?;
    let lines = toolbox.all().iter().map(|tool| tool_line(tool.spec(), &denied)).collect();
    Ok(Shelved { lines, notes: Vec::new() })
}

/// One tool with the schema of its arguments.
pub(super) fn tool(name: &str) -> anyhow::Result<LibraryItem> {
    let toolbox = wiring::toolbox()?;
    let all = toolbox.all();
    let tool = all.iter().find(|tool| tool.spec().name == name);
    let tool = tool.ok_or_else(|| usage(format!("there is no tool {name}")))?;
    let mut item = shown(
        tool_line(tool.spec(), &[]),
        serde_json::to_string_pretty(&tool.spec().input_schema)?,
        TextKind::Json,
    );
    item.facts = vec![("What the model reads".into(), tool.spec().description.clone())];
    Ok(item)
}
