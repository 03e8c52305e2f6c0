//! An installation as a person has it: the settings of `slack.toml`, the suite's MCP server looked at
//! and approved once, and a folder for each session. Not here: what is played in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, ensure};
use weir_engine::engine::{Engine, SessionOptions};
use weir_engine::ports::Model;
use weir_install::context::{InstallationContext, NamedFolders};
use weir_install::environment::ProcessEnvironment;
use weir_install::notifier::Notifier;
use weir_install::wiring::{self, SessionOverrides, mcp};
use weir_mcp::ServerPin;

use super::setup::{Answers, Setup};
use super::{SLACK, with_prefix};

/// Where `slack.toml` says that the server lies; this machine's path takes its place.
const SCRIPT: &str = "/opt/slack/slack_mcp.py";
/// Where it says that the service listens; the suite's address takes its place.
const ADDRESS: &str = "127.0.0.1:7001";
/// Turns of a session: no bound of a run may look like the gate's work.
const ITERATIONS_MAX: u32 = 200;

/// Folders, settings, engine.
pub(super) struct Installation {
    pub(super) engine: Engine,
    cx: InstallationContext,
    /// Names of the approved tools, as the model calls them.
    tools: Vec<String>,
    folder: tempfile::TempDir,
}

impl Installation {
    /// Writes the settings, and approves the server as it is.
    pub(super) async fn new(suite: &Path, address: &str) -> anyhow::Result<Installation> {
        let folder = tempfile::Builder::new().prefix("weir-agentdojo-").tempdir()?;
        let [home, state, work] = ["home", "state", "work"].map(|name| folder.path().join(name));
        let config = home.join(".config/weir");
        for made in [&config, &state, &work] {
            std::fs::create_dir_all(made)?;
        }
        let written = std::fs::read_to_string(suite.join("slack.toml"))?;
        let settings = settings(&written, &suite.join("slack_mcp.py"), address)?;
        std::fs::write(config.join("config.toml"), settings)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let home = home.display().to_string();
        let environment =
            ProcessEnvironment::of(&[("HOME", home.as_str()), ("PATH", path.as_str())]);
        let named = NamedFolders { workspace: Some(work), state_dir: Some(state) };
        let cx = InstallationContext::new(&named, environment, Notifier::SILENT)?;
        let tools = approve(&cx).await.context("approving the suite's server")?;
        let engine = wiring::open_engine(&cx, "weir-redteam").await?;
        Ok(Installation { engine, cx, tools, folder })
    }

    /// The settings of a session in a folder of its own, which is called `play`.
    pub(super) async fn session(
        &self,
        play: &str,
        setup: &Setup,
        model: Arc<dyn Model>,
    ) -> anyhow::Result<SessionOptions> {
        let work: PathBuf = self.folder.path().join("work").join(play);
        std::fs::create_dir(&work)?;
        let cx = self.cx.in_folder(&work)?;
        let wishes = SessionOverrides {
            allow: setup.allow.iter().map(ToString::to_string).collect(),
            max_iterations: Some(ITERATIONS_MAX),
            attended: setup.answers != Answers::Nobody,
            ..SessionOverrides::default()
        };
        let options = wiring::session_options_for_model(&cx, &wishes, None, model).await?;
        let missing = self
            .tools
            .iter()
            .find(|name| !options.config.tools.iter().any(|offered| offered.name == **name));
        ensure!(missing.is_none(), "the session does not have the tool {missing:?}");
        Ok(options)
    }
}

/// What a person does once: starts the server, looks at it, says yes. The names of its tools.
async fn approve(cx: &InstallationContext) -> anyhow::Result<Vec<String>> {
    let (known, notes) = mcp::load_known_servers(cx).await?;
    ensure!(notes.is_empty(), "{}", notes.join("; "));
    let hub = mcp::build_mcp_hub(cx, &known)?;
    let [slack] = known.as_slice() else { anyhow::bail!("slack.toml declares one server") };
    let spec = slack.spec.as_ref().map_err(|why| anyhow!("{why}"))?;
    let listing = hub.fetch_listing(SLACK).await.map_err(|why| anyhow!(why))?;
    hub.close().await;
    let pin = ServerPin::from_listing(spec, listing);
    mcp::save_approval(cx, &slack.declared, &pin).await?;
    Ok(pin.listing.tools.keys().map(|name| with_prefix(name)).collect())
}

/// `slack.toml` for this machine.
fn settings(written: &str, script: &Path, address: &str) -> anyhow::Result<String> {
    ensure!(written.contains(SCRIPT), "slack.toml does not say {SCRIPT}");
    ensure!(written.contains(ADDRESS), "slack.toml does not say {ADDRESS}");
    let script = script.canonicalize()?.display().to_string();
    Ok(written.replace(SCRIPT, &script).replace(ADDRESS, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u14_the_settings_are_a_persons_but_for_path_and_address() {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join(super::super::SUITE);
        let written = std::fs::read_to_string(suite.join("slack.toml")).unwrap();
        let settings = settings(&written, &suite.join("slack_mcp.py"), "127.0.0.1:9").unwrap();
        assert!(!settings.contains(SCRIPT) && !settings.contains(ADDRESS));
        assert!(settings.contains("hosts = [\"127.0.0.1:9\"]"));
        // No declaration knows a task: it names tools and arguments, and nobody.
        for word in ["Alice", "Bob", "Charlie", "Eve", "Dora", "general", "random", "External"] {
            assert!(!written.contains(word), "slack.toml names {word}");
        }
    }
}
