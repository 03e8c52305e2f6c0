//! Places of scheduled runs in the whole installation: one entry that all replicas change in turn,
//! so that the bounds hold for everybody together and places go round among people.
//!
//! What a replica holds ends by itself when the replica is gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use weir_core::ids::Timestamp;
use weir_core::schedule::AgentRun;
use weir_engine::ports::{
    Clock, HOUR_MS, PutOutcome, RecordEntry, Records, RunBeginOutcome, SharedRunPlaces, StoreError,
};
use weir_install::user_space::UserSpace;

/// Kind and name of the entry.
const KIND: &str = "agent_places";
const ALL: &str = "all";
/// So long a place is held after the last sign of life of whoever holds it.
const HELD_MS: u64 = 60_000;
/// So long somebody who waits keeps their turn after they last asked.
const TURN_MS: u64 = 30_000;
/// Clocks of replicas may differ by so much.
const CLOCKS_DIFFER_MS: u64 = 5 * 60 * 1000;
/// How often a run that waits for a place asks again: other replicas tell nobody.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// Tries at changing the entry while others change it.
const TRIES_MAX: usize = 32;

/// The runs that have places, and those that wait for one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct PlaceBoard {
    running: Vec<HeldPlace>,
    /// One turn of each person, the oldest first.
    waiting: Vec<HeldPlace>,
    /// When runs of the last hour began.
    begun: Vec<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HeldPlace {
    /// A run, or a person who waits.
    name: String,
    until: Timestamp,
}

impl PlaceBoard {
    /// Without what is over, and without what a clock noted that ran ahead and was set back:
    /// nobody would give that back for as long as it ran ahead.
    fn without_expired(mut self, now: Timestamp) -> PlaceBoard {
        let holds = |held: &HeldPlace, longest_ms: u64| {
            held.until > now && held.until <= now.plus_ms(longest_ms + CLOCKS_DIFFER_MS)
        };
        self.running.retain(|held| holds(held, HELD_MS));
        self.waiting.retain(|held| holds(held, TURN_MS));
        let until = now.plus_ms(HOUR_MS);
        self.begun.retain(|begun| begun.plus_ms(HOUR_MS) > now && *begun <= until);
        self
    }

    /// A place for `run` of `person`, or why there is none.
    fn take_place(
        &mut self,
        run: &PlaceRequest<'_>,
        bounds: PlaceBounds,
        now: Timestamp,
    ) -> RunBeginOutcome {
        let PlaceBounds { at_once, per_hour } = bounds;
        if self.running.iter().any(|held| held.name == run.name) {
            return RunBeginOutcome::Begun;
        }
        if run.begins && per_hour > 0 && self.begun.len() >= per_hour {
            self.begun.sort();
            let until = self.begun[self.begun.len() - per_hour].plus_ms(HOUR_MS);
            return RunBeginOutcome::HourFull { until };
        }
        let free = at_once.saturating_sub(self.running.len());
        let turn = self.waiting.iter().position(|held| held.name == run.person);
        if turn.unwrap_or(self.waiting.len()) >= free {
            let until = now.plus_ms(TURN_MS);
            match turn {
                Some(at) => self.waiting[at].until = until,
                None => self.waiting.push(HeldPlace { name: run.person.into(), until }),
            }
            return RunBeginOutcome::Full;
        }
        if let Some(at) = turn {
            self.waiting.remove(at);
        }
        self.running.push(HeldPlace { name: run.name.into(), until: now.plus_ms(HELD_MS) });
        if run.begins {
            self.begun.push(now);
        }
        RunBeginOutcome::Begun
    }
}

struct PlaceRequest<'a> {
    name: &'a str,
    person: &'a str,
    /// It was not under way before.
    begins: bool,
}

/// How many runs there may be, of everybody together.
#[derive(Clone, Copy)]
struct PlaceBounds {
    /// Under way at the same time.
    at_once: usize,
    /// Begun within an hour; 0: as many as there are.
    per_hour: usize,
}

fn place_error(why: String) -> StoreError {
    StoreError::Io { doing: "looking for a place of a scheduled run".into(), why }
}

/// The board of the installation, as this process sees it.
pub(super) struct RunPlaces {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    /// Runs of this process that have a place.
    held: Mutex<BTreeSet<String>>,
    freed: Notify,
}

impl RunPlaces {
    pub(super) fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> RunPlaces {
        RunPlaces { records, clock, held: Mutex::default(), freed: Notify::new() }
    }

    fn lock_held(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the board; of two who do at once, both changes hold.
    async fn change_board<T>(
        &self,
        mut change: impl FnMut(&mut PlaceBoard, Timestamp) -> T,
    ) -> Result<T, StoreError> {
        for _ in 0..TRIES_MAX {
            let now = self.clock.now();
            let entry = self.records.get(KIND, ALL, now).await?;
            let before: PlaceBoard = match &entry {
                // One that cannot be read holds no places: they would stay for ever.
                Some(entry) => serde_json::from_str(&entry.text).unwrap_or_default(),
                None => PlaceBoard::default(),
            };
            let version = entry.map_or(0, |entry| entry.version);
            let mut board = before.clone().without_expired(now);
            let changed = change(&mut board, now);
            if board == before {
                return Ok(changed);
            }
            let entry = RecordEntry {
                kind: KIND.into(),
                name: ALL.into(),
                owner: String::new(),
                text: serde_json::to_string(&board).unwrap_or_default(),
                version: 0,
                expires: None,
                ts: now,
            };
            if let PutOutcome::Kept(_) = self.records.put(&entry, Some(version)).await? {
                return Ok(changed);
            }
        }
        Err(place_error("too many change them at once".into()))
    }

    /// Says that this process still has what it has.
    pub(super) async fn renew_places(&self) {
        let held = self.lock_held().clone();
        if held.is_empty() {
            return;
        }
        let kept = self.change_board(|board, now| {
            for name in &held {
                let until = now.plus_ms(HELD_MS);
                match board.running.iter_mut().find(|place| place.name == *name) {
                    Some(place) => place.until = until,
                    None => board.running.push(HeldPlace { name: name.clone(), until }),
                }
            }
        });
        if let Err(error) = kept.await {
            tracing::warn!(%error, "places of scheduled runs could not be kept");
        }
    }
}

/// The installation as the scheduler of one person sees it.
pub(super) struct ServerPlaces {
    places: Arc<RunPlaces>,
    space: Arc<UserSpace>,
}

impl ServerPlaces {
    pub(super) fn new(places: Arc<RunPlaces>, space: Arc<UserSpace>) -> ServerPlaces {
        ServerPlaces { places, space }
    }

    fn run_name(&self, run: &AgentRun) -> String {
        format!("{}/{}/{}", self.space.person(), run.agent, run.tick)
    }
}

#[async_trait]
impl SharedRunPlaces for ServerPlaces {
    async fn take_place(&self, run: &AgentRun) -> Result<RunBeginOutcome, StoreError> {
        let settings =
            self.space.schedule_bounds().map_err(|error| place_error(error.to_string()))?;
        let bounds = PlaceBounds { at_once: settings.at_once, per_hour: settings.per_hour };
        let name = self.run_name(run);
        let person = self.space.person().as_str();
        let taker = PlaceRequest { name: &name, person, begins: run.started.is_none() };
        let begin =
            self.places.change_board(|board, now| board.take_place(&taker, bounds, now)).await?;
        if begin == RunBeginOutcome::Begun {
            self.places.lock_held().insert(name);
        }
        Ok(begin)
    }

    async fn give_back(&self, run: &AgentRun) {
        let name = self.run_name(run);
        if !self.places.lock_held().remove(&name) {
            return;
        }
        let gone =
            self.places.change_board(|board, _| board.running.retain(|held| held.name != name));
        if let Err(error) = gone.await {
            // It ends by itself.
            tracing::warn!(%error, "a place of a scheduled run could not be given back");
        }
        self.places.freed.notify_waiters();
    }

    async fn wait_until_freed(&self) {
        tokio::select! {
            () = self.places.freed.notified() => (),
            () = tokio::time::sleep(ASK_EVERY) => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(board: &mut PlaceBoard, name: &str, bounds: PlaceBounds, now: u64) -> RunBeginOutcome {
        let person = name.split('/').next().unwrap_or_default();
        board.take_place(&PlaceRequest { name, person, begins: true }, bounds, at(now))
    }

    fn bounds(at_once: usize, per_hour: usize) -> PlaceBounds {
        PlaceBounds { at_once, per_hour }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp(0).plus_ms(seconds * 1_000)
    }

    #[test]
    fn s8_places_go_round_among_people() {
        let mut board = PlaceBoard::default();
        assert_eq!(take(&mut board, "ann/a", bounds(2, 0), 0), RunBeginOutcome::Begun);
        assert_eq!(take(&mut board, "ann/b", bounds(2, 0), 0), RunBeginOutcome::Begun);
        // Ann waits with her third before Bob comes, and has one turn, whatever she has waiting.
        for run in ["ann/c", "ann/d", "bob/a"] {
            assert_eq!(take(&mut board, run, bounds(2, 0), 1), RunBeginOutcome::Full);
        }
        board.running.remove(0);
        assert_eq!(
            take(&mut board, "bob/a", bounds(2, 0), 2),
            RunBeginOutcome::Full,
            "it is Ann's turn"
        );
        assert_eq!(take(&mut board, "ann/c", bounds(2, 0), 2), RunBeginOutcome::Begun);
        assert_eq!(take(&mut board, "ann/d", bounds(2, 0), 2), RunBeginOutcome::Full);
        board.running.remove(0);
        assert_eq!(
            take(&mut board, "ann/d", bounds(2, 0), 3),
            RunBeginOutcome::Full,
            "it is Bob's turn"
        );
        assert_eq!(take(&mut board, "bob/a", bounds(2, 0), 3), RunBeginOutcome::Begun);
    }

    #[test]
    fn s8_whoever_is_gone_keeps_neither_place_nor_turn() {
        let mut board = PlaceBoard::default();
        assert_eq!(take(&mut board, "ann/a", bounds(1, 0), 0), RunBeginOutcome::Begun);
        assert_eq!(take(&mut board, "bob/a", bounds(1, 0), 0), RunBeginOutcome::Full);
        let mut board = board.without_expired(at(61));
        assert_eq!(take(&mut board, "cyd/a", bounds(1, 0), 61), RunBeginOutcome::Begun);
    }

    #[test]
    fn d9_what_a_clock_noted_that_ran_ahead_fills_nothing_once_it_is_set_back() {
        let years = 3 * 365 * 86_400;
        let mut board = PlaceBoard::default();
        assert_eq!(take(&mut board, "ann/a", bounds(1, 1), years), RunBeginOutcome::Begun);
        assert_eq!(
            take(&mut board, "bob/a", bounds(1, 1), years),
            RunBeginOutcome::HourFull { until: at(years + 3_600) }
        );
        let mut board = board.without_expired(at(100));
        assert_eq!(board, PlaceBoard::default());
        assert_eq!(take(&mut board, "bob/a", bounds(1, 1), 100), RunBeginOutcome::Begun);
        // A replica whose clock is a minute behind takes nothing from the others.
        assert_eq!(board.clone().without_expired(at(40)), board);
    }

    #[test]
    fn s8_runs_of_an_hour_are_bounded_for_all_together() {
        let mut board = PlaceBoard::default();
        assert_eq!(take(&mut board, "ann/a", bounds(9, 2), 0), RunBeginOutcome::Begun);
        assert_eq!(take(&mut board, "bob/a", bounds(9, 2), 600), RunBeginOutcome::Begun);
        let full = RunBeginOutcome::HourFull { until: at(3_600) };
        assert_eq!(take(&mut board, "cyd/a", bounds(9, 2), 700), full);
        let mut board = board.without_expired(at(3_601));
        assert_eq!(take(&mut board, "cyd/a", bounds(9, 2), 3_601), RunBeginOutcome::Begun);
    }
}
