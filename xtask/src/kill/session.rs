//! One session from its first process to its last: begun, killed, taken up again, checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

use super::editor::{Editor, EditorWish};
use super::house::{self, House};
use super::moment::{self, Moment};
use super::orphans::{self, Left};
use super::plan::{Plan, SessionFace, WorkPlace};
use super::process::{self, End, Hit, Logs, Ran};
use super::random::Random;
use super::syncs::{self, Syncs};
use super::terminal::{self, Typist};
use super::victim::Victim;
use super::work::{self, Demand, Work};
use super::{Fault, Finding, Harness, check, journal, tail};

/// Most processes of one session: kills, and a few that end by themselves.
pub(super) const PROCESSES_MAX: usize = 60;
/// What a turn, and a process before its first word, is taken to need before any was measured.
const TURN_GUESS: Duration = Duration::from_millis(30);
/// The first sync that fails is one of so many: a new store needs about ten before the first fact, a turn a few.
const SYNCS_MAX: u64 = 40;
pub(super) const PROMPT: &str = "Do the work.";

/// What became of a session.
pub(super) struct Played {
    pub(super) folder: PathBuf,
    pub(super) findings: Vec<Finding>,
    pub(super) unknowns_said: u64,
    /// How often it was hit.
    pub(super) kills: u64,
    /// From its first process to its last check.
    pub(super) took: Duration,
}

/// What the next process is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    /// Begin a session.
    Begin,
    /// Say the prompt in one that was opened and not yet told anything.
    Say(String),
    /// Go on where it stopped.
    GoOn(String),
    /// It is at rest.
    Over(String),
    /// It cannot go on; why, stands in the findings.
    Stuck,
}

/// Plays the session of this number and checks what it left.
///
/// # Errors
/// Folders or processes could not be made. What the binary did wrong stands in the findings.
pub(super) fn play(harness: &Harness, number: u64) -> anyhow::Result<Played> {
    let began = Instant::now();
    let mut random = Random::of(harness.seed, number);
    let folder = harness.folder.join(number.to_string());
    fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
    let plan = harness.plan(number);
    let kills_left = kills(&mut random, harness.session_kills_max);
    let demand =
        Demand { steps_min: kills_left * 2 / 3, has_only_commands: plan.victim.leaves_engine() };
    let work = work::choose_for(&mut random, number, &house::witness(&folder), demand);
    // In the other mode commands need an approver, and there is none.
    let full = random.below(6) != 0;
    let over_http = harness.over_http(&mut random);
    let full = match plan.face {
        // Where commands are what is hit, they must run.
        SessionFace::Run => full || plan.victim.leaves_engine(),
        // Somebody is there who answers: half of them are asked about every command.
        SessionFace::Tui => random.below(2) == 0,
        // Whoever else there is would be asked, and nobody here answers anything.
        SessionFace::Acp | SessionFace::Mcp | SessionFace::Serve => true,
    };
    let mut house = House::build(&harness.binary, folder.clone(), &work, full)?;
    if over_http {
        house.serve()?;
    }
    if plan.place == WorkPlace::Worktree {
        house.use_worktrees()?;
    }
    if plan.victim == Victim::Disk {
        house.mount_disk()?;
    }
    let mut player = Player {
        harness,
        house: &house,
        work: &work,
        random,
        kills_left,
        plan,
        kills: 0,
        taken: 0,
        again: Vec::new(),
        syncs: plan.disk.syncs(),
        acknowledged: Vec::new(),
        ended_calls: Vec::new(),
        left: Vec::new(),
        findings: Vec::new(),
        turns_seen: 0,
        start: TURN_GUESS,
        turn: TURN_GUESS,
    };
    let unknowns_said = match plan.face {
        SessionFace::Run | SessionFace::Acp | SessionFace::Tui => player.play_processes()?,
        SessionFace::Mcp => player.play_client()?,
        SessionFace::Serve => player.play_server()?,
    };
    let (findings, kills) = (player.findings, player.kills);
    if findings.is_empty() {
        drop(house);
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    Ok(Played { folder, findings, unknowns_said, kills, took: began.elapsed() })
}

/// How often a session is hit: mostly often, since what it costs beside its kills is then shared by them.
fn kills(random: &mut Random, most: u64) -> u64 {
    let least = if random.below(4) == 0 { 1 } else { most.div_ceil(2) };
    random.between(least, most)
}

pub(super) struct Player<'a> {
    pub(super) harness: &'a Harness,
    pub(super) house: &'a House,
    pub(super) work: &'a Work,
    pub(super) random: Random,
    kills_left: u64,
    pub(super) plan: Plan,
    /// Kills that came to pass.
    kills: u64,
    /// Kills of the harness that were taken for the process that runs now.
    taken: u64,
    /// How long after each hit of it the next one comes.
    pub(super) again: Vec<Duration>,
    /// What becomes of its syncs.
    pub(super) syncs: Syncs,
    /// Calls that an editor was told the ends of.
    ended_calls: Vec<String>,
    /// Every fact that any process printed.
    pub(super) acknowledged: Vec<Value>,
    left: Vec<Left>,
    pub(super) findings: Vec<Finding>,
    /// Turns that its journal had when it was last looked at.
    turns_seen: u64,
    /// How long a process takes to say its first word, as last measured.
    start: Duration,
    /// How long a turn takes, as last measured.
    pub(super) turn: Duration,
}

impl Player<'_> {
    /// Plays a session of `weir run` or of an editor and checks it; how many unknowns were said.
    fn play_processes(&mut self) -> anyhow::Result<u64> {
        let id = self.run_until_rest()?;
        self.check_processes();
        let Some(id) = id else { return Ok(0) };
        match journal::facts(self.house, &id)? {
            Ok(facts) => {
                let verified = journal::verify(self.house, &id)?;
                self.findings.extend(verified);
                self.check_session(&facts)
            }
            Err(finding) => {
                self.findings.push(finding);
                Ok(0)
            }
        }
    }

    /// Runs processes until the session rests; its id, when there is one.
    fn run_until_rest(&mut self) -> anyhow::Result<Option<String>> {
        let mut next = Next::Begin;
        for process in 1..=PROCESSES_MAX {
            let moment = match &next {
                Next::Over(id) => return Ok(Some(id.clone())),
                Next::Stuck => return Ok(None),
                Next::Begin | Next::Say(_) | Next::GoOn(_) => {
                    let left = self.turns_left();
                    self.moment(process, left)
                }
            };
            let (out, errors) = (self.log(process, "out"), self.log(process, "err"));
            let logs = Logs { out: &out, errors: &errors };
            let ran;
            (ran, next) = match self.plan.face {
                SessionFace::Acp => self.play_editor(&next, moment, logs)?,
                SessionFace::Tui => self.play_terminal(&next, moment, logs)?,
                _ => self.play_run(&next, moment, logs)?,
            };
            self.note(process, moment, &ran, &format!("next {next:?}"))?;
        }
        self.fault(Fault::Unfinished, format!("it does not rest after {PROCESSES_MAX} processes"));
        Ok(None)
    }

    /// One process of `weir run`.
    fn play_run(
        &mut self,
        wanted: &Next,
        moment: Moment,
        logs: Logs<'_>,
    ) -> anyhow::Result<(Ran, Next)> {
        let words: Vec<&str> = match wanted {
            Next::Say(id) => vec!["--resume", id, PROMPT],
            Next::GoOn(id) => vec!["--resume", id],
            Next::Begin | Next::Over(_) | Next::Stuck => {
                [self.house.begin_flags(), &[PROMPT]].concat()
            }
        };
        let command = self.house.run(self.syncs, &words);
        let mut ran = process::run(command, self.hit(moment), logs, None)?;
        self.count_failed_syncs(&mut ran);
        let next = self.after(&ran, logs.errors)?;
        Ok((ran, next))
    }

    /// One process of `weir acp` and the editor that speaks with it.
    fn play_editor(
        &mut self,
        wanted: &Next,
        moment: Moment,
        logs: Logs<'_>,
    ) -> anyhow::Result<(Ran, Next)> {
        let wish = match wanted {
            Next::Say(id) => EditorWish::Say(id.clone()),
            Next::GoOn(id) => EditorWish::GoOn(id.clone()),
            Next::Begin | Next::Over(_) | Next::Stuck => EditorWish::Begin,
        };
        let mut editor = Editor::new(wish, &self.house.workspace.to_string_lossy(), PROMPT);
        let command = self.house.serve_editor(self.syncs);
        let mut ran = process::run(command, self.hit(moment), logs, Some(&mut editor))?;
        self.count_failed_syncs(&mut ran);
        self.take_in(&ran)?;
        let (told, left) = (editor.told, self.turns_left());
        // On a full disk a refusal is right, and what is said again must be taken then.
        let is_cut_off = self.is_cut_off(&ran);
        for refusal in told.refusals.into_iter().filter(|_| !is_cut_off) {
            self.fault(Fault::FactLost, format!("the editor was refused: {refusal}"));
        }
        self.ended_calls.extend(told.ended_calls);
        self.measure(&ran, left.saturating_sub(self.turns_left()));
        let next = match (&ran.end, told.is_answered, told.session) {
            (End::Hung, ..) => self.hung(),
            (_, true, Some(id)) => Next::Over(id),
            // It had its prompt already. What of it is over now, the next process shows to its last words.
            (End::Killed(_), ..) if matches!(wanted, Next::GoOn(_)) => wanted.clone(),
            // A session is kept from its first prompt on: the store knows whether there is one.
            _ => self.look_up(None, &ran, logs.errors)?,
        };
        if next == Next::Begin && !self.ended_calls.is_empty() {
            let what = format!("calls ended in a session that is gone: {:?}", self.ended_calls);
            self.fault(Fault::FactLost, what);
        }
        Ok((ran, next))
    }

    /// One process of `weir` on a terminal, and somebody before it.
    fn play_terminal(
        &mut self,
        wanted: &Next,
        moment: Moment,
        logs: Logs<'_>,
    ) -> anyhow::Result<(Ran, Next)> {
        let (id, mut typist) = match wanted {
            Next::Say(id) => (Some(id.clone()), Typist::who_says(PROMPT)),
            Next::GoOn(id) => (Some(id.clone()), Typist::who_watches()),
            Next::Begin | Next::Over(_) | Next::Stuck => (None, Typist::who_says(PROMPT)),
        };
        let command = self.house.show_terminal(self.syncs, id.as_deref());
        let house = self.house;
        let is_over: &dyn Fn() -> anyhow::Result<bool> =
            &|| journal::has_ended(house, id.as_deref());
        let ran = terminal::run(&command, self.hit(moment), logs, &mut typist, is_over)?;
        self.take_in(&ran)?;
        let left = self.turns_left();
        let next = match ran.end {
            End::Hung => self.hung(),
            // What a screen shows is said by nobody for good: the journal tells how far it is.
            End::Itself(_) | End::Killed(_) => self.look_up(id, &ran, logs.errors)?,
        };
        self.measure(&ran, left.saturating_sub(self.turns_left()));
        Ok((ran, next))
    }

    /// Whether it ended because nothing could be written any more: that is no fault of its own.
    fn is_cut_off(&self, ran: &Ran) -> bool {
        self.plan.victim.cuts_off() && ran.hits > 0
    }

    fn hung(&mut self) -> Next {
        self.fault(Fault::Unfinished, "a process did not end and was stopped".into());
        Next::Stuck
    }

    /// What the next process meets at its moment.
    pub(super) fn hit(&self, moment: Moment) -> Hit<'_> {
        Hit { moment, again: &self.again, victim: self.plan.victim, house: self.house }
    }

    /// Turns that no process began yet, as far as is known.
    pub(super) fn turns_left(&self) -> u64 {
        let printed = turns(&self.acknowledged);
        // An editor hears of calls only.
        let calls = self.ended_calls.iter().collect::<BTreeSet<_>>().len() as u64;
        let by_calls = calls * self.work.turns / (self.work.calls.len() as u64).max(1);
        self.work.turns.saturating_sub(printed.max(by_calls).max(self.turns_seen))
    }

    /// Takes in how long a process took for its first word, and for so many turns.
    pub(super) fn measure(&mut self, ran: &Ran, turns: u64) {
        self.start = ran.first.unwrap_or(self.start);
        if let Some(turns) = u32::try_from(turns).ok().filter(|turns| *turns > 0) {
            let measured = ran.took.saturating_sub(self.start) / turns;
            // The last one was cut off, and looks shorter than it is: then nothing but starts would be met.
            self.turn = ((self.turn + measured) / 2).max(self.start / 2);
        }
    }

    /// When the next process is killed, which has so many turns before it.
    pub(super) fn moment(&mut self, process: usize, turns_left: u64) -> Moment {
        self.again.clear();
        self.syncs = self.plan.disk.syncs();
        if process + 4 > PROCESSES_MAX || !self.take_kill() {
            return Moment::Never;
        }
        // Within its share of the turns: then as many kills as a session gets are spread over all of its work, and
        // where they are few they meet processes that have worked for long. In the last turn it is killed sooner,
        // since a process that ends before its kill proves nothing.
        let share = u32::try_from(turns_left.div_ceil(self.kills_left + 1)).unwrap_or(1);
        let work = if turns_left > 1 { self.turn * share } else { self.turn / 2 };
        let moment = moment::choose(&mut self.random, self.start + work);
        if self.plan.victim == Victim::Sync {
            self.syncs = Syncs::FailFrom(self.random.between(1, SYNCS_MAX));
            return Moment::Never;
        }
        // What leaves the engine alone is met by the same process as often as another is killed.
        while self.plan.victim.leaves_engine() && self.take_kill() {
            let turn_us = u64::try_from(self.turn.as_micros()).unwrap_or(u64::MAX - 1);
            self.again.push(Duration::from_micros(self.random.below(turn_us + 1)));
        }
        moment
    }

    /// A process whose syncs failed was hit by that.
    fn count_failed_syncs(&self, ran: &mut Ran) {
        if matches!(self.syncs, Syncs::FailFrom(_)) {
            ran.hits += u64::from(syncs::has_failed(&self.house.sync_log()));
        }
    }

    fn take_kill(&mut self) -> bool {
        let is_taken = self.kills_left > 0 && self.harness.take_kill();
        if is_taken {
            self.kills_left -= 1;
            self.taken += 1;
        }
        is_taken
    }

    pub(super) fn log(&self, process: usize, what: &str) -> PathBuf {
        self.house.folder.join(format!("{what}-{process}.log"))
    }

    /// One line in the session's own log: what was asked, when it was killed, what comes next.
    pub(super) fn note(
        &self,
        process: usize,
        moment: Moment,
        ran: &Ran,
        next: &str,
    ) -> anyhow::Result<()> {
        let (end, took, lines) = (&ran.end, ran.took, ran.printed.len());
        self.note_line(&format!(
            "{process}: {moment:?}; {end:?} after {took:?}, {lines} lines; {next}"
        ))
    }

    pub(super) fn note_line(&self, line: &str) -> anyhow::Result<()> {
        use std::io::Write as _;
        let path = self.house.folder.join("harness.log");
        let mut file = fs::File::options().append(true).create(true).open(path)?;
        writeln!(file, "{line}")?;
        Ok(())
    }

    pub(super) fn fault(&mut self, fault: Fault, what: String) {
        self.findings.push(Finding::new(fault, what));
    }

    /// Takes in what a process said and left behind.
    pub(super) fn take_in(&mut self, ran: &Ran) -> anyhow::Result<()> {
        let killed = match ran.end {
            End::Killed(killed) => Some(killed),
            End::Itself(_) | End::Hung => None,
        };
        if ran.hits > 0 {
            self.house.make_room()?;
        }
        self.take_in_end(killed, ran.hits);
        for line in &ran.garbage {
            self.fault(Fault::FactLost, format!("a line of output is not JSON: {line}"));
        }
        self.measure(ran, turns(&ran.printed));
        self.acknowledged.extend(ran.printed.iter().filter(|fact| fact["seq"].is_u64()).cloned());
        Ok(())
    }

    /// Takes in when a process was killed, if it was, how often something else was hit, and what it left behind.
    pub(super) fn take_in_end(&mut self, killed: Option<Instant>, hits: u64) {
        let came = hits + u64::from(killed.is_some());
        self.kills += came;
        self.harness.give_kills_back(std::mem::take(&mut self.taken).saturating_sub(came));
        if let Some(killed) = killed {
            self.left.push(Left::look(&self.house.inner, killed));
        }
        let overdue: Vec<String> = self.left.iter_mut().flat_map(Left::overdue).collect();
        for process in overdue {
            self.fault(Fault::Orphan, process);
        }
    }

    /// The same of `weir run`, and finds out what is next.
    fn after(&mut self, ran: &Ran, errors: &Path) -> anyhow::Result<Next> {
        self.take_in(ran)?;
        let id = self.acknowledged.iter().find_map(|fact| fact["session"].as_str());
        let id = id.map(ToOwned::to_owned);
        if matches!(ran.end, End::Hung) {
            return Ok(self.hung());
        }
        if let Some(id) = &id {
            if ran.printed_kind("run.finished") {
                return Ok(Next::Over(id.clone()));
            }
            let told = self.acknowledged.iter().any(|fact| fact["kind"] == "input.accepted");
            if told && (matches!(ran.end, End::Killed(_)) || self.is_cut_off(ran)) {
                return Ok(Next::GoOn(id.clone()));
            }
        }
        self.look_up(id, ran, errors)
    }

    /// What the output does not tell, the journal does.
    fn look_up(&mut self, id: Option<String>, ran: &Ran, errors: &Path) -> anyhow::Result<Next> {
        let id = match id {
            Some(id) => Some(id),
            None => match journal::sessions(self.house)? {
                Ok(ids) => ids.into_iter().next(),
                Err(finding) => {
                    self.findings.push(finding);
                    return Ok(Next::Stuck);
                }
            },
        };
        let facts = match &id {
            None => Vec::new(),
            Some(id) => match journal::facts(self.house, id)? {
                Ok(facts) => facts,
                Err(finding) => {
                    self.findings.push(finding);
                    return Ok(Next::Stuck);
                }
            },
        };
        self.turns_seen = turns(&facts);
        let has = |kind: &str| facts.iter().any(|fact| fact["kind"] == kind);
        if let (Some(id), true) = (&id, has("run.finished")) {
            return Ok(Next::Over(id.clone()));
        }
        // An editor leaves when it has seen the last words: what is behind them is not waited for.
        if let End::Itself(status) = ran.end
            && !self.is_cut_off(ran)
            && !(self.plan.face == SessionFace::Acp && status.success())
        {
            let said = fs::read_to_string(errors).unwrap_or_default();
            let what = format!("weir ended with {status} before the run: {}", tail(&said));
            self.fault(Fault::Unfinished, what);
            return Ok(Next::Stuck);
        }
        Ok(match id {
            None => Next::Begin,
            Some(id) if has("input.accepted") => Next::GoOn(id),
            Some(id) => Next::Say(id),
        })
    }

    /// Nothing lives that a process started that is gone.
    pub(super) fn check_processes(&mut self) {
        // Whatever lives now was started by a process that is gone.
        self.left.push(Left::look(&self.house.inner, Instant::now()));
        for mut left in std::mem::take(&mut self.left) {
            for process in left.settle() {
                self.fault(Fault::Orphan, process);
            }
        }
        for process in orphans::of(&self.house.inner) {
            self.fault(Fault::Orphan, format!("at the end: {process:?}"));
        }
        if let Some(status) = self.house.server_ended() {
            let what = format!("weir script serve ended by itself, with {status}");
            self.fault(Fault::Unfinished, what);
        }
    }

    /// Holds a session's journal against what was said and what is there; how many unknowns were said.
    pub(super) fn check_session(&mut self, facts: &[Value]) -> anyhow::Result<u64> {
        self.findings.extend(check::facts(facts, &self.acknowledged));
        self.findings.extend(check::ended_calls(facts, &self.ended_calls));
        self.findings.extend(check::effects(self.house, self.work, facts)?);
        if !self.findings.is_empty() {
            let lines: Vec<String> = facts.iter().map(ToString::to_string).collect();
            fs::write(self.house.folder.join("journal.jsonl"), lines.join("\n"))?;
        }
        Ok(facts.iter().filter(|fact| fact["kind"] == "call.unknown").count() as u64)
    }
}

/// Turns that these facts began.
fn turns(facts: &[Value]) -> u64 {
    facts.iter().filter(|fact| fact["kind"] == "turn.started").count() as u64
}
