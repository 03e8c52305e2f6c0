//! Programs (U7): what a program asks for becomes calls of its session, and it hears of them in the
//! order in which the journal answers them. After a crash it is run again and hears first what stands
//! there. Not here: what a step may do (the session says), and the engine that runs the code.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;
use weir_core::governance::call_form;
use weir_core::governance::filter::one_line;
use weir_core::ids::CallId;
use weir_core::message::MessageBlock;
use weir_core::session::program::{StepEnd, too_many_steps};
use weir_core::session::{CallState, Session};
use weir_core::tool::RawResult;

use crate::asking::PersonWaitClock;
use crate::command_channel::CommandSender;
use crate::ports::{ProgramAccess, ProgramHost, ProgramStep, ProgressSink, StepAnswer};

/// Characters of a step's result in the table of them.
const SUMMARY_CHARS_MAX: usize = 160;
/// Steps that the table tells of; the programs of the default limit fit.
const TABLE_STEPS_MAX: usize = 200;

/// The loop's end of the way to a program that runs.
pub(crate) struct ProgramLine {
    ends: mpsc::UnboundedSender<StepEnd>,
    clock: Arc<PersonWaitClock>,
}

impl ProgramLine {
    /// A line by which ends of steps are told, and the time in which persons are waited for.
    pub(crate) fn new(
        ends: mpsc::UnboundedSender<StepEnd>,
        clock: Arc<PersonWaitClock>,
    ) -> ProgramLine {
        ProgramLine { ends, clock }
    }

    /// A step is answered. A program that is over hears nothing.
    pub(crate) fn tell(&self, end: StepEnd) {
        let _ = self.ends.send(end);
    }

    /// Whether it waits for persons alone from now on.
    pub(crate) fn set_waiting(&self, waits: bool) {
        self.clock.set_waiting(waits);
    }
}

/// What a program's call is run with, made in the same moment as its [`ProgramLine`]: what was answered
/// before stands here, what is answered later comes by the line.
pub(crate) struct ProgramRun {
    of: CallId,
    sender: CommandSender,
    progress: Mutex<ProgressSink>,
    /// Forms of the steps that the journal has, by their number.
    known: BTreeMap<u32, String>,
    /// Steps that it may ask for.
    most: u32,
    /// Names of the tools that it may call.
    tools: Vec<String>,
    /// Its clock, in milliseconds since 1970: the moment at which the call began.
    now_ms: u64,
    /// What its random numbers follow from.
    seed: u64,
    /// What it asked for since it waited last: recorded together, so that how fast its process is
    /// stands in no journal.
    asked: Mutex<Vec<ProgramStep>>,
    ends: tokio::sync::Mutex<AwaitedEnds>,
    table: Mutex<BTreeMap<u32, TableRow>>,
    pub(crate) clock: Arc<PersonWaitClock>,
}

/// Ends of steps that the program did not hear of.
struct AwaitedEnds {
    journaled: VecDeque<StepEnd>,
    live: mpsc::UnboundedReceiver<StepEnd>,
}

/// A step as the model is told of it.
struct TableRow {
    tool: String,
    /// How it ended; `None`: nobody waited for it.
    end: Option<(bool, String)>,
}

impl ProgramRun {
    /// Both ends of the way to the program that `call` runs.
    pub(crate) fn of_call(
        session: &Session,
        call: &CallState,
        sender: CommandSender,
    ) -> (ProgramRun, ProgramLine) {
        let (ends, live) = mpsc::unbounded_channel();
        let clock = Arc::new(PersonWaitClock::default());
        let form = |step: &CallState| {
            let number = step.step.as_ref().map_or(0, |place| place.number);
            (number, call_form(&step.tool, step.written_input()))
        };
        let journaled = session.answered_steps(call.id).into();
        let config = session.config();
        let most = config.map_or(0, |config| config.limits.program_steps);
        let tools = config.iter().flat_map(|config| config.all_tools());
        let seed =
            weir_core::record::sha256_hex(format!("{} {}", session.id(), call.id).as_bytes());
        let run = ProgramRun {
            of: call.id,
            sender,
            progress: Mutex::new(ProgressSink::none()),
            known: session.program_steps(call.id).map(form).collect(),
            most,
            tools: tools.map(|one| one.name.clone()).filter(|name| *name != call.tool).collect(),
            now_ms: call.started_at().map_or(0, |at| at.0.unsigned_abs() / 1_000),
            seed: u64::from_str_radix(&seed[..16], 16).unwrap_or_default(),
            asked: Mutex::default(),
            ends: tokio::sync::Mutex::new(AwaitedEnds { journaled, live }),
            table: Mutex::default(),
            clock: clock.clone(),
        };
        (run, ProgramLine { ends, clock })
    }

    /// What the tool that runs the program is given.
    pub(crate) fn access(self: &Arc<Self>, progress: ProgressSink) -> ProgramAccess {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
        let (tools, now_ms, seed) = (self.tools.clone(), self.now_ms, self.seed);
        ProgramAccess { host: self.clone(), tools, now_ms, seed }
    }

    fn lock_table(&self) -> MutexGuard<'_, BTreeMap<u32, TableRow>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the table of the steps into the result of the call.
    pub(crate) fn add_table_to(&self, raw: &mut RawResult) {
        let table = self.lock_table();
        if table.is_empty() {
            return;
        }
        let mut text = String::from("Steps:");
        for (number, row) in table.iter().take(TABLE_STEPS_MAX) {
            let (how, what) = match &row.end {
                Some((true, what)) => ("ok", what.as_str()),
                Some((false, what)) => ("refused or failed", what.as_str()),
                None => ("not waited for", ""),
            };
            let what: String = one_line(what).chars().take(SUMMARY_CHARS_MAX).collect();
            let _ = write!(text, "\n{number} · {} · {how}", row.tool);
            if !what.is_empty() {
                let _ = write!(text, " · {what}");
            }
        }
        if table.len() > TABLE_STEPS_MAX {
            let _ = write!(text, "\n… and {} more", table.len() - TABLE_STEPS_MAX);
        }
        raw.blocks.push(MessageBlock::text(text));
    }
}

#[async_trait]
impl ProgramHost for ProgramRun {
    async fn propose_step(&self, step: ProgramStep) -> Result<(), String> {
        let number = step.number;
        if number > self.most {
            return Err(too_many_steps(self.most));
        }
        let row = TableRow { tool: step.tool.clone(), end: None };
        match self.known.get(&number) {
            Some(form) if *form == call_form(&step.tool, &step.input) => (),
            Some(_) => {
                return Err(format!(
                    "after a restart of Weir the program took another way than before: its step \
                     {number} is not the one that stands in the journal. What its steps did is \
                     listed; go on from there"
                ));
            }
            None => self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(step),
        }
        self.lock_table().insert(number, row);
        Ok(())
    }

    async fn next_answer(&self) -> Result<StepAnswer, String> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        if !asked.is_empty() {
            self.sender.propose_steps(self.of, asked).await?;
        }
        let mut ends = self.ends.lock().await;
        let end = match ends.journaled.pop_front() {
            Some(end) => end,
            None => ends.live.recv().await.ok_or("its session has stopped")?,
        };
        let StepEnd { number, ok, text, summary } = end;
        if let Some(row) = self.lock_table().get_mut(&number) {
            let what = if ok { summary } else { text.clone() };
            row.end = Some((ok, what));
        }
        Ok(StepAnswer { number, result: if ok { Ok(text) } else { Err(text) } })
    }

    fn log(&self, text: &str) {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        progress.send(text);
        progress.send("\n");
    }
}
