//! What streams in a session goes to the processes that ask for it, and to nobody else (S17).

use std::time::{Duration, Instant};

use weir_core::ids::SessionId;
use weir_engine::ports::{SignalEar, SignalLine, SignalParcel, Store};
use weir_store::PostgresStore;

use super::{Database, store};
use crate::support::Scribe;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

async fn lines(
    store: &PostgresStore,
    session: &SessionId,
    known: &[SignalLine],
) -> Vec<SignalLine> {
    let lines = store.signal_lines(session, known);
    tokio::time::timeout(PATIENCE, lines).await.expect("others ask in time")
}

/// The lines once nothing changes them any more: a listener that comes up late asks anew.
async fn settled(
    store: &PostgresStore,
    session: &SessionId,
    known: &[SignalLine],
) -> Vec<SignalLine> {
    let mut now = lines(store, session, known).await;
    let quiet = Duration::from_secs(3);
    while let Ok(later) = tokio::time::timeout(quiet, store.signal_lines(session, &now)).await {
        now = later;
    }
    now
}

/// Waits until so many processes listen.
async fn until_listening(database: &Database, count: i64) {
    let mut connection = database.raw().await;
    let listening = "SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND query ILIKE 'LISTEN%'";
    let until = Instant::now() + PATIENCE;
    loop {
        let found: i64 =
            sqlx::query_scalar(listening).fetch_one(&mut connection).await.expect("readable");
        if found >= count {
            return;
        }
        assert!(Instant::now() < until, "only {found} listen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn send(store: &PostgresStore, session: &SessionId, line: &SignalLine, n: u64) {
    let parcel = SignalParcel { line: line.clone(), n, body: format!("{}.{n}", line.number) };
    store.send_signal(session, &parcel).await.expect("it is sent");
}

/// The next parcels.
async fn hear(ear: &mut dyn SignalEar, count: usize) -> Vec<String> {
    let mut heard = Vec::new();
    while heard.len() < count {
        tokio::time::timeout(PATIENCE, ear.wait_for_parcel()).await.expect("it is heard in time");
        heard.extend(ear.take_parcel().map(|parcel| parcel.body));
    }
    heard
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17_signals_reach_whoever_asks_in_order_once_and_as_long_as_they_ask() {
    let Some((ada, _stores, database)) = store().await else { return };
    let mut scribe = Scribe::new(&ada, "one").await;
    scribe.write(&ada, 1).await;
    let session = scribe.lease.session.clone();
    let others = database.stores().await;
    let same = others.store_of_owner("ada").await.expect("a plain name");
    until_listening(&database, 2).await;
    let bob = others.store_of_owner("bob").await.expect("a plain name");
    let mut bobs = bob.hear_signals(&session).expect("it carries signals");
    let mut ear = same.hear_signals(&session).expect("it carries signals");
    // Whoever follows learns on the way who has the session.
    let following = tokio::spawn(async move {
        loop {
            let session = SessionId::new("one");
            let _ = tokio::join!(same.facts_changed(&session, 1), async {
                let waiting = bob.facts_changed(&session, 1);
                tokio::time::timeout(Duration::from_millis(50), waiting).await
            });
        }
    });
    let asked = settled(&ada, &session, &[]).await;
    assert_eq!(asked.len(), 1, "one process, one line");
    for n in 0..3 {
        send(&ada, &session, &asked[0], n).await;
    }
    send(&ada, &session, &asked[0], 2).await;
    send(&ada, &session, &asked[0], 3).await;
    let line = asked[0].number;
    let wanted: Vec<String> = (0..4).map(|n| format!("{line}.{n}")).collect();
    assert_eq!(hear(ear.as_mut(), 4).await, wanted);
    // One is lost: a new line brings everything.
    send(&ada, &session, &asked[0], 5).await;
    send(&ada, &session, &asked[0], 6).await;
    let anew = settled(&ada, &session, &asked).await;
    assert_eq!((anew.len(), &anew[0].to), (1, &asked[0].to));
    assert!(anew[0].number > line);
    send(&ada, &session, &asked[0], 4).await;
    send(&ada, &session, &anew[0], 0).await;
    assert_eq!(hear(ear.as_mut(), 1).await, [format!("{}.0", anew[0].number)]);
    // One who comes later is brought everything, too; the first hears it again and knows what it has.
    let same = others.store_of_owner("ada").await.expect("a plain name");
    let mut late = same.hear_signals(&session).expect("it carries signals");
    // What is under way on the line before is the middle of something: nothing for one who is new.
    send(&ada, &session, &anew[0], 1).await;
    let both = settled(&ada, &session, &anew).await;
    assert_eq!(both.len(), 1);
    send(&ada, &session, &both[0], 0).await;
    let wanted = [format!("{}.0", both[0].number)];
    assert_eq!(hear(late.as_mut(), 1).await, wanted);
    let mut heard = hear(ear.as_mut(), 1).await;
    if heard == [format!("{}.1", anew[0].number)] {
        heard = hear(ear.as_mut(), 1).await;
    }
    assert_eq!(heard, wanted);
    // It goes on for longer than one asking counts.
    let known = both.clone();
    let still = tokio::time::timeout(Duration::from_secs(12), ada.signal_lines(&session, &known));
    assert!(still.await.is_err(), "they ask again and again");
    // Another person's session of this name is another session.
    assert!(bobs.take_parcel().is_none(), "bob hears nothing of it");
    drop((ear, late));
    assert_eq!(lines(&ada, &session, &both).await, []);
    following.abort();
}
