//! The part of Weir that does: runs what a session owes the world.
//!
//! [`embed`] is the way in for a program of one's own: an agent in a few lines, over the same
//! [`engine`], with defaults that let nothing happen unasked. [`ports`] is every seam: models, tools,
//! stores, gates and the rest are implementations of the traits there. `weir-store` has stores that
//! last, `weir-providers` real models, `weir-tools` the built-in tools. Six examples show what can be
//! brought: `cargo run -p weir-engine --example agent` (`tool`, `gate`, `store`, `model`, `face`).
//!
//! # An agent with a tool
//!
//! The model is a script, the store lies in memory, and the machine can do nothing: what is left is the
//! loop.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use serde_json::{Value, json};
//! use weir_core::governance::Permit;
//! use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
//! use weir_engine::embed::AgentBuilder;
//! use weir_engine::ports::{CallPlan, Tool, ToolContext};
//! use weir_scripted_model::ScriptedModel;
//! use weir_store::MemoryStore;
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
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = json!({
//!     "type": "object",
//!     "properties": { "name": { "type": "string" } },
//!     "required": ["name"],
//! });
//! let greet = Greet(ToolSpec::new("greet", "Greets somebody by name.", ToolGroup::Read, schema));
//! let script = "calls: greet {\"name\": \"Ada\"}\n\nexpect: result \"Hello, Ada!\"\nsays: Done.\n";
//! let model = Arc::new(ScriptedModel::from_text(script)?);
//! let folder = tempfile::tempdir()?;
//! let agent = AgentBuilder::new(model, Arc::new(MemoryStore::new()), folder.path())
//!     .with_tool(greet)
//!     .open_session()
//!     .await?;
//! let finished = agent.run_task("Greet Ada.").await?;
//! assert_eq!((finished.text.as_str(), finished.tool_calls), ("Done.", 1));
//! agent.close_session().await?;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod asking;
pub mod attach;
pub mod blobs;
pub mod blocking;
pub mod brain;
mod children;
mod command_channel;
mod commands;
mod condensing;
pub mod divergence;
mod dormant;
pub mod embed;
pub mod engine;
pub mod equal_parts;
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
mod listening;
pub mod looks;
pub mod made;
pub mod marks;
mod media;
pub mod memory;
#[doc(hidden)]
pub mod missing_model;
pub mod misspelling;
mod nested;
pub mod open_asks;
mod openings;
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
pub mod regular_file;
pub mod relevance;
pub mod rewind;
mod sampling;
pub mod scene;
pub mod schedule;
mod session_handle;
mod session_log;
mod session_loop;
mod session_options;
mod session_time;
pub mod skills;
pub mod slash;
mod snapshots;
pub mod sniff;
pub mod spending;
mod streaming;
mod submit;
pub mod system_clock;
pub mod text_diff;
pub mod text_form;
pub mod toolbox;
pub mod undo;
pub mod utf16;
mod vendor_search;
mod worker_context;
mod workers;
pub mod workspace;
pub mod worktree_merge;

#[doc(hidden)]
pub use commands::measure as commands_course;
