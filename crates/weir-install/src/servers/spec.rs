//! A declared server as the client needs it: folders in full, secrets in their place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use weir_core::secret::Secret;
use weir_mcp::{
    FromPackage, OAuthSettings, ServerReach, ServerSpec, ServerTimeouts, ServerTransport,
    ShippedDeclaration, ToolDeclarations,
};

use super::declarations::{self, ServerOrigin};
use super::{DeclaredServer, ServerOwner, packages};
use crate::context::InstallationContext;
use crate::secrets;

fn hash_of_folder(cx: &InstallationContext) -> String {
    let folder = cx.folder.display().to_string();
    let hash = Sha256::digest(folder.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl DeclaredServer {
    /// Under which name it is kept what a person approved of it, and how they signed in. A
    /// workspace's server, or an editor's, is another one in another workspace, whatever it is called.
    pub fn storage_key(&self, cx: &InstallationContext) -> String {
        match self.whose {
            ServerOwner::User => self.name.clone(),
            ServerOwner::Project | ServerOwner::McpJson => {
                format!("{}@{}", self.name, hash_of_folder(cx))
            }
            ServerOwner::Editor => DeclaredServer::editor_storage_key(cx, &self.name),
        }
    }

    /// The same for a server of this name that an editor brings to sessions in this folder.
    pub fn editor_storage_key(cx: &InstallationContext, name: &str) -> String {
        format!("{name}@editor-{}", hash_of_folder(cx))
    }

    /// What the client is given.
    ///
    /// # Errors
    /// A secret or variable that is not there, and what to do.
    pub fn server_spec(&self, cx: &InstallationContext) -> Result<ServerSpec, String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let declared = secrets::load_declared_secrets(cx).map_err(|error| error.to_string())?;
        let secret = |name: &str| {
            let found = declared.iter().find(|one| one.web.name == name);
            let found = found.ok_or_else(|| format!("there is no [secrets.{name}]"))?;
            let value = found.web.value.clone();
            value.map(|v| (v, found)).map_err(|why| format!("[secrets.{name}]: {why}"))
        };
        let of = &self.settings;
        let mut oauth = OAuthSettings {
            client_id: non_empty_text(&of.oauth.client_id),
            client_metadata_url: non_empty_text(&of.oauth.client_metadata_url),
            scopes: of.oauth.scopes.clone(),
            callback_port: Some(of.oauth.callback_port).filter(|port| *port != 0),
            client_secret: None,
        };
        if let Some(name) = non_empty_text(&of.oauth.client_secret) {
            oauth.client_secret = Some(secret(&name)?.0);
        }
        let plain = |table: &BTreeMap<String, String>| -> BTreeMap<String, Secret> {
            table.iter().map(|(name, value)| (name.clone(), Secret::new(value.as_str()))).collect()
        };
        let transport = if of.url.is_empty() {
            let mut env = plain(&of.env);
            for (variable, name) in &of.secrets {
                env.insert(variable.clone(), secret(name)?.0);
            }
            let (command, args) = self.start_command(cx)?;
            let cwd =
                non_empty_text(&of.cwd).map(|cwd| self.absolute_folder(cx, &cwd)).transpose()?;
            ServerTransport::Stdio { command, args, env, cwd }
        } else {
            let mut headers = plain(&of.headers);
            for (header, name) in &of.secrets {
                let (value, found) = secret(name)?;
                let value = found.web.format.replacen("{}", value.reveal(), 1);
                headers.insert(header.clone(), Secret::new(value));
            }
            ServerTransport::Http { url: of.url.clone(), headers }
        };
        let mut spec = ServerSpec::new(&self.name, &self.place, transport);
        spec.reach = self.sandbox_reach(cx)?;
        spec.package = self.pinned_package(cx);
        spec.timeouts = ServerTimeouts {
            start_ms: of.start_timeout.map_or(ServerTimeouts::default().start_ms, |span| span.ms),
            call_ms: of.timeout.map(|span| span.ms),
        };
        spec.declared = ToolDeclarations {
            trust_annotations: of.trust_annotations,
            trust_labels: of.trust_labels,
            reads: of.read_tools.clone(),
            sends: of.send_tools.clone(),
            tools: of.tools.clone(),
            shipped: self.shipped_declarations(cx),
        };
        spec.sampling = of.sampling;
        spec.protocol = non_empty_text(&of.protocol);
        spec.enabled = of.enabled;
        spec.oauth = oauth;
        Ok(spec)
    }

    /// What Weir knows of the tools of this package or host.
    fn shipped_declarations(
        &self,
        cx: &InstallationContext,
    ) -> BTreeMap<String, ShippedDeclaration> {
        let package = self.started_package(cx);
        let origin = ServerOrigin::of_server(&self.settings.url, package.as_ref());
        let Some(server) = origin.and_then(|origin| declarations::find_server(&origin)) else {
            return BTreeMap::new();
        };
        let looked_at = server.shipped_version().to_string();
        let known = server.shipped_tools().map(|(name, hash, declared)| {
            let (hash, declaration, looked_at) =
                (hash.to_owned(), declared.clone(), looked_at.clone());
            (name.to_owned(), ShippedDeclaration { hash, looked_at, declaration })
        });
        known.collect()
    }

    /// The program and its arguments: of an installed package, or as they stand.
    fn start_command(&self, cx: &InstallationContext) -> Result<(String, Vec<String>), String> {
        let Some(package) = self.started_package(cx) else {
            return Ok((self.settings.command.clone(), self.settings.args.clone()));
        };
        let installed = self.installed_package(cx, &package);
        let installed = installed.ok_or_else(|| packages::not_installed(self, &package))?;
        let (_, words) = self.package_command_line(cx, &package, &installed);
        let mut words = words.into_iter();
        Ok((words.next().unwrap_or_default(), words.collect()))
    }

    fn pinned_package(&self, cx: &InstallationContext) -> Option<FromPackage> {
        let package = self.started_package(cx)?;
        let installed = self.installed_package(cx, &package)?;
        let (folder, _) = self.package_command_line(cx, &package, &installed);
        Some(FromPackage { pinned: installed.pinned_text(), folder })
    }

    fn sandbox_reach(&self, cx: &InstallationContext) -> Result<ServerReach, String> {
        let of = &self.settings;
        let is_workspace = |folder: &&String| matches!(folder.as_str(), "." | "./");
        let folders = |folders: &[String]| {
            let folders = folders.iter().filter(|folder| !is_workspace(folder));
            folders
                .map(|folder| self.absolute_folder(cx, folder))
                .collect::<Result<Vec<_>, String>>()
        };
        Ok(ServerReach {
            hosts: of.hosts.clone(),
            reads: folders(&of.reads)?,
            writes: folders(&of.writes)?,
            writes_workspace: of.writes.iter().any(|folder| is_workspace(&folder)),
            unconfined: of.unconfined,
        })
    }

    /// A folder of the settings in full.
    fn absolute_folder(&self, cx: &InstallationContext, text: &str) -> Result<PathBuf, String> {
        if let Some(rest) = text.strip_prefix("~/") {
            let home = cx.dirs.home.as_ref();
            let home = home.ok_or_else(|| format!("{text}: no home folder is known"))?;
            return Ok(home.join(rest));
        }
        let rest = text.strip_prefix("./").unwrap_or(text);
        Ok(if rest == "." { cx.folder.clone() } else { cx.folder.join(rest) })
    }
}

fn non_empty_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Values that must never reach a model, a log or a screen: what variables and headers of servers
/// hold under names that look secret.
pub fn secret_values(servers: &[DeclaredServer]) -> Vec<String> {
    /// Shorter ones would tear up texts.
    const LENGTH_MIN: usize = 8;
    let tables = servers.iter().flat_map(|s| s.settings.env.iter().chain(&s.settings.headers));
    let secret = tables.filter(|(name, _)| crate::keys::looks_secret(name));
    secret.map(|(_, value)| value.clone()).filter(|value| value.len() >= LENGTH_MIN).collect()
}
