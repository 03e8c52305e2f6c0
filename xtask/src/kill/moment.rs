//! When a process is killed: at a random time, or right after something chosen happened.

use std::time::Duration;

use super::random::Random;

/// When to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Let it finish.
    Never,
    /// So long after its start.
    After(Duration),
    /// After the n-th fact of this kind was printed, and at `latest` so long after the start.
    Fact { kind: &'static str, nth: u64, then: Duration, latest: Duration },
    /// After a command wrote to the witness for the n-th time, or at `latest`.
    Witness { nth: u64, then: Duration, latest: Duration },
}

impl Moment {
    /// How long after its start a process is killed, whatever else happens.
    pub(super) fn latest(self) -> Option<Duration> {
        match self {
            Moment::Never => None,
            Moment::After(time) => Some(time),
            Moment::Fact { latest, .. } | Moment::Witness { latest, .. } => Some(latest),
        }
    }
}

/// Kinds of facts that a kill is put behind; those around effects stand more often.
const KINDS: &[&str] = &[
    "session.opened",
    "session.resumed",
    "input.accepted",
    "run.started",
    "scene.seen",
    "turn.started",
    "model.requested",
    "model.replied",
    "call.proposed",
    "call.judged",
    "approval.requested",
    "approval.resolved",
    "checkpoint.taken",
    "checkpoint.taken",
    "call.started",
    "call.started",
    "call.started",
    "call.finished",
    "call.finished",
    "call.reconciled",
    "call.reconciled",
    "run.finished",
];

/// Chooses a moment for a process that will need about `whole`.
pub(super) fn choose(random: &mut Random, whole: Duration) -> Moment {
    let micros = |random: &mut Random, most: Duration| {
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX / 2);
        Duration::from_micros(random.below(most + 1))
    };
    // Mostly the first half: a process that ends before its kill proves nothing.
    let latest = micros(random, whole / 4) + whole / 2;
    match random.below(20) {
        0 => Moment::After(micros(random, Duration::from_millis(20))),
        1..=8 => Moment::After(micros(random, whole / 2)),
        9..=11 => {
            let then = micros(random, Duration::from_millis(20));
            Moment::Witness { nth: random.between(1, 3), then, latest }
        }
        _ => {
            let kind = random.one_of(KINDS);
            let nth = random.between(1, 2);
            let most = random.one_of(&[0, 300, 3_000, 20_000]);
            let then = micros(random, Duration::from_micros(most));
            Moment::Fact { kind, nth, then, latest }
        }
    }
}
