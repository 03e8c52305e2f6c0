//! What happens to the replicas, their lines and their database, in an order that the seed chooses. Not here:
//! what must hold all the while.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use rustix::process::Signal;

use super::super::random::Random;
use super::check::LEASE;
use super::clock;
use super::replica::Replicas;
use crate::database::own::OwnServer;

/// Between the beginnings of two faults.
const PAUSE_MS: (u64, u64) = (500, 2_500);
/// How often it is looked what is over.
const GLANCE: Duration = Duration::from_millis(20);

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// SIGKILL; a new process comes soon after.
    Kill,
    /// SIGSTOP for longer than a lease, then SIGCONT.
    Pause,
    /// All connections to the database are cut.
    Drop,
    /// Each connection ends in the middle of what it carries next.
    Half,
    /// Everything to and from the database takes long.
    Slow,
    /// Nothing arrives for longer than a lease, and nobody is told.
    Silence,
    /// The database ends at once, without tidying up, and comes back.
    Restart,
    /// Its wall clock is set, and stays wrong until it is set again.
    Clock,
}

/// All, in the order of the summary.
pub(super) const KINDS: [FaultKind; 8] = [
    FaultKind::Kill,
    FaultKind::Pause,
    FaultKind::Drop,
    FaultKind::Half,
    FaultKind::Slow,
    FaultKind::Silence,
    FaultKind::Restart,
    FaultKind::Clock,
];

impl FaultKind {
    /// Whether whoever is hit loses its sessions.
    pub(super) fn costs_lease(self) -> bool {
        matches!(self, FaultKind::Kill | FaultKind::Pause | FaultKind::Silence)
    }

    /// How long it lasts.
    fn lasts(self, random: &mut Random) -> Duration {
        let ms = match self {
            FaultKind::Kill => random.between(0, 1_500),
            FaultKind::Pause | FaultKind::Silence => {
                let lease = u64::try_from(LEASE.as_millis()).unwrap_or(0);
                random.between(lease + 1_500, lease + 4_000)
            }
            FaultKind::Slow => random.between(3_000, 6_000),
            FaultKind::Drop | FaultKind::Half | FaultKind::Restart | FaultKind::Clock => 0,
        };
        Duration::from_millis(ms)
    }
}

/// Something that happened; times in seconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Disturbance {
    pub(super) kind: FaultKind,
    /// The process that was hit; `None`: the database.
    pub(super) writer: Option<String>,
    pub(super) began: f64,
    pub(super) ended: f64,
}

/// So many faults of the kinds that are possible here, which are some: of each run through them every kind
/// once, in an order of chance.
pub(super) fn deck(random: &mut Random, count: usize, possible: &[FaultKind]) -> Vec<FaultKind> {
    let mut deck = Vec::new();
    while deck.len() < count {
        let mut kinds = possible.to_vec();
        while !kinds.is_empty() {
            let at = usize::try_from(random.below(kinds.len() as u64)).unwrap_or(0);
            deck.push(kinds.swap_remove(at));
        }
    }
    deck.truncate(count);
    deck
}

/// A fault that is not over.
struct Active {
    replica: usize,
    until: Instant,
    happened: usize,
}

/// Lets all of it happen. At most all replicas but one are hit at a time, none twice at once.
///
/// # Errors
/// A process cannot be started or hit, or the database does not come back.
pub(super) async fn disturb(
    replicas: &mut Replicas<'_>,
    mut server: Option<&mut OwnServer>,
    faults: &[FaultKind],
    random: &mut Random,
) -> anyhow::Result<Vec<Disturbance>> {
    let mut happened: Vec<Disturbance> = Vec::new();
    let mut active: Vec<Active> = Vec::new();
    let mut faults = faults.iter().copied().peekable();
    let mut next_at = Instant::now() + pause(random);
    while faults.peek().is_some() || !active.is_empty() {
        tokio::time::sleep(GLANCE).await;
        let (over, going): (Vec<Active>, Vec<Active>) =
            active.into_iter().partition(|fault| fault.until <= Instant::now());
        active = going;
        for fault in over {
            let one = &mut happened[fault.happened];
            end(replicas, fault.replica, one.kind).await?;
            one.ended = now();
        }
        let free: Vec<usize> = (0..replicas.count())
            .filter(|at| active.iter().all(|fault| fault.replica != *at))
            .collect();
        if free.len() < 2 || Instant::now() < next_at {
            continue;
        }
        let Some(kind) = faults.next() else { continue };
        next_at = Instant::now() + pause(random);
        let (replica, lasts) = (random.one_of(&free), kind.lasts(random));
        let (began, mut writer) = (now(), Some(replicas.writer(replica)));
        if kind == FaultKind::Restart {
            writer = None;
            if let Some(server) = server.as_deref_mut() {
                server.restart()?;
            }
        } else {
            begin(replicas, replica, kind, random)?;
            let until = Instant::now() + lasts;
            active.push(Active { replica, until, happened: happened.len() });
        }
        happened.push(Disturbance { kind, writer, began, ended: now() });
    }
    Ok(happened)
}

fn begin(
    replicas: &mut Replicas<'_>,
    at: usize,
    kind: FaultKind,
    random: &mut Random,
) -> anyhow::Result<()> {
    let delay = Duration::from_millis(random.between(20, 250));
    match kind {
        FaultKind::Kill => {
            let status = replicas.process(at)?.kill()?;
            replicas.forget(at);
            let number = at + 1;
            ensure!(status.code().is_none(), "replica {number} ended by itself with {status}");
        }
        FaultKind::Pause => replicas.process(at)?.signal(Signal::STOP)?,
        FaultKind::Drop => replicas.proxy(at).change(|line| line.cuts += 1),
        FaultKind::Half => replicas.proxy(at).change(|line| line.halves += 1),
        FaultKind::Slow => replicas.proxy(at).change(|line| line.delay = delay),
        FaultKind::Silence => replicas.proxy(at).change(|line| line.is_silent = true),
        FaultKind::Clock => replicas.set_clock(at, clock::wrong_by(random))?,
        FaultKind::Restart => {}
    }
    Ok(())
}

async fn end(replicas: &mut Replicas<'_>, at: usize, kind: FaultKind) -> anyhow::Result<()> {
    match kind {
        FaultKind::Kill => replicas.start(at).await?,
        FaultKind::Pause => replicas.process(at)?.signal(Signal::CONT)?,
        FaultKind::Slow => replicas.proxy(at).change(|line| line.delay = Duration::ZERO),
        FaultKind::Silence => replicas.proxy(at).change(|line| line.is_silent = false),
        FaultKind::Drop | FaultKind::Half | FaultKind::Restart | FaultKind::Clock => {}
    }
    Ok(())
}

fn pause(random: &mut Random) -> Duration {
    Duration::from_millis(random.between(PAUSE_MS.0, PAUSE_MS.1))
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_every_kind_of_fault_comes_before_any_comes_again() {
        let of = |seed| deck(&mut Random::of(seed, 0), 2 * KINDS.len(), &KINDS);
        for half in of(3).chunks(KINDS.len()) {
            assert!(KINDS.iter().all(|kind| half.contains(kind)), "{half:?}");
        }
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        let two = [FaultKind::Kill, FaultKind::Slow];
        let some = deck(&mut Random::of(3, 0), 3, &two);
        assert!(some.len() == 3 && some.iter().all(|kind| two.contains(kind)), "{some:?}");
    }
}
