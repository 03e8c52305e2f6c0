//! A long session is opened from its snapshot, and from nothing else that looks like one (Q10).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::Record;
use weir_core::session::SessionSnapshot;
use weir_engine::embed::StoreLayer;
use weir_engine::engine::{EngineError, Loaded, SNAPSHOT_EVERY, fold_journal, load, read_verified};
use weir_engine::folded::FoldedSession;
use weir_engine::ports::{Store, StoreError};
use weir_scenario::long::{Blind, Long, Shared, small};
use weir_scenario::parse::Setup;
use weir_scenario::play::Depth;

/// Turns of the run: so many have more facts than are folded without a snapshot, and not twice as many.
const TURNS: usize = 170;

/// A store that counts the records which are read, and may say of one that its hash is another.
struct CountingStore {
    inner: Arc<dyn Store>,
    read: AtomicU64,
    changed: Option<Seq>,
}

impl CountingStore {
    fn of(long: &Long, changed: Option<Seq>) -> CountingStore {
        CountingStore { inner: long.store().clone(), read: AtomicU64::new(0), changed }
    }

    fn records_read(&self) -> u64 {
        self.read.swap(0, Ordering::SeqCst)
    }
}

#[async_trait]
impl StoreLayer for CountingStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let mut records = self.inner.read_records(session, from, limit).await?;
        self.read.fetch_add(records.len() as u64, Ordering::SeqCst);
        for record in records.iter_mut().filter(|record| Some(record.seq) == self.changed) {
            record.hash = "0".repeat(record.hash.len());
        }
        Ok(records)
    }
}

/// A session that has lived long enough for a snapshot.
fn lived() -> Long {
    Long::lived(TURNS).expect("it comes to rest")
}

fn text_of(loaded: &Loaded) -> String {
    let Loaded { session, last, created, parent, snapshot: _ } = loaded;
    format!("{session:?} {last:?} {created:?} {parent:?}")
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

#[test]
fn q10_a_long_session_is_opened_from_its_snapshot_and_a_proof_reads_every_record() {
    let long = lived();
    let store = CountingStore::of(&long, None);
    runtime().block_on(async {
        let whole = fold_journal(&store, &Long::id()).await.expect("there is a journal");
        let facts = whole.session.fact_count();
        assert_eq!((store.records_read(), whole.snapshot), (facts, 0));
        let loaded = load(&store, &Long::id()).await.expect("there is a journal");
        let kept = loaded.snapshot;
        assert!((SNAPSHOT_EVERY..=facts).contains(&kept), "{kept} of {facts}");
        assert_eq!(text_of(&loaded), text_of(&whole));
        // The one of the snapshot, the first, and those since.
        assert_eq!(store.records_read(), facts - kept + 2);
        read_verified(&store, &Long::id()).await.expect("its chain is whole");
        assert_eq!(store.records_read(), facts);
    });
}

#[test]
fn q19_what_was_folded_a_moment_ago_is_no_ground_for_putting_settings_back() {
    let scenario = small(5);
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch: Shared<Blind> = Arc::new(Mutex::new(Blind));
    let mut live = |setup: &Setup| {
        long.live(setup, &["Read.".into()], &watch).expect("it comes to rest");
        long.store().clone()
    };
    let store = live(&scenario.setup);
    let load_now = || runtime().block_on(load(store.as_ref(), &Long::id())).expect("a journal");
    let before = load_now();
    live(&scenario.setup);
    let now = runtime().block_on(before.catch_up(store.as_ref())).expect("the same settings");
    assert_eq!(text_of(&now), text_of(&load_now()), "what came since is read");
    live(&Setup { permission: Some("plan".into()), ..scenario.setup.clone() });
    let refused = runtime().block_on(now.catch_up(store.as_ref()));
    assert!(matches!(refused, Err(EngineError::Refused(_))), "another mode was chosen meanwhile");
}

#[test]
fn q10_whoever_looks_at_a_long_session_reads_the_facts_since_its_snapshot() {
    let long = lived();
    let store = CountingStore::of(&long, None);
    runtime().block_on(async {
        let mut whole = FoldedSession::new(Long::id());
        whole.catch_up(&store).await.expect("readable");
        let facts = store.records_read();
        let look = FoldedSession::load(&store, &Long::id()).await.expect("readable");
        assert_eq!(format!("{:?}", look.expect("there is a journal")), format!("{whole:?}"));
        // The one of the snapshot, and those since.
        let kept = long.store().read_snapshot(&Long::id()).await.expect("readable");
        let kept = kept.expect("one is kept");
        assert_eq!(store.records_read(), facts - kept.seq + 1);
        // Where no snapshot fits, all of them.
        let kept = SessionSnapshot { digest: String::new(), ..kept };
        long.store().write_snapshot(&kept).await.expect("writable");
        let look = FoldedSession::load(&store, &Long::id()).await.expect("readable");
        assert_eq!(format!("{:?}", look.expect("there is a journal")), format!("{whole:?}"));
        assert_eq!(store.records_read(), facts + 1);
    });
}

#[test]
fn q10_what_does_not_fit_is_dropped_and_the_journal_folded() {
    let long = lived();
    let (store, id) = (long.store().as_ref(), Long::id());
    runtime().block_on(async {
        let whole = text_of(&fold_journal(store, &id).await.expect("there is a journal"));
        let kept = store.read_snapshot(&id).await.expect("readable").expect("one is kept");
        let spoilt = [
            ("torn", SessionSnapshot { state: Arc::from(&kept.state[..99]), ..kept.clone() }),
            ("empty", SessionSnapshot { state: Arc::from(""), ..kept.clone() }),
            ("after another record", SessionSnapshot { record_hash: "0".into(), ..kept.clone() }),
            ("at another place", SessionSnapshot { seq: kept.seq + 1, ..kept.clone() }),
            ("without a digest", SessionSnapshot { digest: String::new(), ..kept.clone() }),
        ];
        for (how, snapshot) in spoilt {
            store.write_snapshot(&snapshot).await.expect("writable");
            let loaded = load(store, &id).await.expect("there is a journal");
            assert_eq!((loaded.snapshot, text_of(&loaded)), (0, whole.clone()), "{how}");
            assert_eq!(store.read_snapshot(&id).await.expect("readable"), None, "{how}: dropped");
        }
        // Another version, which may run beside this one, can still use its own.
        let other = SessionSnapshot { format: "0.0.9+1".into(), ..kept.clone() };
        store.write_snapshot(&other).await.expect("writable");
        let loaded = load(store, &id).await.expect("there is a journal");
        assert_eq!((loaded.snapshot, text_of(&loaded)), (0, whole.clone()), "of another version");
        assert_eq!(store.read_snapshot(&id).await.expect("readable"), Some(other));
        store.write_snapshot(&kept).await.expect("writable");
        let loaded = load(store, &id).await.expect("there is a journal");
        assert_eq!((loaded.snapshot, text_of(&loaded)), (kept.seq, whole), "the whole one counts");
        // A journal that is another one at that place has no use for it.
        let other = CountingStore::of(&long, Some(kept.seq));
        assert_eq!(load(&other, &id).await.expect("there is a journal").snapshot, 0);
        assert_eq!(store.read_snapshot(&id).await.expect("readable"), None);
    });
}

#[test]
fn q10_a_session_that_was_opened_from_a_snapshot_goes_on_and_is_kept_again() {
    let mut long = lived();
    let scenario = small(TURNS);
    let runtime = runtime();
    let id = Long::id();
    let watch: Shared<Blind> = Arc::new(Mutex::new(Blind));
    let kept = |long: &Long| {
        let kept = runtime.block_on(long.store().read_snapshot(&id)).expect("readable");
        kept.expect("one is kept").seq
    };
    let before = kept(&long);
    long.live(&scenario.setup, &["Read on.".into()], &watch).expect("it comes to rest");
    let after = kept(&long);
    assert!(after >= before + SNAPSHOT_EVERY, "{before}, {after}");
    let records = runtime.block_on(read_verified(long.store().as_ref(), &id)).expect("whole");
    let whole = runtime.block_on(fold_journal(long.store().as_ref(), &id)).expect("a journal");
    let loaded = runtime.block_on(load(long.store().as_ref(), &id)).expect("a journal");
    assert_eq!(whole.session.fact_count(), records.len() as u64);
    assert_eq!((loaded.snapshot, text_of(&loaded)), (after, text_of(&whole)));
}
