//! Caps on money that sessions have in common (R11), in every store: however many ask at once, at most one
//! goes beyond, and what a dead process set aside is void after a while.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use weir_core::governance::label::Label;
use weir_core::ids::Timestamp;
use weir_core::model::{ModelInfo, ModelRef, ModelReply, ModelRequest, Price, StopReason, Usage};
use weir_core::profile::LimitName;
use weir_engine::ports::{
    Clock, Conversation, MediaMap, Model, PreparedRequest, SignalSink, SpendingCap, SpendingCaps,
    Store, StoredItem, UsageNote,
};
use weir_engine::spending::{HOLD_MS, ReachedCap, SharedSpending, SpendingAnswer, capped_model};
use weir_test_kit::PATIENCE;

use crate::contract::{Place, memory, sqlite};
use crate::support::{NOON, Scribe};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A clock that a test moves.
struct HandClock(AtomicI64);

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
    async fn sleep_until(&self, _: Timestamp) {
        tokio::task::yield_now().await;
    }
    fn random_number(&self) -> u64 {
        4
    }
}

impl HandClock {
    fn advance(&self, ms: u64) {
        self.0.store(self.now().plus_ms(ms).0, Ordering::SeqCst);
    }
}

struct House {
    store: Arc<dyn Store>,
    clock: Arc<HandClock>,
    _place: Box<dyn std::any::Any>,
}

fn house(place: Place) -> House {
    let clock = Arc::new(HandClock(AtomicI64::new(NOON)));
    House { store: place.store.clone(), clock, _place: Box::new(place) }
}

fn cap(limit: LimitName, max_usd: f64) -> SpendingCap {
    SpendingCap { limit, max_usd, agent: None, lets_unpriced_pass: false }
}

impl House {
    fn spending(&self, caps: Vec<SpendingCap>) -> SharedSpending {
        let caps = SpendingCaps { own: caps, server: None };
        SharedSpending::new(self.store.clone(), self.clock.clone(), caps).expect("there is a cap")
    }

    /// A reply that cost so much becomes durable.
    async fn pays(&self, scribe: &mut Scribe, usd: f64) {
        let mut append = scribe.next(1);
        append.usage = vec![UsageNote {
            ts: self.clock.now(),
            model: "acme/large".into(),
            profile: "code".into(),
            usage: Usage { input: 10, ..Usage::default() },
            cost_usd: Some(usd),
            replies: 1,
            runs: 0,
        }];
        self.store.append(append.clone()).await.expect("fits");
        scribe.wrote(&append);
    }
}

fn reached(limit: LimitName, spent: Option<f64>, max: f64) -> SpendingAnswer {
    SpendingAnswer::Reached(ReachedCap { limit, spent, max })
}

/// One session that asks as long as it may; the cap that ends it.
async fn ask_until_refused(house: &House, number: u32, sent: &AtomicI64) -> ReachedCap {
    let name = format!("session{number}");
    let mut scribe = Scribe::new(&*house.store, &name).await;
    let spending = house.spending(vec![cap(LimitName::DayUsd, 4.5)]);
    loop {
        match spending.reserve(&name, Some(2.0)).await.expect("it answers") {
            SpendingAnswer::Granted => {
                sent.fetch_add(1, Ordering::SeqCst);
                house.pays(&mut scribe, 1.0).await;
                spending.release(&name).await.expect("it answers");
            }
            SpendingAnswer::Busy => tokio::time::sleep(Duration::from_millis(2)).await,
            SpendingAnswer::Reached(cap) => return cap,
        }
    }
}

async fn at_most_one_goes_beyond(house: House) {
    // Each request costs 1 and sets 2 aside; four fit below the cap, and one may go beyond.
    let sent = AtomicI64::new(0);
    let asking = (0..8).map(|number| ask_until_refused(&house, number, &sent));
    for cap in futures::future::join_all(asking).await {
        assert_eq!((cap.limit, cap.spent, cap.max), (LimitName::DayUsd, Some(5.0), 4.5));
    }
    assert_eq!(sent.load(Ordering::SeqCst), 5, "4 below the cap, and one beyond");
}

async fn holds_end_with_their_process(house: House) {
    let spending = house.spending(vec![cap(LimitName::DayUsd, 5.0)]);
    let reserve = |name: &'static str| spending.reserve(name, Some(4.0));
    assert_eq!(reserve("killed").await.expect("answers"), SpendingAnswer::Granted);
    assert_eq!(reserve("other").await.expect("answers"), SpendingAnswer::Granted);
    // Both together may use up what is left: a third waits, whatever became of them.
    assert_eq!(reserve("third").await.expect("answers"), SpendingAnswer::Busy);
    house.clock.advance(HOLD_MS - 1);
    spending.renew("other").await.expect("answers");
    assert_eq!(reserve("third").await.expect("answers"), SpendingAnswer::Busy);
    house.clock.advance(1);
    // One was killed, and renews nothing.
    assert_eq!(reserve("third").await.expect("answers"), SpendingAnswer::Granted);
    // Nobody waits for itself.
    assert_eq!(reserve("third").await.expect("answers"), SpendingAnswer::Granted);
    spending.release("other").await.expect("answers");
    spending.release("nobody").await.expect("answers");
}

async fn days_and_months_begin_anew(house: House) {
    let mut scribe = Scribe::new(&*house.store, "one").await;
    let caps = vec![cap(LimitName::DayUsd, 5.0), cap(LimitName::PersonUsd, 8.0)];
    let spending = house.spending(caps);
    house.pays(&mut scribe, 5.0).await;
    let answer = spending.reserve("one", Some(0.1)).await.expect("answers");
    assert_eq!(answer, reached(LimitName::DayUsd, Some(5.0), 5.0));
    // Midnight.
    house.clock.advance(DAY_MS / 2);
    assert_eq!(spending.reserve("one", Some(0.1)).await.expect("answers"), SpendingAnswer::Granted);
    house.pays(&mut scribe, 3.5).await;
    let answer = spending.reserve("one", Some(0.1)).await.expect("answers");
    assert_eq!(answer, reached(LimitName::PersonUsd, Some(8.5), 8.0));
    // NOON is on the second day of January.
    house.clock.advance(30 * DAY_MS);
    assert_eq!(spending.reserve("one", Some(0.1)).await.expect("answers"), SpendingAnswer::Granted);
}

async fn an_unknown_price_is_never_nothing(house: House) {
    let spending = house.spending(vec![cap(LimitName::DayUsd, 5.0)]);
    let answer = spending.reserve("one", None).await.expect("answers");
    assert_eq!(answer, reached(LimitName::DayUsd, None, 5.0));
    let usual = SpendingCap {
        agent: Some("nightly".into()),
        lets_unpriced_pass: true,
        ..cap(LimitName::ScheduleUsd, 5.0)
    };
    let spending = house.spending(vec![usual]);
    assert_eq!(spending.reserve("one", None).await.expect("answers"), SpendingAnswer::Granted);
}

/// The book as a file of the store.
fn book(text: String, ts: Timestamp, version: u32) -> StoredItem {
    StoredItem {
        what: "spending".into(),
        name: "holds".into(),
        text,
        state: "active".into(),
        hash: String::new(),
        version,
        label: Label::default(),
        by: String::new(),
        ts,
    }
}

async fn a_full_or_damaged_book_lets_nobody_ask(house: House) {
    let spending = house.spending(vec![cap(LimitName::DayUsd, 5.0)]);
    let reserve = || spending.reserve("one", Some(0.1));
    let until = house.clock.now().plus_ms(HOLD_MS);
    let holds: Vec<String> =
        (0..10_000).map(|n| format!("\"s{n}\":{{\"usd\":0.0,\"until\":\"{until}\"}}")).collect();
    let full = book(format!("{{\"holds\":{{{}}}}}", holds.join(",")), house.clock.now(), 0);
    let kept = house.store.replace_stored_item(&full, 0).await.expect("answers").expect("new");
    assert_eq!(reserve().await.expect("answers"), SpendingAnswer::Busy, "no room, no request");
    let damaged = book("{\"holds\":".into(), house.clock.now(), kept.version);
    house.store.replace_stored_item(&damaged, kept.version).await.expect("answers").expect("fits");
    assert_eq!(reserve().await.expect("answers"), SpendingAnswer::Busy, "what it held is unknown");
    house.clock.advance(HOLD_MS - 1);
    assert_eq!(reserve().await.expect("answers"), SpendingAnswer::Busy);
    house.clock.advance(1);
    assert_eq!(reserve().await.expect("answers"), SpendingAnswer::Granted, "now all of it is void");
}

/// A helper that answers after more than a minute, and not before somebody else has tried to ask.
#[derive(Clone)]
struct SlowHelper {
    clock: Arc<HandClock>,
    store: Arc<dyn Store>,
    others: SharedSpending,
    asked: Arc<AtomicI64>,
    begun: Arc<Notify>,
    tried: Arc<Notify>,
    seen: Arc<Mutex<Vec<SpendingAnswer>>>,
}

impl SlowHelper {
    /// Waits until what is set aside holds from now on, however slow the store is: the clock of the test
    /// would run away from it otherwise.
    async fn wait_until_renewed(&self) {
        let until = format!("\"{}\"", self.clock.now().plus_ms(HOLD_MS));
        let renewed = async {
            loop {
                let kept = self.store.stored_item("spending", "holds").await.expect("answers");
                if kept.is_some_and(|kept| kept.text.contains(&until)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, renewed).await.expect("it holds on");
    }
}

impl Model for SlowHelper {
    fn info(&self) -> Arc<ModelInfo> {
        let name = ModelRef { provider: "acme".into(), name: "helper".into() };
        let price = Price { input: 2.0, output: 10.0, cache_read: 0.0, cache_write: 0.0 };
        let known = ModelInfo::with_name(name);
        Arc::new(ModelInfo { price: Some(price), max_output: 100_000, ..known })
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Conversation for SlowHelper {
    fn prepare(&mut self, _: &ModelRequest, _: &MediaMap) -> PreparedRequest {
        PreparedRequest { bytes: 0, prefix_bytes: 0, prefix_expected: 0 }
    }
    async fn send(&mut self, _: &SignalSink) -> ModelReply {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.begun.notify_one();
        for _ in 0..10 {
            self.clock.advance(HOLD_MS / 6);
            self.wait_until_renewed().await;
        }
        let other = self.others.reserve("other", Some(0.1)).await.expect("answers");
        self.seen.lock().expect("whole").push(other);
        self.tried.notified().await;
        let usage = Usage { input: 100_000, ..Usage::default() };
        ModelReply::Whole { blocks: Vec::new(), stop: StopReason::End, usage, repairs: Vec::new() }
    }
}

async fn helpers_hold_what_they_may_cost(house: House) {
    let spending = || house.spending(vec![cap(LimitName::DayUsd, 1.1)]);
    let helper = SlowHelper {
        clock: house.clock.clone(),
        store: house.store.clone(),
        others: spending(),
        asked: Arc::default(),
        begun: Arc::default(),
        tried: Arc::default(),
        seen: Arc::default(),
    };
    // 0.2 are spent, and each may cost 1.0: only one of them is asked at a time. A session wraps one model
    // for its judge, its reader and whom it consults.
    let mut scribe = Scribe::new(&*house.store, "one").await;
    house.pays(&mut scribe, 0.2).await;
    let wrap = || capped_model(Arc::new(helper.clone()), Some(&spending()), "s");
    let (mut one, mut two) = (wrap().start_conversation(), wrap().start_conversation());
    let sink = SignalSink::none();
    let second = async {
        helper.begun.notified().await;
        let waits = tokio::time::timeout(Duration::from_millis(300), two.send(&sink)).await;
        helper.tried.notify_one();
        assert!(waits.is_err(), "{waits:?}");
    };
    let (reply, ()) = futures::future::join(one.send(&sink), second).await;
    assert!(matches!(reply, ModelReply::Whole { .. }), "{reply:?}");
    assert_eq!(helper.asked.load(Ordering::SeqCst), 1, "the second waited");
    let seen = helper.seen.lock().expect("whole").clone();
    assert_eq!(seen, [SpendingAnswer::Busy], "it holds longer than a minute");
    // Afterwards what it used holds, until the fact that says so is durable: 0.2 and 0.2 of 1.1.
    let other = spending();
    let answer = other.reserve("other", Some(1.0)).await.expect("answers");
    assert_eq!(answer, SpendingAnswer::Granted);
    other.release("other").await.expect("answers");
    house.pays(&mut scribe, 0.75).await;
    let answer = other.reserve("other", Some(1.0)).await.expect("answers");
    assert_eq!(answer, SpendingAnswer::Busy, "0.95 and 0.2 of 1.1");
}

macro_rules! spending_tests {
    ($($test:ident = $check:ident;)*) => {
        mod in_memory { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() { super::$check(super::house(super::memory())).await; }
        )* }
        mod in_sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() { super::$check(super::house(super::sqlite())).await; }
        )* }
        mod in_postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let Some(place) = crate::postgres::place().await else { return };
                super::$check(super::house(place)).await;
            }
        )* }
    };
}

spending_tests! {
    r11_at_most_one_request_goes_beyond_a_cap = at_most_one_goes_beyond;
    r11_what_a_killed_process_set_aside_is_void_after_a_minute = holds_end_with_their_process;
    r11_days_and_months_begin_anew = days_and_months_begin_anew;
    r11_an_unknown_price_is_never_nothing = an_unknown_price_is_never_nothing;
    r11_a_full_or_damaged_book_lets_nobody_ask = a_full_or_damaged_book_lets_nobody_ask;
    r11_what_helpers_may_cost_is_held_apart_and_as_long_as_they_take = helpers_hold_what_they_may_cost;
}
