//! The part of Weir that does: runs what a session owes the world.
//!
//! # An engine, a model and a tool
//!
//! The model is a script, the store lies in memory, and the machine can do nothing: what is left is the
//! loop. `weir-store` has stores that last, `weir-providers` real models, `weir-tools` the built-in tools.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use serde_json::{Value, json};
//! use weir_core::event::Event;
//! use weir_core::governance::Permit;
//! use weir_core::ids::{SessionId, Timestamp};
//! use weir_core::message::MessageBlock;
//! use weir_core::profile::{PermissionMode, built_in_profiles};
//! use weir_core::session::SessionConfig;
//! use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
//! use weir_engine::engine::{Engine, EngineParts, SessionOptions, SessionResources};
//! use weir_engine::hub::SessionUpdate;
//! use weir_engine::ports::{
//!     CallPlan, Clock, Model, NoDocuments, NoHooks, NoProcesses, NoProfiles, NoWeb, Tool, ToolContext,
//! };
//! use weir_engine::scene::SceneOptions;
//! use weir_engine::toolbox::Toolbox;
//! use weir_engine::workspace::{Workspace, WorkspaceOptions};
//! use weir_scripted_model::ScriptedModel;
//! use weir_store::{MemoryCheckpoints, MemoryStore, this_process};
//!
//! struct Greet(ToolSpec);
//!
//! #[async_trait]
//! impl Tool for Greet {
//!     fn spec(&self) -> &ToolSpec {
//!         &self.0
//!     }
//!     async fn plan_call(&self, _: &Value, _: &ToolContext) -> CallPlan {
//!         CallPlan::new(EffectClass::Read, Effects::default(), "Greet somebody")
//!     }
//!     async fn run(&self, permit: Permit, _: &ToolContext) -> RawResult {
//!         let name = permit.input()["name"].as_str().unwrap_or("nobody");
//!         RawResult::ok(format!("Hello, {name}!"))
//!     }
//! }
//!
//! # struct SystemTime;
//! # #[async_trait]
//! # impl Clock for SystemTime {
//! #     fn now(&self) -> Timestamp {
//! #         let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
//! #         Timestamp(since.as_micros() as i64)
//! #     }
//! #     async fn sleep_until(&self, until: Timestamp) {
//! #         let wait = until.ms_since(self.now());
//! #         tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
//! #     }
//! #     fn random_number(&self) -> u64 {
//! #         4
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let spec = ToolSpec {
//!     name: "greet".into(),
//!     description: "Greets somebody by name.".into(),
//!     group: ToolGroup::Read,
//!     input_schema: json!({
//!         "type": "object",
//!         "properties": { "name": { "type": "string" } },
//!         "required": ["name"],
//!     })
//!     .into(),
//!     deferred: false,
//!     parallel_safe: true,
//!     poll: false,
//!     keeps_result: false,
//!     timeout_ms: None,
//! };
//! let engine = Engine::new(EngineParts {
//!     store: Arc::new(MemoryStore::new()),
//!     checkpoints: Arc::new(MemoryCheckpoints::new()),
//!     clock: Arc::new(SystemTime),
//!     toolbox: Arc::new(Toolbox::new(vec![Arc::new(Greet(spec.clone()))])?),
//!     processes: Arc::new(NoProcesses),
//!     web: Arc::new(NoWeb),
//!     documents: Arc::new(NoDocuments),
//!     hooks: Arc::new(NoHooks),
//!     gates: Vec::new(),
//!     judge: None,
//!     condenser: None,
//!     planner: None,
//!     flagship: None,
//!     owner: this_process("example"),
//!     principal: "ann".into(),
//!     version: "example".into(),
//!     secrets: Vec::new(),
//!     observers: Arc::default(),
//! });
//!
//! let script = "calls: greet {\"name\": \"Ada\"}\n\nexpect: result \"Hello, Ada!\"\nsays: Done.\n";
//! let model = Arc::new(ScriptedModel::from_text(script)?);
//! let folder = tempfile::tempdir()?;
//! let root = folder.path().to_path_buf();
//! let workspace = WorkspaceOptions { root, extra_roots: Vec::new(), own_folders: Vec::new() };
//! let profile = built_in_profiles().remove(0);
//! let info = model.info().as_ref().clone();
//! let config = SessionConfig {
//!     permission: PermissionMode::Full,
//!     tools: Arc::new(vec![spec]),
//!     ..SessionConfig::with_defaults(folder.path().display().to_string(), profile, info)
//! };
//! let options = SessionOptions {
//!     workspace: Arc::new(Workspace::open(workspace)?),
//!     model,
//!     scene: SceneOptions { timezone: "UTC".into(), ..SceneOptions::default() },
//!     profiles: Arc::new(NoProfiles),
//!     resources: SessionResources::default(),
//!     config,
//! };
//!
//! let session = engine.open(SessionId::new("s1"), options).await?;
//! let mut updates = session.listen_to_updates(0);
//! session.submit_input(vec![MessageBlock::text("Greet Ada.")], "ann").await?;
//! let mut results = Vec::new();
//! while let Some(update) = updates.next().await? {
//!     let SessionUpdate::Fact(fact) = update else { continue };
//!     match fact.event.as_ref() {
//!         Event::CallFinished(finished) => results.push(finished.ok),
//!         Event::RunFinished(_) => break,
//!         _ => (),
//!     }
//! }
//! session.close().await?;
//! assert_eq!(results, [true]);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod asking;
pub mod attach;
pub mod blobs;
pub mod brain;
mod children;
mod command_channel;
mod commands;
mod condensing;
mod dormant;
pub mod engine;
mod error;
pub mod excerpt;
pub mod family;
mod flagship;
pub mod folded;
mod fork;
pub mod git_index;
mod guards;
pub mod helper;
pub mod host;
pub mod hub;
mod journal;
mod knowledge;
pub mod lease_owner;
pub mod ledger;
pub mod made;
mod media;
pub mod memory;
mod nested;
pub mod open_asks;
pub mod output;
mod own_gates;
mod parts;
pub mod past;
pub mod pen;
mod picture_model;
mod pictures;
mod planner;
pub mod plugins;
pub mod ports;
mod programs;
pub mod recipes;
mod recover;
pub mod relevance;
pub mod rewind;
pub mod scene;
pub mod schedule;
mod session_handle;
mod session_log;
mod session_loop;
mod session_options;
mod session_time;
pub mod skills;
pub mod slash;
pub mod sniff;
mod streaming;
mod submit;
pub mod system_clock;
pub mod toolbox;
pub mod undo;
mod vendor_search;
mod worker_context;
mod workers;
pub mod workspace;

#[doc(hidden)]
pub use commands::measure as commands_course;
