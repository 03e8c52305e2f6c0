//! Ends of codes and answers, by a clock that is moved by hand. What happens to them at a server is tested
//! there; what is tried at them, in the hostile bench.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use weir_core::ids::{ApprovalId, SessionId, Timestamp};
use weir_engine::ports::Clock;
use weir_install::people::PersonId;
use weir_store::MemoryRecords;

use super::pairing;
use crate::auth::logins::{self, NewLogin};
use crate::auth::setup;
use crate::auth::shelf::TypedRecords;
use crate::notice_acts::offer::AskOffer;
use crate::notice_acts::{self as act, ActKey, ActSource, ChannelOrigin};

const MINUTE_MS: u64 = 60_000;
const KEY: [u8; 32] = [7; 32];

/// A clock that somebody sets.
struct HandClock(AtomicI64);

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    async fn sleep_until(&self, _: Timestamp) {}

    fn random_number(&self) -> u64 {
        0
    }
}

impl HandClock {
    fn advance(&self, ms: u64) {
        let us = i64::try_from(ms * 1_000).expect("short");
        self.0.fetch_add(us, Ordering::Relaxed);
    }
}

fn shelf() -> (TypedRecords, Arc<HandClock>) {
    let clock = Arc::new(HandClock(AtomicI64::new(1_700_000_000_000_000)));
    (TypedRecords::new(Arc::new(MemoryRecords::default()), clock.clone()), clock)
}

fn arrival(device: &str) -> NewLogin<'_> {
    let (address, agent) = (String::new(), String::new());
    NewLogin { address, agent, how: "phone", device, must_enrol: false }
}

fn offer(expires: Option<Timestamp>) -> AskOffer {
    AskOffer {
        session: SessionId::new("s"),
        approval: ApprovalId::new("s-a1"),
        digest: "d".into(),
        expires,
    }
}

#[tokio::test]
async fn r5_a_code_ends_after_five_minutes() {
    let (shelf, clock) = shelf();
    let ann = setup::first_person_or_new(&shelf, "ann").await.expect("a person");
    let offered = pairing::create_pairing(&shelf, &ann.id, "").await.expect("a code");
    clock.advance(5 * MINUTE_MS - 1);
    assert!(pairing::is_open(&shelf, &offered.code).await.expect("readable"));
    clock.advance(2);
    assert!(!pairing::is_open(&shelf, &offered.code).await.expect("readable"));
    assert!(pairing::redeem_code(&shelf, &offered.code).await.is_err());
    // As people type it, while it holds; once.
    let offered = pairing::create_pairing(&shelf, &ann.id, "Pixel").await.expect("a code");
    let typed = offered.code.to_lowercase().replace('-', " ");
    let redeemed = pairing::redeem_code(&shelf, &typed).await.expect("it holds");
    assert_eq!((redeemed.person.id, redeemed.name.as_str()), (ann.id, "Pixel"));
    assert!(pairing::redeem_code(&shelf, &typed).await.is_err());
}

#[tokio::test]
async fn r5_what_a_notice_carries_ends() {
    let (shelf, clock) = shelf();
    let (ann, key) = (PersonId("ann".into()), ActKey::from_server_key(&KEY));
    let made = async |expires: Option<Timestamp>| {
        let source = ActSource::Channel("c".into());
        act::create_act(&shelf, &key, &ann, &offer(expires), source).await.expect("made")
    };
    let there = async |token: &str| act::find_act(&shelf, &key, token).await.is_ok();
    let hour = made(None).await;
    let short = made(Some(clock.now().plus_ms(10 * MINUTE_MS))).await;
    let long = made(Some(clock.now().plus_ms(600 * MINUTE_MS))).await;
    clock.advance(10 * MINUTE_MS + 1);
    assert!(!there(&short).await, "with the question");
    assert!(there(&hour).await && there(&long).await);
    clock.advance(50 * MINUTE_MS);
    assert!(!there(&hour).await && !there(&long).await, "after an hour in any case");
}

#[tokio::test]
async fn r5_another_servers_key_makes_nothing_that_counts_here() {
    let (shelf, _) = shelf();
    let (ann, source) = (PersonId("ann".into()), ActSource::Channel("c".into()));
    let other = ActKey::from_server_key(&[8; 32]);
    let token = act::create_act(&shelf, &other, &ann, &offer(None), source).await.expect("made");
    let here = ActKey::from_server_key(&KEY);
    assert!(act::find_act(&shelf, &here, &token).await.is_err());
    assert!(act::find_act(&shelf, &other, &token).await.is_ok());
}

#[tokio::test]
async fn r5_a_telephone_ends_after_a_month_without_use_and_takes_its_answers_along() {
    let (shelf, clock) = shelf();
    let ann = PersonId("ann".into());
    let begin = async |device| {
        let token = logins::begin_login(&shelf, &ann, arrival(device)).await.expect("in");
        crate::auth::secret::secret_digest(&token)
    };
    let source = async |origin: ChannelOrigin<'_>| {
        act::source_for_channel(&shelf, &ann, origin).await.expect("readable")
    };
    let desk = begin("").await;
    let elsewhere = ChannelOrigin::Elsewhere("c");
    assert_eq!(source(elsewhere).await, None, "there is no telephone");
    let phone = begin("Pixel").await;
    assert_eq!(source(elsewhere).await, Some(ActSource::Channel("c".into())));
    let pushed = ChannelOrigin::Browser(Some(&phone));
    assert_eq!(source(pushed).await, Some(ActSource::Phone(phone.clone())));
    assert_eq!(source(ChannelOrigin::Browser(Some(&desk))).await, None, "no telephone's");
    assert_eq!(source(ChannelOrigin::Browser(None)).await, None);
    clock.advance(29 * 24 * 60 * MINUTE_MS);
    assert!(logins::find_login(&shelf, &phone).await.expect("readable").is_some());
    clock.advance(2 * 24 * 60 * MINUTE_MS);
    assert!(logins::find_login(&shelf, &phone).await.expect("readable").is_none());
    assert_eq!(source(pushed).await, None);
    assert_eq!(source(elsewhere).await, None);
}

#[tokio::test]
async fn r5_signing_in_often_ends_no_telephone() {
    let (shelf, clock) = shelf();
    let ann = PersonId("ann".into());
    let phone = logins::begin_login(&shelf, &ann, arrival("Pixel")).await.expect("in");
    for _ in 0..60 {
        clock.advance(1_000);
        logins::begin_login(&shelf, &ann, arrival("")).await.expect("in");
    }
    let phone = crate::auth::secret::secret_digest(&phone);
    assert!(logins::find_login(&shelf, &phone).await.expect("readable").is_some());
    let all = logins::list_logins(&shelf, &ann).await.expect("readable");
    let browsers = all.iter().filter(|login| login.value.device.is_empty()).count();
    assert_eq!(browsers, 50, "the oldest browsers ended");
}
