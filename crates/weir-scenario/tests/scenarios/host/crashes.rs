//! Whoever tells a session something, or whoever runs it, dies at each crossing of a port meanwhile:
//! before and after the letter is written, taken and answered, and before and after each fact and each
//! lease. Afterwards the command counts at most once; whoever was told what came of it was told so
//! rightly; and who died before they heard of it may tell it again.
//!
//! Not here: that the leases of a replica which died are over in time
//! (`weir-store/tests/it/postgres/cluster.rs`); here they are over at once.
//!
//! `WEIR_SWEEP=full` dies at every crossing also where programs wait for a disk; otherwise at every few
//! of them there, shifted from case to case.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use weir_core::input::PersonCommand;
use weir_engine::host::{SessionPlace, TellOutcome};
use weir_scenario::programs::{Machine, Place, Program, Takes};
use weir_test_kit::TestDatabase;

use super::commands::{Case, Repeat, cases};
use super::{
    AT_A_TIME, Setting, begun, command_of, count_facts, new_machine, session, tell, teller,
    wait_until_letters_are_gone,
};

/// Of so many crossings one is crashed at where programs wait for a disk, and the sweep is not full.
const DISK_STEP: usize = 6;
/// The same where they wait for a database.
const DATABASE_STEP: usize = 24;
/// A command crosses fewer ports until whoever told it knows what came of it.
const CROSSINGS_MAX: usize = 60;
/// The program that comes when the others are gone, or were told to go.
const THIRD: &str = "the third";
/// The program that takes the session up when everybody is gone.
const LAST: &str = "the last";

/// Who dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// Whoever tells it; where the session runs in the same program, both.
    Teller,
    /// Whoever runs the session, in another program.
    Owner,
}

const CASES: [(Setting, Victim); 5] = [
    (Setting::ThisProgram, Victim::Teller),
    (Setting::OtherProgram, Victim::Teller),
    (Setting::OtherProgram, Victim::Owner),
    (Setting::NobodyTakenUp, Victim::Teller),
    (Setting::NobodyOffline, Victim::Teller),
];

/// What is tried once.
struct Crash<'a> {
    place: &'a Place,
    case: &'a Case,
    setting: Setting,
    victim: Victim,
    /// The crossing at which the victim dies, counted from when it is told.
    at: usize,
}

/// What was told, and what came of it before the crash.
struct Told {
    /// How many facts showed it before.
    before: usize,
    command: PersonCommand,
    heard: Heard,
}

/// What whoever told it heard.
#[derive(Debug)]
enum Heard {
    /// This.
    Answer(TellOutcome<()>),
    /// Nothing: they died first.
    Nothing,
}

impl Crash<'_> {
    fn words(&self) -> String {
        let Crash { case, setting, victim, at, .. } = self;
        format!("{} in {setting:?}, {victim:?} dies at crossing {at}", case.name)
    }

    /// Tries it; whether the victim came as far as that crossing.
    async fn play(&self) -> bool {
        let machine = new_machine(self.place).await;
        let first = begun(&machine, self.case.stage).await;
        let command = command_of(self.case, &first).await;
        let before = count_facts(self.case, machine.store().as_ref()).await;
        let program = teller(&machine, &first, self.setting).await;
        let victim = match self.victim {
            Victim::Teller => &program,
            Victim::Owner => &first,
        };
        victim.point().stop_after(self.at);
        let heard = self.tell_until_death(&program, victim, &command).await;
        let crashed = victim.point().is_crashed();
        if !crashed {
            // It lived to the end of this: nothing is left to be tried.
            first.end().await;
            program.end().await;
            machine.close().await;
            return false;
        }
        let told = Told { before, command, heard };
        self.look_afterwards(&machine, [&first, &program], told).await;
        machine.close().await;
        true
    }

    async fn tell_until_death(
        &self,
        program: &Arc<Program>,
        victim: &Arc<Program>,
        command: &PersonCommand,
    ) -> Heard {
        let mut telling = std::pin::pin!(tell(program, command.clone(), &self.case.settled));
        let told = tokio::select! {
            biased;
            told = &mut telling => Some(told),
            () = victim.point().crashed.notified() => None,
        };
        match (told, self.victim) {
            (Some(told), _) => {
                // The letter is taken away after its sender saw what it did.
                let gone = wait_until_letters_are_gone(program.machine(), self.case.name);
                tokio::select! {
                    biased;
                    () = victim.point().crashed.notified() => {}
                    () = gone => {}
                }
                victim.point().let_pass();
                if victim.point().is_crashed() {
                    victim.die().await.expect("it dies");
                }
                Heard::Answer(told)
            }
            (None, Victim::Teller) => {
                victim.die().await.expect("it dies");
                Heard::Nothing
            }
            (None, Victim::Owner) => {
                victim.die().await.expect("it dies");
                Heard::Answer(telling.await)
            }
        }
    }

    /// Everybody goes, and one more program takes the session up: then nothing is under way any more.
    async fn look_afterwards(&self, machine: &Arc<Machine>, alive: [&Arc<Program>; 2], told: Told) {
        let (case, what) = (self.case, self.words());
        let third = machine.start(THIRD, Takes::Up).await.expect("a program");
        let again = matches!(told.heard, Heard::Nothing) && case.repeat == Repeat::CountsOnce;
        if again {
            let found = tell(&third, told.command, &case.settled).await;
            assert!(matches!(found, TellOutcome::Found { .. }), "{what}, told again: {found:?}");
        }
        for program in [alive[0], alive[1], &third] {
            program.end().await;
        }
        let last = machine.start(LAST, Takes::Up).await.expect("a program");
        match last.take_up(&session()).await.expect("it is there") {
            SessionPlace::Here(_) => {}
            SessionPlace::Elsewhere(holder) => panic!("{what}: {holder} has it still"),
            SessionPlace::Nowhere => panic!("{what}: it was not taken up"),
        }
        wait_until_letters_are_gone(machine, &what).await;
        tokio::time::sleep(self.rest()).await;
        last.end().await;
        let counted = count_facts(case, machine.store().as_ref()).await - told.before;
        let expected = match &told.heard {
            _ if case.fact.is_none() => Some(0),
            Heard::Answer(TellOutcome::Found { .. } | TellOutcome::TakenIn) => Some(1),
            Heard::Answer(TellOutcome::Refused(_) | TellOutcome::InUse) => Some(0),
            // What waits is read by whoever has the session next.
            Heard::Answer(TellOutcome::Waits(_)) => Some(1),
            Heard::Answer(TellOutcome::Restless) => panic!("{what}: nobody said what came of it"),
            Heard::Nothing if again => Some(1),
            Heard::Nothing => None,
        };
        assert!(counted <= 1, "{what}: it counts {counted} times; heard: {:?}", told.heard);
        assert!(expected.is_none_or(|it| it == counted), "{what}: {counted}, {:?}", told.heard);
    }

    /// After so long without anything nothing more comes.
    fn rest(&self) -> Duration {
        match self.place {
            Place::Memory => Duration::from_secs(5),
            Place::Folder | Place::Database(_) => Duration::from_millis(150),
        }
    }
}

/// Dies at every crossing, from the `first` on in steps; how often.
async fn sweep(place: &Place, case: &Case, who: (Setting, Victim), steps: Steps) -> usize {
    let (setting, victim) = who;
    for (crashes, at) in (steps.first..CROSSINGS_MAX).step_by(steps.step).enumerate() {
        if !(Crash { place, case, setting, victim, at }).play().await {
            return crashes;
        }
    }
    panic!("{} in {setting:?} crosses {CROSSINGS_MAX} ports and more", case.name);
}

/// Which crossings are tried.
#[derive(Clone, Copy)]
struct Steps {
    first: usize,
    step: usize,
}

/// The crossings of the case `index` where programs wait for a disk or a database.
fn few_steps(place: &Place, index: usize) -> Steps {
    if std::env::var("WEIR_SWEEP").is_ok_and(|sweep| sweep == "full") {
        return Steps { first: 1, step: 1 };
    }
    let step = match place {
        Place::Memory => 1,
        Place::Folder => DISK_STEP,
        Place::Database(_) => DATABASE_STEP,
    };
    Steps { first: 1 + index % step, step }
}

async fn sweep_in_memory(setting: Setting, victim: Victim) {
    let mut crashes = 0;
    for case in cases() {
        crashes +=
            sweep(&Place::Memory, &case, (setting, victim), Steps { first: 1, step: 1 }).await;
    }
    assert!(crashes >= cases().len(), "each was crashed: {crashes}");
}

async fn sweep_everything(place: &Place) {
    let cases = cases();
    let all = cases.iter().flat_map(|case| CASES.map(|who| (case, who))).enumerate();
    let swept = stream::iter(all)
        .map(|(index, (case, who))| sweep(place, case, who, few_steps(place, index)));
    let crashes: usize = swept.buffer_unordered(AT_A_TIME).collect::<Vec<_>>().await.iter().sum();
    assert!(crashes >= cases.len(), "each was crashed: {crashes}");
}

#[tokio::test(start_paused = true)]
async fn d8_a_program_dies_while_its_own_session_is_told_something() {
    sweep_in_memory(Setting::ThisProgram, Victim::Teller).await;
}

#[tokio::test(start_paused = true)]
async fn d8_whoever_tells_another_program_something_dies() {
    sweep_in_memory(Setting::OtherProgram, Victim::Teller).await;
}

#[tokio::test(start_paused = true)]
async fn d8_whoever_has_the_session_dies_while_another_tells_it_something() {
    sweep_in_memory(Setting::OtherProgram, Victim::Owner).await;
}

#[tokio::test(start_paused = true)]
async fn d8_whoever_takes_a_session_up_to_tell_it_something_dies() {
    sweep_in_memory(Setting::NobodyTakenUp, Victim::Teller).await;
}

#[tokio::test(start_paused = true)]
async fn d8_whoever_writes_beside_the_loop_dies() {
    sweep_in_memory(Setting::NobodyOffline, Victim::Teller).await;
}

#[tokio::test]
async fn d8_a_process_of_a_machine_dies_while_something_is_told() {
    sweep_everything(&Place::Folder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_a_replica_dies_while_something_is_told() {
    let Some(database) = TestDatabase::create().await else { return };
    sweep_everything(&Place::Database(Arc::new(database))).await;
}
