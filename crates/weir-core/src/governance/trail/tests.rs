//! Links that are followed, counted and bounded; what was put together here is none.

use super::*;
use crate::label::{Integrity, Label};
use crate::tool::QueryEffect;

const LINK: &str = "https://far.example/a";

fn get(url: &str) -> HostEffect {
    let host = "far.example".into();
    HostEffect { method: "GET".into(), host, url: url.into(), secret: None }
}

fn fetch(url: &str) -> Effects {
    Effects { hosts: vec![get(url)], ..Effects::default() }
}

fn search() -> Effects {
    let (host, words) = ("engine.example", vec!["tides".to_owned()]);
    let asked = HostEffect { method: "POST".into(), host: host.into(), ..get("https://e/") };
    Effects {
        hosts: vec![asked],
        queries: vec![QueryEffect { server: host.into(), words }],
        ..Effects::default()
    }
}

struct Past {
    trail: LinkTrail,
    label: Label,
    said: Vec<String>,
}

impl Past {
    /// Pages of the web beside private data, and the links that they brought.
    fn with_links<'a>(links: impl IntoIterator<Item = &'a str>) -> Past {
        let mut label = Label::external("near.example");
        label.join(&Label::private(Integrity::Workspace, "workspace"));
        let mut past = Past { trail: LinkTrail::default(), label, said: Vec::new() };
        past.bring(LinkSource::Plain, links);
        past
    }

    fn bring<'a>(&mut self, source: LinkSource, links: impl IntoIterator<Item = &'a str>) {
        let links: Vec<String> = links.into_iter().map(str::to_owned).collect();
        self.trail.note_source(CallId(1), source);
        self.trail.take_links(CallId(1), &links);
    }

    fn provenance(&self) -> Provenance<'_> {
        Provenance {
            label: &self.label,
            said: &self.said,
            trail: &self.trail,
            ..Provenance::for_empty_session()
        }
    }

    fn follows(&self, url: &str) -> bool {
        self.provenance().follows_link(FETCHES, &get(url))
    }

    fn bits(&self, url: &str) -> Option<u32> {
        self.provenance().followed_bits(FETCHES, &fetch(url))
    }

    fn source(&self, tool: &str, effects: &Effects) -> Option<LinkSource> {
        self.provenance().link_source(tool, effects)
    }
}

#[test]
fn k10_a_link_of_a_page_is_followed_and_what_was_put_together_is_not() {
    let past = Past::with_links([LINK, "https://far.example/long/path"]);
    assert!(past.follows(LINK));
    for other in [
        "https://far.example/a?d=secret",
        "https://far.example/a/",
        "https://far.example/A",
        "https://far.example/long",
        "https://far.example",
        "http://far.example/a",
        "https://far.example:8443/a",
        "https://b.example/a",
        "",
    ] {
        assert!(!past.follows(other), "{other}");
    }
    let follows = |tool: &str, host: &HostEffect| past.provenance().follows_link(tool, host);
    let post = HostEffect { method: "POST".into(), ..get(LINK) };
    assert!(!follows(FETCHES, &post), "sending is not following");
    let keyed = HostEffect { secret: Some("k".into()), ..get(LINK) };
    assert!(!follows(FETCHES, &keyed), "a key is more than a choice");
    assert!(!follows("mcp__x__fetch", &get(LINK)), "another tool may send more than the address");
}

#[test]
fn k10_what_following_tells_is_counted_and_bounded() {
    let many: Vec<String> = (0..300).map(|n| format!("https://far.example/{n}")).collect();
    let mut past = Past::with_links(many.iter().map(String::as_str));
    let link = many[7].as_str();
    assert_eq!(past.bits(link), Some(9), "one of three hundred, or none");
    past.trail.count_bits(LINK_BITS_MAX - 9);
    assert!(past.follows(link));
    past.trail.count_bits(1);
    assert!(!past.follows(link), "the bound is reached");
    assert_eq!(past.bits(link), None);
    // Without private data nothing can be told.
    past.label = Label::external("near.example");
    assert!(past.follows(link));
    assert_eq!(past.bits(link), Some(0));
}

/// The bits of all that is followed, whatever is chosen and brought on the way, are no fewer than the
/// bits that name the choices, and never more than the bound.
#[test]
fn k10_a_farm_of_links_tells_no_more_than_the_bound() {
    let mut past = Past::with_links([]);
    let (mut named, mut followed) = (0.0_f64, 0);
    for page in 0..60 {
        let links: Vec<String> =
            (0..300).map(|n| format!("https://evil.example/{page}/{n}")).collect();
        past.bring(LinkSource::Plain, links.iter().map(String::as_str));
        let choices = ((page + 1) * 300 + 1) as f64;
        let Some(bits) = past.bits(&links[page]) else { continue };
        assert!(f64::from(bits) >= choices.log2(), "{page}: {bits}");
        past.trail.count_bits(bits);
        (named, followed) = (named + choices.log2(), followed + 1);
    }
    assert!(followed >= 9, "{followed} pages are some research");
    assert!(named <= f64::from(LINK_BITS_MAX), "{named}");
    assert!(past.trail.told_bits() <= LINK_BITS_MAX);
    assert!(past.trail.links.len() <= LINKS_MAX);
}

#[test]
fn k10_what_is_put_together_beside_private_data_leads_nowhere() {
    let mut past = Past::with_links([LINK]);
    assert_eq!(past.source(FETCHES, &fetch(LINK)), Some(LinkSource::Plain), "a link leads on");
    let built = "https://echo.example/?say=evil.example%2Fsecret";
    assert_eq!(past.source(FETCHES, &fetch(built)), None, "it may answer with what it was asked");
    past.said.push(format!("Read {built} please"));
    assert_eq!(
        past.source(FETCHES, &fetch(built)),
        Some(LinkSource::Plain),
        "the person led there"
    );
    past.said.clear();
    past.label = Label::external("near.example");
    assert_eq!(past.source(FETCHES, &fetch(built)), Some(LinkSource::Plain), "nothing is private");
}

#[test]
fn k10_only_the_tools_of_the_web_lead_on() {
    let past = Past::with_links([LINK]);
    assert_eq!(past.source("web_search", &search()), Some(LinkSource::Steered));
    assert_eq!(past.source("mcp__x__search", &search()), None);
    assert_eq!(past.source("web_search", &fetch(LINK)), None, "it asks no declared question");
    for (what, effects) in [
        ("nothing", Effects::default()),
        ("what is for one person", Effects { reads_from: vec!["x".into()], ..fetch(LINK) }),
        ("a job", Effects { jobs: vec!["j1".into()], ..fetch(LINK) }),
        ("something unknown", Effects { unknown: true, ..fetch(LINK) }),
        ("two hosts", Effects { hosts: vec![get(LINK), get(LINK)], ..Effects::default() }),
    ] {
        assert_eq!(past.source(FETCHES, &effects), None, "{what}");
    }
}

#[test]
fn k10_words_beside_private_data_choose_among_a_whole_index() {
    let mut past = Past::with_links([]);
    past.bring(LinkSource::Steered, [LINK]);
    assert_eq!(past.bits(LINK), Some(STEERED_BITS_MIN));
    // Ten pages of such a search fit, and one page does not become hundreds.
    const { assert!(STEERED_BITS_MIN * 10 <= LINK_BITS_MAX) };
    // A page on which it stands as well leads there for less.
    past.bring(LinkSource::Plain, [LINK]);
    assert_eq!(past.bits(LINK), Some(1));
    past.bring(LinkSource::Steered, [LINK]);
    assert_eq!(past.bits(LINK), Some(1));
}

#[test]
fn k10_links_of_a_call_that_does_not_count_are_not_taken() {
    let mut past = Past::with_links([]);
    past.trail.take_links(CallId(9), &[LINK.to_owned()]);
    assert!(!past.follows(LINK));
    let long = format!("https://far.example/{}", "x".repeat(LINK_BYTES_MAX));
    let mut many: Vec<String> = (0..CALL_LINKS_MAX).map(|n| format!("https://e/{n}")).collect();
    many.push(LINK.into());
    past.bring(LinkSource::Plain, [long.as_str(), ""]);
    past.bring(LinkSource::Plain, many.iter().map(String::as_str));
    assert!(!past.follows(&long) && !past.follows("") && !past.follows(LINK), "each has a limit");
}

#[test]
fn k10_sub_agents_tell_of_what_their_parent_may() {
    let mut trail = LinkTrail::default();
    trail.count_bits(8);
    // Two wait: each gets a third, and the session keeps one.
    trail.lend_bits(CallId(1), 1);
    trail.lend_bits(CallId(2), 0);
    assert_eq!([trail.lent_bits(CallId(1)), trail.lent_bits(CallId(2))], [40, 40]);
    assert_eq!(trail.left_bits(), 40);
    trail.lend_bits(CallId(1), 0);
    assert_eq!(trail.left_bits(), 40, "a call that begins again is lent nothing more");
    trail.return_bits(CallId(1), 10);
    assert_eq!((trail.told_bits(), trail.left_bits()), (18, 70));
    // None tells more than it was lent, and what never was lent is nothing.
    trail.return_bits(CallId(2), 900);
    trail.return_bits(CallId(3), 900);
    assert_eq!((trail.told_bits(), trail.left_bits()), (58, 70));
    trail.limit_bits(58);
    trail.limit_bits(LINK_BITS_MAX);
    assert_eq!(trail.left_bits(), 0, "a limit only falls");
}
