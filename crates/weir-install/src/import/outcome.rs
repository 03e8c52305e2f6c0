//! What becomes of each item, held against what the person has already. Nothing is written here,
//! and nothing of the person's own is ever replaced.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use weir_core::governance::rules::{RuleAction, RuleOrigin, RuleSet};
use weir_core::profile::{PermissionMode, built_in_profiles};
use weir_core::record::sha256_hex;

use super::server::is_secret;
use super::unsaid::UnsaidDenials;
use super::{
    ImportItem, ImportMapping, ImportOutcome, ImportTarget, ImportedHistory, ImportedSkillFile,
};
use crate::config::{self, HookSettings, McpServerSettings, SecretSettings};
use crate::context::InstallationContext;
use crate::wiring;

/// Why a rule or hook is left: its text would stand in a file of settings.
const WITH_SECRET: &str =
    "has what looks like a secret in it: put that into a variable, then write it yourself";

/// What holds here already.
pub(super) struct ExistingSetup<'a> {
    config: &'a config::WorkspaceConfig,
    user: String,
    project: String,
    places: ImportFolders,
    rules: RuleSet,
}

impl<'a> ExistingSetup<'a> {
    pub(super) fn load_existing(cx: &'a InstallationContext) -> anyhow::Result<ExistingSetup<'a>> {
        let (files, workspace) = (cx.config_files(), cx.open_workspace()?);
        Ok(ExistingSetup {
            config: cx.config()?,
            user: files.user.display().to_string(),
            project: files.project.display().to_string(),
            places: ImportFolders::of_installation(cx),
            rules: RuleSet::new(wiring::rule_context(cx, &workspace)),
        })
    }

    fn target_file(&self, target: ImportTarget) -> &str {
        match target {
            ImportTarget::User => &self.user,
            ImportTarget::Project => &self.project,
        }
    }

    /// What becomes of each item, in order. Where a denial cannot be said here, what it may be
    /// about is not allowed: it would let more pass than there.
    pub(super) fn settle_items(
        &self,
        items: Vec<ImportItem>,
        mut unsaid: UnsaidDenials,
    ) -> Vec<(ImportItem, ImportOutcome)> {
        let mut earlier = EarlierItems::default();
        let mut settled: Vec<(ImportItem, ImportOutcome)> = Vec::new();
        for item in items {
            let outcome = match earlier.has_twin_of(&item) {
                true => ImportOutcome::Left("stands in these files twice".into()),
                false => {
                    let outcome = self.outcome_of_item(&item, earlier.earlier_place(&item));
                    if let ImportMapping::Rule(RuleAction::Ask | RuleAction::Deny, text) =
                        &item.becomes
                        && matches!(outcome, ImportOutcome::Left(_))
                    {
                        unsaid.add_denial(text, &item.place);
                    }
                    outcome
                }
            };
            earlier.remember_item(&item, &outcome);
            settled.push((item, outcome));
        }
        for (item, outcome) in &mut settled {
            if *outcome == ImportOutcome::Widens
                && let ImportMapping::Rule(RuleAction::Allow, text) = &item.becomes
                && let Some(place) = unsaid.denial_against(text)
            {
                *outcome = ImportOutcome::Left(format!(
                    "would let more pass than there: what {place} forbids or asks cannot be said \
                     here; write both with `weir permissions add`"
                ));
            }
        }
        settled
    }

    /// `earlier`: where an item stands that takes the same name.
    fn outcome_of_item(&self, item: &ImportItem, earlier: Option<&str>) -> ImportOutcome {
        match &item.becomes {
            ImportMapping::Nothing(why) => ImportOutcome::Left(why.clone()),
            ImportMapping::Rule(action, text) => self.of_rule(item.target, *action, text),
            ImportMapping::Mode(mode) => self.of_mode(*mode),
            ImportMapping::Server(name, server, secrets) => {
                self.of_server(name, server, secrets, earlier)
            }
            ImportMapping::Hook(event, hook) => self.of_hook(item.target, event, hook),
            ImportMapping::Model(model) => self.of_model(model, item.target),
            ImportMapping::File(below, text) => self.of_file(item.target, below, text, earlier),
            ImportMapping::Skill(name, files) => self.of_skill(item.target, name, files, earlier),
            ImportMapping::History(history) => self.of_history(history, earlier),
        }
    }

    fn of_rule(&self, target: ImportTarget, action: RuleAction, text: &str) -> ImportOutcome {
        if is_secret(text) {
            return ImportOutcome::Left(WITH_SECRET.to_owned());
        }
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
        earlier: Option<&str>,
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
        if let Some(place) = earlier {
            return ImportOutcome::Left(format!("{place} has another server called {name}"));
        }
        let own = &self.config.settings.secrets;
        let other =
            secrets.iter().find(|(name, secret)| own.get(name).is_some_and(|o| o != secret));
        if let Some((secret, _)) = other {
            return ImportOutcome::Left(format!("you have another secret called {secret}"));
        }
        ImportOutcome::Taken
    }

    fn of_model(&self, model: &str, target: ImportTarget) -> ImportOutcome {
        if target == ImportTarget::Project {
            return ImportOutcome::Left(format!(
                "is a choice for this folder; here you choose yourself: `weir config set model \
                 {model}`"
            ));
        }
        match &self.config.settings.model {
            Some(own) if own == model => ImportOutcome::There,
            Some(own) => ImportOutcome::Left(format!(
                "you have model = \"{own}\" already; change it with `weir config set model {model}`"
            )),
            None => ImportOutcome::Taken,
        }
    }

    fn of_file(
        &self,
        target: ImportTarget,
        below: &str,
        text: &str,
        earlier: Option<&str>,
    ) -> ImportOutcome {
        if let Some(place) = earlier {
            return ImportOutcome::Left(format!("{place} becomes {below} already"));
        }
        let profile = below.strip_prefix("profiles/").and_then(|name| name.strip_suffix(".md"));
        if let Some(name) = profile
            && built_in_profiles().iter().any(|built_in| built_in.name == name)
        {
            return ImportOutcome::Left(format!(
                "{name} is a profile that is built in, and an import replaces none"
            ));
        }
        self.of_bytes(&self.places.path_of(target, below), text.as_bytes())
    }

    fn of_skill(
        &self,
        target: ImportTarget,
        name: &str,
        files: &[ImportedSkillFile],
        earlier: Option<&str>,
    ) -> ImportOutcome {
        if let Some(place) = earlier {
            return ImportOutcome::Left(format!("{place} becomes the skill {name} already"));
        }
        let folder = self.places.path_of(target, &format!("skills/{name}"));
        if std::fs::symlink_metadata(&folder).is_err() {
            return self.of_bytes(&folder.join("SKILL.md"), b"");
        }
        let is_same = |file: &ImportedSkillFile| {
            std::fs::read(folder.join(&file.below)).is_ok_and(|own| own == file.bytes)
        };
        match files.iter().all(is_same) {
            true => ImportOutcome::There,
            false => ImportOutcome::Left(format!("you have another {}", folder.display())),
        }
    }

    fn of_history(&self, history: &ImportedHistory, earlier: Option<&str>) -> ImportOutcome {
        if let Some(place) = earlier {
            return ImportOutcome::Left(format!("{place} has the same id"));
        }
        match self.of_bytes(&self.places.history_path(history), history.to_lines().as_bytes()) {
            ImportOutcome::Left(why) if why.starts_with("you have another") => ImportOutcome::Left(
                "an earlier state of it was imported; take that import back (`weir import \
                 --undo`), then import again"
                    .into(),
            ),
            outcome => outcome,
        }
    }

    fn of_bytes(&self, path: &Path, bytes: &[u8]) -> ImportOutcome {
        if let Err(why) = self.places.check_leads_nowhere_else(path) {
            return ImportOutcome::Left(why);
        }
        match std::fs::read(path) {
            Ok(own) if own == bytes => ImportOutcome::There,
            Ok(_) => ImportOutcome::Left(format!("you have another {}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => ImportOutcome::Taken,
            Err(error) => ImportOutcome::Left(format!("{}: {error}", path.display())),
        }
    }

    fn of_hook(&self, target: ImportTarget, event: &str, hook: &HookSettings) -> ImportOutcome {
        let file = self.target_file(target);
        if is_secret(&hook.command) {
            return ImportOutcome::Left(WITH_SECRET.to_owned());
        }
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

/// Items that were settled before, by what two of them cannot both be.
#[derive(Default)]
struct EarlierItems {
    /// What they become, whole.
    seen: HashSet<(ImportTarget, String)>,
    /// Where each of those stands that takes a name here.
    named: HashMap<TakenName, String>,
}

/// The file, skill, server or session that an item becomes.
type TakenName = (ImportTarget, &'static str, String);

impl EarlierItems {
    /// Whether an earlier one becomes the very same.
    fn has_twin_of(&self, item: &ImportItem) -> bool {
        !matches!(item.becomes, ImportMapping::Nothing(_))
            && self.seen.contains(&(item.target, fingerprint_of(&item.becomes)))
    }

    /// Where an earlier one stands that has taken the name of this one.
    fn earlier_place(&self, item: &ImportItem) -> Option<&str> {
        self.named.get(&name_of_item(item)?).map(String::as_str)
    }

    /// What is left takes no name.
    fn remember_item(&mut self, item: &ImportItem, outcome: &ImportOutcome) {
        if matches!(item.becomes, ImportMapping::Nothing(_)) {
            return;
        }
        self.seen.insert((item.target, fingerprint_of(&item.becomes)));
        if !matches!(outcome, ImportOutcome::Left(_))
            && let Some(name) = name_of_item(item)
        {
            self.named.entry(name).or_insert_with(|| item.place.clone());
        }
    }
}

fn name_of_item(item: &ImportItem) -> Option<TakenName> {
    match &item.becomes {
        ImportMapping::Server(name, ..) => Some((ImportTarget::User, "server", name.clone())),
        ImportMapping::File(below, _) => Some((item.target, "file", below.clone())),
        ImportMapping::Skill(name, _) => Some((item.target, "skill", name.clone())),
        ImportMapping::History(history) => {
            Some((ImportTarget::User, "session", history.head.id.clone()))
        }
        ImportMapping::Rule(..)
        | ImportMapping::Mode(_)
        | ImportMapping::Model(_)
        | ImportMapping::Hook(..)
        | ImportMapping::Nothing(_) => None,
    }
}

/// All that an item becomes, in short: two with the same are one.
fn fingerprint_of(becomes: &ImportMapping) -> String {
    match becomes {
        ImportMapping::File(below, text) => {
            format!("file {below} {}", sha256_hex(text.as_bytes()))
        }
        ImportMapping::Skill(name, files) => {
            let files = files.iter().map(|file| {
                format!(" {:?} {:o} {}", file.below, file.mode, sha256_hex(&file.bytes))
            });
            format!("skill {name}{}", files.collect::<String>())
        }
        ImportMapping::History(history) => {
            format!("session {}", sha256_hex(history.to_lines().as_bytes()))
        }
        ImportMapping::Rule(..)
        | ImportMapping::Mode(_)
        | ImportMapping::Model(_)
        | ImportMapping::Server(..)
        | ImportMapping::Hook(..)
        | ImportMapping::Nothing(_) => format!("{becomes:?}"),
    }
}

/// Where imported files go.
pub(super) struct ImportFolders {
    own: PathBuf,
    workspace: PathBuf,
    state: PathBuf,
}

impl ImportFolders {
    pub(super) fn of_installation(cx: &InstallationContext) -> ImportFolders {
        ImportFolders {
            own: cx.dirs.config.clone(),
            workspace: cx.folder.clone(),
            state: cx.dirs.state.clone(),
        }
    }

    /// A file of the person's own folder, or of the workspace's `.weir`.
    pub(super) fn path_of(&self, target: ImportTarget, below: &str) -> PathBuf {
        match target {
            ImportTarget::User => self.own.join(below),
            ImportTarget::Project => self.workspace.join(".weir").join(below),
        }
    }

    pub(super) fn history_path(&self, history: &ImportedHistory) -> PathBuf {
        let name = format!("{}.jsonl", history.head.id);
        super::imported::imported_folder(&self.state).join(&history.head.agent).join(name)
    }

    /// A workspace may hold links: what is written for it stays in it.
    pub(super) fn check_leads_nowhere_else(&self, path: &Path) -> Result<(), String> {
        if !path.starts_with(&self.workspace) || path.starts_with(&self.own) {
            return Ok(());
        }
        let root = std::fs::canonicalize(&self.workspace).map_err(|error| error.to_string())?;
        let nearest = path.ancestors().find(|above| std::fs::symlink_metadata(above).is_ok());
        let real = nearest.and_then(|above| std::fs::canonicalize(above).ok());
        match real.is_some_and(|real| real.starts_with(&root)) {
            true => Ok(()),
            false => Err(format!("{} leads out of the workspace", path.display())),
        }
    }
}
