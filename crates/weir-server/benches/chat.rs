//! What the page of a long chat costs: its first look, where the chat is kept and where it is not, older
//! entries, and what is kept, halfway and at the end (Q10). Not a test: nothing here fails for being slow.
//!
//! ```sh
//! cargo bench -p weir-server --bench chat -- [--turns N] [--rows]
//! ```
//!
//! `--rows` prints raw values as JSON lines, which is how `cargo xtask bench --crates` gets them.
//!
//! The chat is lived by the engine, with its store on the disk; `TMPDIR` says which. No server is started
//! and nothing goes over a network.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use serde_json::json;
use tokio::runtime::Runtime;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::Record;
use weir_core::session::SessionSnapshot;
use weir_engine::embed::StoreLayer;
use weir_engine::ports::{Store, StoreError};
use weir_scenario::long::{Blind, Long, Shared, small};
use weir_scenario::play::Depth;
use weir_server::offscreen::FirstLook;

/// Turns of a run.
const RUN: usize = 500;
/// How often everything is measured.
const TIMES: usize = 10;
/// The name under which a chat is kept.
const KIND: &str = "chat";

/// A store that counts the records which are read, and may keep nothing of what is looked at.
struct MeasuredStore {
    inner: Arc<dyn Store>,
    keeps: bool,
    read: AtomicU64,
}

#[async_trait]
impl StoreLayer for MeasuredStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let records = self.inner.read_records(session, from, limit).await?;
        self.read.fetch_add(records.len() as u64, Ordering::SeqCst);
        Ok(records)
    }

    async fn read_look(
        &self,
        session: &SessionId,
        kind: &str,
    ) -> Result<Option<SessionSnapshot>, StoreError> {
        if self.keeps { self.inner.read_look(session, kind).await } else { Ok(None) }
    }

    async fn write_look(&self, kind: &str, look: &SessionSnapshot) -> Result<(), StoreError> {
        if self.keeps { self.inner.write_look(kind, look).await } else { Ok(()) }
    }
}

impl MeasuredStore {
    fn of(long: &Long, keeps: bool) -> MeasuredStore {
        MeasuredStore { inner: long.store().clone(), keeps, read: AtomicU64::new(0) }
    }
}

/// One figure.
fn print_row(measure: &str, unit: &str, values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    let (low, high) = (values[0], values[values.len() - 1]);
    let mut out = std::io::stdout().lock();
    if std::env::args().any(|word| word == "--rows") {
        let measure = format!("page of a chat: {}", measure.trim());
        let line = json!({ "id": "Q10", "measure": measure, "unit": unit, "values": values });
        writeln!(out, "{line}").expect("somebody reads it");
        return;
    }
    writeln!(out, "Q10  {measure:<62} {median:>10.3} {unit:<3} {low:.3}–{high:.3}")
        .expect("somebody reads it");
}

/// The first look at the chat, so many times, and the records that the last one read.
fn measure_first_look(
    runtime: &Runtime,
    store: &MeasuredStore,
    measure: &str,
) -> (FirstLook, String) {
    let (mut times, mut last) = (Vec::new(), None);
    for _ in 0..TIMES {
        store.read.store(0, Ordering::SeqCst);
        let began = Instant::now();
        let look = runtime.block_on(FirstLook::read_journal(store, Long::id()));
        let look = look.expect("the journal can be read");
        let html = look.newest_html();
        times.push(began.elapsed().as_secs_f64() * 1e3);
        last = Some((look, html));
    }
    print_row(measure, "ms", &mut times);
    let read = format!("  records read: {}", measure.trim());
    print_row(&read, "", &mut [store.read.load(Ordering::SeqCst) as f64]);
    last.expect("it was measured")
}

fn measure_chat(runtime: &Runtime, long: &Long, turns: usize) {
    let (kept, bare) = (MeasuredStore::of(long, true), MeasuredStore::of(long, false));
    let what = format!("first look at a chat of {turns} turns, nothing kept");
    let (whole, whole_html) = measure_first_look(runtime, &bare, &what);
    // The one that keeps it is not among those that are measured.
    let first = runtime.block_on(FirstLook::read_journal(&kept, Long::id()));
    first.expect("the journal can be read");
    let (look, html) =
        measure_first_look(runtime, &kept, &format!("  first look at {turns} turns, kept"));
    assert_eq!(html, whole_html, "it shows something else");
    assert_eq!((look.last_seq(), look.entry_count()), (whole.last_seq(), whole.entry_count()));
    let mut times = Vec::new();
    for _ in 0..TIMES {
        kept.read.store(0, Ordering::SeqCst);
        let began = Instant::now();
        let html = runtime.block_on(look.older_html(&kept, look.entry_count() / 2));
        assert!(!html.expect("the journal can be read").is_empty(), "there are older entries");
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let middle = format!("a hundred entries from the middle of {turns} turns");
    print_row(&format!("  {middle}"), "ms", &mut times);
    let read = kept.read.load(Ordering::SeqCst) as f64;
    print_row(&format!("  records read: {middle}"), "", &mut [read]);
    let state = runtime.block_on(long.store().read_look(&Long::id(), KIND));
    let state = state.expect("the store can be read").expect("the chat is kept");
    let kilobytes = state.state.len() as f64 / 1e3;
    print_row(&format!("  what is kept of {turns} turns"), "kB", &mut [kilobytes]);
    print_row(&format!("  facts of {turns} turns"), "", &mut [look.last_seq() as f64]);
}

fn main() {
    let mut words = std::env::args().skip_while(|word| word != "--turns").skip(1);
    let turns: usize = words.next().map_or(2_000, |word| word.parse().expect("a number of turns"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let scenario = small(RUN);
    let mut long = Long::new(&scenario, Depth::Disk).expect("it can be set up");
    let watch: Shared<Blind> = Arc::new(Mutex::new(Blind));
    let runs = turns.div_ceil(RUN).max(2);
    let mut lived = 0;
    for until in [runs / 2, runs] {
        let says = vec!["Read on.".to_owned(); until - lived];
        long.live(&scenario.setup, &says, &watch).expect("it comes to rest");
        lived = until;
        measure_chat(&runtime, &long, lived * RUN);
    }
}
