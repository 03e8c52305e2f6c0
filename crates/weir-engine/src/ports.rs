//! The seams of the engine: what it needs from models, tools, stores and the machine.
//!
//! Nothing here is an implementation. Fakes of these traits, and only of these, live in
//! `weir-scenario`.

use async_trait::async_trait;
use weir_core::ids::Timestamp;

mod agents;
mod asks;
mod brain;
mod call_bounds;
mod checkpoint;
mod documents;
mod fact;
mod hooks;
mod knowledge;
mod mail;
mod mailbox;
mod meaning;
mod model;
mod observer;
mod own_gate;
mod person;
mod pictures;
mod plugins;
mod process;
mod profiles;
mod records;
mod sampling;
mod schedule;
mod script;
mod search;
mod servers;
mod signals;
mod spending;
mod store;
mod tool;
mod usage;
mod vendor_search;
mod web;

pub use agents::*;
pub use asks::*;
pub use brain::*;
pub use call_bounds::*;
pub use checkpoint::*;
pub use documents::*;
pub use fact::*;
pub use hooks::*;
pub use knowledge::*;
pub use mail::*;
pub use mailbox::*;
pub use meaning::*;
pub use model::*;
pub use observer::*;
pub use own_gate::*;
pub use person::*;
pub use pictures::*;
pub use plugins::*;
pub use process::*;
pub use profiles::*;
pub use records::*;
pub use sampling::*;
pub use schedule::*;
pub use script::*;
pub use search::*;
pub use servers::*;
pub use signals::*;
pub use spending::*;
pub use store::*;
pub use tool::*;
pub use usage::*;
pub use vendor_search::*;
pub use web::*;

/// The time. The only way by which the engine learns it.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The current time, in microseconds since 1970 (UTC).
    fn now(&self) -> Timestamp;
    /// Resolves at or after `until`.
    async fn sleep_until(&self, until: Timestamp);
    /// A random number, for jitter.
    fn random_number(&self) -> u64;
}
