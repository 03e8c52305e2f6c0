//! A small generator of numbers, so that a seed always chooses the same. Not for secrets.

use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The generator of one session: sessions do not depend on each other's order.
    pub(super) fn of(seed: u64, session: u64) -> Random {
        let mut random = Random { state: seed };
        let mixed = random.next();
        Random { state: mixed ^ session.wrapping_mul(0x9E37_79B9_7F4A_7C15) }
    }

    /// A seed nobody chose.
    pub(super) fn seed_from_clock() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_secs() % 1_000_000
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to `bound - 1`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of a list that is not empty.
    pub(super) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        let at = self.below(list.len() as u64);
        list[usize::try_from(at).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_the_seed_chooses() {
        let numbers = |seed, session| {
            let mut random = Random::of(seed, session);
            (0..8).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7, 3), numbers(7, 3));
        assert_ne!(numbers(7, 3), numbers(7, 4));
        assert_ne!(numbers(7, 3), numbers(8, 3));
    }
}
