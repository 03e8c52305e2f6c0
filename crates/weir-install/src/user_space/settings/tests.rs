//! Settings are looked up once for what is opened together, and what changed counts at the next look.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use weir_core::ids::Timestamp;
use weir_engine::ports::StoreError;
use weir_store::MemoryRecords;
use weir_test_kit::TestFolder;

use super::super::SessionPreferences;
use super::*;
use crate::audit::AuditChainSource;
use crate::people::{Person, PersonId, Role};
use crate::set_up::context_in;

/// Entries that one look reads: what is set for everybody, and by the person.
const LOOK: usize = 2;

/// Records that count how often settings are looked up.
#[derive(Default)]
struct CountingRecords {
    kept: MemoryRecords,
    looked_up: AtomicUsize,
}

#[async_trait]
impl Records for CountingRecords {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RecordEntry>, StoreError> {
        self.looked_up.fetch_add(usize::from(kind == RECORD), Ordering::Relaxed);
        self.kept.get(kind, name, now).await
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        self.kept.list(kind, owner, now).await
    }

    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError> {
        self.kept.put(entry, expected).await
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        self.kept.remove(kind, name).await
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        self.kept.remove_owned(owner).await
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.kept.purge(now).await
    }

    async fn check_alive(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn wait_for_change(&self) {
        std::future::pending().await
    }
}

impl CountingRecords {
    fn lookups(&self) -> usize {
        self.looked_up.swap(0, Ordering::Relaxed)
    }

    /// Sets a value for everybody, as another replica does.
    async fn set(&self, key: &str, value: Value) {
        let made = json!({ key: { "value": value, "by": "ann", "ts": Timestamp::default() } });
        let entry = RecordEntry {
            kind: RECORD.into(),
            name: INSTALLATION.into(),
            owner: String::new(),
            text: made.to_string(),
            version: 0,
            expires: None,
            ts: Timestamp::default(),
        };
        let kept = self.put(&entry, None).await.expect("it is kept");
        assert!(matches!(kept, PutOutcome::Kept(_)), "{kept:?}");
    }
}

fn space_in(folder: &TestFolder, records: &Arc<CountingRecords>) -> UserSpace {
    let cx = context_in(folder);
    let person = Person {
        id: PersonId("p1".into()),
        name: "ann".into(),
        display: String::new(),
        role: Role::Admin,
        first: true,
        disabled: false,
        created: Timestamp::default(),
    };
    let chained = AuditChainSource::Files(folder.path().join("state"));
    UserSpace::new(cx, person, records.clone(), chained, [0; 32]).expect("a store")
}

#[tokio::test]
async fn s6_settings_are_looked_up_once_for_a_session_and_a_change_counts_at_the_next_look() {
    let files = [("work/note.txt", "one\n"), ("hello.script", "says: hello\n")];
    let folder = TestFolder::with_files(&files);
    let records = Arc::new(CountingRecords::default());
    let space = space_in(&folder, &records);
    let script = format!("script:{}", folder.path().join("hello.script").display());
    let wish = SessionPreferences { model: Some(script), ..SessionPreferences::default() };
    let opened = async || {
        let look = space.look_at_settings().await.expect("the records answer");
        space.engine_at(&look).await.expect("an engine");
        let options = space.session_options_at(&look, &wish, None).await.expect("settings");
        assert_eq!(records.lookups(), LOOK, "once for all parts of one session");
        (look.revision(), options.config.limits.max_iterations)
    };
    let first = opened().await;
    assert_eq!(opened().await, first, "nothing changed");
    folder.write("config/weir/config.toml", "[limits]\nmax_iterations = 7\n");
    let (revision, iterations) = opened().await;
    assert!(revision > first.0, "a file of settings is new");
    assert_eq!(iterations, 7);
    records.set("limits.max_iterations", json!(5)).await;
    let (last, iterations) = opened().await;
    assert!(last > revision, "another replica set something");
    assert_eq!(iterations, 5);
}

#[tokio::test]
async fn q19_what_brings_a_command_to_its_session_looks_at_no_settings_where_there_is_an_engine() {
    let folder = TestFolder::with_files(&[("work/note.txt", "one\n")]);
    let records = Arc::new(CountingRecords::default());
    let space = space_in(&folder, &records);
    let made = space.host_parts().await.expect("an engine");
    assert_eq!(records.lookups(), LOOK, "an engine is made of settings");
    let again = space.host_parts().await.expect("there is one");
    assert_eq!(records.lookups(), 0);
    assert_eq!((again.owner, again.principal), (made.owner, made.principal));
}
