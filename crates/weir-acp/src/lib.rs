//! Speaks the Agent Client Protocol, version 1, over two streams: an editor opens sessions, prompts them,
//! shows what happens and answers what is asked (F3, R1).
//!
//! Each session of an editor is one link to the sessions of this machine (`weir_tui::link`), served by
//! `weir_terminal::local`, as a terminal's is: taking up, letters, modes and approvals are there already,
//! and a session that was begun here goes on in a terminal or browser. Here is what turns lines of the
//! protocol into wishes and news into lines.
//!
//! Reading order: `rpc` (lines, requests, answers), `wire` (the protocol's types), `render` (changes of a
//! transcript as updates, pure), `permission`, `elicitation`, `options`, `prompt`, `face_commands` (what is typed
//! as `/name` and done here), `client_servers` (MCP servers that it brings), `session` (one session), `connection`
//! (all of them). `client_files` is what the workspace asks of the editor's own files, `follow` what its terminals
//! run. Not here: running anything.

mod client_files;
mod client_servers;
mod connection;
mod elicitation;
mod face_commands;
mod follow;
mod options;
pub mod outside;
mod permission;
mod prompt;
mod render;
mod rpc;
mod session;
mod wire;

pub use connection::{ServeError, serve_editor};
pub use follow::{FOLLOW, follow_main};
