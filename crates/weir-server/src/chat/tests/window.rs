//! A chat of which only the newest entries are at hand, that is kept and read again (law 10): on every
//! scenario at every place, and in a store.

use std::sync::Arc;

use weir_core::session::SessionSnapshot;
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;
use weir_scenario::counting::CountingStore;
use weir_scenario::long::Long;

use super::super::folded::{ChatBounds, KIND, KeptChat, kept_format};
use super::super::part::ChatPart;
use super::super::{FoldedChat, find_start};
use super::*;

/// So few entries that every scenario has older ones.
const FEW: ChatBounds = ChatBounds { entries: 3, stride: 1, places: 4 };
/// Places in one journal from which older entries are read.
const PARTS_MAX: usize = 16;
/// Turns of a long chat: more than are at hand.
const TURNS: usize = 170;

/// All of a chat.
struct WholeChat {
    fold: ChatFold,
    transcript: PageTranscript,
}

impl WholeChat {
    fn new() -> WholeChat {
        WholeChat { fold: ChatFold::new(view()), transcript: PageTranscript::default() }
    }
}

/// The newest entries of `found`, and what stands beside them, are those of `whole`.
fn check_newest(what: &str, found: &PageTranscript, whole: &PageTranscript) {
    let (from, len) = (found.first_index(), whole.len());
    assert_eq!(found.len(), len, "{what}");
    assert_eq!(found.entries_text(from, len), whole.entries_text(from, len), "{what}");
    assert_eq!(found.beside_text(), whole.beside_text(), "{what}");
}

/// What is kept of a chat, as it comes back from its bytes.
fn kept_and_read(folded: &FoldedChat) -> Option<KeptChat> {
    let kept = folded.to_kept(folded.first_start()?);
    let text = serde_json::to_string(&kept).expect("it has a form as JSON");
    let read: KeptChat = serde_json::from_str(&text).expect("it is read again");
    assert_eq!(read, kept, "{text}");
    Some(read)
}

/// The chat after all of `facts`; at each place it is kept, read again and caught up, and shows the same.
fn check_each_place(name: &str, facts: &[PublishedFact]) -> (FoldedChat, WholeChat) {
    let mut whole = WholeChat::new();
    let mut folded = FoldedChat::with_bounds(view(), FEW);
    let mut follower: Option<ChatFold> = None;
    for (n, fact) in facts.iter().enumerate() {
        let what = format!("{name} at fact {}", fact.seq);
        let steps = whole.fold.apply_fact(fact);
        if let Some(mut fold) = follower.take() {
            let found = fold.apply_fact(fact);
            assert_eq!(
                format!("{found:#?}"),
                format!("{steps:#?}"),
                "{what}: followed from a start"
            );
        }
        whole.transcript.apply_operations(steps);
        folded.apply_fact(fact);
        check_newest(&what, &folded.transcript, &whole.transcript);
        let Some(start) = folded.first_start() else { continue };
        let since = &facts[usize::try_from(start.last_seq()).expect("a short journal")..=n];
        let mut fold = start.to_fold(view());
        for fact in since {
            fold.apply_fact(fact);
        }
        follower = Some(fold);
        let kept = kept_and_read(&folded).expect("there is a start");
        let mut read = FoldedChat::from_kept(view(), kept, FEW);
        since.iter().for_each(|fact| read.apply_fact(fact));
        assert_eq!(read.seq, folded.seq, "{what}");
        check_newest(&format!("{what}, read again"), &read.transcript, &whole.transcript);
    }
    (folded, whole)
}

/// What reading the journal for a part gives.
fn read_part(mut part: ChatPart, facts: &[PublishedFact]) -> PageTranscript {
    while let Some(seq) = part.next_fact() {
        let fact = &facts[usize::try_from(seq - 1).expect("a short journal")];
        part.apply_fact(fact);
    }
    part.transcript
}

/// Older entries are those of the whole chat, wherever they are read, and found by any fact.
fn check_older(name: &str, facts: &[PublishedFact], folded: &FoldedChat, whole: &PageTranscript) {
    let len = whole.len();
    for from in (0..folded.transcript.first_index()).step_by(len / PARTS_MAX + 1) {
        for to in [from + 1, (from + 4).min(len), len] {
            let part = read_part(ChatPart::of_entries(folded, &view(), from, to), facts);
            let (found, expected) = (part.entries_text(from, to), whole.entries_text(from, to));
            assert_eq!(found, expected, "{name}: entries {from} to {to}");
        }
    }
    for fact in facts {
        let id = format!("e{}", fact.seq);
        let (exact, near) = match folded.left_out_fact(&id) {
            None => {
                (folded.transcript.entry_index(&id), folded.transcript.nearest_entry_index(&id))
            }
            Some(seq) => {
                let part = read_part(ChatPart::of_fact(folded, &view(), seq), facts);
                (part.entry_index(&id), part.nearest_entry_index(&id))
            }
        };
        assert_eq!(exact, whole.entry_index(&id), "{name}: {id}");
        assert_eq!(near, whole.nearest_entry_index(&id), "{name}: near {id}");
    }
}

#[test]
fn q10_a_chat_that_is_kept_shows_at_every_place_what_all_of_it_shows() {
    let (mut count, mut older) = (0, 0);
    for path in scenarios() {
        let text = std::fs::read_to_string(&path).expect("a scenario is text");
        // What is no scenario of a session is another suite's.
        let Ok(scenario) = parse(&text) else { continue };
        let Ok(played) = play(&scenario, Depth::Memory, 0) else { continue };
        let name = path.display().to_string();
        let (folded, whole) = check_each_place(&name, &played.facts);
        check_older(&name, &played.facts, &folded, &whole.transcript);
        older += usize::from(folded.transcript.first_index() > 0);
        count += 1;
    }
    assert!(count >= 60, "only {count} scenarios were played");
    assert!(older >= count / 2, "only {older} of {count} chats have older entries");
}

#[test]
fn q10_the_places_that_are_remembered_stay_few_however_long_a_chat_is() {
    let block = json!([{ "type": "text", "text": "Words." }]);
    let mut folded = FoldedChat::with_bounds(view(), FEW);
    let mut facts = Vec::new();
    for n in 0..400 {
        let replied = json!({
            "turn": "t1", "content": block, "stop": "end", "usage": { "input": 1, "output": 1 } });
        facts.push(fact(n + 1, "model.replied", &replied));
    }
    let mut largest = 0;
    for told in &facts {
        folded.apply_fact(told);
        let Some(kept) = kept_and_read(&folded) else { continue };
        largest = largest.max(serde_json::to_string(&kept).expect("it has a form").len());
        let at_hand = folded.transcript.len() - folded.transcript.first_index();
        assert!(at_hand <= FEW.entries + FEW.stride, "{at_hand} entries are at hand");
        let (len, half) = (folded.transcript.len(), folded.transcript.len() / 2);
        let before = folded.last_place(|place| place.entries <= half).entries;
        assert!(half - before <= len / 4 + 2, "they are not spread: {before} before {half}");
    }
    assert!(largest < 4_000, "{largest} bytes are kept");
    // With places that are far apart, older entries are read from further back.
    let mut whole = WholeChat::new();
    for told in &facts {
        whole.transcript.apply_operations(whole.fold.apply_fact(told));
    }
    check_older("replies", &facts, &folded, &whole.transcript);
}

/// A long chat in a store, all of its facts, and what a page shows of all of them.
fn long_chat() -> (CountingStore, Vec<PublishedFact>, WholeChat) {
    let long = Long::lived(TURNS).expect("it comes to rest");
    let records = runtime().block_on(long.store().read_records(&Long::id(), 1, usize::MAX));
    let records = records.expect("readable");
    let facts: Vec<_> = records.iter().map(|record| fact_of(record).expect("a fact")).collect();
    let mut whole = WholeChat::new();
    for told in &facts {
        whole.transcript.apply_operations(whole.fold.apply_fact(told));
    }
    (CountingStore::new(long.store().clone()), facts, whole)
}

fn long_view() -> ChatView {
    ChatView { session: Long::id(), ..view() }
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

#[test]
fn q10_the_first_look_at_a_long_chat_reads_what_it_shows() {
    let (store, facts, whole) = long_chat();
    let all = facts.len() as u64;
    runtime().block_on(async {
        let look = async |why: &str| {
            let read = FoldedChat::read_journal(&store, &long_view(), None).await;
            let folded = read.expect("readable");
            check_newest(why, &folded.transcript, &whole.transcript);
            (folded, store.records_read())
        };
        // And one more: what is kept is bound to it.
        let (folded, read) = look("the first look").await;
        assert_eq!(read, all + 1, "the first look reads all");
        let start = folded.first_start().expect("not all is at hand").last_seq();
        assert!(start > all / 5, "only {start} of {all} facts are not read again");
        let (_, read) = look("the second look").await;
        assert_eq!(read, all - start + 1, "the second what is shown, and the record at its place");
        // Whoever follows a page begins there too, unless the page is of before.
        let session = Long::id();
        for (after, expected) in [(all, Some(start)), (start, Some(start)), (start - 1, None)] {
            let found = find_start(&store, &session, None, after).await.expect("readable");
            assert_eq!(found.map(|start| start.last_seq()), expected, "after {after}");
        }
        // Older entries: those that are wanted, and few beside them.
        store.records_read();
        let first = folded.transcript.first_index();
        let part = folded.read_entries(&store, &long_view(), 0, first).await.expect("readable");
        let found = part.transcript.entries_text(0, first);
        assert_eq!(found, whole.transcript.entries_text(0, first));
        assert!(store.records_read() < all, "no more is read than is wanted");
    });
}

#[test]
fn q10_what_is_kept_of_a_chat_and_does_not_fit_is_not_used() {
    let (store, facts, whole) = long_chat();
    let all = facts.len() as u64;
    let layer: &dyn Store = &store;
    runtime().block_on(async {
        let session = Long::id();
        FoldedChat::read_journal(layer, &long_view(), None).await.expect("readable");
        let kept = layer.read_look(&session, KIND).await.expect("readable").expect("one is kept");
        let records = layer.read_records(&session, kept.seq, 1).await.expect("readable");
        let record = records.first().expect("the journal has it");
        let sealed = |state: &str| SessionSnapshot::of_state(record, kept_format(), state.into());
        let moved = kept.state.replacen(&format!("\"seq\":{}", kept.seq), "\"seq\":1", 1);
        assert_ne!(*moved, *kept.state, "the place stands in it");
        let spoilt = [
            ("torn", SessionSnapshot { state: Arc::from(&kept.state[..99]), ..kept.clone() }),
            ("of another record", SessionSnapshot { record_hash: "0".into(), ..kept.clone() }),
            ("of another program", SessionSnapshot { format: "0".into(), ..kept.clone() }),
            ("without a digest", SessionSnapshot { digest: String::new(), ..kept.clone() }),
            ("no chat", sealed("{}")),
            ("no JSON", sealed("\u{0}")),
            ("of another place", sealed(&moved)),
        ];
        for (how, look) in spoilt {
            layer.write_look(KIND, &look).await.expect("writable");
            store.records_read();
            let read = FoldedChat::read_journal(layer, &long_view(), None).await;
            check_newest(how, &read.expect("readable").transcript, &whole.transcript);
            // All, the record at the kept place, and once more that of the new one, which is kept.
            assert_eq!(store.records_read(), all + 2, "{how}");
            let again = layer.read_look(&session, KIND).await.expect("readable");
            assert_eq!(again.expect("one is kept"), kept, "{how}: it is kept anew");
        }
    });
}
