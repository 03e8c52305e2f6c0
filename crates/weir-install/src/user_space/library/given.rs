//! What is only shown: profiles and built-in tools.

use weir_core::tool::ToolSpec;

use super::{LibraryItem, LibraryLine, LibraryListing, TextKind};
use crate::catalogue::{profiles as profile_words, tools as tool_words};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::profiles;
use crate::wiring::{self, SessionOverrides};

fn read_only_item(line: LibraryLine, text: String, text_kind: TextKind) -> LibraryItem {
    let (facts, hash, waiting, deeds) = (Vec::new(), String::new(), None, Vec::new());
    LibraryItem { line, facts, text, text_kind, hash, waiting, deeds }
}

/// Every profile.
pub(super) fn list_profiles(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let line = |loaded: &profiles::LoadedProfile| LibraryLine {
        name: loaded.profile.name.clone(),
        about: loaded.profile.description.clone(),
        origin: loaded.source.to_string(),
        state: "used".into(),
        waits: false,
        untrusted: false,
    };
    let lines = profiles::load_all_profiles(cx)?.iter().map(line).collect();
    Ok(LibraryListing { lines, notes: Vec::new() })
}

/// One profile.
pub(super) fn profile_item(cx: &InstallationContext, name: &str) -> anyhow::Result<LibraryItem> {
    let all = list_profiles(cx)?;
    let line = all.lines.into_iter().find(|line| line.name == name);
    let line = line.ok_or_else(|| usage(format!("there is no profile {name}")))?;
    let text = profile_words::described(cx, &profiles::find_profile(cx, name)?)?;
    Ok(read_only_item(line, text, TextKind::Plain))
}

fn tool_line(spec: &ToolSpec, denied: &[String]) -> LibraryLine {
    LibraryLine {
        name: spec.name.clone(),
        about: spec.description.split(". ").next().unwrap_or_default().to_owned(),
        origin: tool_words::tool_group_name(spec),
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
pub(super) fn list_tools(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let denied = wiring::guest::narrow_guest_overrides(cx, &SessionOverrides::default())?.denied;
    let toolbox = wiring::build_toolbox()?;
    let lines = toolbox.all_tools().iter().map(|tool| tool_line(tool.spec(), &denied)).collect();
    Ok(LibraryListing { lines, notes: Vec::new() })
}

/// One tool with the schema of its arguments.
pub(super) fn tool_item(name: &str) -> anyhow::Result<LibraryItem> {
    let toolbox = wiring::build_toolbox()?;
    let all = toolbox.all_tools();
    let tool = all.iter().find(|tool| tool.spec().name == name);
    let tool = tool.ok_or_else(|| usage(format!("there is no tool {name}")))?;
    let mut item = read_only_item(
        tool_line(tool.spec(), &[]),
        serde_json::to_string_pretty(&tool.spec().input_schema)?,
        TextKind::Json,
    );
    item.facts = vec![("What the model reads".into(), tool.spec().description.clone())];
    Ok(item)
}
