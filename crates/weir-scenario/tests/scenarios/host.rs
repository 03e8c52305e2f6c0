//! The contract of the engine's host: what a person tells a session does the same, wherever it runs.
//! Each command in each setting: the session runs in this program, in another one, or in none, and is
//! then taken up or written beside the loop; and the programs have one store in memory, files of one
//! folder (processes of a machine), or one database (replicas of a server).
//!
//! Not here: the commands themselves (`host/commands.rs`), and programs that die meanwhile
//! (`host/crashes.rs`).

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, InputId, QuestionId, SessionId};
use weir_core::input::PersonCommand;
use weir_engine::host::{
    LiveSession, Released, SentCommand, SessionState, SessionView, TellOutcome,
};
use weir_engine::ports::Store;
use weir_scenario::parse;
use weir_scenario::programs::{Machine, Place, Program, Takes};
use weir_store::this_process;
use weir_test_kit::TestDatabase;

#[path = "host/commands.rs"]
mod commands;

#[path = "host/crashes.rs"]
mod crashes;

use commands::{BY, Case, Shows, Stage, answer, case, cases, message, names_of};

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

/// Cases that are tried at a time where they wait for a disk.
const AT_A_TIME: usize = 3;

/// How long letters may take to be gone.
const LETTERS_WAIT: Duration = Duration::from_secs(30);

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

fn session() -> SessionId {
    SessionId::new("s")
}

async fn reach(live: &LiveSession, what: &str, there: impl Fn(&SessionState) -> bool) {
    let found = live.wait_until(Duration::from_secs(60), |state| there(state).then_some(())).await;
    let state = live.read_state(Clone::clone);
    found.unwrap_or_else(|| panic!("{what} is not reached: {state:?}"));
}

/// Waits until a fact of this kind stands in the journal.
async fn reach_fact(machine: &Machine, kind: &str) {
    let found = tokio::time::timeout(Duration::from_secs(60), async {
        while !kinds(machine.store().as_ref()).await.iter().any(|found| found == kind) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("no {kind}"));
}

async fn new_machine(place: &Place) -> Arc<Machine> {
    let scenario = parse::parse(SCENARIO).expect("a scenario");
    Machine::new(scenario, place.clone()).await.expect("a machine")
}

/// A program in which the session has come as far as `stage`.
async fn begun(machine: &Arc<Machine>, stage: Stage) -> Arc<Program> {
    let program = machine.start("the first", Takes::Up).await.expect("a program");
    let live = program.open(&session()).await.expect("it opens");
    let told = |command| live.handle().tell_session("person", command);
    told(message("Go.", "m1")).await.expect("it is said");
    reach(&live, "the approval", |state| !state.approvals.is_empty()).await;
    if matches!(stage, Stage::Approval | Stage::Paused) {
        told(message("And more.", "m2")).await.expect("it is said");
        reach(&live, "the queue", |state| state.queued.contains(&InputId(2))).await;
        if stage == Stage::Paused {
            told(PersonCommand::Pause).await.expect("a run is on");
            reach(&live, "the pause", |state| state.paused.is_some()).await;
        }
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
    if stage == Stage::Condensed {
        told(PersonCommand::Condense { keep: None }).await.expect("it is at rest");
        reach_fact(machine, "context.condensed").await;
    }
    program
}

/// The program that tells the session something, in this setting. `first` has it, and goes on as long
/// as its session is not asked for.
async fn teller(machine: &Arc<Machine>, first: &Arc<Program>, setting: Setting) -> Arc<Program> {
    let second = async |takes| machine.start("the second", takes).await.expect("a program");
    match setting {
        Setting::ThisProgram => first.clone(),
        Setting::OtherProgram => second(Takes::Up).await,
        Setting::NobodyTakenUp => {
            first.end().await;
            second(Takes::Up).await
        }
        Setting::NobodyOffline => {
            first.end().await;
            second(Takes::Nothing).await
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

/// How many facts show what `case` tells.
async fn count_facts(case: &Case, store: &dyn Store) -> usize {
    let records = store.read_records(&session(), 1, 10_000).await.expect("readable");
    let shows = |record: &&weir_core::record::Record| {
        Some(record.kind.as_str()) == case.fact && record.payload.contains(case.words)
    };
    records.iter().filter(shows).count()
}

async fn wait_until_letters_are_gone(machine: &Machine, what: &str) {
    let gone = tokio::time::timeout(LETTERS_WAIT, async {
        while !machine.store().waiting_remote_commands(&session()).await?.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok::<(), weir_engine::ports::StoreError>(())
    });
    gone.await.unwrap_or_else(|_| panic!("{what}: letters wait")).expect("readable");
}

/// The command of `case` as the session stands.
async fn command_of(case: &Case, program: &Arc<Program>) -> PersonCommand {
    let host = program.host();
    let view = host.view_session(&session()).await.expect("readable").expect("it exists");
    let command = view.read_state(case.command);
    assert!(names_of(&command).contains(&case.name), "{} stands in another row", case.name);
    command
}

/// Whether it is written into the journal of a session that nobody runs: by a program that takes none up, and
/// by any that pauses a run.
fn is_written(case: &Case, setting: Setting) -> bool {
    match setting {
        Setting::NobodyOffline => true,
        Setting::NobodyTakenUp => case.name == "pause",
        Setting::ThisProgram | Setting::OtherProgram => false,
    }
}

/// Tells it in one setting. Its fact stands in the journal once more than before, no letter is left,
/// and whoever told it heard what everybody hears.
async fn tell_in(place: &Place, case: &Case, setting: Setting) {
    let what = format!("{} in {setting:?}", case.name);
    let machine = new_machine(place).await;
    let first = begun(&machine, case.stage).await;
    let command = command_of(case, &first).await;
    let before = count_facts(case, machine.store().as_ref()).await;
    let program = teller(&machine, &first, setting).await;
    let told = tell(&program, command, &case.settled).await;
    let after = count_facts(case, machine.store().as_ref()).await;
    assert_eq!(after, before + usize::from(case.fact.is_some()), "{what}: {told:?}");
    let expected = match case.shows {
        Shows::Found => TellOutcome::Found { found: (), at_rest: is_written(case, setting) },
        Shows::TakenIn => TellOutcome::TakenIn,
    };
    assert_eq!(told, expected, "{what}");
    wait_until_letters_are_gone(&machine, &what).await;
    first.end().await;
    program.end().await;
    let after = count_facts(case, machine.store().as_ref()).await;
    assert_eq!(after, before + usize::from(case.fact.is_some()), "{what}, afterwards");
    machine.close().await;
}

/// Tells it in each setting, with a store in memory.
async fn tell_everywhere(name: &str) {
    for setting in SETTINGS {
        tell_in(&Place::Memory, &case(name), setting).await;
    }
}

/// Tells everything in each setting, several at a time.
async fn tell_everything(place: &Place) {
    let all = cases();
    let all = all.iter().flat_map(|case| SETTINGS.map(|setting| (case, setting)));
    let told = stream::iter(all).map(|(case, setting)| tell_in(place, case, setting));
    told.buffer_unordered(AT_A_TIME).collect::<()>().await;
}

/// Another process has files of its own open, and hears of letters and facts by their notices.
#[tokio::test]
async fn d8_every_command_does_the_same_among_processes_of_a_machine() {
    tell_everything(&Place::Folder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_every_command_does_the_same_among_replicas_of_a_server() {
    let Some(database) = TestDatabase::create().await else { return };
    tell_everything(&Place::Database(Arc::new(database))).await;
}

#[tokio::test(start_paused = true)]
async fn d8_a_message_is_said_wherever_the_session_runs() {
    tell_everywhere("say").await;
}

#[tokio::test(start_paused = true)]
async fn l12_a_message_is_queued_wherever_the_run_is_on() {
    tell_everywhere("say in a run").await;
}

#[tokio::test(start_paused = true)]
async fn g4_a_decision_counts_wherever_the_session_runs() {
    for name in ["allow once", "deny", "allow for the session", "allow always"] {
        tell_everywhere(name).await;
    }
}

#[tokio::test(start_paused = true)]
async fn g4_a_question_is_answered_wherever_the_session_runs() {
    tell_everywhere("reply").await;
}

#[tokio::test(start_paused = true)]
async fn d8_a_run_is_ended_wherever_the_session_runs() {
    tell_everywhere("cancel").await;
}

#[tokio::test(start_paused = true)]
async fn r5_a_run_is_paused_and_goes_on_wherever_the_session_runs() {
    for name in ["pause", "resume"] {
        tell_everywhere(name).await;
    }
}

#[tokio::test(start_paused = true)]
async fn l12_an_input_is_withdrawn_wherever_the_session_runs() {
    tell_everywhere("withdraw").await;
}

#[tokio::test(start_paused = true)]
async fn z2_a_lease_is_revoked_wherever_the_session_runs() {
    tell_everywhere("revoke").await;
}

#[tokio::test(start_paused = true)]
async fn f1_settings_change_wherever_the_session_runs() {
    tell_everywhere("configure").await;
}

#[tokio::test(start_paused = true)]
async fn x3_a_context_is_condensed_wherever_the_session_runs() {
    tell_everywhere("condense").await;
}

#[tokio::test(start_paused = true)]
async fn x3_a_condensing_is_taken_back_wherever_the_session_runs() {
    tell_everywhere("uncondense").await;
}

#[tokio::test(start_paused = true)]
async fn d8_a_session_is_given_back_wherever_it_runs() {
    tell_everywhere("yield").await;
}

#[tokio::test(start_paused = true)]
async fn x3_what_was_never_condensed_is_refused_alike_wherever_the_session_runs() {
    for setting in SETTINGS {
        let machine = new_machine(&Place::Memory).await;
        let first = begun(&machine, Stage::Rest).await;
        let program = teller(&machine, &first, setting).await;
        let told = tell(&program, PersonCommand::Uncondense, |_| false).await;
        assert!(matches!(told, TellOutcome::Refused(_)), "{setting:?}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn x3_what_counts_between_runs_says_so_where_another_program_has_one_on() {
    let machine = new_machine(&Place::Memory).await;
    let first = begun(&machine, Stage::Approval).await;
    let second = machine.start("the second", Takes::Up).await.expect("a program");
    let told = tell(&second, PersonCommand::Condense { keep: None }, |_| false).await;
    assert_eq!(told, TellOutcome::InUse);
    let released = second.host().release_session(&session(), BY).await.expect("readable");
    assert_eq!(released, Released::InUse);
    first.end().await;
}

#[tokio::test(start_paused = true)]
async fn d8_a_session_at_rest_is_given_to_the_program_that_asks_for_it() {
    let machine = new_machine(&Place::Memory).await;
    let _first = begun(&machine, Stage::Rest).await;
    let second = machine.start("the second", Takes::Up).await.expect("a program");
    let released = second.host().release_session(&session(), BY).await.expect("readable");
    assert_eq!(released, Released::Free);
    let owner = this_process("a third");
    let lease = machine.store().acquire_lease(&session(), &owner).await.expect("it is free");
    machine.store().release_lease(&lease).await.expect("writable");
}

#[tokio::test(start_paused = true)]
async fn g4_the_first_of_two_answers_counts_wherever_the_session_runs() {
    for setting in SETTINGS {
        let machine = new_machine(&Place::Memory).await;
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
    let machine = new_machine(&Place::Memory).await;
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
        let machine = new_machine(&Place::Memory).await;
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
        let program = machine.start("the second", Takes::Up).await.expect("a program");
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
