//! A long session that is opened again: its facts from a settled place on, and what stands before it in parts,
//! when somebody wishes for them and never before.

use weir_engine::ports::Store as _;
use weir_tui::link::CommandTicket;

use super::*;

/// Runs of the session: some six facts and three entries each.
const RUNS: usize = 40;
/// Facts of a part that are wished for: far fewer than stand before the place.
const PART: Seq = 30;

/// What is told of the session by itself: the place at which it begins, and its facts after that.
async fn told(face: &mut Face) -> (Seq, Vec<(Seq, Arc<Event>)>) {
    let (mut begins, mut facts) = (0, Vec::new());
    while begins + (facts.len() as Seq) < face.known {
        let is_of_it = |news: &UiUpdate| {
            matches!(news, UiUpdate::Settled(_) | UiUpdate::Fact { .. } | UiUpdate::Earlier { .. })
        };
        match face.until("all of it", is_of_it).await {
            UiUpdate::Settled(start) => begins = start.settled_place().seq,
            UiUpdate::Fact { seq, event, .. } => facts.push((seq, event)),
            other => panic!("nobody wished for it: {other:?}"),
        }
    }
    (begins, facts)
}

/// What comes of the wish for a part.
async fn wished_part(face: &mut Face, last: Seq, ticket: CommandTicket) -> UiUpdate {
    face.wish(UiCommand::Earlier { last, facts: PART, ticket }).await;
    let is_answer = |news: &UiUpdate| match news {
        UiUpdate::Earlier { ticket: of, .. } | UiUpdate::Failed { ticket: of, .. } => *of == ticket,
        _ => false,
    };
    face.until("a part", is_answer).await
}

/// Waits until the place is kept at which the session begins the next time.
async fn kept(house: &House, id: &SessionId) {
    let store = house.cx().local_store().expect("it opens");
    for _ in 0..2_400 {
        if store.read_look(id, "terminal").await.expect("it reads").is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no place was kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q10_a_long_session_is_told_from_a_settled_place_on_and_the_rest_when_wished_for() {
    let script: String = (0..RUNS).map(|n| format!("says: answer {n}\n\n")).collect();
    let house = House::new(&script);
    let mut face = house.face().await;
    for n in 0..RUNS {
        face.say(&format!("question {n}")).await;
        assert_eq!(face.finished().await, RunStatus::Completed);
    }
    let id = face.id();
    face.leave().await;
    let open = || {
        let which = SessionTarget::Existing(id.clone());
        house.opened_from(which, house.flags(), FirstTold::SettledPlace)
    };

    // The first look finds no place: all facts come in their order, and one is kept.
    let mut first = open().await;
    let (begins, whole) = told(&mut first).await;
    assert_eq!(begins, 0);
    let places: Vec<Seq> = whole.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(places, (1..=first.known).collect::<Vec<Seq>>(), "each once, in order");
    kept(&house, &id).await;
    first.leave().await;

    // The second begins there, and is told nothing from before it, whatever happens.
    let mut second = open().await;
    let (begins, newer) = told(&mut second).await;
    assert!(begins > 0 && begins < second.known, "it begins at {begins} of {}", second.known);
    let place = usize::try_from(begins).expect("it is a small number");
    let (known, since) = newer.split_at(whole.len() - place);
    assert_eq!(known, &whole[place..], "the facts from there on");
    let is_opening = |(_, event): &(Seq, Arc<Event>)| matches!(**event, Event::SessionResumed(_));
    assert!(since.iter().all(is_opening), "and that it was opened to be looked at: {since:?}");
    // What is said there is heard and told once. Under a name of its own: the first face said `m1`, too.
    second.names = 1_000;
    second.say("one more").await;
    let (seq, _) = second.fact("input.accepted").await;
    assert!(seq > second.known, "{seq}");
    let is_end = |news: &UiUpdate| match news {
        UiUpdate::Fact { event, .. } => event.kind() == "run.finished",
        news => matches!(news, UiUpdate::Earlier { .. }),
    };
    let end = second.until("the end of the run", is_end).await;
    assert!(matches!(end, UiUpdate::Fact { .. }), "nobody wished for it: {end:?}");

    // A part that cannot be read is told as such, and others can be wished for.
    let failed = wished_part(&mut second, 1_000_000, 1).await;
    assert!(matches!(failed, UiUpdate::Failed { .. }), "{failed:?}");
    let (mut last, mut parts, mut earlier) = (begins, 0, Vec::new());
    while last > 0 {
        let part = wished_part(&mut second, last, last + 1).await;
        let UiUpdate::Earlier { from, facts, .. } = part else { panic!("{part:?}") };
        assert!(from.seq == 0 || from.seq + PART <= last, "{} to {last}", from.seq);
        drop(earlier.splice(0..0, facts.into_iter().map(|at| (at.seq, at.event))));
        (last, parts) = (from.seq, parts + 1);
    }
    assert!(parts > 1, "they are parts of it");
    assert_eq!(earlier, &whole[..place], "together they are all that stands before");
    second.leave().await;
}
