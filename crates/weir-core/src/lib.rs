//! The part of Weir that decides. Pure: no I/O, no clock, no randomness.
//!
//! # A journal folded into what a person sees
//!
//! The session says which facts follow from an input; the transcript is a fold of those facts.
//!
//! ```
//! use std::sync::Arc;
//!
//! use weir_core::ids::{SessionId, Timestamp};
//! use weir_core::input::{PersonCommand, PersonMessage, SessionCommand, SessionInput};
//! use weir_core::message::MessageBlock;
//! use weir_core::model::{ModelInfo, ModelRef};
//! use weir_core::profile::built_in_profiles;
//! use weir_core::session::{Session, SessionConfig};
//! use weir_core::view::transcript::{PlacedFact, Transcript, TranscriptChange};
//!
//! let name = ModelRef { provider: "script".into(), name: "hello".into() };
//! let profile = built_in_profiles().remove(0);
//! let config = SessionConfig::with_defaults("/work", profile, ModelInfo::with_name(name));
//! let open =
//!     SessionCommand::Open { engine: "example".into(), config: Arc::new(config), parent: None };
//! let content = vec![MessageBlock::text("What is in this folder?")];
//! let say = PersonCommand::from(PersonMessage { content, ..PersonMessage::default() }).sent_by("ann");
//!
//! let now = Timestamp(1_700_000_000_000_000);
//! let mut session = Session::new(SessionId::new("s1"));
//! let mut journal = session.handle(now, SessionInput::Command(open));
//! journal.extend(session.handle(now, SessionInput::Command(say)));
//!
//! let mut transcript = Transcript::default();
//! let mut said = Vec::new();
//! for (seq, event) in (1..).zip(journal) {
//!     let fact = PlacedFact { seq, ts: now, event: Arc::new(event) };
//!     for change in transcript.apply(&fact) {
//!         if let TranscriptChange::InputSaid(fact) = change {
//!             said.push(fact.fact.by.clone());
//!         }
//!     }
//! }
//! assert_eq!(said, ["ann"]);
//! assert_eq!(transcript.settings().model, "script/hello");
//! ```
#![warn(missing_docs)]

pub mod address;
pub mod brain;
pub mod config;
pub mod document;
pub mod dynamic;
pub mod effect;
pub mod event;
pub mod governance;
pub mod html;
pub mod ids;
pub mod input;
pub mod knowledge;
pub mod label;
pub mod memory;
pub mod message;
pub mod model;
pub mod office;
mod open_name;
pub mod plugin;
pub mod profile;
pub mod prompt;
pub mod proposal;
mod read_text;
pub mod recipe;
pub mod record;
pub mod routing;
pub mod run_status;
pub mod safe_text;
pub mod schedule;
pub mod secret;
pub mod session;
pub mod skill;
pub mod slash;
pub mod sorting;
pub mod tool;
pub mod usage;
pub mod view;
