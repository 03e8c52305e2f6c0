//! Made tools of a scenario (T5): those that are kept or stand in the workspace are put into the
//! toolbox when the session is opened, as the program does. Not here: the engine of scripts, which
//! is the real one, in this process.

use std::sync::Arc;

use anyhow::Context as _;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::ids::Timestamp;
use weir_core::tool::{PathAccess, ToolSpec};
use weir_engine::engine::SessionOptions;
use weir_engine::made;
use weir_engine::ports::{FileContent, Scripts, Store};
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;
use weir_script::OwnScripts;

/// Largest definition in a file of a scenario.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Gives a session what runs scripts and the tools that count here.
///
/// # Errors
/// The store refuses.
pub async fn shelve(
    store: &dyn Store,
    trusted: bool,
    toolbox: &Arc<Toolbox>,
    options: &mut SessionOptions,
) -> anyhow::Result<()> {
    let scripts: Arc<dyn Scripts> = Arc::new(OwnScripts);
    let toolbox = options.resources.toolbox.clone().unwrap_or_else(|| Arc::new(toolbox.copy()));
    let from = weir_tools::ToolFiles { workspace: &options.workspace, trusted };
    let (specs, _) = weir_tools::add_dynamic_tools(store, from, &scripts, &toolbox).await?;
    let config = &mut options.config;
    let has = |spec: &ToolSpec| config.profile.has_tool(&spec.name, spec.group);
    let specs: Vec<ToolSpec> = specs.into_iter().filter(has).collect();
    Arc::make_mut(&mut config.deferred).extend(specs);
    options.resources.toolbox = Some(toolbox);
    options.resources.scripts = Some(scripts);
    Ok(())
}

/// A person accepts the tool of this name that stands in the workspace.
///
/// # Errors
/// There is none.
pub async fn accept(
    store: &dyn Store,
    workspace: &Workspace,
    name: &str,
    now: Timestamp,
) -> anyhow::Result<()> {
    let path = format!("{}/{name}.json", made::FOLDER);
    let at = workspace.resolve(&path, PathAccess::Read);
    let content = workspace.read(&at, FILE_BYTES_MAX).map_err(|why| anyhow::anyhow!("{why}"))?;
    let FileContent::File { bytes, .. } = content else { anyhow::bail!("{path} is no file") };
    let text = String::from_utf8(bytes.to_vec())?;
    let definition = ToolDefinition::parse(&text).map_err(anyhow::Error::msg)?;
    let by = made::Acceptance { by: "person".into(), label: Label::default(), ts: now };
    store.store_item(&made::pin_definition(workspace, &definition, by)).await?;
    Ok(())
}

/// Somebody changes the text of a kept tool, and nothing else.
///
/// # Errors
/// There is none.
pub async fn alter(store: &dyn Store, name: &str) -> anyhow::Result<()> {
    let kept = made::list_dynamic_tools(store).await?.into_iter().find(|kept| kept.name == name);
    let mut kept = kept.with_context(|| format!("no tool {name} is kept"))?;
    let mut definition = ToolDefinition::parse(&kept.text).map_err(anyhow::Error::msg)?;
    definition.code.push_str("// something else\n");
    kept.text = definition.to_json_text();
    store.store_item(&kept).await?;
    Ok(())
}
