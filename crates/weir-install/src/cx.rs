//! What every command is given: folders, settings, store. Opened when first asked for, so that a
//! command pays only for what it uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use weir_core::governance::rules::Rule;
use weir_engine::ports::{Observers, Store};
use weir_engine::workspace::{Workspace, WorkspaceOptions};
use weir_providers::transport::Transport;
use weir_store::SqliteStore;

use crate::config::{Config, Files, Made};
use crate::environment::{Dirs, Environment};
use crate::failure::usage;
use crate::keys::Keys;
use crate::models::Windows;
use crate::notifier::Notifier;
use crate::profiles::{self, LoadedProfile};
use crate::servers::{self, Servers};
use crate::trust::{self, Trust};

/// The surroundings of a command.
pub struct Cx {
    /// Variables at the start.
    pub environment: Environment,
    /// Weir's own folders.
    pub dirs: Dirs,
    /// The folder that is worked in: absolute, existing, without links.
    pub folder: PathBuf,
    trust: OnceLock<Trust>,
    config: OnceLock<Config>,
    keys: OnceLock<Keys>,
    store: OnceLock<Arc<SqliteStore>>,
    profiles: OnceLock<Vec<LoadedProfile>>,
    servers: OnceLock<Servers>,
    /// How the person is told what needs no decision.
    pub(crate) notifier: Notifier,
    /// Who measures what this program does.
    pub observers: Arc<Observers>,
    /// Where a person's work on a server is kept, and whose settings and keys theirs stand upon.
    person: Option<Arc<PersonPlaces>>,
    /// What was set in the browser of a server: one for all folders of a person.
    made: Arc<RwLock<Made>>,
    /// Who is served, by name; on a server alone.
    serves: Option<Arc<str>>,
    /// Connections to models: one for the whole program, so that they and the system's certificates
    /// serve every session (V4).
    pub transport: Arc<OnceLock<Arc<Transport>>>,
    /// What local servers said of the windows of their models.
    pub windows: Arc<Windows>,
}

/// Folders that the person names; what is `None` is found out.
#[derive(Debug, Clone, Default)]
pub struct NamedFolders {
    /// The folder that is worked in; `None`: the current one.
    pub workspace: Option<PathBuf>,
    /// The folder for journal, checkpoints and audit log.
    pub state_dir: Option<PathBuf>,
}

/// What is another's for a person on a server.
pub struct PersonPlaces {
    /// Their store.
    pub store: Arc<dyn Store>,
    /// Folders of the installation: its `config.toml` and keys are everybody's.
    pub installation: Dirs,
    /// They have no role admin: their folder alone is theirs, and of the installation they get what
    /// an admin offers (S9).
    pub is_guest: bool,
}

impl Cx {
    /// The surroundings that named folders and environment describe.
    ///
    /// # Errors
    /// The workspace does not exist, or no home folder is known.
    pub fn new(
        named: &NamedFolders,
        environment: Environment,
        notifier: Notifier,
    ) -> anyhow::Result<Cx> {
        let dirs = Dirs::find(&environment, named.state_dir.as_deref())?;
        let folder = existing(named.workspace.as_deref().unwrap_or(Path::new(".")))?;
        Ok(Cx {
            environment,
            dirs,
            folder,
            trust: OnceLock::new(),
            config: OnceLock::new(),
            keys: OnceLock::new(),
            store: OnceLock::new(),
            profiles: OnceLock::new(),
            servers: OnceLock::new(),
            notifier,
            observers: Arc::default(),
            person: None,
            made: Arc::default(),
            serves: None,
            transport: Arc::default(),
            windows: Arc::default(),
        })
    }

    /// Tells the person something that needs no decision, in one sentence.
    pub fn notify(&self, text: &str) {
        (self.notifier.notify)(text);
    }

    /// The same program in another folder: the workspace of a session that is taken up again.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn at(&self, folder: &Path) -> anyhow::Result<Cx> {
        let folder = existing(folder)?;
        let same = folder == self.folder;
        Ok(Cx {
            environment: self.environment.clone(),
            dirs: self.dirs.clone(),
            folder,
            trust: if same { self.trust.clone() } else { OnceLock::new() },
            config: if same { self.config.clone() } else { OnceLock::new() },
            keys: self.keys.clone(),
            store: self.store.clone(),
            profiles: if same { self.profiles.clone() } else { OnceLock::new() },
            servers: if same { self.servers.clone() } else { OnceLock::new() },
            notifier: self.notifier,
            observers: self.observers.clone(),
            person: self.person.clone(),
            made: self.made.clone(),
            serves: self.serves.clone(),
            transport: self.transport.clone(),
            windows: self.windows.clone(),
        })
    }

    /// The same program in a folder, with everything but the store looked at anew: files that a
    /// person changed while it runs count.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn anew(&self, folder: &Path) -> anyhow::Result<Cx> {
        Ok(Cx {
            environment: self.environment.clone(),
            dirs: self.dirs.clone(),
            folder: existing(folder)?,
            trust: OnceLock::new(),
            config: OnceLock::new(),
            keys: OnceLock::new(),
            store: self.store.clone(),
            profiles: OnceLock::new(),
            servers: OnceLock::new(),
            notifier: self.notifier,
            observers: self.observers.clone(),
            person: self.person.clone(),
            made: self.made.clone(),
            serves: self.serves.clone(),
            transport: self.transport.clone(),
            windows: self.windows.clone(),
        })
    }

    /// The same program for a person on a server: their folders, their store.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn of_person(
        &self,
        dirs: Dirs,
        folder: &Path,
        (store, is_guest): (Arc<dyn Store>, bool),
    ) -> anyhow::Result<Cx> {
        let places = PersonPlaces { store, installation: self.dirs.clone(), is_guest };
        let person = Some(Arc::new(places));
        let made = Arc::default();
        Ok(Cx { dirs, store: OnceLock::new(), person, made, ..self.anew(folder)? })
    }

    /// The same program for somebody whose name journals and audit lines have.
    pub fn serving(self, name: &str) -> Cx {
        Cx { serves: Some(name.into()), ..self }
    }

    /// Who is served, by name; `None`: whoever started this program.
    pub fn serves(&self) -> Option<&str> {
        self.serves.as_deref()
    }

    /// What was set in the browser, as it is known now.
    pub fn made(&self) -> Made {
        self.made.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this was set in the browser. What was made of settings before stays as it is;
    /// [`Cx::anew`] sees it. Returns whether it is another than before.
    pub fn set_made(&self, made: Made) -> bool {
        let mut kept = self.made.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = *kept != made;
        *kept = made;
        is_new
    }

    /// Whether this is for a person on a server who is no admin: bound to their folder (S9).
    pub fn is_guest(&self) -> bool {
        self.person.as_ref().is_some_and(|person| person.is_guest)
    }

    /// The folders whose `config.toml` and keys count here.
    pub fn installation(&self) -> &Dirs {
        self.person.as_ref().map_or(&self.dirs, |person| &person.installation)
    }

    /// The store in which sessions are kept, whatever kind it is.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn journal(&self) -> anyhow::Result<Arc<dyn Store>> {
        match &self.person {
            Some(person) => Ok(person.store.clone()),
            None => Ok(self.store()?),
        }
    }

    /// Whether a person trusted the workspace as it is (C5), and why not. Looked up once.
    pub fn trust(&self) -> &Trust {
        self.trust.get_or_init(|| trust::judge(&self.dirs.state, &self.folder))
    }

    /// Whether the workspace's own files may widen what the person allowed.
    pub fn is_trusted(&self) -> bool {
        // Nobody can trust a workspace on behalf of the installation.
        !self.is_guest() && self.trust().is_trusted()
    }

    /// Where the files of settings and rules lie.
    pub fn files(&self) -> Files {
        Files::of(self.installation(), &self.dirs, &self.folder)
    }

    /// The settings. Read once; the person is told then what was left out: in one line what
    /// the workspace would have set, were it trusted.
    ///
    /// # Errors
    /// A usage error that names file and line.
    pub fn config(&self) -> anyhow::Result<&Config> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let (files, trusted) = (self.files(), self.is_trusted());
        let mut config = Config::load_with(&files, &self.environment, trusted, &self.made())?;
        if self.is_guest() {
            crate::wiring::guest::bound(&mut config);
        }
        for warning in config.warnings.iter().filter(|warning| is_new(warning)) {
            self.notify(&format!("warning: {warning}"));
        }
        if !self.is_trusted() {
            let found = trust::find(&self.folder);
            let offers = found.and_then(|found| trust::offers(&config.withheld, &found));
            if let Some(notice) =
                trust::notice(self.trust(), &offers).filter(|notice| is_new(notice))
            {
                self.notify(&notice);
            }
        }
        Ok(self.config.get_or_init(|| config))
    }

    /// All profiles of this folder. Read once; the person is told then what was left out.
    ///
    /// # Errors
    /// A file of the person's own that cannot be understood.
    pub fn profiles(&self) -> anyhow::Result<&[LoadedProfile]> {
        if let Some(profiles) = self.profiles.get() {
            return Ok(profiles);
        }
        let profiles = profiles::read_all(self)?;
        Ok(self.profiles.get_or_init(|| profiles))
    }

    /// The MCP servers that are declared here. Read once.
    ///
    /// # Errors
    /// A usage error that names file and line.
    pub fn servers(&self) -> anyhow::Result<&Servers> {
        if let Some(servers) = self.servers.get() {
            return Ok(servers);
        }
        let servers = servers::declared(self)?;
        Ok(self.servers.get_or_init(|| servers))
    }

    /// Keeps an allow rule that a person gave for always: in their own rules for this project. A file
    /// of that name in another project, or a command that means something else there, was not asked
    /// about.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_allow_rule(&self, rule: &Rule) -> anyhow::Result<()> {
        crate::config::allow_here(&self.files().here, &self.folder, rule.text())
    }

    /// Keys of providers that are kept in the file.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub fn keys(&self) -> anyhow::Result<&Keys> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let keys = Keys::read(self.installation())?;
        Ok(self.keys.get_or_init(|| keys))
    }

    /// The store of the state folder.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn store(&self) -> anyhow::Result<Arc<SqliteStore>> {
        if let Some(store) = self.store.get() {
            return Ok(store.clone());
        }
        let store = Arc::new(SqliteStore::open(&self.dirs.state)?);
        Ok(self.store.get_or_init(|| store).clone())
    }

    /// The guarded folder that is worked in.
    ///
    /// # Errors
    /// A usage error that says why it cannot be used.
    pub fn workspace(&self) -> anyhow::Result<Arc<Workspace>> {
        let options = WorkspaceOptions {
            root: self.folder.clone(),
            extra_roots: Vec::new(),
            own_folders: self.dirs.own(),
        };
        let workspace = Workspace::open(options).map_err(usage)?;
        let workspace = workspace.with_trash(self.dirs.state.join("trash"));
        let workspace = if self.is_guest() { workspace.bounded() } else { workspace };
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

fn existing(folder: &Path) -> anyhow::Result<PathBuf> {
    let wrong = |why: &str| {
        let folder = folder.display();
        usage(format!(
            "the workspace {folder} cannot be used: {why}; name an existing folder with -C"
        ))
    };
    let real = std::fs::canonicalize(folder).map_err(|error| wrong(&error.to_string()))?;
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
