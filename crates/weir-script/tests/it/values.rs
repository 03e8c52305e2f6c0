//! What scripts are given, what they return, and what they ask for.

use serde_json::json;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{ScriptKind, ScriptTask, Scripts};

use crate::world::{Told, expression, module, runs, script, scripts};

/// `(body, result)`
#[tokio::test]
async fn t5_values_come_back_as_text() {
    for (body, result) in [
        ("return input.text + input.n", "häß3"),
        ("return { a: [1, 2n] }", "{\n  \"a\": [\n    1,\n    \"2\"\n  ]\n}"),
        ("return 1.5", "1.5"),
        ("return null", "null"),
        ("", "undefined"),
        ("return () => 1", "() => 1"),
        ("return await Promise.resolve(7)", "7"),
        ("return 'a\\ud800b'", "a\u{fffd}b"),
        ("return { t: 'a\\ud800' }", "{\n  \"t\": \"a\\ud800\"\n}"),
        (
            "return typeof host.readFile + typeof setTimeout + typeof std + typeof os",
            "functionundefinedundefinedundefined",
        ),
        ("return new Date(0).toISOString()", "1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(module(body).await.as_deref(), Ok(result), "{body}");
    }
    for (code, result) in [
        ("1 + 2", "3"),
        ("const a = [3, 1, 2]; a.sort(); a.join()", "1,2,3"),
        ("input.n * 2", "6"),
        ("Promise.resolve('later')", "later"),
        ("typeof host", "undefined"),
        ("let x", "undefined"),
    ] {
        assert_eq!(expression(code).await.as_deref(), Ok(result), "{code}");
    }
}

/// `(body, words of the error)`
#[tokio::test]
async fn t6_errors_say_what_and_where() {
    for (body, words) in [
        ("throw new TypeError('no such thing')", "TypeError: no such thing (line 2:"),
        ("throw 'plain'", "it threw \"plain\""),
        ("throw undefined", "it threw something"),
        ("return nothing.at.all", "nothing is not defined (line 2:"),
        ("const c = {}; c.c = c; return c", "circular"),
        ("await Promise.reject(new Error('late'))", "Error: late"),
        ("await new Promise(() => 1)", "never resolves"),
        ("return await import('std')", "std"),
    ] {
        let why = module(body).await.expect_err(body);
        assert!(why.contains(words), "{body}: {why}");
        assert!(!why.contains("    at "), "{why}");
    }
    let why = expression("1 +").await.expect_err("no expression");
    assert!(why.contains("SyntaxError"), "{why}");
}

/// `(code, words of the error; none: it can be used)`
#[tokio::test]
async fn t5_code_is_looked_at_before_it_is_kept() {
    for (code, words) in [
        ("export function run() {}", None),
        ("export const run = async () => 1", None),
        ("export function run( {", Some("SyntaxError")),
        ("function run() {}", Some("exports no function run")),
        ("export const run = 3", Some("exports no function run")),
        ("import * as os from 'os'; export function run() {}", Some("os")),
        ("throw new Error('at once'); export function run() {}", Some("at once")),
        ("export function run() {}; while (true) {}", Some("longer than")),
    ] {
        // Little time for what never ends; enough for the others on a machine with other work.
        let seconds = if words == Some("longer than") { 4 } else { 60 };
        let time = std::time::Duration::from_secs(seconds);
        let checked =
            runs(&scripts(), ScriptTask { time, ..script(ScriptKind::Check, code) }).await;
        match (checked, words) {
            (Ok(_), None) => (),
            (Err(why), Some(words)) => assert!(why.contains(words), "{code}: {why}"),
            (checked, _) => panic!("{code}: {checked:?}"),
        }
    }
}

#[tokio::test]
async fn t5_the_host_is_asked_step_by_step() {
    let code = "export async function run(input, host) {
        host.log('begins');
        const a = host.readFile('a.txt');
        const b = await host.call('glob', { pattern: '*' });
        let c;
        try { host.call('bad', {}) } catch (e) { c = e.message }
        host.writeFile('b.txt', 5);
        return [a, b, c].join('|');
    }";
    let told = Told::default();
    let cancel = CancellationToken::new();
    let done = scripts().run(script(ScriptKind::Module, code), &told, &cancel).await;
    assert_eq!(done.as_deref(), Ok("answer of read_file|answer of glob|bad was denied: no"));
    let calls = told.calls.into_inner().expect("a lock");
    assert_eq!(
        calls,
        [
            ("read_file".to_string(), json!({ "path": "a.txt" }), true),
            ("glob".to_string(), json!({ "pattern": "*" }), false),
            ("bad".to_string(), json!({}), false),
            ("write_file".to_string(), json!({ "path": "b.txt", "content": "5" }), false),
        ]
    );
    assert_eq!(told.logs.into_inner().expect("a lock"), ["begins"]);
}
