//! The MCP servers that are declared for a workspace (C8): those of the settings, where a person
//! trusted it those of its `.mcp.json`, and those that an editor brings. Nothing is started here.

use weir_core::sorting::{sort_stably, sort_stably_by_key};

use crate::config::{SettingOrigin, WorkspaceConfig};
use crate::context::InstallationContext;
pub use crate::declared_server::{DeclaredServer, DeclaredServers, ServerOwner};
use crate::failure::usage;

mod browser;
mod declarations;
mod expand;
pub mod packages;
mod spec;
mod tokens;

pub use crate::mcp_json::{FILE, parse_mcp_json};
pub use browser::SignInBrowser;
pub use expand::{TemplatePart, split_template};
pub use spec::secret_values;
pub use tokens::TokenFiles;

impl InstallationContext {
    /// The MCP servers that are declared here. Read once.
    ///
    /// # Errors
    /// A usage error that names file and line.
    pub fn declared_servers(&self) -> anyhow::Result<&DeclaredServers> {
        if let Some(servers) = self.servers.get() {
            return Ok(servers);
        }
        let servers = load_declared_servers(self)?;
        Ok(self.servers.get_or_init(|| servers))
    }
}

/// Every declared server, by name, and what a person should know of the rest. The settings win over
/// `.mcp.json`, and both over an editor: none takes the name of a server of the person's.
///
/// # Errors
/// A file that cannot be understood: file, line, what is wrong.
pub fn load_declared_servers(cx: &InstallationContext) -> anyhow::Result<DeclaredServers> {
    let config = cx.config()?;
    let mut servers: Vec<DeclaredServer> = of_settings(config).collect();
    let mut notes = Vec::new();
    if cx.is_trusted()
        && let Some(text) = crate::mcp_json::read_mcp_json(&cx.folder).map_err(usage)?
    {
        let written = parse_mcp_json(&text).map_err(|why| usage(format!("{FILE}:{why}")))?;
        let environment = expand::fillable_variables(&cx.environment);
        for written in written {
            let place = format!("{FILE}:{}", written.line);
            if let Some(own) = servers.iter().find(|server| server.name == written.name) {
                let (name, own) = (&written.name, &own.place);
                notes.push(format!("{place}: {name} is left out: {own} declares it too"));
                continue;
            }
            let (settings, problem) =
                match expand::fill_server_variables(&written.settings, &environment) {
                    Ok(settings) => (settings, None),
                    Err(why) => (written.settings, Some(why)),
                };
            let (name, whose) = (written.name, ServerOwner::McpJson);
            servers.push(DeclaredServer { name, place, whose, settings, problem });
        }
    }
    for brought in cx.editor_servers() {
        match servers.iter().find(|server| server.name == brought.name) {
            Some(own) => {
                let (name, place) = (&brought.name, &brought.place);
                notes.push(format!("{place}: {name} is left out: {} declares it too", own.place));
            }
            None => servers.push(brought.clone()),
        }
    }
    sort_stably(&mut servers, |a, b| a.name.cmp(&b.name));
    Ok((servers, notes))
}

fn of_settings(config: &WorkspaceConfig) -> impl Iterator<Item = DeclaredServer> + '_ {
    config.settings.mcp_servers.iter().map(|(name, settings)| {
        let origin = server_origin(config, name);
        DeclaredServer {
            name: name.clone(),
            place: origin.to_string(),
            whose: if matches!(origin, SettingOrigin::Project(..)) {
                ServerOwner::Project
            } else {
                ServerOwner::User
            },
            settings: settings.clone(),
            problem: None,
        }
    })
}

/// Where a server of the settings stands: a workspace's file, if it says anything of it.
fn server_origin(config: &WorkspaceConfig, name: &str) -> SettingOrigin {
    let below = format!("mcp_servers.{name}.");
    let mut found: Vec<&SettingOrigin> =
        config.set_keys().filter(|(key, _)| key.starts_with(&below)).map(|(_, o)| o).collect();
    sort_stably_by_key(&mut found, |origin| {
        (!matches!(origin, SettingOrigin::Project(..)), origin.line())
    });
    found.first().map_or(SettingOrigin::BuiltIn, |origin| (*origin).clone())
}
