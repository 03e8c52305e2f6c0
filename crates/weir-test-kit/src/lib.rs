//! What tests of several crates need: a folder, an installation, a program that runs, a server with
//! browsers, a database, a disk or a port of a test's own, and waiting with a bound. A dependency
//! of development alone, which knows no other crate of Weir: it sees the program from outside.
//!
//! Not here: the fakes of ports and the scenarios (`weir-scenario`), and what one test alone needs.
//! Everything here panics where something cannot be had: then the test has failed.

mod disk;
mod file_work;
mod folder;
mod http;
mod installation;
mod kept;
mod port;
mod program;
mod repository;
mod running;
mod skip;
mod wait;

#[cfg(feature = "server")]
mod browser;
#[cfg(feature = "database")]
mod database;
#[cfg(feature = "server")]
mod described;
#[cfg(feature = "database")]
mod postgres;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use browser::{ApiSocket, Browser, PASSWORD};
#[cfg(feature = "database")]
pub use database::{TestDatabase, connect_raw};
pub use disk::SmallDisk;
pub use file_work::{damage_page, file_writing_script, written_files};
pub use folder::TestFolder;
pub use http::{HttpAnswer, HttpRequest, HttpStandIn};
pub use installation::{CommandOutput, TestInstallation};
pub use kept::check_kept_json;
pub use port::free_port;
#[cfg(feature = "database")]
pub use postgres::PrivatePostgres;
pub use program::weir_program;
pub use repository::run_git;
pub use running::RunningProgram;
#[cfg(feature = "server")]
pub use server::{ServerSetup, TestServer};
pub use skip::{or_skipped, skip_test};
pub use wait::{PATIENCE, wait_until, wait_until_async};
