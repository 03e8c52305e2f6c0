//! What is known of the surroundings of a session, read cheaply: folder, branch, settings, what can
//! be typed as `/name`. No store is made for it, and no process is started but at a first start: whether
//! a sandbox holds is tried out then.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::ids::SessionId;
use weir_core::view::first_start::FirstStart;
use weir_engine::blocking::run_blocking;
use weir_engine::marks::marks_in;
use weir_engine::ports::{Plugins as _, Store};
use weir_engine::regular_file::read_regular_file;
use weir_engine::scene::SceneOptions;
use weir_engine::skills::SkillPlaces;
use weir_engine::slash;
use weir_install::context::InstallationContext;
use weir_install::environment::WeirFolders;
use weir_install::models;
use weir_install::wiring;
use weir_tui::link::{OpenSessionInfo, SlashCommandInfo, UiUpdate};

use super::context::LocalContext;
use super::shown_session::ShownSession;

/// Bytes of git's files that are read.
const GIT_BYTES_MAX: u64 = 4 << 10;
/// Characters of a commit that stand for it where no branch is checked out.
const COMMIT_CHARS: usize = 8;
/// The file of the store.
const STORE_FILE: &str = "weir.db";
/// Commands that are told.
const NAMED_MAX: usize = 1_000;

/// What is told when a session is opened.
pub(super) async fn session_opened_updates(
    context: &Arc<LocalContext>,
    shown: &Arc<ShownSession>,
) -> Vec<UiUpdate> {
    let about = describe_surroundings(context, shown).await;
    let (session, known) = (shown.id.clone(), shown.known);
    let named = find_named_commands(&shown.cx).await;
    let mut news = vec![UiUpdate::Opened { session, known, about: Box::new(about), named }];
    news.extend(shown.start.clone().map(|start| UiUpdate::Settled(Box::new(start))));
    if shown.id.is_none() {
        news.push(new_session_settings(&shown.cx, &shown.session_overrides()).await);
    }
    news
}

async fn describe_surroundings(context: &LocalContext, shown: &ShownSession) -> OpenSessionInfo {
    let cx = &shown.cx;
    let mut notes = Vec::new();
    match describe_pause(cx).await {
        Ok(Some(pause)) => notes.push(format!("{pause}; `/release` lets runs start again")),
        Ok(None) => (),
        Err(why) => notes.push(why),
    }
    if let (Some(id), None) = (&shown.id, shown.running_session())
        && let Ok(store) = cx.local_store()
        && let Ok(Some(holder)) = store.holder_text(id).await
    {
        notes.push(format!(
            "{holder} has this session now: you see what it does, and what you say is handed to it"
        ));
    }
    OpenSessionInfo {
        folder: shorten_home_path(shown.workspace_folder(), cx.dirs.home.as_deref()),
        branch: checked_out_branch(shown.workspace_folder()),
        resume: shown
            .id
            .as_ref()
            .map(|id| resume_command_line(&context.cx, id))
            .unwrap_or_default(),
        server: None,
        notes,
        first_start: find_first_start(shown).await,
        local: true,
    }
}

/// What is told in a folder in which nothing was said yet.
async fn find_first_start(shown: &ShownSession) -> Option<FirstStart> {
    if shown.id.is_some() {
        return None;
    }
    let cx = &shown.cx;
    let folder = Some(shown.workspace_folder().display().to_string());
    let store = if has_store(cx) { Some(cx.local_store().ok()?) } else { None };
    let store = store.as_deref().map(|store| store as &dyn Store);
    wiring::find_first_start(cx, &shown.session_overrides(), store, folder).await
}

/// The settings of a new session, as far as they are known without asking anybody.
pub(super) async fn new_session_settings(
    cx: &InstallationContext,
    wishes: &wiring::SessionOverrides,
) -> UiUpdate {
    let profile = wiring::choose_profile(cx, wishes, None).ok();
    let asked = wishes.model.as_deref();
    let model = asked.or(profile.as_ref().and_then(|found| found.profile.model.as_deref()));
    let permission = match (cx.config(), &profile) {
        (Ok(config), Some(profile)) => {
            wiring::choose_permission_mode(config, wishes, None, profile)
        }
        _ => wishes.permission.unwrap_or_default(),
    };
    let model = models::chosen_model_name(cx, model).await.unwrap_or_default();
    let said = wishes.thinking.or(profile.as_ref().and_then(|found| found.profile.thinking));
    let said = said.or(cx.config().ok().and_then(|config| config.settings.thinking));
    let thinking = said.unwrap_or_else(|| models::usual_thinking(cx, &model));
    UiUpdate::Settings {
        model,
        profile: profile.map(|found| found.profile.name).unwrap_or_default(),
        permission,
        thinking,
    }
}

/// Whether anything was kept on this machine yet. Whoever only looks makes no store.
pub(super) fn has_store(cx: &InstallationContext) -> bool {
    cx.dirs.state.join(STORE_FILE).exists()
}

/// Whether Weir is paused, in words. A store that is not there is not made for it.
///
/// # Errors
/// The store cannot be read.
pub(super) async fn describe_pause(cx: &InstallationContext) -> Result<Option<String>, String> {
    if !has_store(cx) {
        return Ok(None);
    }
    let store = cx.local_store().map_err(|error| format!("{error:#}"))?;
    let pause = store.pause_state().await.map_err(|error| error.to_string())?;
    Ok(pause.map(|pause| {
        let why =
            if pause.reason.is_empty() { String::new() } else { format!(" ({})", pause.reason) };
        // To the second: nobody reads more.
        let since = jiff::Timestamp::from_microsecond(pause.since.0).unwrap_or_default();
        format!("Weir is paused since {since:.0} by {}{why}: nothing runs", pause.by)
    }))
}

/// A folder as a person would write it.
fn shorten_home_path(folder: &Path, home: Option<&Path>) -> String {
    let below = home.and_then(|home| folder.strip_prefix(home).ok());
    match below {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.display().to_string(),
    }
}

/// How the session is taken up again: with the state folder where that is not found by itself.
fn resume_command_line(cx: &InstallationContext, id: &SessionId) -> String {
    let by_itself = WeirFolders::find(&cx.environment, None).ok().map(|dirs| dirs.state);
    let named = cx.environment.text_variable("WEIR_STATE_DIR").map(PathBuf::from);
    let state = &cx.dirs.state;
    if by_itself.as_ref() == Some(state) || named.as_ref() == Some(state) {
        return format!("weir --resume {id}");
    }
    let quoted = shell_quoted(&state.display().to_string());
    format!("weir --state-dir {quoted} --resume {id}")
}

/// `text` as one word of a shell.
fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The branch that is checked out in the repository of `folder`; where none is, the commit.
pub(super) fn checked_out_branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|at| at.join(".git")).find(|git| git.exists())?;
    let git = match git.is_dir() {
        true => git,
        // A worktree: the file says where its own folder is.
        false => {
            let text = read_small_file(&git)?;
            git.parent()?.join(text.strip_prefix("gitdir:")?.trim())
        }
    };
    let head = read_small_file(&git.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref:") {
        Some(name) => {
            let name = name.trim();
            Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
        }
        None => {
            let is_hash = !head.is_empty() && head.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hash.then(|| head.chars().take(COMMIT_CHARS).collect())
        }
    }
}

fn read_small_file(path: &Path) -> Option<String> {
    String::from_utf8(read_regular_file(path, GIT_BYTES_MAX).ok()?).ok()
}

/// What can be typed as `/name` beside what the face knows itself.
async fn find_named_commands(cx: &Arc<InstallationContext>) -> Vec<SlashCommandInfo> {
    let Ok(workspace) = cx.open_workspace() else { return Vec::new() };
    // Marks and pins of plugins stand in the store; where there is none, there are none of them.
    let mut skills = SkillPlaces::default();
    if has_store(cx)
        && let Ok(store) = cx.local_store()
        && let Ok(marks) = marks_in(&*store, &workspace.root().display().to_string()).await
    {
        workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
        if let Ok(plugins) = wiring::installed_plugins(cx, &workspace) {
            plugins.refresh().await;
            skills.plugins = Some(plugins);
        }
    }
    let config_dir = Some(cx.dirs.config.clone());
    let listed = run_blocking(move || {
        let options = SceneOptions { config_dir, skills, ..SceneOptions::default() };
        slash::list_slash_commands(&options, &workspace)
    });
    let usable = listed.await.unwrap_or_default().into_iter().filter(|one| !one.shadowed);
    let usable = usable.filter_map(|one| one.command.ok()).map(|command| SlashCommandInfo {
        kind: if command.name.contains(':') { "plugin" } else { "workflow" }.into(),
        name: command.name,
        about: command.head.description,
        hint: command.head.argument_hint,
    });
    usable.take(NAMED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn f1_the_branch_is_read_without_git() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |path: &str| folder.path().join(path);
        assert_eq!(checked_out_branch(folder.path()), None);
        fs::create_dir_all(at("deep/er")).expect("writable");
        fs::create_dir_all(at(".git/worktrees/two")).expect("writable");
        fs::create_dir_all(at("two")).expect("writable");
        fs::write(at("two/.git"), "gitdir: ../.git/worktrees/two\n").expect("writable");
        fs::write(at(".git/worktrees/two/HEAD"), "ref: refs/heads/second\n").expect("writable");
        for (head, expected) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/feat/long name\n", Some("feat/long name")),
            ("0123456789abcdef0123456789abcdef01234567\n", Some("01234567")),
            ("", None),
            ("something else\n", None),
        ] {
            fs::write(at(".git/HEAD"), head).expect("writable");
            assert_eq!(checked_out_branch(&at("deep/er")).as_deref(), expected, "{head:?}");
        }
        assert_eq!(checked_out_branch(&at("two")).as_deref(), Some("second"));
    }

    #[test]
    fn f1_folders_and_words_are_written_as_a_person_would() {
        let home = Some(Path::new("/home/ann"));
        for (folder, expected) in
            [("/home/ann", "~"), ("/home/ann/code", "~/code"), ("/home/anna", "/home/anna")]
        {
            assert_eq!(shorten_home_path(Path::new(folder), home), expected);
        }
        for (text, expected) in [("/a/b", "/a/b"), ("/a b", "'/a b'"), ("it's", r"'it'\''s'")] {
            assert_eq!(shell_quoted(text), expected);
        }
    }
}
