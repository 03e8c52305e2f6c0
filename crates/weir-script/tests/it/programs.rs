//! Programs in real children: what they ask for, in which order they hear of it, and that the same
//! answers make them go the same way.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{ProgramHost, ProgramStep, ProgramTask, Scripts, StepAnswer};

use crate::world::scripts;

/// Answers each step by its arguments, the last that was asked for first where `backwards` says so.
#[derive(Default)]
struct StepsTold {
    backwards: bool,
    /// Steps that are taken on; `None`: any number.
    most: Option<usize>,
    asked: Mutex<Vec<(u32, String, String)>>,
    open: Mutex<VecDeque<StepAnswer>>,
    /// Numbers in the order in which they were answered.
    heard: Mutex<Vec<u32>>,
    logs: Mutex<Vec<String>>,
}

#[async_trait]
impl ProgramHost for StepsTold {
    async fn propose_step(&self, step: ProgramStep) -> Result<(), String> {
        let ProgramStep { number, tool, input } = step;
        let mut asked = self.asked.lock().expect("a lock");
        if self.most.is_some_and(|most| asked.len() >= most) {
            return Err("it asked for too many steps".into());
        }
        asked.push((number, tool.clone(), input.to_string()));
        let result = match tool.as_str() {
            "refuse" => Err("Denied: no".to_string()),
            "list" => Ok(json!([{ "id": 1 }, { "id": 2 }]).to_string()),
            _ => Ok(format!("{tool} {}", input["n"])),
        };
        let mut open = self.open.lock().expect("a lock");
        let answer = StepAnswer { number, result };
        if self.backwards {
            open.push_front(answer)
        } else {
            open.push_back(answer)
        }
        Ok(())
    }

    async fn next_answer(&self) -> Result<StepAnswer, String> {
        let answer = self.open.lock().expect("a lock").pop_front();
        let answer = answer.ok_or("nothing is open")?;
        self.heard.lock().expect("a lock").push(answer.number);
        Ok(answer)
    }

    fn log(&self, text: &str) {
        self.logs.lock().expect("a lock").push(text.into());
    }
}

fn program(code: &str) -> ProgramTask {
    let tools = ["look", "list", "refuse", "with-dash", "eval"].map(String::from).to_vec();
    ProgramTask { code: code.into(), tools, now_ms: 1_000_000_000_000, seed: 7 }
}

async fn plays(host: &StepsTold, code: &str) -> Result<String, String> {
    scripts().run_program(program(code), host, &CancellationToken::new()).await
}

/// `(code, result)`
#[tokio::test]
async fn u7_a_program_works_by_steps_and_gives_a_value() {
    for (code, result) in [
        ("return await look({ n: 3 })", "look 3"),
        ("return (await list()).map(item => item.id)", "[\n  1,\n  2\n]"),
        (
            "return (await Promise.all([1, 2, 3].map(n => look({ n })))).join()",
            "look 1,look 2,look 3",
        ),
        (
            "try { await refuse({}) } catch (e) { return e.name + ' ' + e.message }",
            "StepError Denied: no",
        ),
        ("return await tools['with-dash']({ n: 1 })", "with-dash 1"),
        ("return typeof eval('1') + await tools.eval({ n: 2 })", "numbereval 2"),
        ("look({ n: 1 })", "undefined"),
        ("JSON.parse = () => 3; return (await list()).length", "2"),
        (
            "try { await look(3) } catch (e) { return e.message }",
            "look takes one object of arguments",
        ),
    ] {
        let told = StepsTold::default();
        assert_eq!(plays(&told, code).await.as_deref(), Ok(result), "{code}");
        let open = told.open.lock().expect("a lock").len();
        assert_eq!(open, 0, "{code}: every step that it asked for was heard of");
    }
}

#[tokio::test]
async fn u7_steps_are_asked_for_until_it_can_only_wait() {
    let code = "const all = [1, 2, 3].map(async n => { await look({ n }); return look({ n: n * 10 }) });\n\
                log('asked'); await Promise.all(all); return 'done'";
    for (backwards, heard) in [(false, [1, 2, 3, 4, 5, 6]), (true, [3, 4, 2, 5, 1, 6])] {
        let told = StepsTold { backwards, ..StepsTold::default() };
        assert_eq!(plays(&told, code).await.as_deref(), Ok("done"));
        let asked: Vec<u32> =
            told.asked.lock().expect("a lock").iter().map(|(number, ..)| *number).collect();
        assert_eq!(asked, [1, 2, 3, 4, 5, 6], "numbered as they are asked for");
        assert_eq!(*told.heard.lock().expect("a lock"), heard, "heard of one at a time");
        assert_eq!(*told.logs.lock().expect("a lock"), ["asked"]);
    }
}

#[tokio::test]
async fn u7_a_program_goes_the_same_way_again() {
    let code = "const n = Math.floor(Math.random() * 1e9); await look({ n, now: Date.now() });\n\
                return [n, new Date().toISOString(), Date().length > 0, new Date(0).getTime(), \
                new Date() instanceof Date, typeof WeakRef, typeof FinalizationRegistry, \
                new (new Date(1)).constructor().getTime()].join()";
    let (first, again) = (StepsTold::default(), StepsTold::default());
    let result = plays(&first, code).await.expect("it runs");
    assert_eq!(plays(&again, code).await.as_ref(), Ok(&result));
    assert_eq!(*first.asked.lock().expect("a lock"), *again.asked.lock().expect("a lock"));
    let rest = ",2001-09-09T01:46:40.000Z,true,0,true,undefined,undefined,1000000000000";
    assert!(result.ends_with(rest), "{result}");
    let other = ProgramTask { seed: 8, ..program(code) };
    let told = StepsTold::default();
    let differs = scripts().run_program(other, &told, &CancellationToken::new()).await;
    assert_ne!(differs.expect("it runs"), result, "another seed, other numbers");
}

/// `(code, words of the error)`
#[tokio::test]
async fn u7_what_a_program_cannot_do_is_a_sentence() {
    for (code, words) in [
        ("await new Promise(() => 1)", "no step is open"),
        ("await refuse({})", "StepError: Denied: no"),
        ("return 1 +", "SyntaxError"),
        ("\n\nnothing()", "nothing is not defined (line 3:"),
        ("for (;;) ;", "it ran longer than 10 s"),
        ("const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", "64 MB"),
        ("return 'x'.repeat(2e6)", "returned 2000000 bytes"),
        ("await look({ t: 'x'.repeat(2e6) })", "the arguments of step 1 (look) have"),
        ("for (let n = 0; ; n++) look({ n })", "too many steps"),
        ("import 'std'", "SyntaxError"),
        ("await import('std')", "std"),
    ] {
        let told = StepsTold { most: Some(200), ..StepsTold::default() };
        let why = plays(&told, code).await.expect_err(code);
        assert!(why.contains(words), "{code}: {why}");
        assert!(told.asked.lock().expect("a lock").len() <= 200, "{code}");
    }
}

#[tokio::test]
async fn u7_a_program_that_waits_ends_when_it_is_cancelled() {
    struct NeverAnswers;
    #[async_trait]
    impl ProgramHost for NeverAnswers {
        async fn propose_step(&self, _: ProgramStep) -> Result<(), String> {
            Ok(())
        }
        async fn next_answer(&self) -> Result<StepAnswer, String> {
            std::future::pending().await
        }
        fn log(&self, _: &str) {}
    }
    let (children, cancel) = (scripts(), CancellationToken::new());
    let work = children.run_program(program("await look({ n: 1 })"), &NeverAnswers, &cancel);
    tokio::pin!(work);
    let early = tokio::time::timeout(std::time::Duration::from_millis(200), &mut work).await;
    assert!(early.is_err(), "it waits for its step");
    cancel.cancel();
    assert!(work.await.expect_err("it was cancelled").contains("cancelled"));
}
