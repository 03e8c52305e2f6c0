//! `cargo xtask`: the project's own commands. Laws as a test (`tidy`), proof by SIGKILL (`kill`) and by
//! several servers on one database (`cluster`), figures (`bench`, `instructions`), the shape of the sources (`structure`), what ids mean (`requirements`), what a
//! release hands out (`package`), what the library promises (`api`). Nothing here is part of the product.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

mod api;
mod bench;
mod database;
mod kill;
mod package;
mod programs;
mod pty;
mod requirements;
mod served;
mod structure;
mod tidy;

/// The project's own commands
#[derive(Debug, Parser)]
#[command(name = "xtask", max_term_width = 100)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Api(api::ApiArgs),
    Tidy(tidy::TidyArgs),
    Kill(kill::KillArgs),
    Cluster(kill::cluster::ClusterArgs),
    Bench(bench::BenchArgs),
    Instructions(bench::instructions::InstructionsArgs),
    Order(bench::order::OrderArgs),
    Package(package::PackageArgs),
    /// Write docs/requirements.md from its sentences and the names of tests and scenarios
    Requirements,
    Structure(structure::StructureArgs),
}

fn main() -> anyhow::Result<ExitCode> {
    if bench::order::is_linker() {
        return bench::order::link();
    }
    let root = root()?;
    match Options::parse().command {
        Command::Api(args) => api::api(&root, &args),
        Command::Tidy(args) => tidy::tidy(&root, &args),
        Command::Kill(args) => kill::kill(&root, args),
        Command::Cluster(args) => kill::cluster::cluster(&root, args),
        Command::Bench(args) => bench::bench(&root, &args),
        Command::Instructions(args) => bench::instructions::instructions(&root, &args),
        Command::Order(args) => bench::order::order(&root, &args),
        Command::Package(args) => package::package(&root, &args),
        Command::Requirements => requirements::write(&root).map(|()| ExitCode::SUCCESS),
        Command::Structure(args) => structure::structure(&root, &args),
    }
}

/// The folder of the workspace.
fn root() -> anyhow::Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(own.parent().context("xtask lies in the workspace")?.to_path_buf())
}

/// Where cargo puts what it builds.
fn target_folder(root: &Path) -> anyhow::Result<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("asking cargo where its target folder is")?;
    Ok(metadata.target_directory.into_std_path_buf())
}
