//! Q12: judging one call with 200 rules takes at most 20 µs. Also: what reading a command costs,
//! and what loading the rules costs once.

use weir_core::governance::rules::{PathUse, RuleSet};

#[path = "inputs/rules.rs"]
mod inputs;

use inputs::{JudgedCall, KINDS, rules};

fn main() {
    divan::main();
}

#[divan::bench(args = KINDS)]
fn q12_judge_with_200_rules(bencher: divan::Bencher<'_, '_>, kind: &str) {
    let call = JudgedCall::new(kind);
    bencher.bench_local(|| call.judge());
}

#[divan::bench]
fn load_200_rules() -> RuleSet {
    let rules = rules();
    let _ = rules.rule_path_use("a", PathUse::Read);
    rules
}
