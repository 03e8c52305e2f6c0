//! What the program was started with: variables, and the folders that follow from them (C5).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::failure::usage;

/// The variables at the start. Read once; nothing else here asks the system.
#[derive(Debug, Clone, Default)]
pub struct ProcessEnvironment {
    /// Shared: each context of each session has them.
    variables: Arc<BTreeMap<String, OsString>>,
}

impl ProcessEnvironment {
    /// Those of this process.
    pub fn of_process() -> ProcessEnvironment {
        let named =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        ProcessEnvironment { variables: Arc::new(named.collect()) }
    }

    /// These and no others.
    pub fn of(variables: &[(&str, &str)]) -> ProcessEnvironment {
        let named = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        ProcessEnvironment { variables: Arc::new(named.collect()) }
    }

    /// The text of a variable that is set and not empty.
    pub fn text_variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name)?.to_str().filter(|text| !text.trim().is_empty())
    }

    /// A folder in a variable; relative ones do not count (XDG base directories).
    fn folder_variable(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.variables.get(name)?);
        path.is_absolute().then_some(path)
    }

    /// Every variable with its value.
    pub fn all_variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (OsString::from(name), value.clone()))
    }
}

/// Weir's own folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeirFolders {
    /// `config.toml`, `SOUL.md`, `profiles/`, `keys.toml`.
    pub config: PathBuf,
    /// `weir.db`, `audit/`, checkpoints, trash.
    pub state: PathBuf,
    /// The person's home, where one is known.
    pub home: Option<PathBuf>,
    /// Folders that are hidden from tools beside these: on a server, other people's.
    pub hidden: Vec<PathBuf>,
}

impl WeirFolders {
    /// Where they are; `state` is the flag.
    pub fn find(
        environment: &ProcessEnvironment,
        state: Option<&Path>,
    ) -> anyhow::Result<WeirFolders> {
        let home = environment.folder_variable("HOME").or_else(std::env::home_dir);
        let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let config =
            environment.folder_variable("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        let config = config.ok_or_else(|| {
            usage("no home folder is known; set HOME or XDG_CONFIG_HOME to a folder")
        })?;
        // An empty variable says nothing.
        let state = match state.filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => std::path::absolute(folder)
                .map_err(|error| usage(format!("{}: {error}", folder.display())))?,
            None => environment
                .folder_variable("XDG_STATE_HOME")
                .or_else(|| below_home(".local/state"))
                .map(|folder| folder.join("weir"))
                .ok_or_else(|| usage("no home folder is known; set HOME or use --state-dir"))?,
        };
        Ok(WeirFolders { config: config.join("weir"), state, home, hidden: Vec::new() })
    }

    /// Folders that tools never see and never write (G6).
    pub fn protected_folders(&self) -> Vec<PathBuf> {
        let mut own = vec![self.state.clone(), self.config.clone()];
        own.extend(self.hidden.iter().cloned());
        own
    }
}
