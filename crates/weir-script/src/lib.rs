//! Runs JavaScript that somebody wrote for the agent (T5): in a child process that has nothing but
//! its pipes, or, for tests, in this one.
//!
//! The code is hostile until proven otherwise, and its engine's own bounds do not stop every built-in
//! function, so the process is the bound: no files, no network, no programs, so much memory, so much
//! time, killed from outside. What it wants done it asks for, line by line; whoever answers judges
//! each wish. A program (U7) asks for any number of steps before it waits; it hears of one at a time.
//! Not here: that judgement.

mod child;
mod inside;
mod parent;
mod program;
mod wire;

pub use child::{SCRIPT, script_main};
pub use inside::OwnScripts;
pub use parent::ChildScripts;
