//! The contract of the engine's host: what a person tells a session does the same, wherever it runs.
//! Each command in each setting: the session runs in this program, in another one over the same
//! store, or in none, and is then taken up or written beside the loop.
//!
//! Not here: another replica over PostgreSQL (`weir/tests/it/serve`).

use std::sync::Arc;
use std::time::Duration;

use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, InputId, QuestionId, SessionId};
use weir_core::input::{ApprovalAnswer, PersonCommand, PersonMessage};
use weir_core::message::MessageBlock;
use weir_core::profile::PermissionMode;
use weir_engine::host::{
    LiveSession, Released, SentCommand, SessionState, SessionView, TellOutcome,
};
use weir_engine::ports::Store;
use weir_scenario::parse;
use weir_scenario::play::Depth;
use weir_scenario::programs::{Machine, Program, Takes};
use weir_store::this_process;

/// Where the session runs when it is told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    ThisProgram,
    OtherProgram,
    NobodyTakenUp,
    NobodyOffline,
}

const SETTINGS: [Setting; 4] =
    [Setting::ThisProgram, Setting::OtherProgram, Setting::NobodyTakenUp, Setting::NobodyOffline];

/// Asks whether a file may be written, and then for a colour.
const SCENARIO: &str = r#"# The host

```setup
attended yes
file a.txt: one
```
```script
calls: write_file {"path": "a.txt", "content": "1"}

calls: ask_followup_question {"question": "Which?", "options": ["a", "b"]}

says: Done.

says: Done again.

says: Done once more.
```
```people
says What is said stands in the tests.
```
"#;

/// How far the session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// An approval waits, and an input behind it.
    Approval,
    /// A question waits; the approval before it was for the session.
    Question,
    /// It has said what it had to say.
    Rest,
}

const BY: &str = "ada (another place)";

fn session() -> SessionId {
    SessionId::new("s")
}

fn message(text: &str, client_id: &str) -> PersonCommand {
    let content = vec![MessageBlock::text(text)];
    let client_id = Some(client_id.to_owned());
    PersonMessage { content, client_id, ..PersonMessage::default() }.into()
}

fn answer(decision: Decision) -> PersonCommand {
    let approval = ApprovalId::new("s-a1");
    PersonCommand::Decide(ApprovalAnswer { approval, decision, reason: None, terms: None })
}

async fn reach(live: &LiveSession, what: &str, there: impl Fn(&SessionState) -> bool) {
    let found = live.wait_until(Duration::from_secs(60), |state| there(state).then_some(())).await;
    let state = live.read_state(Clone::clone);
    found.unwrap_or_else(|| panic!("{what} is not reached: {state:?}"));
}

/// A program in which the session has come as far as `stage`.
async fn begun(machine: &Arc<Machine>, stage: Stage) -> Arc<Program> {
    let program = machine.start("the first", Takes::Up).expect("a program");
    let live = program.open(&session()).await.expect("it opens");
    let told = |command| live.handle().tell_session("person", command);
    told(message("Go.", "m1")).await.expect("it is said");
    reach(&live, "the approval", |state| !state.approvals.is_empty()).await;
    if stage == Stage::Approval {
        told(message("And more.", "m2")).await.expect("it is said");
        reach(&live, "the queue", |state| state.queued.contains(&InputId(2))).await;
        return program;
    }
    told(answer(Decision::Session)).await.expect("it is open");
    reach(&live, "the question", |state| !state.questions.is_empty()).await;
    if stage == Stage::Question {
        return program;
    }
    let (question, answer) = (QuestionId::new("s-q2"), "a".into());
    told(PersonCommand::Reply { question, answer }).await.expect("it is open");
    reach(&live, "the end", |state| state.is_at_rest() && state.ended.is_some()).await;
    program
}

/// The program that tells the session something, in this setting. `first` has it, and goes on as long
/// as its session is not asked for.
async fn teller(machine: &Arc<Machine>, first: &Arc<Program>, setting: Setting) -> Arc<Program> {
    let second = |takes| machine.start("the second", takes).expect("a program");
    match setting {
        Setting::ThisProgram => first.clone(),
        Setting::OtherProgram => second(Takes::Up),
        Setting::NobodyTakenUp => {
            first.end().await;
            second(Takes::Up)
        }
        Setting::NobodyOffline => {
            first.end().await;
            second(Takes::Nothing)
        }
    }
}

async fn tell(
    program: &Arc<Program>,
    command: PersonCommand,
    settled: impl Fn(&SessionState) -> bool + Send + Sync,
) -> TellOutcome<()> {
    let sent = SentCommand { session: session(), by: BY.into(), command };
    let host = program.host();
    let view = host.view_target(&sent).await.expect("readable");
    let mut view = view.expect("the session exists");
    let settled = |state: &SessionState| settled(state).then_some(());
    host.tell_session(&sent, &mut view, settled).await.expect("it is reached")
}

async fn kinds(store: &dyn Store) -> Vec<String> {
    let records = store.read_records(&session(), 1, 10_000).await.expect("readable");
    records.into_iter().map(|record| record.kind).collect()
}

/// Tells it in each setting; gives what came of it. The fact of the command stands in the journal
/// once more than before, and no letter is left.
async fn everywhere(
    stage: Stage,
    fact: &str,
    command: impl Fn(&SessionState) -> PersonCommand,
    settled: impl Fn(&SessionState) -> bool + Send + Sync + Copy,
) -> Vec<(Setting, TellOutcome<()>)> {
    let mut all = Vec::new();
    for setting in SETTINGS {
        let scenario = parse::parse(SCENARIO).expect("a scenario");
        let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
        let first = begun(&machine, stage).await;
        let host = first.host();
        let view = host.view_session(&session()).await.expect("readable").expect("it exists");
        let command = view.read_state(&command);
        drop((view, host));
        let count = |kinds: &[String]| kinds.iter().filter(|kind| *kind == fact).count();
        let before = count(&kinds(machine.store().as_ref()).await);
        let program = teller(&machine, &first, setting).await;
        let told = tell(&program, command, settled).await;
        let after = count(&kinds(machine.store().as_ref()).await);
        assert!(after > before, "{setting:?}: {told:?}, and no {fact} stands in the journal");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let letters = machine.store().waiting_remote_commands(&session()).await.expect("readable");
        assert_eq!(letters, [], "{setting:?}");
        all.push((setting, told));
    }
    all
}

/// What is to come of a command whose fact is looked for.
fn found_everywhere(told: &[(Setting, TellOutcome<()>)]) {
    for (setting, told) in told {
        let at_rest = *setting == Setting::NobodyOffline;
        assert_eq!(*told, TellOutcome::Found { found: (), at_rest }, "{setting:?}");
    }
}

/// What is to come of a command that is only taken in.
fn taken_in_everywhere(told: &[(Setting, TellOutcome<()>)]) {
    for (setting, told) in told {
        assert_eq!(*told, TellOutcome::TakenIn, "{setting:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn d8_a_message_is_said_wherever_the_session_runs() {
    let settled = |state: &SessionState| state.sent.contains_key("m9");
    let say = |_: &SessionState| message("Once more.", "m9");
    found_everywhere(&everywhere(Stage::Rest, "input.accepted", say, settled).await);
}

#[tokio::test(start_paused = true)]
async fn g4_a_decision_counts_wherever_the_session_runs() {
    for decision in [Decision::Once, Decision::Deny, Decision::Session, Decision::Always] {
        let id = ApprovalId::new("s-a1");
        let settled = |state: &SessionState| {
            let resolution = state.resolution(&id);
            resolution.is_some_and(|f| f.by == BY && f.decision == Some(decision))
        };
        let decide = |_: &SessionState| answer(decision);
        found_everywhere(&everywhere(Stage::Approval, "approval.resolved", decide, &settled).await);
    }
}

#[tokio::test(start_paused = true)]
async fn g4_a_question_is_answered_wherever_the_session_runs() {
    let question = QuestionId::new("s-q2");
    let settled = |state: &SessionState| state.answer(&question).is_some_and(|f| f.by == BY);
    let reply =
        |_: &SessionState| PersonCommand::Reply { question: question.clone(), answer: "b".into() };
    found_everywhere(&everywhere(Stage::Question, "question.answered", reply, &settled).await);
}

#[tokio::test(start_paused = true)]
async fn d8_a_run_is_ended_wherever_the_session_runs() {
    let settled = |state: &SessionState| state.run.is_none() || state.cancelled;
    let cancel = |_: &SessionState| PersonCommand::Cancel;
    found_everywhere(&everywhere(Stage::Approval, "cancel.requested", cancel, settled).await);
}

#[tokio::test(start_paused = true)]
async fn l12_an_input_is_withdrawn_wherever_the_session_runs() {
    let settled = |state: &SessionState| !state.queued.contains(&InputId(2));
    let withdraw = |_: &SessionState| PersonCommand::Withdraw { input: InputId(2) };
    found_everywhere(&everywhere(Stage::Approval, "input.withdrawn", withdraw, settled).await);
}

#[tokio::test(start_paused = true)]
async fn z2_a_lease_is_revoked_wherever_the_session_runs() {
    let settled = |state: &SessionState| !state.leases.contains(&1);
    let revoke = |state: &SessionState| {
        assert!(state.leases.contains(&1), "{:?}", state.leases);
        PersonCommand::Revoke { lease: 1 }
    };
    found_everywhere(&everywhere(Stage::Rest, "lease.revoked", revoke, settled).await);
}

#[tokio::test(start_paused = true)]
async fn f1_settings_change_wherever_the_session_runs() {
    let configure = |state: &SessionState| {
        let mut config = state.config.as_ref().expect("it is open").as_ref().clone();
        config.permission = PermissionMode::AutoEdit;
        PersonCommand::Configure { reason: "another mode".into(), config: Arc::new(config) }
    };
    let never = |_: &SessionState| false;
    taken_in_everywhere(&everywhere(Stage::Rest, "session.configured", configure, never).await);
}

#[tokio::test(start_paused = true)]
async fn x3_a_context_is_condensed_wherever_the_session_runs() {
    let condense = |_: &SessionState| PersonCommand::Condense { keep: None };
    let never = |_: &SessionState| false;
    taken_in_everywhere(&everywhere(Stage::Rest, "context.condensing", condense, never).await);
}

#[tokio::test(start_paused = true)]
async fn x3_what_was_never_condensed_is_refused_alike_wherever_the_session_runs() {
    for setting in SETTINGS {
        let scenario = parse::parse(SCENARIO).expect("a scenario");
        let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
        let first = begun(&machine, Stage::Rest).await;
        let program = teller(&machine, &first, setting).await;
        let told = tell(&program, PersonCommand::Uncondense, |_| false).await;
        assert!(matches!(told, TellOutcome::Refused(_)), "{setting:?}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn x3_what_counts_between_runs_says_so_where_another_program_has_one_on() {
    let scenario = parse::parse(SCENARIO).expect("a scenario");
    let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
    let first = begun(&machine, Stage::Approval).await;
    let second = machine.start("the second", Takes::Up).expect("a program");
    let told = tell(&second, PersonCommand::Condense { keep: None }, |_| false).await;
    assert_eq!(told, TellOutcome::InUse);
    let released = second.host().release_session(&session(), BY).await.expect("readable");
    assert_eq!(released, Released::InUse);
    first.end().await;
}

#[tokio::test(start_paused = true)]
async fn d8_a_session_at_rest_is_given_to_the_program_that_asks_for_it() {
    let scenario = parse::parse(SCENARIO).expect("a scenario");
    let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
    let _first = begun(&machine, Stage::Rest).await;
    let second = machine.start("the second", Takes::Up).expect("a program");
    let released = second.host().release_session(&session(), BY).await.expect("readable");
    assert_eq!(released, Released::Free);
    let owner = this_process("a third");
    let lease = machine.store().acquire_lease(&session(), &owner).await.expect("it is free");
    machine.store().release_lease(&lease).await.expect("writable");
}

#[tokio::test(start_paused = true)]
async fn g4_the_first_of_two_answers_counts_wherever_the_session_runs() {
    for setting in SETTINGS {
        let scenario = parse::parse(SCENARIO).expect("a scenario");
        let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
        let first = begun(&machine, Stage::Approval).await;
        let decided = |state: &SessionState| state.resolution(&ApprovalId::new("s-a1")).is_some();
        let program = teller(&machine, &first, setting).await;
        for decision in [Decision::Deny, Decision::Once] {
            tell(&program, answer(decision), decided).await;
        }
        let view = program.host().view_session(&session()).await.expect("readable");
        let view = view.expect("it exists");
        let found = view.read_state(|state| state.resolution(&ApprovalId::new("s-a1")).cloned());
        assert_eq!(found.and_then(|f| f.decision), Some(Decision::Deny), "{setting:?}");
    }
}

/// Nothing is read again for a decision where the session runs.
#[tokio::test(start_paused = true)]
async fn g4_what_runs_here_is_known_from_memory() {
    let scenario = parse::parse(SCENARIO).expect("a scenario");
    let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
    let first = begun(&machine, Stage::Approval).await;
    let (session, by, command) = (session(), BY.to_owned(), answer(Decision::Once));
    let sent = SentCommand { session, by, command };
    let view = first.host().view_target(&sent).await.expect("readable").expect("it exists");
    assert!(matches!(view, SessionView::Live(_)), "its facts are in memory");
    first.end().await;
    let view = first.host().view_target(&sent).await.expect("readable").expect("it exists");
    assert!(matches!(view, SessionView::Journal { .. }), "nobody has it in memory");
}

/// Somebody who holds the session and reads nothing, as a program does that hangs.
#[tokio::test(start_paused = true)]
async fn d8_what_nobody_reads_waits_and_counts_once_its_holder_is_gone() {
    for goes in [false, true] {
        let scenario = parse::parse(SCENARIO).expect("a scenario");
        let machine = Machine::new(scenario, Depth::Memory).expect("a machine");
        begun(&machine, Stage::Approval).await.end().await;
        let store = machine.store().clone();
        let lease =
            store.acquire_lease(&session(), &this_process("one that hangs")).await.expect("free");
        if goes {
            let (store, lease) = (store.clone(), lease.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                store.release_lease(&lease).await.expect("writable");
            });
        }
        let program = machine.start("the second", Takes::Up).expect("a program");
        let decided = |state: &SessionState| state.resolution(&ApprovalId::new("s-a1")).is_some();
        let told = tell(&program, answer(Decision::Deny), decided).await;
        let letters = store.waiting_remote_commands(&session()).await.expect("readable").len();
        match goes {
            true => {
                assert_eq!(told, TellOutcome::Found { found: (), at_rest: false });
                assert_eq!(letters, 0, "what was told here is told once");
            }
            false => {
                assert!(matches!(told, TellOutcome::Waits(_)), "{told:?}");
                assert_eq!(letters, 1, "it waits there");
            }
        }
    }
}
