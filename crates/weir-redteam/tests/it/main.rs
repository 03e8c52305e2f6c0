//! The hostile bench with a fixed seed: nothing is reached that must not be, honest work is done,
//! and both tables are those that are kept in `docs/generated/`.

mod attacks;
mod benign;

use std::path::PathBuf;

use weir_redteam::seed::Seed;
use weir_redteam::{Bench, SEED, TRIES};
use weir_sandbox::TierWish;

fn bench() -> Bench {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_weir-redteam"));
    Bench { program, seed: Seed::new(SEED), tries: TRIES, tier: TierWish::Auto }
}

fn generated(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated").join(name)
}

fn wants_update() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// Something that a person at the tests should know.
#[expect(clippy::print_stdout, reason = "cells that are not compared must not pass in silence")]
fn say(text: &str) {
    println!("{text}");
}
