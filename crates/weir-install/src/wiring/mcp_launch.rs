//! Starts the programs of MCP servers (Z8): in the sandbox of commands, with an environment that is
//! declared and nothing else, without the person's home. Not here: what is spoken with them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use weir_core::tool::{CommandEffect, Effects, Tier};
use weir_engine::blocking::run_blocking;
use weir_engine::ports::{CommandConfinement, Processes as _};
use weir_engine::workspace::Workspace;
use weir_mcp::{LaunchedProcess, ServerLauncher, ServerProcess, ServerSpec, ServerTransport};
use weir_sandbox::{ServiceProcess, ServiceSpec, SupervisedProcesses};

use crate::context::InstallationContext;

/// Variables that every server gets, where they are set.
const PASSED: [&str; 5] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
/// Used where the program itself has no search path.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A folder that holds programs together with what they need, by one entry of it.
const INSTALLED: [&str; 3] = ["node_modules", "pyvenv.cfg", "package.json"];

/// The way to start servers for this workspace.
///
/// # Errors
/// Processes cannot be supervised here, or the workspace cannot be used.
pub(crate) fn build_launcher(cx: &InstallationContext) -> anyhow::Result<Arc<dyn ServerLauncher>> {
    let passed = |name: &str| {
        Some((OsString::from(name), OsString::from(cx.environment.text_variable(name)?)))
    };
    let mut environment: Vec<(OsString, OsString)> =
        PASSED.into_iter().filter_map(passed).collect();
    if cx.environment.text_variable("PATH").is_none() {
        environment.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    environment.push(("TERM".into(), "dumb".into()));
    Ok(Arc::new(SandboxLauncher {
        processes: super::supervised_processes(cx)?,
        places: Arc::new(MachinePaths {
            workspace: cx.open_workspace()?,
            home: cx.dirs.home.clone(),
        }),
        environment,
    }))
}

struct SandboxLauncher {
    processes: SupervisedProcesses,
    places: Arc<MachinePaths>,
    environment: Vec<(OsString, OsString)>,
}

/// What there is on this machine to be seen or hidden.
struct MachinePaths {
    workspace: Arc<Workspace>,
    home: Option<PathBuf>,
}

#[async_trait]
impl ServerLauncher for SandboxLauncher {
    async fn launch(&self, spec: &ServerSpec) -> Result<LaunchedProcess, String> {
        let ServerTransport::Stdio { command, args, env, cwd } = &spec.transport else {
            return Err("it is no program".into());
        };
        let cwd = cwd.clone().unwrap_or_else(|| self.places.workspace.root().to_path_buf());
        let program = self.find_program(command, &cwd)?;
        let (places, tier) = (self.places.clone(), self.processes.tier());
        let (wanted, at, folder) = (spec.clone(), program.clone(), cwd.clone());
        // The whole workspace is looked at for what is hidden.
        let looked = run_blocking(move || places.confinement_for(&wanted, tier, &at, &folder));
        let confine = looked.await.map_err(|error| error.to_string())??;
        let mut environment = self.environment.clone();
        if confine.tier == Tier::None {
            // Whoever runs with the person's own rights has the person's home.
            environment.extend(self.places.home.as_ref().map(|home| ("HOME".into(), home.into())));
        }
        if !confine.hosts.is_empty() {
            environment.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
        }
        for (name, value) in env {
            environment.retain(|(known, _)| known.to_str() != Some(name));
            environment.push((name.into(), value.reveal().into()));
        }
        let program = program.into_os_string().into_string();
        let program = program.map_err(|_| "its path is not UTF-8".to_owned())?;
        let words = std::iter::once(program).chain(args.iter().cloned()).collect();
        let service = ServiceSpec { words, environment, cwd, confine };
        let mut service = self.processes.open_service(service).await?;
        let (Some(input), Some(output)) = (service.input.take(), service.output.take()) else {
            return Err("its standard streams are not there".into());
        };
        Ok(LaunchedProcess {
            input: Box::new(input),
            output: Box::new(output),
            child: Box::new(SandboxedServer(service)),
        })
    }
}

impl SandboxLauncher {
    /// The program, as a path.
    fn find_program(&self, command: &str, cwd: &Path) -> Result<PathBuf, String> {
        let is_file = |path: &PathBuf| path.is_file();
        if command.contains('/') {
            let path = cwd.join(command);
            return Some(path).filter(is_file).ok_or(format!("there is no program {command}"));
        }
        let missing = || {
            let how = crate::servers::packages::how_to_get(command);
            format!("there is no program {command} on the search path{how}")
        };
        let path = self.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
        let folders = path.into_iter().flat_map(|path| std::env::split_paths(path));
        let mut found = folders.map(|folder| folder.join(command)).filter(is_file);
        found.next().ok_or_else(missing)
    }
}

impl MachinePaths {
    fn confinement_for(
        &self,
        spec: &ServerSpec,
        tier: Tier,
        program: &Path,
        cwd: &Path,
    ) -> Result<CommandConfinement, String> {
        if spec.reach.unconfined {
            return Ok(CommandConfinement::default());
        }
        if tier == Tier::None {
            return Err(format!(
                "no sandbox works here, and the server {} is not allowed to run without one \
                 (`unconfined = true`; `weir doctor` says what is missing)",
                spec.name
            ));
        }
        let command = CommandEffect {
            tier,
            outside_sandbox: false,
            read_only: !spec.reach.writes_workspace,
            hosts: spec.reach.hosts.clone(),
            ..CommandEffect::default()
        };
        // What of the workspace is hidden from commands is hidden from servers.
        let confined = self.workspace.confine_command(&command, &Effects::default(), true);
        let mut confine = confined.map_err(|error| error.to_string())?;
        confine.writable.extend(spec.reach.writes.iter().cloned());
        let mut readable: BTreeSet<PathBuf> = spec.reach.reads.iter().cloned().collect();
        readable.insert(self.workspace.root().to_path_buf());
        readable.extend(self.workspace.added_folders().map(PathBuf::from));
        readable.insert(cwd.to_path_buf());
        readable.extend(spec.package.as_ref().map(|package| package.folder.clone()));
        if let Some(home) = self.home.as_ref().and_then(|home| home.canonicalize().ok())
            && home.parent().is_some()
        {
            readable.extend(installed_below_home(&home, program, spec));
            readable.retain(|path| *path != home && path.parent().is_some());
            let opened = |path: &PathBuf| {
                readable.iter().chain(&confine.writable).any(|open| path.starts_with(open))
            };
            confine.masked.retain(|path| !path.starts_with(&home) || opened(path));
            if !cwd.starts_with(&home) || readable.iter().any(|open| cwd.starts_with(open)) {
                confine.masked.push(home);
            }
        }
        confine.readable = readable.into_iter().collect();
        Ok(confine)
    }
}

/// What of the home the program and its arguments are made of: the folder in which it was installed,
/// and no other.
fn installed_below_home(home: &Path, program: &Path, spec: &ServerSpec) -> Vec<PathBuf> {
    let args = match &spec.transport {
        ServerTransport::Stdio { args, .. } => args.as_slice(),
        ServerTransport::Http { .. } => &[],
    };
    let named = args.iter().map(PathBuf::from).filter(|path| path.is_absolute() && path.exists());
    let links = |path: PathBuf| [path.canonicalize().ok(), Some(path)].into_iter().flatten();
    let mut found = Vec::new();
    for path in std::iter::once(program.to_path_buf()).chain(named).flat_map(links) {
        if path.starts_with(home) {
            found.push(installation_folder(home, &path));
        }
    }
    found
}

/// The folder around a path that was installed as one: that of its packages, or of a tool that has
/// its programs in `bin`. Never the home, nor a folder that programs share with the person's data.
fn installation_folder(home: &Path, path: &Path) -> PathBuf {
    let shared = |folder: &Path| folder == home || folder == home.join(".local");
    let inside = path.ancestors().skip(1).take_while(|folder| folder.starts_with(home));
    let packages = inside
        .clone()
        .filter(|folder| !shared(folder))
        .filter(|folder| INSTALLED.iter().any(|entry| folder.join(entry).exists()));
    if let Some(folder) = packages.last() {
        return folder.to_path_buf();
    }
    let bin = inside.clone().find(|folder| folder.file_name().is_some_and(|name| name == "bin"));
    match bin.and_then(Path::parent) {
        Some(folder) if !shared(folder) => folder.to_path_buf(),
        _ => path.to_path_buf(),
    }
}

struct SandboxedServer(ServiceProcess);

#[async_trait]
impl ServerProcess for SandboxedServer {
    async fn stderr_tail(&self) -> String {
        self.0.error_output().await
    }
    async fn end_process(self: Box<Self>) {
        self.0.end_service().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z8_of_the_home_a_server_sees_where_it_was_installed() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("it exists");
        for made in [
            "cache/a/node_modules/@x/server/dist",
            ".nvm/versions/node/v20/bin",
            ".local/bin",
            "venv/bin",
            "Documents",
        ] {
            std::fs::create_dir_all(home.join(made)).expect("a folder");
        }
        std::fs::write(home.join("venv/pyvenv.cfg"), "").expect("a file");
        std::fs::write(home.join("cache/a/node_modules/@x/server/package.json"), "")
            .expect("a file");
        for (path, expected) in [
            ("cache/a/node_modules/@x/server/dist/index.js", "cache/a"),
            (".nvm/versions/node/v20/bin/node", ".nvm/versions/node/v20"),
            (".local/bin/uvx", ".local/bin/uvx"),
            ("venv/bin/python", "venv"),
            ("Documents", "Documents"),
            ("server.py", "server.py"),
        ] {
            assert_eq!(installation_folder(&home, &home.join(path)), home.join(expected), "{path}");
        }
    }
}
