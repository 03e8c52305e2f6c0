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

use crate::config::{self, ConfigAdditions, HookSettings, McpServerSettings, SecretSettings};
use crate::context::InstallationContext;
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
pub enum OtherAgent {
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
pub enum ImportTarget {
    /// The person's own.
    User,
    /// The workspace's.
    Project,
}

/// One thing that stands in a file of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportItem {
    /// File and line.
    pub place: String,
    /// What stands there.
    pub says: String,
    /// Kind of thing that the item becomes in Weir.
    pub becomes: ImportMapping,
    /// File or table that the item is written to.
    pub target: ImportTarget,
    /// What is not the same, for the person.
    pub notes: Vec<String>,
}

/// What a thing is here.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportMapping {
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

/// The outcome of importing one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
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
pub struct ImportPlan {
    /// Files that were read.
    pub read: Vec<String>,
    /// The items in the order of their files.
    pub items: Vec<(ImportItem, ImportOutcome)>,
}

/// What a reader finds.
#[derive(Debug, Default)]
struct ImportFindings {
    read: Vec<String>,
    items: Vec<ImportItem>,
}

/// Reads the files of `agent` below `home` and in the workspace.
///
/// # Errors
/// A file that cannot be understood: file and line.
pub fn plan_import(
    cx: &InstallationContext,
    agent: OtherAgent,
    home: &Path,
) -> anyhow::Result<ImportPlan> {
    let places = files::ImportPlaces { home, workspace: &cx.folder, environment: &cx.environment };
    let found = match agent {
        OtherAgent::ClaudeCode => claude::read_claude_files(&places),
        OtherAgent::Codex => codex::read_codex_files(&places),
        OtherAgent::Opencode => opencode::read_opencode_files(&places),
    };
    let found = found.map_err(usage)?;
    let known = ExistingSetup::load_existing(cx)?;
    let mut items: Vec<(ImportItem, ImportOutcome)> = Vec::new();
    for item in found.items {
        let twice = items.iter().any(|(other, _)| {
            other.becomes == item.becomes
                && other.target == item.target
                && !matches!(item.becomes, ImportMapping::Nothing(_))
        });
        let outcome = match twice {
            true => ImportOutcome::Left("stands in these files twice".into()),
            false => known.outcome_of_item(&item, &items),
        };
        items.push((item, outcome));
    }
    Ok(ImportPlan { read: found.read, items })
}

/// Writes what is taken over; with `widening`, also what lets more pass.
///
/// # Errors
/// A file cannot be written. Each file is changed whole or not at all.
pub fn write_import(
    cx: &InstallationContext,
    plan: &ImportPlan,
    widening: bool,
) -> anyhow::Result<()> {
    let files = cx.config_files();
    for target in [ImportTarget::User, ImportTarget::Project] {
        let wanted = |outcome: &ImportOutcome| {
            *outcome == ImportOutcome::Taken || widening && *outcome == ImportOutcome::Widens
        };
        let mut additions = ConfigAdditions::default();
        let items =
            plan.items.iter().filter(|(item, outcome)| item.target == target && wanted(outcome));
        for (item, _) in items {
            match &item.becomes {
                ImportMapping::Rule(action, text) => additions.rules.push((*action, text.clone())),
                ImportMapping::Mode(mode) => additions.permission = Some(*mode),
                ImportMapping::Server(name, server, secrets) => {
                    additions.servers.push((name.clone(), server.as_ref().clone()));
                    additions.secrets.extend(secrets.iter().cloned());
                }
                ImportMapping::Hook(event, hook) => {
                    additions.hooks.push((event.clone(), hook.clone()))
                }
                ImportMapping::File(below, text) => add_file(&cx.dirs.config.join(below), text)?,
                ImportMapping::Nothing(_) => {}
            }
        }
        if !additions.is_empty() {
            let path = match target {
                ImportTarget::User => &files.user,
                ImportTarget::Project => files.project_for_writing()?,
            };
            config::add_to_config_file(path, &additions)?;
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
struct ExistingSetup<'a> {
    config: &'a config::WorkspaceConfig,
    user: String,
    project: String,
    /// The person's own folder.
    own: PathBuf,
    rules: RuleSet,
}

impl<'a> ExistingSetup<'a> {
    fn load_existing(cx: &'a InstallationContext) -> anyhow::Result<ExistingSetup<'a>> {
        let (files, workspace) = (cx.config_files(), cx.open_workspace()?);
        Ok(ExistingSetup {
            config: cx.config()?,
            user: files.user.display().to_string(),
            project: files.project.display().to_string(),
            own: cx.dirs.config.clone(),
            rules: RuleSet::new(wiring::rule_context(cx, &workspace)),
        })
    }

    fn target_file(&self, target: ImportTarget) -> &str {
        match target {
            ImportTarget::User => &self.user,
            ImportTarget::Project => &self.project,
        }
    }

    fn outcome_of_item(
        &self,
        item: &ImportItem,
        before: &[(ImportItem, ImportOutcome)],
    ) -> ImportOutcome {
        match &item.becomes {
            ImportMapping::Nothing(why) => ImportOutcome::Left(why.clone()),
            ImportMapping::Rule(action, text) => self.of_rule(item.target, *action, text),
            ImportMapping::Mode(mode) => self.of_mode(*mode),
            ImportMapping::Server(name, server, secrets) => {
                self.of_server(name, server, secrets, before)
            }
            ImportMapping::Hook(event, hook) => self.of_hook(item.target, event, hook),
            ImportMapping::File(below, text) => self.of_file(below, text, before),
        }
    }

    fn of_rule(&self, target: ImportTarget, action: RuleAction, text: &str) -> ImportOutcome {
        if let Err(error) = self.rules.parse_rule(action, text, RuleOrigin::new("")) {
            return ImportOutcome::Left(format!("{text} {}", error.problem));
        }
        let file = self.target_file(target);
        // Also what a workspace that is not trusted says stands in its file.
        let withheld = self.config.withheld.iter().any(|withheld| {
            target == ImportTarget::Project
                && action == RuleAction::Allow
                && withheld.what == config::WithheldPart::AllowRule(text.to_owned())
        });
        let is_there =
            self.config.rules.iter().any(|rule| {
                rule.action == action && rule.text == text && rule.origin.source == file
            });
        match (is_there || withheld, action) {
            (true, _) => ImportOutcome::There,
            (false, RuleAction::Allow) => ImportOutcome::Widens,
            (false, RuleAction::Ask | RuleAction::Deny) => ImportOutcome::Taken,
        }
    }

    fn of_mode(&self, mode: PermissionMode) -> ImportOutcome {
        let rank = |mode| PermissionMode::ALL.iter().position(|known| *known == mode);
        let ours = self.config.settings.permission;
        match rank(mode).cmp(&rank(ours)) {
            std::cmp::Ordering::Less if self.config.is_set("permission") => {
                ImportOutcome::Left(format!(
                    "you have permission = \"{ours}\" already; change it with `weir config set \
                 permission {mode}`"
                ))
            }
            std::cmp::Ordering::Less => ImportOutcome::Taken,
            std::cmp::Ordering::Equal => ImportOutcome::There,
            std::cmp::Ordering::Greater => ImportOutcome::Widens,
        }
    }

    fn of_server(
        &self,
        name: &str,
        server: &McpServerSettings,
        secrets: &[(String, SecretSettings)],
        before: &[(ImportItem, ImportOutcome)],
    ) -> ImportOutcome {
        if let Some((field, why)) = config::find_server_problem(server) {
            return ImportOutcome::Left(format!("{field} {why}").trim_start().to_owned());
        }
        match self.config.settings.mcp_servers.get(name) {
            Some(own) if own == server => return ImportOutcome::There,
            Some(_) => {
                return ImportOutcome::Left(format!("you have another server called {name}"));
            }
            None => {}
        }
        let taken = |other: &ImportItem| matches!(&other.becomes, ImportMapping::Server(n, ..) if n == name);
        if let Some((other, _)) = before.iter().find(|(other, _)| taken(other)) {
            return ImportOutcome::Left(format!(
                "{} has another server called {name}",
                other.place
            ));
        }
        let own = &self.config.settings.secrets;
        let other =
            secrets.iter().find(|(name, secret)| own.get(name).is_some_and(|o| o != secret));
        if let Some((secret, _)) = other {
            return ImportOutcome::Left(format!("you have another secret called {secret}"));
        }
        ImportOutcome::Taken
    }

    fn of_file(
        &self,
        below: &str,
        text: &str,
        before: &[(ImportItem, ImportOutcome)],
    ) -> ImportOutcome {
        let path = self.own.join(below);
        let taken =
            |other: &ImportItem| matches!(&other.becomes, ImportMapping::File(b, _) if b == below);
        if let Some((other, _)) = before.iter().find(|(other, _)| taken(other)) {
            return ImportOutcome::Left(format!("{} becomes {below} already", other.place));
        }
        match std::fs::read(&path) {
            Ok(own) if own == text.as_bytes() => ImportOutcome::There,
            Ok(_) => ImportOutcome::Left(format!("you have another {}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => ImportOutcome::Taken,
            Err(error) => ImportOutcome::Left(format!("{}: {error}", path.display())),
        }
    }

    fn of_hook(&self, target: ImportTarget, event: &str, hook: &HookSettings) -> ImportOutcome {
        let file = self.target_file(target);
        let raw = |origin| config::RawHook {
            event: event.to_owned(),
            index: 0,
            settings: hook.clone(),
            origin,
        };
        if let Err(why) = crate::hooks::ConfiguredHook::new(&raw(config::SettingOrigin::BuiltIn)) {
            return ImportOutcome::Left(format!("as a hook it {why}"));
        }
        let is_there = self.config.hooks.iter().any(|known| {
            known.event == event
                && known.settings == *hook
                && known.origin.to_string().starts_with(file)
        });
        if is_there { ImportOutcome::There } else { ImportOutcome::Widens }
    }
}
