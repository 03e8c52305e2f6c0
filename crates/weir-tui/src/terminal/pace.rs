//! When the next frame may be painted. Pure: time comes in.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Paints in any second, at most: more are not seen (F1).
const FRAMES_A_SECOND_MAX: usize = 60;
/// Those of them that what comes by itself may take, so that what a person does is seen at once.
const STREAMED_A_SECOND_MAX: u32 = 30;
const SECOND: Duration = Duration::from_secs(1);

/// When to paint.
#[derive(Debug, Default)]
pub struct PaintPace {
    /// The paints of the last second, the oldest first.
    painted: VecDeque<Instant>,
    dirty: bool,
    at_once: bool,
}

impl PaintPace {
    /// Nothing was painted, nothing is to be.
    pub fn new() -> PaintPace {
        PaintPace::default()
    }

    /// Something changed that is to be seen.
    pub fn touch(&mut self) {
        self.dirty = true;
    }

    /// A person did something and looks for what comes of it.
    pub fn touch_at_once(&mut self) {
        (self.dirty, self.at_once) = (true, true);
    }

    /// How long to wait until the next paint: none while nothing changed, so that nothing has to
    /// wake; zero when it may be painted now.
    pub fn time_to_wait(&self, now: Instant) -> Option<Duration> {
        if !self.dirty {
            return None;
        }
        let after = |paint: Option<&Instant>, time: Duration| {
            paint.map_or(Duration::ZERO, |at| {
                time.saturating_sub(now.saturating_duration_since(*at))
            })
        };
        let full = self.painted.len() >= FRAMES_A_SECOND_MAX;
        let room = after(self.painted.front().filter(|_| full), SECOND);
        let apart = match self.at_once {
            true => Duration::ZERO,
            false => after(self.painted.back(), SECOND / STREAMED_A_SECOND_MAX),
        };
        Some(room.max(apart))
    }

    /// It was painted.
    pub fn mark_painted(&mut self, now: Instant) {
        (self.dirty, self.at_once) = (false, false);
        let is_old = |at: &Instant| now.saturating_duration_since(*at) >= SECOND;
        while self.painted.len() >= FRAMES_A_SECOND_MAX || self.painted.front().is_some_and(is_old)
        {
            self.painted.pop_front();
        }
        self.painted.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_paints_are_apart_and_nothing_waits_when_nothing_changed() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pace = PaintPace::new();
        assert_eq!(pace.time_to_wait(at(0)), None);
        pace.touch();
        assert_eq!(pace.time_to_wait(at(0)), Some(Duration::ZERO));
        pace.mark_painted(at(0));
        assert_eq!(pace.time_to_wait(at(1)), None);
        pace.touch();
        let wait = pace.time_to_wait(at(10)).unwrap();
        assert!(wait > Duration::from_millis(23) && wait < Duration::from_millis(24), "{wait:?}");
        assert_eq!(pace.time_to_wait(at(34)), Some(Duration::ZERO));
        assert_eq!(pace.time_to_wait(at(900)), Some(Duration::ZERO));
    }

    #[test]
    fn f1_what_a_person_does_is_painted_at_once_and_never_more_than_sixty_times_a_second() {
        let start = Instant::now();
        let mut pace = PaintPace::new();
        let mut paints = Vec::new();
        for ms in 0..3_000 {
            let now = start + Duration::from_millis(ms);
            pace.touch();
            // Somebody leans on a key.
            if ms >= 1_000 {
                pace.touch_at_once();
            }
            if pace.time_to_wait(now) == Some(Duration::ZERO) {
                pace.mark_painted(now);
                paints.push(ms);
            }
        }
        let within =
            |from: u64| paints.iter().filter(|ms| (from..from + 1_000).contains(ms)).count();
        assert!((29..=31).contains(&within(0)), "{}", within(0));
        assert!((0..2_000).all(|from| within(from) <= FRAMES_A_SECOND_MAX));
        assert!(paints.contains(&1_000) && paints.contains(&1_001), "a key does not wait");
    }
}
