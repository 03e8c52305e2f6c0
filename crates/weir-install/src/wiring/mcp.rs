//! The foreign servers of a session: what is declared and what of it was approved become a hub, its
//! tools come into the session's toolbox. Nothing is started before it is used; without a declared
//! server nothing is read or made.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weir_core::governance::label::Label;
use weir_core::profile::Profile;
use weir_core::tool::foreign;
use weir_core::view::told::count_text;
use weir_engine::ports::{Clock as _, StoredItem};
use weir_engine::toolbox::Toolbox;
use weir_mcp::{McpHub, McpOptions, Sampler, ServerPin, ServerSpec, ToolDeclarations};

use super::SystemClock;
use super::mcp_ask::SessionModel;
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::servers::packages::ServerPackage;
use crate::servers::{DeclaredServer, ServerOwner, SignInBrowser, TokenFiles};

/// Under which word pins are kept.
pub(crate) const KIND: &str = "mcp";

/// A declared server, ready or not.
pub struct KnownMcpServer {
    /// The server as settings declare it.
    pub declared: DeclaredServer,
    /// What the client is given, or why it cannot be.
    pub spec: Result<ServerSpec, String>,
    /// What a person approved; none: nobody did.
    pub pin: Option<ServerPin>,
    /// The package that it is started from; none: it is started as it stands.
    pub package: Option<ServerPackage>,
    /// That package is not installed.
    pub uninstalled: bool,
}

impl KnownMcpServer {
    /// What the client is given.
    ///
    /// # Errors
    /// A usage error: why it cannot be.
    pub fn usable_spec(&self) -> anyhow::Result<&ServerSpec> {
        let name = &self.declared.name;
        self.spec.as_ref().map_err(|why| usage(format!("{name}: {why}")))
    }

    /// The same of a server that is switched on.
    ///
    /// # Errors
    /// A usage error: it cannot be used, or is off.
    pub fn enabled_spec(&self) -> anyhow::Result<&ServerSpec> {
        let (name, spec) = (&self.declared.name, self.usable_spec()?);
        match spec.enabled {
            true => Ok(spec),
            false => Err(usage(format!("{name} is disabled ({})", self.declared.place))),
        }
    }

    /// That something else is declared of its tools than a person approved, in words that follow how it
    /// stands; none: all is as they saw it.
    pub fn unseen_declarations(&self) -> Option<String> {
        let (pin, declared) = (self.pin.as_ref()?, self.declarations()?);
        let count = pin.of_declared_tools(&declared.declared_tools(&pin.listing)).len();
        (count > 0).then(|| {
            format!(
                "; of {} something else is declared than you approved, and each call of them is asked \
                 about until `weir mcp-servers approve {}`",
                count_text(count, "tool"),
                self.declared.name
            )
        })
    }

    /// What is said of its tools.
    pub fn declarations(&self) -> Option<&ToolDeclarations> {
        self.spec.as_ref().ok().map(|spec| &spec.declared)
    }

    /// The package that is installed for it: version and checksums.
    pub fn pinned_package(&self) -> Option<&str> {
        let spec = self.spec.as_ref().ok()?;
        spec.package.as_ref().map(|package| package.pinned.as_str())
    }
}

/// Every declared server of the workspace with what was approved of it, and notes for a person.
///
/// # Errors
/// A file of declarations that cannot be understood, or a store that cannot be read.
pub async fn load_known_servers(
    cx: &InstallationContext,
) -> anyhow::Result<(Vec<KnownMcpServer>, Vec<String>)> {
    let (declared, mut notes) = cx.declared_servers()?.clone();
    if declared.is_empty() {
        return Ok((Vec::new(), notes));
    }
    let kept = cx.session_store()?.stored_items(KIND).await?;
    let known = declared.into_iter().map(|declared| {
        let key = declared.storage_key(cx);
        let pin = kept.iter().find(|kept| kept.name == key).and_then(|kept| {
            let pin = ServerPin::from_text(&kept.text);
            pin.map_err(|why| notes.push(format!("{}: {why}", declared.name))).ok()
        });
        let package = declared.started_package(cx);
        let uninstalled =
            package.as_ref().is_some_and(|p| declared.installed_package(cx, p).is_none());
        KnownMcpServer { spec: declared.server_spec(cx), declared, pin, package, uninstalled }
    });
    let known = known.collect();
    Ok((known, notes))
}

/// A hub of these servers: those that can be started at all.
///
/// # Errors
/// Processes cannot be confined here.
pub fn build_mcp_hub(cx: &InstallationContext, known: &[KnownMcpServer]) -> anyhow::Result<McpHub> {
    hub_with(cx, known, None)
}

/// The same with a model that servers may ask, where their declaration says so.
fn hub_with(
    cx: &InstallationContext,
    known: &[KnownMcpServer],
    sampler: Option<Arc<dyn Sampler>>,
) -> anyhow::Result<McpHub> {
    let keys =
        known.iter().map(|one| (one.declared.name.clone(), one.declared.storage_key(cx))).collect();
    let specs = known.iter().filter_map(|one| one.spec.as_ref().ok().cloned()).collect();
    let pins: BTreeMap<String, ServerPin> = known
        .iter()
        .filter_map(|one| Some((one.declared.name.clone(), one.pin.clone()?)))
        .collect();
    let workspace = cx.open_workspace()?;
    let options = McpOptions {
        clock: Arc::new(SystemClock::default()),
        launcher: super::mcp_launch::build_launcher(cx)?,
        tokens: Arc::new(TokenFiles::new(&cx.dirs.state, keys)),
        roots: std::iter::once(workspace.root().to_path_buf())
            .chain(workspace.added_folders().map(PathBuf::from))
            .collect(),
        authorizer: SignInBrowser::find(&cx.environment, cx.notifier)
            .map(|browser| Arc::new(browser) as _),
        elicit: Some(Arc::new(super::mcp_person::ByQuestions)),
        sampler,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(McpHub::new(specs, pins, options))
}

/// The servers of a session, their tools put into `toolbox`; `None`: none is declared. The person is told
/// which are not used.
///
/// # Errors
/// As [`load_known_servers`] and [`build_mcp_hub`].
pub async fn of_session(
    cx: &InstallationContext,
    toolbox: &Toolbox,
    model: &Arc<SessionModel>,
) -> anyhow::Result<Option<Arc<McpHub>>> {
    let (known, notes) = load_known_servers(cx).await?;
    for note in notes {
        cx.notify(&format!("warning: {note}"));
    }
    if known.is_empty() {
        return Ok(None);
    }
    for one in &known {
        let name = &one.declared.name;
        match (&one.spec, &one.pin) {
            (Err(why), _) => cx.notify(&format!(
                "warning: {}: the server {name} cannot be used: {why}",
                one.declared.place
            )),
            // Whoever opened the session asks about it there.
            (Ok(_), _) if one.declared.whose == ServerOwner::Editor => (),
            (Ok(spec), None) if spec.enabled => cx.notify(&format!(
                "the MCP server {name} is not used: nobody approved it yet \
                 (`weir mcp-servers approve {name}`)"
            )),
            (Ok(spec), Some(pin)) if spec.enabled && !pin.of_declaration(spec).is_empty() => {
                cx.notify(&format!(
                    "the MCP server {name} is not used: it is not declared as it was approved \
                     (`weir mcp-servers approve {name}`)"
                ));
            }
            (Ok(_), _) => {
                if let Some(unseen) = one.unseen_declarations() {
                    cx.notify(&format!("the MCP server {name} is used{unseen}"));
                }
            }
        }
    }
    let hub = hub_with(cx, &known, Some(model.clone() as Arc<dyn Sampler>))?;
    for tool in hub.tools() {
        if let Err(error) = toolbox.add(tool) {
            cx.notify(&format!("warning: a server's tool is left out: {error}"));
        }
    }
    Ok(Some(Arc::new(hub)))
}

/// The profile without tools of servers that it does not name; a profile that names none has all.
pub fn without_unnamed_servers(
    mut profile: Profile,
    servers: &[String],
    toolbox: &Toolbox,
) -> Profile {
    if servers.is_empty() {
        return profile;
    }
    let prefixes: Vec<String> = servers
        .iter()
        .map(|server| format!("{}{}__", foreign::PREFIX, foreign::server_part(server)))
        .collect();
    let all = toolbox.all_tools();
    let denied = all.iter().map(|tool| &tool.spec().name).filter(|name| {
        name.starts_with(foreign::PREFIX) && !prefixes.iter().any(|p| name.starts_with(p))
    });
    profile.denied_tools.extend(denied.cloned());
    profile
}

/// Keeps what a person approved.
///
/// # Errors
/// The store cannot be written.
pub async fn save_approval(
    cx: &InstallationContext,
    declared: &DeclaredServer,
    pin: &ServerPin,
) -> anyhow::Result<()> {
    keep_decision(cx, declared, KIND, pin.to_text(), pin.hash()).await
}

/// Keeps under the word `what` how a person decided about a server.
///
/// # Errors
/// The store cannot be written.
pub(crate) async fn keep_decision(
    cx: &InstallationContext,
    declared: &DeclaredServer,
    what: &str,
    text: String,
    hash: String,
) -> anyhow::Result<()> {
    let kept = StoredItem {
        what: what.into(),
        name: declared.storage_key(cx),
        text,
        state: "active".into(),
        hash,
        version: 1,
        label: Label::external(format!("mcp:{}", declared.name)),
        by: super::principal_name(cx),
        ts: SystemClock::default().now(),
    };
    cx.session_store()?.store_item(&kept).await?;
    Ok(())
}

/// Forgets what a person approved of a server; whether they had.
///
/// # Errors
/// The store cannot be written.
pub async fn forget_approval(
    cx: &InstallationContext,
    declared: &DeclaredServer,
) -> anyhow::Result<bool> {
    Ok(cx.session_store()?.remove_stored_item(KIND, &declared.storage_key(cx)).await?)
}

/// One server by its name.
///
/// # Errors
/// As [`load_known_servers`]; there is none of this name.
pub async fn find_known_server(
    cx: &InstallationContext,
    name: &str,
) -> anyhow::Result<KnownMcpServer> {
    let (known, _) = load_known_servers(cx).await?;
    let names: Vec<String> = known.iter().map(|one| one.declared.name.clone()).collect();
    known.into_iter().find(|one| one.declared.name == name).ok_or_else(|| {
        let there = match names.is_empty() {
            true => "none is declared; `weir mcp-servers add` declares one".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        usage(format!("there is no MCP server {name:?}: {there}"))
    })
}
