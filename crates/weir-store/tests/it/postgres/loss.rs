//! Connections and servers that go away (D9): a clear error or none, nothing acknowledged is lost,
//! nothing is written twice, and it goes on when the server is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::Executor;
use weir_core::record::{GENESIS, verify_chain};
use weir_engine::ports::{Store, StoreError};
use weir_store::{PostgresOptions, PostgresStores};
use weir_test_kit::{PrivatePostgres, or_skipped};

use super::store;
use crate::support::Scribe;

const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// Goes on after an error as the engine does: with what stands in the journal.
async fn read_again(store: &dyn Store, scribe: &mut Scribe) {
    let until = Instant::now() + Duration::from_secs(120);
    let facts = loop {
        match store.read_records(&scribe.lease.session, 1, usize::MAX).await {
            Ok(facts) => break facts,
            Err(error) => assert!(Instant::now() < until, "it does not come back: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    scribe.facts = facts.len() as u64;
    scribe.last = facts.last().map_or_else(|| GENESIS.to_string(), |fact| fact.hash.clone());
}

/// Writes `count` facts, one by one; how many were acknowledged, and how many errors there were.
async fn write_through(store: &dyn Store, scribe: &mut Scribe, count: u64) -> (Vec<String>, u32) {
    let (mut acknowledged, mut errors) = (Vec::new(), 0);
    for _ in 0..count {
        let append = scribe.next_audited("x");
        match store.append(append.clone()).await {
            Ok(()) => {
                scribe.wrote(&append);
                acknowledged.push(scribe.last.clone());
            }
            Err(StoreError::Io { .. }) => {
                errors += 1;
                read_again(store, scribe).await;
            }
            Err(error) => panic!("no fork, no damage, no lost lease: {error}"),
        }
    }
    (acknowledged, errors)
}

async fn check(store: &dyn Store, scribe: &Scribe, acknowledged: &[String]) {
    let facts = store.read_records(&scribe.lease.session, 1, usize::MAX).await.expect("readable");
    verify_chain(GENESIS, 1, &facts).expect("whole");
    for hash in acknowledged {
        assert!(facts.iter().any(|fact| fact.hash == *hash), "an acknowledged fact is lost");
    }
    let audit = store.audit_lines(1, usize::MAX).await.expect("readable");
    assert_eq!(audit.len(), facts.len(), "each fact has its line, once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_connections_that_are_cut_lose_nothing_and_write_nothing_twice() {
    let Some((ada, _stores, database)) = store().await else { return };
    let mut scribe = Scribe::new(&ada, "one").await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut killer = database.raw().await;
    let cutting = {
        let stop = stop.clone();
        tokio::spawn(async move {
            let mut cuts = 0;
            while !stop.load(Ordering::Relaxed) {
                let done = killer.execute(TERMINATE).await.expect("it may");
                cuts += done.rows_affected();
                tokio::time::sleep(Duration::from_millis(60)).await;
            }
            cuts
        })
    };
    let (acknowledged, errors) = write_through(&ada, &mut scribe, 150).await;
    stop.store(true, Ordering::Relaxed);
    let cuts = cutting.await.expect("it ends");
    assert!(cuts > 10, "only {cuts} connections were cut");
    assert!(acknowledged.len() + errors as usize == 150);
    check(&ada, &scribe, &acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_server_that_loses_power_loses_nothing_acknowledged() {
    let Some(server) = or_skipped(PrivatePostgres::start()) else { return };
    let url = server.url("postgres");
    // Longer than the server may take to be there again: what is lost here is its memory, not a lease.
    let options = PostgresOptions { lease: Duration::from_secs(60), connections: 8 };
    let stores = PostgresStores::connect_with(&url, &options).await.expect("it runs");
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    let mut scribe = Scribe::new(&ada, "one").await;
    let mut acknowledged = Vec::new();
    // Away for a moment: nobody notices, or hears of it and goes on.
    for _ in 0..2 {
        let writing = write_through(&ada, &mut scribe, 60);
        let away = async {
            tokio::time::sleep(Duration::from_millis(40)).await;
            server.pull_the_plug();
            server.go_on();
        };
        let ((more, _), ()) = futures::future::join(writing, away).await;
        acknowledged.extend(more);
    }
    check(&ada, &scribe, &acknowledged).await;
    // Away for longer: an error that says so, within bounds.
    server.pull_the_plug();
    let started = Instant::now();
    let refused = ada.append(scribe.next_audited("x")).await.expect_err("nobody is there");
    let took = started.elapsed();
    assert!(refused.to_string().contains("check that it runs"), "{refused}");
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(stores.server_records().check_alive().await.is_err());
    let refused = PostgresStores::connect(&url).await.err().expect("nobody is there");
    assert!(refused.to_string().contains("check that it runs"), "{refused}");
    server.go_on();
    read_again(&ada, &mut scribe).await;
    let (more, errors) = write_through(&ada, &mut scribe, 5).await;
    assert_eq!((more.len(), errors), (5, 0), "it goes on by itself");
    acknowledged.extend(more);
    check(&ada, &scribe, &acknowledged).await;
    let until = Instant::now() + Duration::from_secs(120);
    while let Err(error) = stores.server_records().check_alive().await {
        assert!(Instant::now() < until, "its heart does not beat again: {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_server_that_hangs_is_given_up_in_time_and_nothing_is_written_twice() {
    let Some(server) = or_skipped(PrivatePostgres::start()) else { return };
    let options = PostgresOptions { lease: Duration::from_secs(300), connections: 4 };
    let stores = PostgresStores::connect_with(&server.url("postgres"), &options).await;
    let stores = stores.expect("it runs");
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    let mut scribe = Scribe::new(&ada, "one").await;
    let mut acknowledged = Vec::new();
    // It hangs in the middle of whatever is written then, more than once.
    for _ in 0..2 {
        let writing = async {
            loop {
                let append = scribe.next_audited("x");
                match ada.append(append.clone()).await {
                    Ok(()) => {
                        scribe.wrote(&append);
                        acknowledged.push(scribe.last.clone());
                    }
                    Err(error) => break error,
                }
            }
        };
        let hanging = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            server.freeze();
            Instant::now()
        };
        let (refused, frozen) = futures::future::join(writing, hanging).await;
        let took = frozen.elapsed();
        assert!(refused.to_string().contains("check that it runs"), "{refused}");
        assert!(took < Duration::from_secs(90), "{took:?}");
        assert!(stores.server_records().check_alive().await.is_err());
        server.thaw();
        read_again(&ada, &mut scribe).await;
        let (more, _) = write_through(&ada, &mut scribe, 5).await;
        acknowledged.extend(more);
        check(&ada, &scribe, &acknowledged).await;
    }
    let (more, errors) = write_through(&ada, &mut scribe, 20).await;
    assert_eq!((more.len(), errors), (20, 0), "what hung keeps no connection from anybody");
}
