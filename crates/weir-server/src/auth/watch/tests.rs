//! Connections that share a watch: how often the database is asked for them, and how soon each of them
//! ends. At a server this is tested from outside (`tests/it/live.rs`, `tests/it/replicas.rs`).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records, StoreError};
use weir_install::people::Person;
use weir_store::MemoryRecords;

use super::*;
use crate::auth::setup;
use crate::auth::still_clock::StillClock;
use crate::caller::CallerScope;

/// Entries that are looked up: the sign-in and the person.
const LOOKED_UP: usize = 2;
/// Connections of one sign-in.
const CONNECTIONS: usize = 50;

/// Records that count what is looked up, and can be away.
#[derive(Default)]
struct CountingRecords {
    kept: MemoryRecords,
    lookups: AtomicUsize,
    is_away: AtomicBool,
    /// Nothing that is looked up is ever answered.
    is_stuck: AtomicBool,
}

#[async_trait]
impl Records for CountingRecords {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RecordEntry>, StoreError> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            return Err(StoreError::Io { doing: "looking".into(), why: "it is away".into() });
        }
        if self.is_stuck.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.kept.get(kind, name, now).await
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        self.kept.list(kind, owner, now).await
    }

    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError> {
        self.kept.put(entry, expected).await
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        self.kept.remove(kind, name).await
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        self.kept.remove_owned(owner).await
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.kept.purge(now).await
    }

    async fn check_alive(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn wait_for_change(&self) {
        std::future::pending().await
    }
}

/// One person, signed in once, with connections that wait.
struct House {
    records: Arc<CountingRecords>,
    watches: CredentialWatches,
    caller: Caller,
    waiting: JoinSet<()>,
}

impl House {
    async fn new() -> House {
        let records = Arc::new(CountingRecords::default());
        let shelf = TypedRecords::new(records.clone(), Arc::new(StillClock));
        let person = setup::first_person_or_new(&shelf, "ann").await.expect("a person");
        let (address, agent) = (String::new(), String::new());
        let arrival =
            logins::NewLogin { address, agent, how: "password", device: "", must_enrol: false };
        logins::begin_login(&shelf, &person.id, arrival).await.expect("a sign-in");
        let watches = CredentialWatches::new(shelf);
        let caller = caller_of(&watches, person).await;
        House { records, watches, caller, waiting: JoinSet::new() }
    }

    /// So many more connections wait; returns once each has looked for itself.
    async fn connect(&mut self, connections: usize) {
        for _ in 0..connections {
            let watch = self.watches.join_watch(&self.caller);
            self.waiting.spawn(async move { watch.wait_until_revoked().await });
        }
        sleep(Duration::from_millis(1)).await;
    }

    fn lookups(&self) -> usize {
        self.records.lookups.load(Ordering::Relaxed)
    }

    /// How long it takes until none waits any more.
    async fn time_to_end(&mut self) -> Duration {
        let began = Instant::now();
        while let Some(ended) = self.waiting.join_next().await {
            ended.expect("no panic");
        }
        began.elapsed()
    }
}

async fn caller_of(watches: &CredentialWatches, person: Person) -> Caller {
    let logins = logins::list_logins(&watches.shelf, &person.id).await.expect("the sign-ins");
    let login = logins[0].name.clone();
    let via = CallerCredential::Cookie { login, csrf: String::new(), device: String::new() };
    Caller { person, via, scope: CallerScope::All }
}

#[tokio::test(start_paused = true)]
async fn q18_connections_of_one_sign_in_ask_the_database_like_one() {
    let mut house = House::new().await;
    let before = house.lookups();
    house.connect(CONNECTIONS).await;
    assert_eq!(house.lookups() - before, CONNECTIONS * LOOKED_UP, "each looks once for itself");
    let before = house.lookups();
    sleep(LOOK_AGAIN * 10).await;
    let asked = house.lookups() - before;
    assert!((9 * LOOKED_UP..=10 * LOOKED_UP).contains(&asked), "{asked}");
    assert_eq!(house.waiting.len(), CONNECTIONS);
    assert_eq!(lock_table(&house.watches.table).len(), 1);

    // The watch ends with the last of them.
    house.waiting.shutdown().await;
    assert_eq!(lock_table(&house.watches.table).len(), 0);
    let before = house.lookups();
    sleep(LOOK_AGAIN * 3).await;
    assert_eq!(house.lookups(), before);
}

#[tokio::test(start_paused = true)]
async fn s17_a_sign_in_that_ends_elsewhere_ends_each_of_its_connections_as_soon_as_one_alone() {
    let mut house = House::new().await;
    house.connect(CONNECTIONS).await;
    sleep(LOOK_AGAIN / 2).await;
    // Some come while it is watched already.
    house.connect(CONNECTIONS).await;
    let CallerCredential::Cookie { login, .. } = &house.caller.via else { unreachable!() };
    assert!(logins::end_login(&house.watches.shelf, login).await.expect("it was there"));
    let took = house.time_to_end().await;
    assert!(took <= LOOK_AGAIN + Duration::from_millis(10), "{took:?}");
    // Who comes too late is out at once.
    house.connect(1).await;
    assert_eq!(house.time_to_end().await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn s2_a_notice_ends_every_connection_at_once_and_no_other() {
    let mut house = House::new().await;
    house.connect(CONNECTIONS).await;
    house.watches.announce_revocation(RevocationNotice::One("another".into()));
    house.watches.announce_revocation(RevocationNotice::Person(PersonId("another".into())));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(house.waiting.len(), CONNECTIONS);
    assert!(house.waiting.try_join_next().is_none());
    let person = house.caller.person.id.clone();
    house.watches.announce_revocation(RevocationNotice::Person(person));
    assert_eq!(house.time_to_end().await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn s2_whoever_may_come_again_is_not_held_against_the_watch_that_ended() {
    let mut house = House::new().await;
    house.connect(1).await;
    // One that ended already and has not gone.
    let slow = house.watches.join_watch(&house.caller);
    let (shelf, id) = (house.watches.shelf.clone(), house.caller.person.id.clone());
    let set =
        |disabled: bool| accounts::change_account(&shelf, &id, move |p| p.disabled = disabled);
    set(true).await.expect("disabled");
    house.time_to_end().await;
    set(false).await.expect("enabled");
    house.connect(1).await;
    sleep(LOOK_AGAIN * 4).await;
    assert!(house.waiting.try_join_next().is_none(), "they may come in");
    drop(slow);
    assert_eq!(lock_table(&house.watches.table).len(), 1, "theirs is another watch");
}

#[tokio::test(start_paused = true)]
async fn s2_a_database_that_does_not_answer_for_a_minute_ends_them() {
    let mut house = House::new().await;
    house.connect(CONNECTIONS).await;
    house.records.is_away.store(true, Ordering::Relaxed);
    sleep(LOOK_AGAIN * 8).await;
    assert!(house.waiting.try_join_next().is_none(), "it may come back");
    house.records.is_away.store(false, Ordering::Relaxed);
    sleep(LOOK_AGAIN * 2).await;
    house.records.is_away.store(true, Ordering::Relaxed);
    let took = house.time_to_end().await;
    assert!(took <= LOOK_AGAIN * SILENT_LOOKS_MAX + Duration::from_millis(100), "{took:?}");
    assert!(took > LOOK_AGAIN * (SILENT_LOOKS_MAX - 2), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn s2_a_database_that_never_answers_keeps_nobody_in_and_no_notice_back() {
    let mut house = House::new().await;
    house.connect(CONNECTIONS).await;
    house.records.is_stuck.store(true, Ordering::Relaxed);
    // These wait for a first look of their own.
    house.connect(CONNECTIONS).await;
    let took = house.time_to_end().await;
    assert!(took <= LOOK_AGAIN * (SILENT_LOOKS_MAX + 2), "{took:?}");

    house.connect(1).await;
    sleep(LOOK_AGAIN + LOOK_AGAIN / 2).await;
    assert!(house.waiting.try_join_next().is_none());
    let person = house.caller.person.id.clone();
    house.watches.announce_revocation(RevocationNotice::Person(person));
    let took = house.time_to_end().await;
    assert!(took <= LOOK_AGAIN, "{took:?}");
}
