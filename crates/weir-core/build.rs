//! Tells the crate which sources it is made of: one number over all of them. A snapshot of a session is
//! read again only by a program with the same number (`session::SNAPSHOT_FORMAT`), so that neither a
//! changed field nor a changed rule of the fold can be taken for the old one, whoever forgets what.

use std::io;
use std::path::Path;

mod sources;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=sources.rs");
    println!("cargo:rerun-if-changed=src");
    let sources = sources::read_sources(Path::new("src"))?;
    println!("cargo:rustc-env=WEIR_CORE_SOURCES={:016x}", sources::source_number(&sources));
    Ok(())
}
