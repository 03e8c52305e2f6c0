//! What the workspace knows of command lines: what a confined one may touch, what one could uncover, what
//! git would run. Not here: running any of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use weir_core::governance::flow;
use weir_core::tool::{CommandEffect, Effects, PathAccess, PathEffect, PathPlace};

use super::{
    CommandConfinement, FileError, Workspace, confine, git_words, governed, hooks, own_commit,
    repositories, tracked,
};

/// Hidden files that are named beside a repository that keeps them.
const HIDDEN_NAMED: usize = 3;

impl Workspace {
    /// What a confined command with these effects may touch here (Z4); with `foreign` words in the
    /// context what later runs or instructs is read-only, as it is for the file tools (Z2). Looks at every entry of the
    /// workspace: for blocking threads.
    ///
    /// # Errors
    /// The sandbox that there is cannot hide what must be hidden here.
    pub fn confine_command(
        &self,
        command: &CommandEffect,
        effects: &Effects,
        foreign: bool,
    ) -> Result<CommandConfinement, FileError> {
        confine::confine_command(self, command, effects, foreign)
    }
    /// Hidden files whose content a command line that runs in `cwd` could read in the history of git,
    /// if it were let (A13): in the repository around `cwd`, or in any where the line may go elsewhere.
    pub fn uncovered_files(&self, command: &str, cwd: &str) -> Vec<String> {
        if !repositories::names_git(command) {
            return Vec::new();
        }
        let folders = match repositories::stays_here(command) {
            true => repositories::repository_around(&self.absolute_path(cwd)).into_iter().collect(),
            false => self.repository_folders(),
        };
        let keeping =
            folders.iter().filter_map(|folder| tracked::hidden_in_history(self, folder, command));
        let hidden: BTreeSet<String> =
            keeping.filter(|keeping| keeping.git).flat_map(|keeping| keeping.hidden).collect();
        hidden.into_iter().collect()
    }
    /// Why a write of `path` (as effects have it) is a write of what later runs or instructs: by its
    /// name, or because git runs what lies there.
    pub(crate) fn instructing_reason(&self, path: &str) -> Option<&'static str> {
        // Most paths have no part that is part of any pattern.
        let by_name = governed::has_part_that_may_instruct(path)
            .then(|| flow::instructing_reason(path))
            .flatten();
        let at = self.absolute_path(path);
        by_name.or_else(|| self.is_hook(&at).then_some(flow::HOOKS)).or_else(|| {
            let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
            let leads = governed::leads_to_instructing(&name, path) && at.is_symlink();
            leads.then(|| flow::instructs_below(path, None)).flatten()
        })
    }
    /// Whether git runs what lies at this path of the disk.
    pub(super) fn is_hook(&self, path: &Path) -> bool {
        let hooks = self.git_hooks();
        let roots: Vec<&Path> = self.guard.roots.iter().map(|root| root.real.as_path()).collect();
        !hooks.is_empty() && hooks.is_run_by_git(path, &roots)
    }
    pub(super) fn hooks_concern(&self, folder: &Path) -> bool {
        let hooks = self.git_hooks();
        !hooks.is_empty() && hooks.may_concern(folder)
    }
    /// Those of these paths that git runs, or below which lies what it runs, and those that make a
    /// repository or are pieces of one.
    pub(crate) fn run_by_git(&self, effects: &Effects) -> Vec<String> {
        let writes = effects.paths.iter().filter(|path| path.access.is_write());
        let is_whole = |path: &PathEffect| path.recursive || path.place != PathPlace::Inside;
        let below = |path: &PathEffect| {
            is_whole(path) && self.git_hooks().lie_below(&self.absolute_path(&path.path))
        };
        let changes = effects.changes.iter().map(|change| &change.path);
        let whole = writes.clone().filter(|path| below(path)).map(|path| &path.path);
        let found: BTreeSet<String> = writes
            .map(|path| &path.path)
            .chain(changes)
            .filter(|path| self.is_hook(&self.absolute_path(path)))
            .chain(whole)
            .cloned()
            .chain(self.repository_writes(effects))
            .collect();
        found.into_iter().collect()
    }
    fn git_hooks(&self) -> Arc<hooks::HookFolders> {
        let known = || self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone();
        known().unwrap_or_else(|| {
            self.find_hooks();
            known().unwrap_or_default()
        })
    }
    /// Whether a tracked path may be one of what later runs or instructs: quick, for many of them.
    pub(crate) fn may_be_governed(&self, path: &str) -> bool {
        governed::has_part_that_may_instruct(path) || !self.git_hooks().is_empty()
    }
    /// The folder that keeps the objects and branches of a repository with this folder of its own.
    pub(crate) fn common_of(&self, git: &Path) -> PathBuf {
        tracked::common_of(git)
    }
    /// Folders with a `.git`: those in the roots, and the one that a root lies in.
    fn repository_folders(&self) -> BTreeSet<PathBuf> {
        self.repositories_of(&self.find_governed())
    }
    fn repositories_of(&self, governed: &governed::GovernedPaths) -> BTreeSet<PathBuf> {
        let mut folders = governed.holders.clone();
        let roots = self.guard.roots.iter();
        folders.extend(roots.filter_map(|root| repositories::repository_around(&root.real)));
        folders
    }
    /// What of the history of git a command did not see, in words for the model: `None` where nothing
    /// was closed (A13).
    pub fn hidden_history_text(&self, confine: &CommandConfinement) -> Option<String> {
        let objects = confine.masked.iter().filter(|path| path.ends_with("objects"));
        let git = objects.filter_map(|path| path.parent()).find(|git| git.join("HEAD").exists())?;
        let any = |folder: &PathBuf| tracked::hidden_in_history(self, folder, "git show");
        let hidden = self
            .repository_folders()
            .iter()
            .filter_map(any)
            .find(|keeping| keeping.objects.parent().is_some_and(|of| of == git));
        let files = hidden.map(|keeping| keeping.hidden).unwrap_or_default();
        let named = files.iter().take(HIDDEN_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let rule = files.first().map_or("PATH", String::as_str);
        Some(format!(
            "[The objects of git in {} were hidden from this command, because they hold what is \
             hidden from this agent: {named}. A command with the word git in it is asked about; a \
             rule Read({rule}) of the person's opens them for every command.]",
            self.shown_at(git)
        ))
    }
    /// Tracked files that a list, a rule or a table hides, and whose content git keeps all the same
    /// (A13): for the person.
    pub fn hidden_in_history(&self) -> Vec<String> {
        self.uncovered_files("git -C . show", ".")
    }
    /// Whether a command line stores history of git, and does nothing else.
    pub(crate) fn stores_history(command: &str) -> bool {
        repositories::stores_history(command)
    }
    /// Whether a command line only lets the work tree follow what the repository holds.
    pub(crate) fn follows_repository(command: &str) -> bool {
        repositories::is_following(command)
    }
    /// What a path that was shown is on the disk.
    pub(crate) fn on_disk(&self, path: &str) -> PathBuf {
        self.absolute_path(path)
    }
    /// Whether foreign words are at `path`.
    pub(crate) fn is_marked(&self, path: &str) -> bool {
        self.mark_origin(path, PathAccess::Read).is_some()
    }
    /// The repositories here: where the files of each begin, and its own folder.
    pub(crate) fn git_histories(
        &self,
        governed: &governed::GovernedPaths,
    ) -> Vec<(PathBuf, PathBuf)> {
        let of =
            |folder: &PathBuf| Some((folder.clone(), tracked::git_folder(&folder.join(".git"))?));
        self.repositories_of(governed).iter().filter_map(of).collect()
    }
    /// A socket of another program, as a command names it.
    ///
    /// # Errors
    /// Why it cannot be named.
    pub fn resolve_socket(&self, path: &str) -> Result<String, String> {
        use std::os::unix::fs::FileTypeExt as _;
        let real = Path::new(path).canonicalize().map_err(|error| format!("{path}: {error}"))?;
        if !real.metadata().is_ok_and(|meta| meta.file_type().is_socket()) {
            return Err(format!("{path} is no socket; name files in reads or writes"));
        }
        if self.guard.own_folders().iter().any(|own| real.starts_with(own)) {
            return Err(format!("{path} belongs to Weir itself"));
        }
        let told = real.to_str().map(str::to_owned);
        told.ok_or_else(|| format!("{path} does not have a name in UTF-8"))
    }
    /// Remote-tracking branches that already have the commit which a line of git that runs in `cwd`
    /// makes anew or leaves, as far as its words and the refs tell.
    pub fn published_branches(&self, command: &str, cwd: &str) -> Vec<String> {
        git_words::published_branches(&self.absolute_path(cwd), command)
    }
    /// Whether a line of git that runs in `cwd` makes the newest commit anew and nothing else of the
    /// history, where that was made here and no remote has it, as far as the refs tell.
    pub fn renews_own_commit(&self, command: &str, cwd: &str) -> bool {
        own_commit::renews_own_commit(&self.absolute_path(cwd), command)
    }
    /// What the lines of git in a command that runs in `cwd` change in the settings of the repository,
    /// as a difference for a person.
    pub fn git_settings_change(&self, command: &str, cwd: &str) -> Option<String> {
        git_words::settings_change(&self.absolute_path(cwd), command)
    }
}
