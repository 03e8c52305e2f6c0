//! A long session that is opened again: its newest facts first, from a settled place on, and all others then.

use weir_engine::ports::Store as _;

use super::*;

/// Runs of the session: some six facts and three entries each.
const RUNS: usize = 40;

/// What is told of the session until all of it was: the place at which it begins, and its facts as they came.
async fn told(face: &mut Face) -> (Seq, Vec<(Seq, Arc<Event>)>) {
    let (mut begins, mut facts) = (0, Vec::new());
    while (facts.len() as Seq) < face.known {
        let is_of_it = |news: &UiUpdate| {
            matches!(news, UiUpdate::Settled(_) | UiUpdate::Fact { .. } | UiUpdate::Earlier(_))
        };
        match face.until("all of it", is_of_it).await {
            UiUpdate::Settled(start) => begins = start.settled_place().seq,
            UiUpdate::Fact { seq, event, .. } => facts.push((seq, event)),
            UiUpdate::Earlier(earlier) => {
                facts.extend(earlier.into_iter().map(|at| (at.seq, at.event)));
            }
            other => panic!("{other:?}"),
        }
    }
    (begins, facts)
}

/// Waits until the place is kept at which the session begins the next time.
async fn kept(house: &House, id: &SessionId) {
    let store = house.cx().local_store().expect("it opens");
    for _ in 0..600 {
        if store.read_look(id, "terminal").await.expect("it reads").is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no place was kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q10_a_long_session_is_told_from_a_settled_place_on_and_then_what_stands_before() {
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

    // The second begins there, and nothing is missing.
    let mut second = open().await;
    let (begins, parts) = told(&mut second).await;
    assert!(begins > 0 && begins < second.known, "it begins at {begins} of {}", second.known);
    let newest = usize::try_from(second.known - begins).expect("it is a small number");
    let (newest, earlier) = parts.split_at(newest);
    let begins = usize::try_from(begins).expect("it is a small number");
    let (known, since) = newest.split_at(whole.len() - begins);
    assert_eq!(known, &whole[begins..], "the newest first");
    let is_opening = |(_, event): &(Seq, Arc<Event>)| matches!(**event, Event::SessionResumed(_));
    assert!(since.iter().all(is_opening), "and that it was opened to be looked at: {since:?}");
    assert_eq!(earlier, &whole[..begins], "then those before");

    // What is said there is heard and told once. Under a name of its own: the first face said `m1`, too.
    second.names = 1_000;
    second.say("one more").await;
    let (seq, _) = second.fact("input.accepted").await;
    assert!(seq > second.known, "{seq}");
    assert_eq!(second.finished().await, RunStatus::Completed);
    second.leave().await;
}
