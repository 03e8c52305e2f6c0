//! Sessions that work in a copy of a project (`--worktree`, R7): the copy is a git worktree of the last
//! commit below `.weir/worktrees/` of the project, with a name, and what is done in it is taken over into
//! the project, or dropped, when a person says so. Settings, rules and trust are those of the project.
//! Not here: how git makes a copy (`weir-store`), copies of sub-agents (`merge_agent`), what commands
//! print.

use std::path::{Path, PathBuf};

use weir_core::ids::SessionId;
use weir_engine::ports::{Divergence, SessionMeta, Worktrees as _};
use weir_store::{GitWorktrees, SESSION_COPY};

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::session_copies::split_copy;
use crate::session_ids::{self, SubAgentListing};

mod merge;

pub use crate::session_copies::{project_of_copy, project_of_removed_copy};
pub use merge::{MergeOutcome, MergePlan, RUN_OF_MERGE, merge_worktree, plan_merge};

/// Characters of a name that a person gives.
const NAME_CHARS_MAX: usize = 60;
/// Sessions of one copy that are looked at.
const SESSIONS_MAX: usize = 100;

/// A copy of a project that sessions work in.
#[derive(Debug, Clone)]
pub struct SessionWorktree {
    /// The name that a person gave it, or the id of its first session.
    pub name: String,
    /// The project that it is a copy of.
    pub project: PathBuf,
    /// The workspace of its sessions: the place in the copy that `project` has in its repository.
    pub folder: PathBuf,
    /// The commit that it was made of.
    pub base: String,
    /// Those of its sessions that are not sub-agents, the newest first.
    pub sessions: Vec<SessionMeta>,
}

/// A copy that was opened for a session.
pub struct OpenedWorktree {
    /// The same program in the copy.
    pub cx: InstallationContext,
    /// Its name.
    pub name: String,
    /// It was made just now.
    pub is_new: bool,
}

/// A name as git and a file system take it, and no way out of the folder of copies.
fn check_name(name: &str) -> anyhow::Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_fine = !name.is_empty()
        && name.chars().count() <= NAME_CHARS_MAX
        && name.chars().all(plain)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.ends_with(".lock")
        && !name.ends_with(".base");
    match is_fine {
        true => Ok(()),
        false => Err(usage(format!(
            "{name:?} cannot be the name of a worktree; use at most {NAME_CHARS_MAX} letters, \
             digits, -, _ and ."
        ))),
    }
}

/// The copy of this name for a session that begins, made where there is none; without a name it has that
/// of `session`, which begins in it.
///
/// # Errors
/// A usage error: this is no repository, has no commit, the name cannot be one, or an account of a
/// server asks.
pub fn open_for_session(
    cx: &InstallationContext,
    name: Option<&str>,
    session: &SessionId,
) -> anyhow::Result<OpenedWorktree> {
    if cx.is_guest() {
        return Err(usage("your account works in its own folder alone, without worktrees"));
    }
    if cx.project != cx.folder {
        return Err(usage(format!(
            "{} is a worktree itself; begin the session in its project, {}",
            cx.folder.display(),
            cx.project.display()
        )));
    }
    let name = name.map_or_else(|| session.to_string(), String::from);
    check_name(&name)?;
    let (git, whole) = (GitWorktrees, format!("{SESSION_COPY}{name}"));
    if git.holds_branch(&cx.folder, &whole) {
        return Err(usage(format!(
            "there is a branch {whole}, whose name the worktree needs; give the worktree another \
             name, or delete the branch"
        )));
    }
    let is_new = git.base_of(&cx.folder, &whole).is_err();
    let folder = git.create_worktree(&cx.folder, &whole).map_err(usage)?;
    Ok(OpenedWorktree { cx: cx.reloaded_in_folder(&folder)?, name, is_new })
}

impl OpenedWorktree {
    /// Nothing began in it after all: one that was made for that goes again.
    pub fn give_up(&self) {
        if self.is_new {
            let name = format!("{SESSION_COPY}{}", self.name);
            GitWorktrees.remove(&self.cx.project, &name);
        }
    }

    /// The face on it was left: one in which no session began and nothing was changed goes again.
    pub async fn give_up_unused(&self) {
        if self.is_new && self.is_unused().await {
            self.give_up();
        }
    }

    /// What cannot be found out counts as used.
    async fn is_unused(&self) -> bool {
        let Ok(store) = self.cx.local_store() else { return false };
        let folder = Some(self.cx.folder.display().to_string());
        let listing = SubAgentListing::Hidden;
        let sessions = session_ids::list_newest_sessions(store.as_ref(), folder, 1, listing).await;
        let name = format!("{SESSION_COPY}{}", self.name);
        sessions.is_ok_and(|found| found.is_empty())
            && GitWorktrees
                .worktree_changes(&self.cx.project, &name)
                .is_ok_and(|changes| changes.is_empty())
    }

    /// What a person is told who begins a session in it.
    pub fn describe(&self) -> String {
        let folder = self.cx.folder.display();
        let name = &self.name;
        let left_out = self.is_new && GitWorktrees.has_uncommitted(&self.cx.project);
        let left_out = match left_out {
            true => "; it is a copy of the last commit, without what is not committed here",
            false => "",
        };
        format!(
            "this session works in {folder}{left_out}. `weir worktrees diff {name}` shows its \
             changes, `weir worktrees merge {name}` takes them over"
        )
    }
}

impl SessionWorktree {
    fn git_name(&self) -> String {
        format!("{SESSION_COPY}{}", self.name)
    }

    /// What is different in it from what it was made of. Blocks.
    ///
    /// # Errors
    /// It cannot be read, or too much is different.
    pub fn changes(&self) -> anyhow::Result<Vec<Divergence>> {
        let git = GitWorktrees;
        git.worktree_changes(&self.project, &self.git_name()).map_err(usage)
    }

    /// Takes it away, with what is in it. The sessions stay, and cannot go on.
    ///
    /// # Errors
    /// Somebody runs one of its sessions.
    pub async fn drop_copy(&self, cx: &InstallationContext) -> anyhow::Result<()> {
        self.require_rest(cx).await?;
        GitWorktrees.remove(&self.project, &self.git_name());
        Ok(())
    }

    /// That nobody works in it now.
    async fn require_rest(&self, cx: &InstallationContext) -> anyhow::Result<()> {
        let store = cx.local_store()?;
        for session in &self.sessions {
            if let Some(holder) = store.holder_text(&session.id).await? {
                return Err(usage(format!(
                    "{holder} works in the worktree {} now, in the session {}; wait until it is done",
                    self.name, session.id
                )));
            }
        }
        Ok(())
    }
}

/// A copy that is not whole: somebody took a part of it away, or put something in its place.
#[derive(Debug, Clone)]
pub struct BrokenWorktree {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// All copies of the project that sessions work in, by name.
///
/// # Errors
/// The store cannot be read.
pub async fn list_worktrees(
    cx: &InstallationContext,
) -> anyhow::Result<Vec<Result<SessionWorktree, BrokenWorktree>>> {
    let mut found = Vec::new();
    for name in GitWorktrees.list_session_copies(&cx.project) {
        found.push(match look_at_copy(&cx.project, &name) {
            Ok(copy) => Ok(load_sessions_of_copy(cx, &cx.project, name, copy).await?),
            Err(why) => Err(BrokenWorktree { name, why }),
        });
    }
    Ok(found)
}

/// The copy of this name in the project, where it is not whole.
pub fn find_broken_worktree(cx: &InstallationContext, name: &str) -> Option<BrokenWorktree> {
    let is_there = GitWorktrees.list_session_copies(&cx.project).iter().any(|one| one == name);
    let why = is_there.then(|| look_at_copy(&cx.project, name).err()).flatten()?;
    Some(BrokenWorktree { name: name.to_owned(), why })
}

impl BrokenWorktree {
    /// Takes away what is left of it.
    pub fn drop_rest(&self, cx: &InstallationContext) {
        GitWorktrees.remove(&cx.project, &format!("{SESSION_COPY}{}", self.name));
    }
}

/// The copy of this name in the project, or the one that a session of this id works in, wherever its
/// project is.
///
/// # Errors
/// A usage error: there is none.
pub async fn find_worktree(
    cx: &InstallationContext,
    text: &str,
) -> anyhow::Result<SessionWorktree> {
    let names = GitWorktrees.list_session_copies(&cx.project);
    if names.iter().any(|name| name == text) {
        return load_worktree(cx, &cx.project, text.to_owned()).await;
    }
    let none = || {
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        usage(format!(
            "there is no worktree {text} in {}, which has: {known} (use -C for another project)",
            cx.project.display()
        ))
    };
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), text).await.map_err(|_| none())?;
    let folder = crate::sessions::meta(store.as_ref(), &id).await?.workspace;
    let folder = PathBuf::from(folder);
    match (project_of_copy(&folder), split_copy(&folder)) {
        (Some(project), Some((_, name))) => {
            let name = name.strip_prefix(SESSION_COPY).unwrap_or(name).to_owned();
            load_worktree(cx, &project, name).await
        }
        _ => Err(none()),
    }
}

async fn load_worktree(
    cx: &InstallationContext,
    project: &Path,
    name: String,
) -> anyhow::Result<SessionWorktree> {
    let copy = look_at_copy(project, &name).map_err(usage)?;
    load_sessions_of_copy(cx, project, name, copy).await
}

/// A copy as git has it.
struct FoundCopy {
    folder: PathBuf,
    base: String,
}

/// Looks, and makes nothing.
fn look_at_copy(project: &Path, name: &str) -> Result<FoundCopy, String> {
    let whole = format!("{SESSION_COPY}{name}");
    let base = GitWorktrees.base_of(project, &whole)?;
    let folder = GitWorktrees.find_copy(project, &whole)?;
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    Ok(FoundCopy { folder, base })
}

async fn load_sessions_of_copy(
    cx: &InstallationContext,
    project: &Path,
    name: String,
    copy: FoundCopy,
) -> anyhow::Result<SessionWorktree> {
    let FoundCopy { folder, base } = copy;
    let store = cx.local_store()?;
    let sessions = session_ids::list_newest_sessions(
        store.as_ref(),
        Some(folder.display().to_string()),
        SESSIONS_MAX,
        SubAgentListing::Hidden,
    )
    .await?;
    Ok(SessionWorktree { name, project: project.to_path_buf(), folder, base, sessions })
}

/// The session that answers for what was done in a copy: the newest one.
fn answering_session(worktree: &SessionWorktree) -> anyhow::Result<&SessionId> {
    let newest = worktree.sessions.first().map(|session| &session.id);
    newest.ok_or_else(|| {
        usage(format!(
            "no session has worked in the worktree {}; take its changes over with git, from {}",
            worktree.name,
            worktree.folder.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_a_name_of_a_worktree_leads_nowhere_else() {
        for name in ["fix", "fix-2", "v1.2_x", "0198c5e0"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(61);
        for name in [
            "", ".", "..", "a/b", "../x", ".git", "a b", "-x", "x.lock", "x.base", "a..b", "ä",
            &long,
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
