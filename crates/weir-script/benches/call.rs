//! What one call of a script costs: starting and confining the child, the engine, one answer.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{NoHost, ScriptKind, ScriptTask, Scripts};
use weir_script::ChildScripts;

fn main() {
    divan::main();
}

fn script(code: &str) -> ScriptTask {
    let (code, time) = (code.to_owned(), Duration::from_secs(30));
    ScriptTask { kind: ScriptKind::Module, code, input: json!({ "n": 3 }), time }
}

fn bench(bencher: divan::Bencher<'_, '_>, code: &str) {
    let bench = std::env::current_exe().expect("a bench has a path");
    let target = bench.parent().and_then(Path::parent).expect("two folders deep");
    let program = target.join("examples/script_child");
    assert!(program.exists(), "build it first: cargo build --example script_child");
    let scripts = ChildScripts::with_arguments(program, Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let cancel = CancellationToken::new();
    bencher.bench_local(|| {
        let done = runtime.block_on(scripts.run(script(code), &NoHost, &cancel));
        assert!(done.is_ok(), "{done:?}");
    });
}

/// A call that returns at once.
#[divan::bench]
fn returns_at_once(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, "export const run = input => input.n");
}

/// A call that counts to a million.
#[divan::bench]
fn computes(bencher: divan::Bencher<'_, '_>) {
    bench(
        bencher,
        "export function run() { let s = 0; for (let i = 0; i < 1e6; i++) s += i; return s }",
    );
}
