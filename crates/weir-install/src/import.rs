//! Taking over what another agent's files say: servers, rules, permissions, hooks.
//!
//! Each reader (`claude`, `codex`, `opencode`) turns its files into items; here it is settled what
//! becomes of each, and written. What would let more pass than before is never taken by the way:
//! a person says yes to it. Servers come unpinned: none is started before it was approved.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_core::governance::rules::{RuleAction, RuleOrigin, RuleSet};
use weir_core::profile::PermissionMode;

use crate::config::{self, Additions, HookSettings, McpServerSettings, SecretSettings};
use crate::cx::Cx;
use crate::failure::usage;
use crate::wiring;

mod claude;
mod codex;
mod files;
mod opencode;
mod rules;
mod server;
mod texts;

/// Whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
}

/// Which of the two files of settings something goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The person's own.
    User,
    /// The workspace's.
    Project,
}

/// One thing that stands in a file of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// File and line.
    pub place: String,
    /// What stands there.
    pub says: String,
    /// What it is here.
    pub becomes: Becomes,
    /// Where it goes.
    pub target: Target,
    /// What is not the same, for the person.
    pub notes: Vec<String>,
}

/// What a thing is here.
#[derive(Debug, Clone, PartialEq)]
pub enum Becomes {
    /// A rule.
    Rule(RuleAction, String),
    /// The permission mode.
    Mode(PermissionMode),
    /// A server, and the secrets that it is given.
    Server(String, Box<McpServerSettings>, Vec<(String, SecretSettings)>),
    /// A hook for an event.
    Hook(String, HookSettings),
    /// A file below the person's own folder, and its text.
    File(String, String),
    /// Nothing, and why.
    Nothing(String),
}

/// What is done with an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is taken over.
    Taken,
    /// It lets more pass than before: only with a yes.
    Widens,
    /// It stands here already.
    There,
    /// It is left, and why.
    Left(String),
}

/// Everything that was found, and what becomes of it.
pub struct Plan {
    /// Files that were read.
    pub read: Vec<String>,
    /// The items in the order of their files.
    pub items: Vec<(Item, Outcome)>,
}

/// What a reader finds.
#[derive(Debug, Default)]
struct Found {
    read: Vec<String>,
    items: Vec<Item>,
}

/// Reads the files of `agent` below `home` and in the workspace.
///
/// # Errors
/// A file that cannot be understood: file and line.
pub fn plan(cx: &Cx, agent: Agent, home: &Path) -> anyhow::Result<Plan> {
    let places = files::Places { home, workspace: &cx.folder, environment: &cx.environment };
    let found = match agent {
        Agent::ClaudeCode => claude::read(&places),
        Agent::Codex => codex::read(&places),
        Agent::Opencode => opencode::read(&places),
    };
    let found = found.map_err(usage)?;
    let known = Known::of(cx)?;
    let mut items: Vec<(Item, Outcome)> = Vec::new();
    for item in found.items {
        let twice = items.iter().any(|(other, _)| {
            other.becomes == item.becomes
                && other.target == item.target
                && !matches!(item.becomes, Becomes::Nothing(_))
        });
        let outcome = match twice {
            true => Outcome::Left("stands in these files twice".into()),
            false => known.outcome(&item, &items),
        };
        items.push((item, outcome));
    }
    Ok(Plan { read: found.read, items })
}

/// Writes what is taken over; with `widening`, also what lets more pass.
///
/// # Errors
/// A file cannot be written. Each file is changed whole or not at all.
pub fn write(cx: &Cx, plan: &Plan, widening: bool) -> anyhow::Result<()> {
    let files = cx.files();
    for target in [Target::User, Target::Project] {
        let wanted = |outcome: &Outcome| {
            *outcome == Outcome::Taken || widening && *outcome == Outcome::Widens
        };
        let mut additions = Additions::default();
        let items =
            plan.items.iter().filter(|(item, outcome)| item.target == target && wanted(outcome));
        for (item, _) in items {
            match &item.becomes {
                Becomes::Rule(action, text) => additions.rules.push((*action, text.clone())),
                Becomes::Mode(mode) => additions.permission = Some(*mode),
                Becomes::Server(name, server, secrets) => {
                    additions.servers.push((name.clone(), server.as_ref().clone()));
                    additions.secrets.extend(secrets.iter().cloned());
                }
                Becomes::Hook(event, hook) => additions.hooks.push((event.clone(), hook.clone())),
                Becomes::File(below, text) => add_file(&cx.dirs.config.join(below), text)?,
                Becomes::Nothing(_) => {}
            }
        }
        if !additions.is_empty() {
            let path = match target {
                Target::User => &files.user,
                Target::Project => files.project_for_writing()?,
            };
            config::add_all(path, &additions)?;
        }
    }
    Ok(())
}

/// Writes a file that is not there yet, with its folders.
fn add_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|error| usage(format!("{}: {error}", path.display())))
}

/// What holds here already.
struct Known<'a> {
    config: &'a config::Config,
    user: String,
    project: String,
    /// The person's own folder.
    own: PathBuf,
    rules: RuleSet,
}

impl<'a> Known<'a> {
    fn of(cx: &'a Cx) -> anyhow::Result<Known<'a>> {
        let (files, workspace) = (cx.files(), cx.workspace()?);
        Ok(Known {
            config: cx.config()?,
            user: files.user.display().to_string(),
            project: files.project.display().to_string(),
            own: cx.dirs.config.clone(),
            rules: RuleSet::new(wiring::rule_context(cx, &workspace)),
        })
    }

    fn file(&self, target: Target) -> &str {
        match target {
            Target::User => &self.user,
            Target::Project => &self.project,
        }
    }

    fn outcome(&self, item: &Item, before: &[(Item, Outcome)]) -> Outcome {
        match &item.becomes {
            Becomes::Nothing(why) => Outcome::Left(why.clone()),
            Becomes::Rule(action, text) => self.of_rule(item.target, *action, text),
            Becomes::Mode(mode) => self.of_mode(*mode),
            Becomes::Server(name, server, secrets) => self.of_server(name, server, secrets, before),
            Becomes::Hook(event, hook) => self.of_hook(item.target, event, hook),
            Becomes::File(below, text) => self.of_file(below, text, before),
        }
    }

    fn of_rule(&self, target: Target, action: RuleAction, text: &str) -> Outcome {
        if let Err(error) = self.rules.parse(action, text, RuleOrigin::new("")) {
            return Outcome::Left(format!("{text} {}", error.problem));
        }
        let file = self.file(target);
        // Also what a workspace that is not trusted says stands in its file.
        let withheld = self.config.withheld.iter().any(|withheld| {
            target == Target::Project
                && action == RuleAction::Allow
                && withheld.what == config::WithheldPart::AllowRule(text.to_owned())
        });
        let is_there =
            self.config.rules.iter().any(|rule| {
                rule.action == action && rule.text == text && rule.origin.source == file
            });
        match (is_there || withheld, action) {
            (true, _) => Outcome::There,
            (false, RuleAction::Allow) => Outcome::Widens,
            (false, RuleAction::Ask | RuleAction::Deny) => Outcome::Taken,
        }
    }

    fn of_mode(&self, mode: PermissionMode) -> Outcome {
        let rank = |mode| PermissionMode::ALL.iter().position(|known| *known == mode);
        let ours = self.config.settings.permission;
        match rank(mode).cmp(&rank(ours)) {
            std::cmp::Ordering::Less if self.config.is_set("permission") => Outcome::Left(format!(
                "you have permission = \"{ours}\" already; change it with `weir config set \
                 permission {mode}`"
            )),
            std::cmp::Ordering::Less => Outcome::Taken,
            std::cmp::Ordering::Equal => Outcome::There,
            std::cmp::Ordering::Greater => Outcome::Widens,
        }
    }

    fn of_server(
        &self,
        name: &str,
        server: &McpServerSettings,
        secrets: &[(String, SecretSettings)],
        before: &[(Item, Outcome)],
    ) -> Outcome {
        if let Some((field, why)) = config::problem(server) {
            return Outcome::Left(format!("{field} {why}").trim_start().to_owned());
        }
        match self.config.settings.mcp_servers.get(name) {
            Some(own) if own == server => return Outcome::There,
            Some(_) => {
                return Outcome::Left(format!("you have another server called {name}"));
            }
            None => {}
        }
        let taken = |other: &Item| matches!(&other.becomes, Becomes::Server(n, ..) if n == name);
        if let Some((other, _)) = before.iter().find(|(other, _)| taken(other)) {
            return Outcome::Left(format!("{} has another server called {name}", other.place));
        }
        let own = &self.config.settings.secrets;
        let other =
            secrets.iter().find(|(name, secret)| own.get(name).is_some_and(|o| o != secret));
        if let Some((secret, _)) = other {
            return Outcome::Left(format!("you have another secret called {secret}"));
        }
        Outcome::Taken
    }

    fn of_file(&self, below: &str, text: &str, before: &[(Item, Outcome)]) -> Outcome {
        let path = self.own.join(below);
        let taken = |other: &Item| matches!(&other.becomes, Becomes::File(b, _) if b == below);
        if let Some((other, _)) = before.iter().find(|(other, _)| taken(other)) {
            return Outcome::Left(format!("{} becomes {below} already", other.place));
        }
        match std::fs::read(&path) {
            Ok(own) if own == text.as_bytes() => Outcome::There,
            Ok(_) => Outcome::Left(format!("you have another {}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Outcome::Taken,
            Err(error) => Outcome::Left(format!("{}: {error}", path.display())),
        }
    }

    fn of_hook(&self, target: Target, event: &str, hook: &HookSettings) -> Outcome {
        let file = self.file(target);
        let raw = |origin| config::RawHook {
            event: event.to_owned(),
            index: 0,
            settings: hook.clone(),
            origin,
        };
        if let Err(why) = crate::hooks::Hook::new(&raw(config::Origin::BuiltIn)) {
            return Outcome::Left(format!("as a hook it {why}"));
        }
        let is_there = self.config.hooks.iter().any(|known| {
            known.event == event
                && known.settings == *hook
                && known.origin.to_string().starts_with(file)
        });
        if is_there { Outcome::There } else { Outcome::Widens }
    }
}
