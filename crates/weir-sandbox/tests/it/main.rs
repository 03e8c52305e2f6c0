//! Commands under real supervisors: how they end, what is left of them (nothing), and what can be
//! found out about them after a crash.

mod bad_input;
mod cancel;
mod crash;
mod jobs;
mod run;
mod world;
