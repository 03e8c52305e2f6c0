//! What every command is given: folders, settings, store. Opened when first asked for, so that a
//! command pays only for what it uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use weir_core::governance::rules::Rule;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{ObserverList, ServerBook, Store};
use weir_engine::workspace::{EditorFiles, Workspace, WorkspaceOptions};
use weir_providers::catalogue::ModelCatalogue;
use weir_providers::transport::ModelTransport;
use weir_store::{SqliteOptions, SqliteStore};

use crate::archive;
use crate::config::{
    BrowserSettings, ConfigDraft, ConfigFiles, ConfigInputs, ReadableConfig, WorkspaceConfig,
};
use crate::declared_server::{DeclaredServer, DeclaredServers};
use crate::environment::{ProcessEnvironment, WeirFolders};
use crate::failure::usage;
use crate::keys::ProviderKeys;
use crate::loaded_profile::LoadedProfile;
use crate::model_windows::LocalModelWindows;
use crate::notifier::Notifier;
use crate::settings_cache::SettingsCache;
use crate::trust::{self, WorkspaceTrust};

/// The surroundings of a command.
pub struct InstallationContext {
    /// Variables at the start.
    pub environment: ProcessEnvironment,
    /// Weir's own folders.
    pub dirs: WeirFolders,
    /// The folder that is worked in: absolute, existing, without links.
    pub folder: PathBuf,
    /// The folder whose settings, rules and trust count: `folder`, or the project that `folder` is a copy
    /// of for a session of its own (R7).
    pub project: PathBuf,
    /// Folders that belong to the workspace of a session beside its own (R7), without links.
    added: Vec<PathBuf>,
    trust: OnceLock<WorkspaceTrust>,
    /// A file of settings as it is to be written, to see what would hold then.
    draft: Option<ConfigDraft>,
    config: OnceLock<Arc<WorkspaceConfig>>,
    /// Vendors and models as `config` says.
    pub(crate) catalogue: OnceLock<Arc<ModelCatalogue>>,
    keys: OnceLock<ProviderKeys>,
    store: OnceLock<Arc<SqliteStore>>,
    pub(crate) profiles: OnceLock<Arc<[LoadedProfile]>>,
    pub(crate) servers: OnceLock<DeclaredServers>,
    /// Servers that an editor brings to the sessions that it opens.
    editor_servers: Arc<[DeclaredServer]>,
    /// Who may have unsaved text of the files of its sessions.
    editor_files: Option<Arc<dyn EditorFiles>>,
    /// How the person is told what needs no decision.
    pub(crate) notifier: Notifier,
    /// Observers that count and time what this program does.
    pub observers: Arc<ObserverList>,
    /// Where a person's work on a server is kept, and whose settings and keys theirs stand upon.
    person: Option<Arc<PersonPlaces>>,
    /// What was set in the browser of a server: one for all folders of a person.
    made: Arc<RwLock<BrowserSettings>>,
    /// Where it is counted what everybody on the server spends; on a server alone.
    book: Option<Arc<dyn ServerBook>>,
    /// Who is served, by name; on a server alone.
    serves: Option<Arc<str>>,
    /// Connections to models: one for the whole program, so that they and the system's certificates
    /// serve every session (V4).
    pub transport: Arc<OnceLock<Arc<ModelTransport>>>,
    /// What local servers said of the windows of their models.
    pub windows: Arc<LocalModelWindows>,
    /// Settings and catalogues that were put together before, for the whole program.
    pub(crate) settings_cache: Arc<SettingsCache>,
}

/// The surroundings of a command that only shows something.
pub struct LookingContext {
    /// With the settings that can be read.
    pub cx: InstallationContext,
    /// What is wrong with the others, each once: file, line, key.
    pub problems: Vec<String>,
}

/// Folders that the person names; what is `None` is found out.
#[derive(Debug, Clone, Default)]
pub struct NamedFolders {
    /// The folder that is worked in; `None`: the current one.
    pub workspace: Option<PathBuf>,
    /// The folder for journal, checkpoints and audit log.
    pub state_dir: Option<PathBuf>,
}

/// What a person on a server works with.
pub struct PersonAccess {
    /// The store of their sessions.
    pub store: Arc<dyn Store>,
    /// They have no role admin: their folder alone is theirs, and of the installation they get what
    /// an admin offers (S9).
    pub is_guest: bool,
}

/// What differs for a person on a server from the person who started the program.
struct PersonPlaces {
    access: PersonAccess,
    /// Folders of the installation: its `config.toml` and keys are everybody's.
    installation: WeirFolders,
}

impl InstallationContext {
    /// The surroundings that named folders and environment describe.
    ///
    /// # Errors
    /// The workspace does not exist, no home folder is known, or a backup is being restored.
    pub fn new(
        named: &NamedFolders,
        environment: ProcessEnvironment,
        notifier: Notifier,
    ) -> anyhow::Result<InstallationContext> {
        let dirs = WeirFolders::find(&environment, named.state_dir.as_deref())?;
        if let Some(said) = archive::take_back_killed_restore(&dirs)? {
            (notifier.notify)(&format!("note: {said}"));
        }
        let folder = existing_folder(named.workspace.as_deref().unwrap_or(Path::new(".")))?;
        Ok(InstallationContext {
            environment,
            dirs,
            project: project_of_folder(&folder),
            folder,
            added: Vec::new(),
            trust: OnceLock::new(),
            draft: None,
            config: OnceLock::new(),
            catalogue: OnceLock::new(),
            keys: OnceLock::new(),
            store: OnceLock::new(),
            profiles: OnceLock::new(),
            servers: OnceLock::new(),
            editor_servers: Arc::default(),
            editor_files: None,
            notifier,
            observers: Arc::default(),
            person: None,
            made: Arc::default(),
            book: None,
            serves: None,
            transport: Arc::default(),
            windows: Arc::default(),
            settings_cache: Arc::default(),
        })
    }

    /// Tells the person something that needs no decision, in one sentence.
    pub fn notify(&self, text: &str) {
        (self.notifier.notify)(text);
    }

    /// The same, once in this program.
    pub fn notify_once(&self, text: &str) {
        if is_new(text) {
            self.notify(text);
        }
    }

    /// The same program in another folder: the workspace of a session that is taken up again.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn in_folder(&self, folder: &Path) -> anyhow::Result<InstallationContext> {
        let reloaded =
            InstallationContext { keys: self.keys.clone(), ..self.reloaded_in_folder(folder)? };
        if reloaded.folder != self.folder {
            return Ok(reloaded);
        }
        Ok(InstallationContext {
            trust: self.trust.clone(),
            config: self.config.clone(),
            catalogue: self.catalogue.clone(),
            profiles: self.profiles.clone(),
            servers: self.servers.clone(),
            ..reloaded
        })
    }

    /// The same program in a folder, with everything but the store looked at anew: files that a
    /// person changed while it runs count.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn reloaded_in_folder(&self, folder: &Path) -> anyhow::Result<InstallationContext> {
        let folder = existing_folder(folder)?;
        Ok(InstallationContext {
            environment: self.environment.clone(),
            dirs: self.dirs.clone(),
            project: project_of_folder(&folder),
            folder,
            added: Vec::new(),
            trust: OnceLock::new(),
            draft: None,
            config: OnceLock::new(),
            catalogue: OnceLock::new(),
            keys: OnceLock::new(),
            store: self.store.clone(),
            profiles: OnceLock::new(),
            servers: OnceLock::new(),
            editor_servers: self.editor_servers.clone(),
            editor_files: self.editor_files.clone(),
            notifier: self.notifier,
            observers: self.observers.clone(),
            person: self.person.clone(),
            made: self.made.clone(),
            book: self.book.clone(),
            serves: self.serves.clone(),
            transport: self.transport.clone(),
            windows: self.windows.clone(),
            settings_cache: self.settings_cache.clone(),
        })
    }

    /// The same program, as if the file of settings were written already: to see what would come of it.
    ///
    /// # Errors
    /// The folder does not exist any more.
    pub fn with_config_draft(&self, draft: ConfigDraft) -> anyhow::Result<InstallationContext> {
        Ok(InstallationContext { draft: Some(draft), ..self.reloaded_in_folder(&self.folder)? })
    }

    /// The same program in the same folder, with `added` beside it: what a session opens as its workspace.
    ///
    /// # Errors
    /// The folder does not exist any more.
    pub(crate) fn with_added_folders(
        &self,
        added: Vec<PathBuf>,
    ) -> anyhow::Result<InstallationContext> {
        Ok(InstallationContext { added, ..self.in_folder(&self.folder)? })
    }

    /// The same program for sessions to which an editor brings these servers.
    pub fn with_editor_servers(self, brought: Vec<DeclaredServer>) -> InstallationContext {
        let editor_servers = brought.into();
        InstallationContext { editor_servers, servers: OnceLock::new(), ..self }
    }

    /// The same program for sessions of an editor that has files open.
    pub fn with_editor_files(self, files: Arc<dyn EditorFiles>) -> InstallationContext {
        InstallationContext { editor_files: Some(files), ..self }
    }

    /// The servers that an editor brings to its sessions.
    pub fn editor_servers(&self) -> &[DeclaredServer] {
        &self.editor_servers
    }

    /// The same program for a person on a server: their folders, their store.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn of_person(
        &self,
        dirs: WeirFolders,
        folder: &Path,
        access: PersonAccess,
    ) -> anyhow::Result<InstallationContext> {
        let places = PersonPlaces { access, installation: self.dirs.clone() };
        let person = Some(Arc::new(places));
        let made = Arc::default();
        Ok(InstallationContext {
            dirs,
            store: OnceLock::new(),
            person,
            made,
            ..self.reloaded_in_folder(folder)?
        })
    }

    /// The same program for somebody whose name journals and audit lines have.
    pub fn serving_person(self, name: &str) -> InstallationContext {
        InstallationContext { serves: Some(name.into()), ..self }
    }

    /// Who is served, by name; `None`: whoever started this program.
    pub fn served_person(&self) -> Option<&str> {
        self.serves.as_deref()
    }

    /// What was set in the browser, as it is known now.
    pub fn browser_settings(&self) -> BrowserSettings {
        self.made.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this was set in the browser. What was made of settings before stays as it is;
    /// [`InstallationContext::reloaded_in_folder`] sees it. Returns whether it is another than before.
    pub fn set_made(&self, made: BrowserSettings) -> bool {
        let mut kept = self.made.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = *kept != made;
        *kept = made;
        is_new
    }

    /// Whether this is for a person on a server who is no admin: bound to their folder (S9).
    pub fn is_guest(&self) -> bool {
        self.person.as_ref().is_some_and(|person| person.access.is_guest)
    }

    /// Where it is counted what everybody on the server spends; `None`: there is no server.
    pub fn server_book(&self) -> Option<Arc<dyn ServerBook>> {
        self.book.clone()
    }

    /// The same program, whose spending is counted with that of everybody on a server.
    pub fn with_server_book(self, book: Arc<dyn ServerBook>) -> InstallationContext {
        InstallationContext { book: Some(book), ..self }
    }

    /// The folders whose `config.toml` and keys count here.
    pub fn installation_folders(&self) -> &WeirFolders {
        self.person.as_ref().map_or(&self.dirs, |person| &person.installation)
    }

    /// The store in which sessions are kept, whatever kind it is.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn session_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        match &self.person {
            Some(person) => Ok(person.access.store.clone()),
            None => Ok(self.local_store()?),
        }
    }

    /// Whether a person trusted the workspace as it is (C5), and why not. Looked up once.
    pub fn workspace_trust(&self) -> &WorkspaceTrust {
        self.trust.get_or_init(|| match self.project == self.folder {
            true => trust::judge_workspace(&self.dirs.state, &self.folder),
            false => trust::judge_copy(&self.dirs.state, &self.project, &self.folder),
        })
    }

    /// Whether the workspace's own files may widen what the person allowed.
    pub fn is_trusted(&self) -> bool {
        // Nobody can trust a workspace on behalf of the installation.
        !self.is_guest() && self.workspace_trust().is_trusted()
    }

    /// Where the files of settings and rules lie.
    pub fn config_files(&self) -> ConfigFiles {
        let files =
            ConfigFiles::for_workspace(self.installation_folders(), &self.dirs, &self.project);
        ConfigFiles { draft: self.draft.clone(), ..files }
    }

    /// The settings. Read once; the person is told then what was left out: in one line what
    /// the workspace would have set, were it trusted.
    ///
    /// # Errors
    /// A usage error that names file and line.
    pub fn config(&self) -> anyhow::Result<&WorkspaceConfig> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let (files, made) = (self.config_files(), self.browser_settings());
        let inputs = ConfigInputs::read(&files, &self.environment, self.is_trusted(), &made)?;
        let config = self.settings_cache.load_config(&inputs, self.is_guest())?;
        for warning in &config.warnings {
            self.notify_once(&format!("warning: {warning}"));
        }
        if !self.is_trusted() {
            let found = trust::find_governed_files(&self.folder);
            let offers =
                found.and_then(|found| trust::collect_trust_offers(&config.withheld, &found));
            if let Some(notice) = trust::untrusted_notice(self.workspace_trust(), &offers) {
                self.notify_once(&notice);
            }
        }
        Ok(self.config.get_or_init(|| config))
    }

    /// The settings as far as they can be read, for what only shows something: nothing is begun with them.
    pub fn readable_config(&self) -> ReadableConfig {
        let error = match self.config() {
            Ok(config) => return ReadableConfig { config: config.clone(), problems: Vec::new() },
            Err(error) => error,
        };
        let mut readable = WorkspaceConfig::load_readable(
            &self.config_files(),
            &self.environment,
            self.is_trusted(),
            &self.browser_settings(),
        );
        if self.is_guest() {
            crate::config::restrict_guest_config(&mut readable.config);
        }
        // Whoever looks must know that it is not all.
        if readable.problems.is_empty() {
            readable.problems.push(error.to_string());
        }
        readable
    }

    /// The same program for what only shows something, with the settings that can be read.
    ///
    /// # Errors
    /// The folder does not exist any more.
    pub fn for_looking(&self) -> anyhow::Result<LookingContext> {
        let ReadableConfig { config, problems } = self.readable_config();
        let cx = InstallationContext {
            config: OnceLock::from(Arc::new(config)),
            draft: self.draft.clone(),
            ..self.in_folder(&self.folder)?
        };
        Ok(LookingContext { cx, problems })
    }

    /// Keeps an allow rule that a person gave for always: in their own rules for this project. A file
    /// of that name in another project, or a command that means something else there, was not asked
    /// about.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_allow_rule(&self, rule: &Rule) -> anyhow::Result<()> {
        let files = self.config_files();
        crate::config::allow_here(&files.file_at(&files.here), &self.project, rule.text())
    }

    /// Keeps rules that a person allowed for always in this project, and says so. That the file cannot
    /// be written ends nothing: the answer holds for the session.
    pub fn keep_allow_rules_and_notify(&self, rules: &[Rule]) {
        let place = self.config_files().here.display().to_string();
        for rule in rules {
            let text = visible_text(rule.text());
            match self.keep_allow_rule(rule) {
                Ok(()) => self.notify(&format!(
                    "{text} applies in this project from now on; it is saved in {place} (`weir \
                     permissions add` saves a rule for all projects)"
                )),
                Err(error) => self.notify(&format!(
                    "warning: {text} could not be saved in {place} and applies to this session only: \
                     {error:#}"
                )),
            }
        }
    }

    /// Keys of providers that are kept, in the file and in the keyring.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn provider_keys(&self) -> anyhow::Result<&ProviderKeys> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let keys = ProviderKeys::read(self.installation_folders(), &self.environment)?;
        if let Some(why) = keys.keyring_problem() {
            let warning = format!(
                "keys in the system keyring cannot be used: {why} (`weir auth list` shows which; a \
                 provider's variable works without it)"
            );
            self.notify_once(&format!("warning: {warning}"));
        }
        let unread = keys.unread_outdated_in_keyring().into_iter().collect::<Vec<_>>().join(", ");
        if !unread.is_empty() {
            self.notify_once(&format!(
                "warning: older keys in the system keyring cannot be read ({unread}): they count no \
                 more, and texts are not cleaned of them; unlock it and run `weir auth remove NAME`"
            ));
        }
        Ok(self.keys.get_or_init(|| keys))
    }

    /// The kept keys, to keep or forget one where the settings say.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn keys_to_change(&self) -> anyhow::Result<ProviderKeys> {
        Ok(self.provider_keys()?.clone().with_store(self.config()?.settings.keys.store))
    }

    /// The store of the state folder.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn local_store(&self) -> anyhow::Result<Arc<SqliteStore>> {
        if let Some(store) = self.store.get() {
            return Ok(store.clone());
        }
        // A server opens its people's stores itself (`installation`).
        let options = SqliteOptions { one_session: true, ..SqliteOptions::default() };
        let store = Arc::new(SqliteStore::open_with(&self.dirs.state, &options)?);
        Ok(self.store.get_or_init(|| store).clone())
    }

    /// Has the store leave its write-ahead log when it is closed, if it is short
    /// ([`SqliteStore::keep_write_ahead_log`]): for what runs sessions. Other commands tidy up as they end.
    pub fn keep_write_ahead_log(&self) {
        if let Some(store) = self.store.get() {
            store.keep_write_ahead_log();
        }
    }

    /// The guarded folder that is worked in.
    ///
    /// # Errors
    /// A usage error that says why it cannot be used.
    pub fn open_workspace(&self) -> anyhow::Result<Arc<Workspace>> {
        let options = WorkspaceOptions {
            root: self.folder.clone(),
            extra_roots: self.added.clone(),
            own_folders: self.dirs.protected_folders(),
        };
        let workspace = Workspace::open(options).map_err(usage)?;
        let workspace = workspace.with_trash(self.dirs.state.join("trash"));
        let workspace = workspace.with_derived(&self.dirs.state.join("derived"));
        let workspace = if self.is_guest() { workspace.into_bounded() } else { workspace };
        let workspace = match &self.editor_files {
            Some(files) => workspace.with_editor(files.clone()),
            None => workspace,
        };
        Ok(Arc::new(match &self.dirs.home {
            Some(home) => workspace.with_home(home.clone()),
            None => workspace,
        }))
    }
}

/// Warnings of which is remembered that they were said.
const SAID_MAX: usize = 1_000;

/// Whether a warning is said for the first time: a server reads the settings anew for every page.
fn is_new(warning: &str) -> bool {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() >= SAID_MAX {
        said.clear();
    }
    said.insert(warning.to_owned())
}

/// The project whose copy `folder` is, where a session of its own works in it; else `folder` itself.
fn project_of_folder(folder: &Path) -> PathBuf {
    crate::session_copies::project_of_copy(folder).unwrap_or_else(|| folder.to_path_buf())
}

fn existing_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    let wrong = |why: &str| {
        let folder = folder.display();
        usage(format!(
            "the workspace {folder} cannot be used: {why}; name an existing folder with -C"
        ))
    };
    let real = std::fs::canonicalize(folder).map_err(|error| {
        match crate::session_copies::project_of_removed_copy(folder) {
            Some(project) => usage(format!(
                "the worktree {} was removed; `weir run --fork ID` and `weir --fork ID` go on with a \
                 copy of its session, in its project {}",
                folder.display(),
                project.display()
            )),
            None => wrong(&error.to_string()),
        }
    })?;
    if !real.is_dir() {
        return Err(wrong("it is not a folder"));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::is_new;

    #[test]
    fn c8_a_warning_is_said_once_in_a_process() {
        assert_eq!(["one", "two", "one"].map(is_new), [true, true, false]);
    }
}
