//! What one session of the kills is to prove: whose process, over which store, what is hit, on which disk and in
//! which place. Not here: its work and its moments, which the seed chooses.

use std::fmt;

use anyhow::ensure;
use clap::{Args, ValueEnum};

use super::syncs::Syncs;
use super::victim::Victim;

/// Whose processes are hit, and how.
#[derive(Debug, Clone, Args)]
pub(super) struct PlanArgs {
    /// Which face is killed; `all`: every face over every store that it has, every victim and every disk in turn,
    /// each of them in one of 84 sessions at least
    #[arg(long, value_name = "FACE", value_enum, default_value_t)]
    face: Face,
    /// What is hit: the engine unless it is said, with --face all everything
    #[arg(long, value_name = "VICTIM", value_enum)]
    victim: Option<Victim>,
    /// What the disk is like
    #[arg(long, value_name = "DISK", value_enum)]
    disk: Option<DiskKind>,
    /// Where runs work
    #[arg(long, value_name = "PLACE", value_enum)]
    place: Option<WorkPlace>,
    /// Where the sessions of `weir serve` are kept; those of the other faces are in SQLite files
    #[arg(long, value_name = "STORE", value_enum)]
    store: Option<StoreKind>,
}

/// Which face is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Face {
    /// `weir run`.
    #[default]
    Run,
    /// `weir acp`, with an editor that begins and loads sessions.
    Acp,
    /// `weir run` and `weir acp` in turn.
    Both,
    /// `weir mcp`, with another agent's program that makes the calls.
    Mcp,
    /// `weir serve`, with somebody who uses it over HTTP.
    Serve,
    /// `weir` on a terminal, with somebody who types and answers.
    Tui,
    /// All of them in turn: the whole proof.
    All,
}

/// The face of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SessionFace {
    Run,
    Acp,
    Mcp,
    Serve,
    Tui,
}

/// Where the sessions of `weir serve` are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub(super) enum StoreKind {
    /// Files in its state folder.
    #[default]
    Sqlite,
    /// A PostgreSQL database of each session's own.
    Postgres,
}

/// What the disk is like on which the sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub(super) enum DiskKind {
    /// As it is.
    #[default]
    Sound,
    /// Every sync takes long, so that kills meet syncs that are under way. Needs strace.
    Slow,
}

/// Where a run does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub(super) enum WorkPlace {
    /// In the project.
    #[default]
    Project,
    /// In a copy of it, of which nobody takes anything over (`weir run --worktree`).
    Worktree,
}

/// What one session is to prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Plan {
    pub(super) face: SessionFace,
    pub(super) store: StoreKind,
    pub(super) victim: Victim,
    pub(super) disk: DiskKind,
    pub(super) place: WorkPlace,
}

/// Everything that there is to be proven, once.
const EVERY: [Plan; 28] = [
    Plan::of(SessionFace::Run),
    Plan::of(SessionFace::Acp),
    Plan::of(SessionFace::Mcp),
    Plan::of(SessionFace::Serve),
    Plan::of(SessionFace::Serve).kept_in_postgres(),
    Plan::of(SessionFace::Tui),
    Plan::of(SessionFace::Run).hitting(Victim::Supervisor),
    Plan::of(SessionFace::Acp).hitting(Victim::Child),
    Plan::of(SessionFace::Run).hitting(Victim::Disk),
    Plan::of(SessionFace::Run).on_slow_disk(),
    Plan::of(SessionFace::Tui).hitting(Victim::Child),
    Plan::of(SessionFace::Mcp).hitting(Victim::Supervisor),
    Plan::of(SessionFace::Serve).hitting(Victim::Child),
    Plan::of(SessionFace::Acp).on_slow_disk(),
    Plan::of(SessionFace::Run).in_worktree(),
    Plan::of(SessionFace::Run).hitting(Victim::Sync),
    Plan::of(SessionFace::Serve).hitting(Victim::Supervisor),
    Plan::of(SessionFace::Run).hitting(Victim::Child),
    Plan::of(SessionFace::Serve).on_slow_disk(),
    Plan::of(SessionFace::Acp).hitting(Victim::Disk),
    Plan::of(SessionFace::Acp).hitting(Victim::Supervisor),
    Plan::of(SessionFace::Mcp).hitting(Victim::Child),
    Plan::of(SessionFace::Mcp).on_slow_disk(),
    Plan::of(SessionFace::Acp).hitting(Victim::Sync),
    Plan::of(SessionFace::Serve).kept_in_postgres().hitting(Victim::Supervisor),
    Plan::of(SessionFace::Serve).kept_in_postgres().hitting(Victim::Child),
    Plan::of(SessionFace::Tui).hitting(Victim::Supervisor),
    Plan::of(SessionFace::Tui).on_slow_disk(),
];

/// What costs little for each kill, and meets most of what a kill can meet.
const CHEAP: [Plan; 8] = [
    Plan::of(SessionFace::Run),
    Plan::of(SessionFace::Run),
    Plan::of(SessionFace::Acp),
    Plan::of(SessionFace::Run),
    Plan::of(SessionFace::Run),
    Plan::of(SessionFace::Run),
    Plan::of(SessionFace::Acp),
    Plan::of(SessionFace::Run),
];

/// How often that is done in a round. So of 84 sessions everything has one at least.
const CHEAP_TIMES: usize = 7;

/// The whole proof in turn: everything, then what is cheap.
fn round() -> impl Iterator<Item = Plan> {
    EVERY.into_iter().chain(std::iter::repeat_n(CHEAP, CHEAP_TIMES).flatten())
}

impl DiskKind {
    /// What becomes of the syncs of a process on it.
    pub(super) fn syncs(self) -> Syncs {
        match self {
            DiskKind::Sound => Syncs::Sound,
            DiskKind::Slow => Syncs::Slow,
        }
    }
}

impl Face {
    /// The faces of sessions, in turn.
    fn in_turn(self) -> &'static [SessionFace] {
        use SessionFace::{Acp, Mcp, Run, Serve, Tui};
        match self {
            Face::Run => &[Run],
            Face::Acp => &[Acp],
            Face::Both => &[Acp, Run],
            Face::Mcp => &[Mcp],
            Face::Serve => &[Serve],
            Face::Tui => &[Tui],
            Face::All => &[Run, Acp, Mcp, Serve, Tui],
        }
    }
}

impl PlanArgs {
    /// The plans that sessions have in turn; at least one.
    ///
    /// # Errors
    /// There is nothing of that kind.
    pub(super) fn plans(&self) -> anyhow::Result<Vec<Plan>> {
        let fits = |plan: &Plan| {
            self.victim.is_none_or(|victim| victim == plan.victim)
                && self.disk.is_none_or(|disk| disk == plan.disk)
                && self.place.is_none_or(|place| place == plan.place)
                && self.store.is_none_or(|store| store == plan.store)
        };
        let plan = |face: &SessionFace| Plan {
            face: *face,
            store: self.store.unwrap_or_default(),
            victim: self.victim.unwrap_or_default(),
            disk: self.disk.unwrap_or_default(),
            place: self.place.unwrap_or_default(),
        };
        let plans: Vec<Plan> = match self.face {
            Face::All => round().filter(fits).collect(),
            face => face.in_turn().iter().map(plan).collect(),
        };
        ensure!(
            !plans.is_empty() && plans.iter().all(|plan| plan.is_possible()),
            "there are no such sessions: --store postgres is for --face serve, --victim disk and sync for run and acp, \
             --place worktree for run, and --disk slow for the engine as the victim; of --face all what it has"
        );
        Ok(plans)
    }
}

impl Plan {
    /// Whether it needs strace.
    pub(super) fn is_traced(self) -> bool {
        self.disk == DiskKind::Slow || self.victim == Victim::Sync
    }

    /// An engine that is killed, with everything else as it mostly is.
    const fn of(face: SessionFace) -> Plan {
        Plan {
            face,
            store: StoreKind::Sqlite,
            victim: Victim::Engine,
            disk: DiskKind::Sound,
            place: WorkPlace::Project,
        }
    }

    const fn hitting(self, victim: Victim) -> Plan {
        Plan { victim, ..self }
    }

    const fn kept_in_postgres(self) -> Plan {
        Plan { store: StoreKind::Postgres, ..self }
    }

    const fn on_slow_disk(self) -> Plan {
        Plan { disk: DiskKind::Slow, ..self }
    }

    const fn in_worktree(self) -> Plan {
        Plan { place: WorkPlace::Worktree, ..self }
    }

    /// Whether such a session can be played.
    fn is_possible(self) -> bool {
        let has_store = self.store == StoreKind::Sqlite || self.face == SessionFace::Serve;
        // Who uses the other faces takes no refusal of a broken disk for an answer.
        let takes_refusals = matches!(self.face, SessionFace::Run | SessionFace::Acp);
        let has_victim = !self.victim.cuts_off() || takes_refusals;
        // Else what makes the disk slow could be the victim.
        let has_disk = self.disk == DiskKind::Sound || self.victim == Victim::Engine;
        let has_place = self.place == WorkPlace::Project || self.face == SessionFace::Run;
        has_store && has_victim && has_disk && has_place
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { face, store, victim, disk, place } = self;
        let words = format!("face={face:?} store={store:?} victim={victim:?}");
        write!(f, "{}", words.to_lowercase())?;
        if *disk == DiskKind::Slow {
            f.write_str(" disk=slow")?;
        }
        if *place == WorkPlace::Worktree {
            f.write_str(" place=worktree")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(face: Face) -> PlanArgs {
        PlanArgs { face, victim: None, disk: None, place: None, store: None }
    }

    #[test]
    fn d7_the_whole_proof_has_every_face_store_victim_and_disk() {
        let round = wanted(Face::All).plans().expect("it is possible");
        let has = |what: &dyn Fn(&Plan) -> bool| round.iter().any(what);
        for face in Face::All.in_turn() {
            let victims = [Victim::Engine, Victim::Supervisor, Victim::Child];
            assert!(
                victims
                    .iter()
                    .all(|it| has(&|plan: &Plan| (plan.face, plan.victim) == (*face, *it)))
            );
            assert!(
                has(&|plan: &Plan| plan.face == *face && plan.disk == DiskKind::Slow),
                "{face:?}"
            );
        }
        assert!(has(&|plan: &Plan| plan.store == StoreKind::Postgres));
        assert!(has(&|plan: &Plan| plan.victim == Victim::Disk));
        assert!(has(&|plan: &Plan| plan.victim == Victim::Sync));
        assert!(has(&|plan: &Plan| plan.place == WorkPlace::Worktree));
    }

    #[test]
    fn d7_every_plan_has_its_share_of_the_whole_proof() {
        let round = wanted(Face::All).plans().expect("it is possible");
        assert_eq!(round.len(), 84);
        let (every, cheap) = round.split_at(EVERY.len());
        let different: std::collections::BTreeSet<&Plan> = every.iter().collect();
        assert_eq!(different.len(), EVERY.len(), "everything comes first, and once");
        assert!(cheap.iter().all(|plan| different.contains(plan)));
    }

    #[test]
    fn d7_options_choose_among_the_plans() {
        let run = wanted(Face::Run).plans().expect("it is possible");
        assert_eq!(run, [Plan::of(SessionFace::Run)]);
        let child = PlanArgs { victim: Some(Victim::Child), ..wanted(Face::Both) };
        let both = [SessionFace::Acp, SessionFace::Run];
        let child = child.plans().expect("it is possible");
        assert_eq!(child, both.map(|face| Plan::of(face).hitting(Victim::Child)));
        let sqlite = PlanArgs { store: Some(StoreKind::Sqlite), ..wanted(Face::All) };
        let sqlite = sqlite.plans().expect("it is possible");
        assert!(sqlite.len() > 70 && sqlite.iter().all(|plan| plan.store == StoreKind::Sqlite));
        let nobody = [
            PlanArgs { victim: Some(Victim::Disk), ..wanted(Face::Mcp) },
            PlanArgs { victim: Some(Victim::Sync), ..wanted(Face::Serve) },
            PlanArgs { store: Some(StoreKind::Postgres), ..wanted(Face::Run) },
            PlanArgs { place: Some(WorkPlace::Worktree), ..wanted(Face::Both) },
        ];
        assert!(nobody.iter().all(|args| args.plans().is_err()));
    }

    #[test]
    fn d7_a_plan_is_said_in_the_words_of_the_options() {
        let plan = Plan::of(SessionFace::Serve).kept_in_postgres().on_slow_disk();
        assert_eq!(plan.to_string(), "face=serve store=postgres victim=engine disk=slow");
        let plan = Plan::of(SessionFace::Run).hitting(Victim::Child).in_worktree();
        assert_eq!(plan.to_string(), "face=run store=sqlite victim=child place=worktree");
    }
}
