//! The book of what is set aside, and what a request costs at most. Not here: caps over a store.

use weir_core::model::{ModelRef, Price};

use super::*;

fn hold(usd: f64, until: i64, agent: &str) -> SpendingHold {
    SpendingHold { usd, until: Timestamp(until), agent: agent.into(), settled: false }
}

#[test]
fn r11_what_a_dead_process_set_aside_is_void_after_a_while() {
    let holds = BTreeMap::from([
        ("dead".to_owned(), hold(5.0, 1_000, "")),
        ("alive".to_owned(), hold(0.5, 3_000, "nightly")),
        ("broken".to_owned(), hold(f64::MAX, 3_000, "")),
    ]);
    let text = book_text(&SpendingBook { holds });
    let book = SpendingBook::parse(&text, Timestamp(1_000)).expect("readable");
    assert_eq!(book.held_by_others("me", Some("nightly")), 0.5);
    assert_eq!(book.held_by_others("alive", Some("nightly")), 0.0, "its own never counts");
    assert!(!book.holds.contains_key("dead"));
    let later = SpendingBook::parse(&text, Timestamp(3_000));
    assert_eq!(later, Some(SpendingBook::default()));
    assert_eq!(SpendingBook::parse("", Timestamp(0)), Some(SpendingBook::default()));
}

#[test]
fn r11_a_book_that_cannot_be_read_has_set_everything_aside_for_a_while() {
    assert_eq!(SpendingBook::parse("nonsense", Timestamp(0)), None);
    let text = book_text(&SpendingBook::all_held(Timestamp(5)));
    let book = SpendingBook::parse(&text, Timestamp(6)).expect("readable");
    for agent in [None, Some("nightly")] {
        let held = book.held_by_others("me", agent);
        assert!(held > 1e12 && held.is_finite(), "{held}");
    }
    let later = SpendingBook::parse(&text, Timestamp(5).plus_ms(HOLD_MS));
    assert_eq!(later, Some(SpendingBook::default()));
}

#[test]
fn r11_what_was_used_for_a_call_is_spent_for_what_is_asked_for_it_next() {
    let used = |usd, agent| SpendingHold { settled: true, ..hold(usd, 1_000, agent) };
    let holds = [
        ("s/c7/box/a/1", used(0.5, "nightly")),
        ("s/c7/tool/2", used(0.25, "")),
        ("s/c7/box/a/3", hold(4.0, 1_000, "")),
        ("s/c8/box/a/4", used(4.0, "")),
        ("s/c77/box/a/5", used(4.0, "")),
        ("s/-/box/a/6", used(4.0, "")),
        ("s2/c7/box/a/7", used(4.0, "")),
    ];
    let holds = holds.map(|(name, hold)| (name.to_owned(), hold)).into();
    let mut book = SpendingBook { holds };
    assert_eq!(book.used_for_call_of("s/c7/box/a/9", None), 0.75);
    assert_eq!(book.used_for_call_of("s/c7/box/a/9", Some("nightly")), 0.5);
    assert_eq!(book.used_for_call_of("s/c7/box/a/1", None), 0.25, "its own is set aside anew");
    // The session's own request, and what is asked for no call.
    for name in ["s/t4", "s/-/box/a/9", "s"] {
        assert_eq!(book.used_for_call_of(name, None), 0.0, "{name}");
    }
    book.renew_call_of("s/c7/box/a/9", Timestamp(5_000));
    book.renew_call_of("s/t4", Timestamp(5_000));
    let later = SpendingBook::parse(&book_text(&book), Timestamp(4_000)).expect("readable");
    let names: Vec<&str> = later.holds.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["s/c7/box/a/1", "s/c7/tool/2"],
        "what is only set aside is renewed by its own"
    );
}

#[test]
fn r11_what_is_set_aside_is_the_most_that_a_request_can_cost() {
    let name = ModelRef { provider: "acme".into(), name: "large".into() };
    let price = Price { input: 2.0, output: 10.0, cache_read: 0.2, cache_write: 2.5 };
    let mut model =
        ModelInfo { price: Some(price), max_output: 100_000, ..ModelInfo::with_name(name) };
    let most = most_of_request(&model, 100_000).expect("priced");
    assert!((most - (0.2 * 2.5 + 1.0)).abs() < 1e-9, "{most}");
    model.price = None;
    assert_eq!(most_of_request(&model, 100_000), None);
}
