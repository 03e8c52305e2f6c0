//! The journal of the session that a client's calls go to, as a resource: pages of JSON lines within a bound.
//! Of no other session: what people say to their agents is none of a client's business. Not here: which
//! session that is (`driver`), and how it is addressed (`resources`).

use std::collections::VecDeque;

use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::view::wire;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{Store, StoreError};

/// Bytes of a page. One fact is always there, however long it is.
const PAGE_BYTES_MAX: usize = 400_000;
/// Facts that are read at once.
const FACTS_AT_ONCE: u64 = 64;

/// What of a journal is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JournalPage {
    /// The newest facts that fit into a page.
    Newest,
    /// Those from this number on that do.
    From(Seq),
}

/// Lines of a page, with what they take.
#[derive(Default)]
struct PageLines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl PageLines {
    /// Whether a line still fits, which counts it.
    fn takes(&mut self, line: &str) -> bool {
        let bytes = self.bytes + line.len() + 1;
        let fits = self.lines.is_empty() || bytes <= PAGE_BYTES_MAX;
        if fits {
            self.bytes = bytes;
        }
        fits
    }

    fn into_text(self) -> String {
        self.lines.into_iter().map(|line| line + "\n").collect()
    }
}

/// A page of the journal of `id`, oldest fact first.
///
/// # Errors
/// It cannot be read.
pub(super) async fn read_page(
    store: &dyn Store,
    id: &SessionId,
    page: JournalPage,
) -> Result<String, StoreError> {
    match page {
        JournalPage::Newest => read_newest(store, id).await,
        JournalPage::From(first) => read_from(store, id, first.max(1)).await,
    }
}

async fn read_from(store: &dyn Store, id: &SessionId, first: Seq) -> Result<String, StoreError> {
    let (mut page, mut from) = (PageLines::default(), first);
    loop {
        let lines = read_lines(store, id, from, FACTS_AT_ONCE).await?;
        if lines.is_empty() {
            return Ok(page.into_text());
        }
        from += FACTS_AT_ONCE;
        for line in lines.into_iter().flatten() {
            if !page.takes(&line) {
                return Ok(page.into_text());
            }
            page.lines.push_back(line);
        }
    }
}

async fn read_newest(store: &dyn Store, id: &SessionId) -> Result<String, StoreError> {
    let mut page = PageLines::default();
    let mut left = store.session_meta(id).await?.map_or(0, |meta| meta.facts);
    while left > 0 {
        let many = left.min(FACTS_AT_ONCE);
        left -= many;
        let lines = read_lines(store, id, left + 1, many).await?;
        for line in lines.into_iter().rev().flatten() {
            if !page.takes(&line) {
                return Ok(page.into_text());
            }
            page.lines.push_front(line);
        }
    }
    Ok(page.into_text())
}

/// Facts from `from` on, a line each; `None` for one that no client is told.
async fn read_lines(
    store: &dyn Store,
    id: &SessionId,
    from: Seq,
    many: u64,
) -> Result<Vec<Option<String>>, StoreError> {
    let many = usize::try_from(many).unwrap_or(usize::MAX);
    let records = store.read_records(id, from, many).await?;
    let line = |record| {
        let fact = fact_of(record)?;
        // Settings, tools and prompt are long, and the client has them or need not.
        let is_told =
            !matches!(fact.event.as_ref(), Event::SessionOpened(_) | Event::SessionConfigured(_));
        Ok(is_told.then(|| wire::fact_text(id, fact.seq, fact.ts, &fact.event)))
    };
    records.iter().map(line).collect()
}
