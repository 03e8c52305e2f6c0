//! Commands under real supervisors: how they end, what is left of them (nothing), and what can be
//! found out about them after a crash.

#[macro_use]
mod world;

mod attack;
mod bad_input;
mod cancel;
mod crash;
mod egress;
mod everyday;
mod git;
mod grants;
mod home;
mod jobs;
mod kernel;
mod keyring;
mod mediator;
mod reach;
mod run;
mod service;
mod terminal;
