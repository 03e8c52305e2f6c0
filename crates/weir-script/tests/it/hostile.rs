//! Scripts that loop, allocate, recurse, flood and pry: each ends, and says how.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_engine::ports::{ScriptKind, ScriptTask, Scripts};

use crate::world::{Told, module, runs, script, scripts};

/// The result of `run` with this body, which has two seconds to compute.
async fn hurried(body: &str) -> Result<String, String> {
    within(Duration::from_secs(4), body).await
}

async fn within(time: Duration, body: &str) -> Result<String, String> {
    let code = format!("export async function run(input, host) {{\n{body}\n}}\n");
    runs(&scripts(), ScriptTask { time, ..script(ScriptKind::Module, &code) }).await
}

/// `(body, one of these words)`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_what_never_ends_is_ended() {
    for (body, words) in [
        ("while (true) {}", ["ran longer than 2 s", "took longer than 4 s"]),
        ("for (;;) await 0", ["ran longer than 2 s", "took longer than 4 s"]),
        (
            "try { while (true) {} } catch {} return 1",
            ["ran longer than 2 s", "took longer than 4 s"],
        ),
        (
            "return /(a+)+$/.test('a'.repeat(40) + 'b')",
            ["ran longer than 2 s", "took longer than 4 s"],
        ),
    ] {
        let why = hurried(body).await.expect_err(body);
        assert!(words.iter().any(|word| why.contains(word)), "{body}: {why}");
    }
}

/// `(body, one of these words)`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t5_what_takes_too_much_is_ended() {
    // How fast the machine is decides which bound is met first: memory, the time of the engine, or
    // the processor time of its process. Each is one.
    let bounds = ["memory", "longer than", "computed for more than", "invalid", "Invalid"];
    let stack = ["stack", "recursion"];
    let deep = ["stack", "recursion", "memory", "longer than", "computed for more than"];
    let cases: [(&str, &[&str]); 7] = [
        ("return new Array(1e8) + ''", &bounds),
        ("const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", &bounds),
        ("return 'x'.repeat(2 ** 29)", &bounds),
        ("return new ArrayBuffer(2 ** 40)", &bounds),
        ("const f = n => f(n + 1) + 1; return f(0)", &stack),
        ("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a", &deep),
        ("return 'x'.repeat(3e6)", &["at most 1048576", "memory"]),
    ];
    for (body, words) in cases {
        // Enough for it to begin on a machine with other work.
        let why = within(Duration::from_secs(40), body).await.expect_err(body);
        assert!(words.iter().any(|word| why.contains(word)), "{body}: {why}");
    }
}

#[tokio::test]
async fn t5_floods_are_bounded() {
    let told = Told::default();
    let cancel = CancellationToken::new();
    let code = "export function run(input, host) {
        for (let i = 0; i < 300; i++) host.log('y'.repeat(1000));
        for (;;) host.call('ping', {});
    }";
    let done = scripts().run(script(ScriptKind::Module, code), &told, &cancel).await;
    let why = done.expect_err("it asks for ever");
    assert!(why.contains("more than 500 things"), "{why}");
    assert_eq!(told.calls.into_inner().expect("a lock").len(), 500);
    let shown: usize = told.logs.into_inner().expect("a lock").iter().map(String::len).sum();
    assert!(shown <= 64 << 10, "{shown}");
    for (call, words) in [
        ("host.call('large', {})", "at most 4194304"),
        ("host.call('x', { a: 'z'.repeat(9e6) })", "more than"),
    ] {
        let code = format!("export function run(input, host) {{ return {call} }}");
        let told = Told::default();
        let done = scripts().run(script(ScriptKind::Module, &code), &told, &cancel).await;
        let why = done.expect_err(call);
        assert!(why.contains(words), "{call}: {why}");
    }
}

#[tokio::test]
async fn t5_a_script_has_no_way_out() {
    let names = "[typeof require, typeof process, typeof fetch, typeof Deno, typeof XMLHttpRequest, \
                 typeof Worker, typeof print, typeof console, typeof scriptArgs, typeof bjson]";
    let found = module(&format!("return {names}.join()")).await.expect("it is evaluated");
    assert!(found.split(',').all(|kind| kind == "undefined"), "{found}");
    // A way round the host leads to the same host.
    let body = "const F = (() => {}).constructor; return F('return typeof host')()";
    assert_eq!(module(body).await.as_deref(), Ok("undefined"));
    for file in ["std", "os", "/etc/hostname", "file:///etc/hostname", "./x.js"] {
        let why = module(&format!("return await import('{file}')")).await.expect_err(file);
        assert!(!why.is_empty(), "{file}");
    }
}

#[tokio::test]
async fn t5_a_cancelled_script_is_gone_at_once() {
    let cancel = CancellationToken::new();
    let running = scripts();
    let told = Told::default();
    let code = "export function run(input, host) { host.call('x', {}); while (true) {} }";
    let work = running.run(script(ScriptKind::Module, code), &told, &cancel);
    let stop = async {
        while told.calls.lock().expect("a lock").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(work, stop);
    assert!(done.expect_err("it loops").contains("cancelled"));
}

#[tokio::test]
async fn t5_a_script_has_so_much_time_and_no_more() {
    let code = "export function run() { while (true) {} }";
    let short = ScriptTask { time: Duration::from_secs(1), ..script(ScriptKind::Module, code) };
    let done = scripts().run(short, &Told::default(), &CancellationToken::new()).await;
    // Half of the time is for computing. A busy machine may not let it begin before all is over.
    let why = done.expect_err("it loops");
    assert!(why.contains("longer than 0.5 s") || why.contains("longer than 1 s"), "{why}");
}
