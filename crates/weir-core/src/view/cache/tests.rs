//! Each cause of a miss is named, with what it cost (R11).

use super::*;
use crate::event::{SessionConfigured, SessionResumed};
use crate::label::Label;
use crate::model::{ModelInfo, ModelRef};
use crate::profile::built_in_profiles;

const MINUTE_MS: u64 = 60_000;
const START: Timestamp = Timestamp(1_767_367_800_000_000);

struct Story {
    watch: CacheWatch,
    now: Timestamp,
    turn: u32,
    model: &'static str,
}

fn config(model: &str, price: Option<Price>) -> Arc<SessionConfig> {
    let model = ModelRef { provider: "acme".into(), name: model.into() };
    let info = ModelInfo { price, ..ModelInfo::with_name(model) };
    let profile = built_in_profiles().remove(0);
    Arc::new(SessionConfig::with_defaults("/work", profile, info))
}

fn price() -> Option<Price> {
    Some(Price { input: 2.0, output: 10.0, cache_read: 0.2, cache_write: 2.5 })
}

impl Story {
    fn new(price: Option<Price>) -> Story {
        let mut story = Story { watch: CacheWatch::default(), now: START, turn: 0, model: "large" };
        story.configure("large", price);
        story
    }

    fn configure(&mut self, model: &'static str, price: Option<Price>) {
        self.model = model;
        let configured =
            SessionConfigured { reason: "another".into(), config: config(model, price) };
        assert_eq!(self.watch.note_fact(self.now, &configured.into()), None);
    }

    fn restart(&mut self) {
        let resumed = SessionResumed { engine: "1".into(), run: None };
        assert_eq!(self.watch.note_fact(self.now, &resumed.into()), None);
    }

    /// One request `minutes` after the last, and its reply at once.
    fn asks(
        &mut self,
        minutes: u64,
        lost: Option<&str>,
        counted: (u64, u64, u64),
    ) -> Option<CacheMiss> {
        self.now = self.now.plus_ms(minutes * MINUTE_MS);
        self.turn += 1;
        let requested = ModelRequested {
            turn: TurnId(self.turn),
            provider: "acme".into(),
            model: self.model.into(),
            bytes: 1,
            prefix_bytes: 1,
            tokens_estimated: 1,
            prefix_lost: lost.map(str::to_owned),
            label: Label::default(),
        };
        assert_eq!(self.watch.note_fact(self.now, &requested.into()), None);
        let (input, cache_read, cache_write) = counted;
        let usage = Usage { input, cache_read, cache_write, ..Usage::default() };
        self.reply(usage, StopReason::End)
    }

    fn reply(&mut self, usage: Usage, stop: StopReason) -> Option<CacheMiss> {
        let turn = TurnId(self.turn);
        let replied = ModelReplied {
            turn,
            content: Vec::new(),
            stop,
            usage,
            cost_usd: None,
            repaired: Vec::new(),
            estimated: false,
        };
        self.watch.note_fact(self.now, &replied.into())
    }
}

#[test]
fn r11_what_the_cache_serves_is_no_miss() {
    let mut story = Story::new(price());
    assert_eq!(story.asks(0, None, (10, 0, 40_000)), None, "the first has nothing before it");
    assert_eq!(story.asks(1, None, (10, 40_010, 500)), None);
    // Vendors count in steps.
    assert_eq!(story.asks(1, None, (400, 40_200, 0)), None);
    assert_eq!(story.asks(1, None, (900, 39_700, 0)), None, "too little to tell");
}

#[test]
fn r11_every_miss_is_named_with_its_cause_and_cost() {
    let mut story = Story::new(price());
    story.asks(0, None, (0, 0, 100_000));
    let miss = story.asks(1, Some("the context was condensed"), (0, 20_000, 60_000));
    let miss = miss.expect("60,000 of 80,000 were sent anew");
    assert_eq!(miss.cause, MissCause::Changed { why: "the context was condensed".into() });
    // What was condensed is not missed: 80,000 were sent, and 20,000 served.
    assert_eq!((miss.expected, miss.served, miss.lost_tokens()), (80_000, 20_000, 60_000));
    let cost = miss.cost_usd.expect("priced");
    assert!((cost - 0.06 * (2.5 - 0.2)).abs() < 1e-9, "{cost}");

    let idle = story.asks(12, None, (0, 0, 80_000)).expect("a miss");
    assert_eq!(idle.cause, MissCause::Idle { ms: 12 * MINUTE_MS });
    assert!(idle.cause.as_words().contains("12 minutes"), "{}", idle.cause.as_words());

    let vendor = story.asks(1, None, (80_000, 0, 0)).expect("a miss");
    assert_eq!(vendor.cause, MissCause::Vendor);
    let cost = vendor.cost_usd.expect("priced");
    assert!((cost - 0.08 * (2.0 - 0.2)).abs() < 1e-9, "charged as plain input: {cost}");

    story.restart();
    assert_eq!(story.asks(1, None, (80_000, 0, 0)).expect("a miss").cause, MissCause::Restarted);

    story.configure("small", price());
    let other = story.asks(1, None, (80_000, 0, 0)).expect("a miss");
    assert_eq!(other.cause, MissCause::OtherModel { from: "acme/large".into() });
    assert_eq!((other.model.as_str(), other.turn), ("acme/small", TurnId(6)));
}

#[test]
fn r11_an_unknown_price_is_no_cost_of_nothing() {
    let mut story = Story::new(None);
    story.asks(0, None, (0, 0, 50_000));
    assert_eq!(story.asks(1, None, (50_000, 0, 0)).expect("a miss").cost_usd, None);
    let free = Some(Price { input: 2.0, output: 10.0, cache_read: 0.0, cache_write: 0.0 });
    let mut story = Story::new(free);
    story.asks(0, None, (50_000, 0, 0));
    assert_eq!(story.asks(1, None, (50_000, 0, 0)), None, "a vendor that never spoke of a cache");
}

#[test]
fn r11_an_interrupted_reply_counts_for_nothing() {
    let mut story = Story::new(price());
    story.asks(0, None, (0, 0, 50_000));
    story.asks(1, None, (0, 50_000, 0));
    story.turn += 1;
    assert_eq!(story.reply(Usage::default(), StopReason::Interrupted), None, "no request");
    story.now = story.now.plus_ms(1);
    assert_eq!(story.asks(1, None, (10, 50_000, 0)), None);
    // A request whose reply was cut off: what the vendor kept of it is not known.
    let requested = ModelRequested {
        turn: TurnId(9),
        provider: "acme".into(),
        model: "large".into(),
        bytes: 1,
        prefix_bytes: 1,
        tokens_estimated: 1,
        prefix_lost: None,
        label: Label::default(),
    };
    story.watch.note_fact(story.now, &requested.into());
    story.turn = 9;
    assert_eq!(
        story.reply(Usage { input: 60_000, ..Usage::default() }, StopReason::Interrupted),
        None
    );
    assert_eq!(story.asks(1, None, (60_000, 0, 0)), None);
}

#[test]
fn r11_the_fold_reads_every_kind_that_it_knows() {
    for kind in ["session.opened", "session.resumed", "model.requested", "model.replied"] {
        assert!(CacheWatch::reads_kind(kind), "{kind}");
    }
    assert!(!CacheWatch::reads_kind("call.finished"));
}
