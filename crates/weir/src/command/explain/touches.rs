//! The effects of a call in words. Not here: whether they may happen.

use weir_core::tool::{
    AgentControl, BrainChange, BrainEffect, CommandEffect, Effects, HostEffect, PathAccess,
    PathEffect, PathPlace, Tier,
};
use weir_core::view::plain::visible_text;
use weir_core::view::visible::look_alikes;

/// One line for each effect.
pub(super) fn describe_effects(effects: &Effects) -> Vec<String> {
    let mut lines: Vec<String> = effects.paths.iter().map(describe_path_effect).collect();
    let announced =
        |path: &str| effects.paths.iter().any(|p| p.access.is_write() && p.path == path);
    let changes = effects.changes.iter().filter(|change| !announced(&change.path));
    lines.extend(changes.map(|change| format!("change {}", change.path)));
    lines.extend(effects.commands.iter().map(describe_command_effect));
    lines.extend(effects.hosts.iter().map(describe_host_effect));
    lines.extend(effects.sends.iter().map(|s| format!("send to {} by {}", s.recipient, s.by)));
    lines.extend(effects.searches.iter().map(|words| format!("search for {words}")));
    lines.extend(effects.jobs.iter().map(|job| format!("use the background job {job}")));
    lines.extend(effects.remembers.iter().map(|text| describe_remembered_text(text)));
    lines.extend(effects.brain.iter().map(describe_brain_effect));
    lines.extend(effects.reads_from.iter().map(|from| format!("read content of {from}")));
    lines.extend(effects.control.as_ref().map(describe_control));
    if effects.unknown {
        lines.push("have effects that cannot be told in advance".to_owned());
    }
    lines
}

/// Letters in it that look like others.
pub(super) fn lookalike_remarks(effects: &Effects) -> Vec<String> {
    let commands = effects.commands.iter().map(|command| command.command.as_str());
    let paths = effects.paths.iter().map(|path| path.path.as_str());
    let hosts = effects.hosts.iter().map(|host| host.url.as_str());
    let sends = effects.sends.iter().map(|send| send.recipient.as_str());
    let remembers = effects.remembers.iter().map(String::as_str);
    let all = commands.chain(paths).chain(hosts).chain(sends).chain(remembers);
    let mut found: Vec<String> = all.flat_map(look_alikes).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn describe_brain_effect(brain: &BrainEffect) -> String {
    let what = match brain.change {
        BrainChange::Add => "add to the brain",
        BrainChange::Update => "change in the brain",
        BrainChange::Forget => "forget from the brain",
    };
    format!("{what}: {}", brain.title)
}

fn describe_path_effect(path: &PathEffect) -> String {
    let verb = match path.access {
        PathAccess::Read => "read",
        PathAccess::List => "list",
        PathAccess::Write => "change",
        PathAccess::Create => "create",
        PathAccess::MoveFrom => "move away",
        PathAccess::MoveTo => "move something to",
        PathAccess::Delete => "delete",
    };
    let mut line = format!("{verb} {}", path.path);
    if path.recursive {
        line.push_str(" and everything below it");
    }
    line.push_str(match path.place {
        PathPlace::Inside => " (in the workspace",
        PathPlace::Outside => " (outside the workspace",
        PathPlace::Escapes => " (outside the workspace, through a link",
    });
    let marks = [
        ("invisible", &path.ignored),
        ("never changed", &path.protected),
        ("secrets", &path.sensitive),
        ("outside content from", &path.marked),
    ];
    for (word, why) in marks {
        if let Some(why) = why {
            line.push_str(&format!("; {word}: {why}"));
        }
    }
    line + ")"
}

fn describe_command_effect(command: &CommandEffect) -> String {
    let how = match command.tier {
        Tier::None => "not sandboxed, with full network access".to_owned(),
        tier @ (Tier::Landlock | Tier::Bubblewrap | Tier::Namespaces) => {
            let network = match command.describe_reach().as_slice() {
                [] => "no network".to_owned(),
                reaches => format!("network to {}", reaches.join(", ")),
            };
            format!("sandbox {}, {network}", tier.as_str())
        }
    };
    let only = if command.read_only { ", read-only" } else { "" };
    let goes_on = if command.background { ", in the background" } else { "" };
    format!("run `{}` in {} ({how}{only}{goes_on})", command.command, command.cwd)
}

fn describe_host_effect(host: &HostEffect) -> String {
    let secret = host.secret.as_ref().map(|name| format!(" with the secret {name}"));
    format!("send a {} request to {}{}", host.method, host.url, secret.unwrap_or_default())
}

/// What later sessions would be told.
fn describe_remembered_text(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let line = visible_text(text);
    let cut: String = line.chars().take(CHARS_MAX).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("remember for later sessions: {cut}{more}")
}

fn describe_control(control: &AgentControl) -> String {
    match control {
        AgentControl::Complete { .. } => "end the run with a result".to_owned(),
        AgentControl::Ask { text, .. } => format!("ask the person: {text}"),
        AgentControl::Switch { profile, widens, .. } if widens.is_empty() => {
            format!("continue as the agent {profile}")
        }
        AgentControl::Switch { profile, widens, .. } => {
            format!("continue as the agent {profile}, which may also: {}", widens.join("; "))
        }
        AgentControl::Plan { items } => format!("write a task list of {} items", items.len()),
        AgentControl::Follow { recipe, calls } => {
            format!("follow the recipe {}, {} calls", recipe.id, calls.len())
        }
    }
}
