//! Children that are none, die, or say what is no answer: each end is a sentence.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_engine::ports::{ScriptKind, ScriptTask, Scripts};
use weir_script::ChildScripts;

use crate::world::{Told, script};

async fn of_shell(line: &str) -> Result<String, String> {
    let scripts = ChildScripts::with_arguments("/bin/sh".into(), vec!["-c".into(), line.into()]);
    let one = script(ScriptKind::Module, "export function run() {}");
    let one = ScriptTask { time: Duration::from_secs(20), ..one };
    scripts.run(one, &Told::default(), &CancellationToken::new()).await
}

/// `(what the child does, words of the error)`
#[tokio::test]
async fn t5_every_end_of_a_child_is_a_sentence() {
    assert_eq!(of_shell("read x; echo '{\"ok\":\"fine\"}'").await.as_deref(), Ok("fine"));
    for (line, words) in [
        ("exit 0", "without an answer"),
        ("read x; exit 1", "without an answer"),
        ("exit 3", "cannot confine"),
        ("read x; echo nonsense", "no answer"),
        ("read x; printf '\\377\\376\\n'", "no answer"),
        ("read x; printf '{\"ok\":\"half'", "without an answer"),
        ("read x; echo '{\"ok\":3}'", "no answer"),
        ("read x; kill -KILL $$", "more than 12 s"),
        ("read x; kill -ABRT $$", "memory or stack"),
        ("read x; kill -SEGV $$", "memory or stack"),
        ("read x; head -c 9000000 /dev/zero", "a line of more than"),
        (
            "read x; echo '{\"call\":{\"id\":1,\"tool\":\"t\",\"input\":{},\"whole\":false}}'",
            "without an answer",
        ),
    ] {
        let why = of_shell(line).await.expect_err(line);
        assert!(why.contains(words), "{line}: {why}");
    }
    let missing = ChildScripts::with_arguments("/no/such/program".into(), Vec::new());
    let one = script(ScriptKind::Check, "export function run() {}");
    let why = missing.run(one, &Told::default(), &CancellationToken::new()).await;
    assert!(why.expect_err("nothing there").contains("cannot be started"));
}
