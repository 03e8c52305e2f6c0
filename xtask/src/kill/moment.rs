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

/// Chooses a moment for a process that is mostly killed by `horizon`: any time up to it, or behind something
/// that happens, for which is not waited much longer.
pub(super) fn choose(random: &mut Random, horizon: Duration) -> Moment {
    let micros = |random: &mut Random, most: Duration| {
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX / 2);
        Duration::from_micros(random.below(most + 1))
    };
    let latest = micros(random, horizon / 2) + horizon * 3 / 4;
    match random.below(20) {
        0 => Moment::After(micros(random, Duration::from_millis(20))),
        1..=8 => Moment::After(micros(random, horizon)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_moments_come_by_the_horizon_and_spread_over_it() {
        let (mut random, horizon) = (Random::of(1, 1), Duration::from_millis(100));
        let latest: Vec<Duration> =
            (0..1_000).filter_map(|_| choose(&mut random, horizon).latest()).collect();
        assert_eq!(latest.len(), 1_000, "every one comes");
        assert!(latest.iter().all(|time| *time <= horizon * 5 / 4));
        for tenth in 0..10 {
            let part = horizon * tenth / 10..horizon * (tenth + 1) / 10;
            let there = latest.iter().filter(|time| part.contains(*time)).count();
            assert!(there > 10, "{there} in {part:?}");
        }
    }
}
