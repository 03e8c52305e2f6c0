//! `weir-redteam [--seed S] [--tries N] [--class KEY] [--benign] [--tier TIER]`: prints both tables and
//! the story of every finding. `weir-redteam agentdojo --python PATH [--short] [--variant NAME]…`: that suite
//! through the gate instead.
//! Exit 1 when a claim does not hold.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::process::ExitCode;

use anyhow::Context as _;
use weir_redteam::classes::CLASSES;
use weir_redteam::seed::Seed;
use weir_redteam::{Bench, agentdojo, attacks, benign, table};
use weir_sandbox::{Tier, TierWish};

struct Wishes {
    seed: u64,
    tries: usize,
    class: Option<String>,
    benign_only: bool,
    tier: TierWish,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "__supervise") {
        return Ok(weir_sandbox::supervise_main());
    }
    if arguments.first().is_some_and(|first| first == weir_sandbox::INSIDE) {
        return Ok(weir_sandbox::inside_main());
    }
    if arguments.first().is_some_and(|first| first == weir_sandbox::TERMINAL) {
        return Ok(weir_sandbox::terminal_main());
    }
    if arguments.first().is_some_and(|first| first == weir_script::SCRIPT) {
        return Ok(weir_script::script_main());
    }
    if arguments.first().is_some_and(|first| first == "agentdojo") {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (text, status) = runtime.block_on(agentdojo::command(&arguments[1..]))?;
        print!("{text}");
        return Ok(status);
    }
    let wishes = wishes(&arguments)?;
    let bench = Bench {
        program: std::env::current_exe()?,
        seed: Seed::new(wishes.seed),
        tries: wishes.tries,
        tier: wishes.tier,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(&bench, &wishes))
}

fn wishes(arguments: &[String]) -> anyhow::Result<Wishes> {
    let mut wishes = Wishes {
        seed: weir_redteam::SEED,
        tries: weir_redteam::TRIES,
        class: None,
        benign_only: false,
        tier: TierWish::Auto,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value"));
        match word.as_str() {
            "--seed" => wishes.seed = value()?.parse()?,
            "--tries" => wishes.tries = value()?.parse()?,
            "--class" => wishes.class = Some(value()?.clone()),
            "--tier" => {
                let name = value()?.clone();
                let tiers = [Tier::Landlock, Tier::Bubblewrap, Tier::Namespaces];
                let tier = tiers.into_iter().find(|tier| tier.as_str() == name);
                wishes.tier = TierWish::Exactly(tier.with_context(|| {
                    format!("{name:?} is none of landlock, bubblewrap, namespaces")
                })?);
            }
            "--benign" => wishes.benign_only = true,
            _ => {
                let keys: Vec<&str> = CLASSES.iter().map(|class| class.key).collect();
                println!(
                    "usage: weir-redteam [--seed S] [--tries N] [--class KEY] [--benign] \
                     [--tier TIER]\n\
                     classes: {}",
                    keys.join(", ")
                );
                anyhow::bail!("{word:?} is no option");
            }
        }
    }
    Ok(wishes)
}

async fn run(bench: &Bench, wishes: &Wishes) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for class in CLASSES.iter().filter(|_| !wishes.benign_only) {
        if wishes.class.as_ref().is_none_or(|key| key == class.key) {
            let row = class.row(bench).await.with_context(|| class.words)?;
            println!("{}", row.text());
            rows.push(row);
        }
    }
    print!("{}", table::findings(&rows));
    let mut holds = rows.iter().all(table::Row::holds);
    if wishes.class.is_none() && !wishes.benign_only {
        println!("\n{}", attacks::text(bench, &rows)?);
    }
    if wishes.class.is_none() {
        let done = benign::all(bench).await?;
        println!("{}", benign::table(&done));
        print!("{}", benign::questions(&done));
        let defects = benign::defects(&done);
        print!("{defects}");
        holds &= defects.is_empty();
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
