//! What every command is given: folders, settings, store. Opened when first asked for, so that a
//! command pays only for what it uses.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use weir_engine::workspace::{Workspace, WorkspaceOptions};
use weir_store::SqliteStore;

use crate::config::{Config, Files};
use crate::environment::{Dirs, Environment};
use crate::failure::usage;
use crate::keys::Keys;
use crate::options::GlobalOptions;
use crate::profiles::{self, LoadedProfile};
use crate::servers::{self, Servers};
use crate::terminal;
use crate::trust::{self, Trust};

/// The surroundings of a command.
pub(crate) struct Cx {
    /// Variables at the start.
    pub(crate) environment: Environment,
    /// Weir's own folders.
    pub(crate) dirs: Dirs,
    /// The folder that is worked in: absolute, existing, without links.
    pub(crate) folder: PathBuf,
    trust: OnceLock<Trust>,
    config: OnceLock<Config>,
    keys: OnceLock<Keys>,
    store: OnceLock<Arc<SqliteStore>>,
    profiles: OnceLock<Vec<LoadedProfile>>,
    servers: OnceLock<Servers>,
}

impl Cx {
    /// The surroundings that flags and environment describe.
    ///
    /// # Errors
    /// The workspace does not exist, or no home folder is known.
    pub(crate) fn new(global: &GlobalOptions, environment: Environment) -> anyhow::Result<Cx> {
        let dirs = Dirs::find(&environment, global.state_dir.as_deref())?;
        let folder = existing(global.workspace.as_deref().unwrap_or(Path::new(".")))?;
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
        })
    }

    /// The same program in another folder: the workspace of a session that is taken up again.
    ///
    /// # Errors
    /// The folder does not exist.
    pub(crate) fn at(&self, folder: &Path) -> anyhow::Result<Cx> {
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
        })
    }

    /// The same program in a folder, with everything but the store looked at anew: files that a
    /// person changed while it runs count.
    ///
    /// # Errors
    /// The folder does not exist.
    pub(crate) fn anew(&self, folder: &Path) -> anyhow::Result<Cx> {
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
        })
    }

    /// Whether a person trusted the workspace as it is (C5), and why not. Looked up once.
    pub(crate) fn trust(&self) -> &Trust {
        self.trust.get_or_init(|| trust::judge(&self.dirs.state, &self.folder))
    }

    /// Whether the workspace's own files may widen what the person allowed.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trust().is_trusted()
    }

    /// Where the two files of settings lie.
    pub(crate) fn files(&self) -> Files {
        Files::of(&self.dirs, &self.folder)
    }

    /// The settings. Read once; what was left out is said on standard error then: in one line what
    /// the workspace would have set, were it trusted.
    ///
    /// # Errors
    /// A usage error that names file and line.
    pub(crate) fn config(&self) -> anyhow::Result<&Config> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = Config::load(&self.files(), &self.environment, self.is_trusted())?;
        for warning in &config.warnings {
            terminal::err(&format!("warning: {warning}"));
        }
        if !self.is_trusted() {
            let found = trust::find(&self.folder);
            let offers = found.and_then(|found| trust::offers(&config.withheld, &found));
            if let Some(notice) = trust::notice(self.trust(), &offers) {
                terminal::err(&notice);
            }
        }
        Ok(self.config.get_or_init(|| config))
    }

    /// All profiles of this folder. Read once; what was left out is said on standard error then.
    ///
    /// # Errors
    /// A file of the person's own that cannot be understood.
    pub(crate) fn profiles(&self) -> anyhow::Result<&[LoadedProfile]> {
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
    pub(crate) fn servers(&self) -> anyhow::Result<&Servers> {
        if let Some(servers) = self.servers.get() {
            return Ok(servers);
        }
        let servers = servers::declared(self)?;
        Ok(self.servers.get_or_init(|| servers))
    }

    /// Keys of providers that are kept in the file.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub(crate) fn keys(&self) -> anyhow::Result<&Keys> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let keys = Keys::read(&self.dirs)?;
        Ok(self.keys.get_or_init(|| keys))
    }

    /// The store of the state folder.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn store(&self) -> anyhow::Result<Arc<SqliteStore>> {
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
    pub(crate) fn workspace(&self) -> anyhow::Result<Arc<Workspace>> {
        let options = WorkspaceOptions {
            root: self.folder.clone(),
            extra_roots: Vec::new(),
            own_folders: self.dirs.own(),
        };
        let workspace = Workspace::open(options).map_err(usage)?;
        let workspace = workspace.with_trash(self.dirs.state.join("trash"));
        Ok(Arc::new(match &self.dirs.home {
            Some(home) => workspace.with_home(home.clone()),
            None => workspace,
        }))
    }
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
