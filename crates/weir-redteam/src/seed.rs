//! Chance that is the same for the same seed. Not fit for keys.

/// A stream of numbers that depends on its seed alone (splitmix64).
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Seed {
        Seed(seed)
    }

    /// A stream of its own for what is called `name`, so that one more draw elsewhere changes
    /// nothing here.
    #[must_use]
    pub fn of(&self, name: &str) -> Seed {
        let start = self.0 ^ 0xcbf2_9ce4_8422_2325;
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Seed(name.bytes().fold(start, step))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        let drawn = self.draw() % (bound.max(1) as u64);
        usize::try_from(drawn).unwrap_or(0)
    }

    /// One of these. There must be one.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// `true` in so many of a hundred draws.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_names_are_apart() {
        let of = |name: &str| Seed::new(7).of(name).draw();
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_ne!(Seed::new(7).draw(), Seed::new(8).draw());
    }
}
