//! Text to lines of cells: what somebody wrote, made safe, coloured and broken to a width. Pure;
//! only code is read on a thread of its own ([`code`]).
//!
//! Nothing here knows of sessions. Nothing a model, tool, file name or person wrote reaches the
//! terminal but through [`clean`].

pub mod clean;
pub mod code;
pub mod diff;
pub mod markdown;
pub mod theme;
pub mod wrap;
