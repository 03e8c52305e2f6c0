//! What everybody on a server spends together: sums of all people's stores, and what is set aside, kept where
//! every replica sees it (R11). Not here: the cap, and how it is held (`weir_engine::spending`).

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use weir_core::ids::Timestamp;
use weir_engine::ports::{
    Clock as _, PutOutcome, RecordEntry, Records, ServerBook, Store, StoreError, UsageFilter,
};

use super::SessionDatabase;
use crate::people::Person;
use crate::wiring::WallClock;

/// The kind under which people are kept.
const PERSON: &str = "person";
/// The kind and name under which it is kept what is set aside.
const BOOK: (&str, &str) = ("spending", "holds");

/// What everybody spends.
pub(super) struct PeopleBook {
    database: Arc<SessionDatabase>,
    records: Arc<dyn Records>,
    /// Stores of people whose spending was asked for, by their id.
    stores: Mutex<HashMap<String, Arc<dyn Store>>>,
}

impl PeopleBook {
    pub(super) fn new(database: Arc<SessionDatabase>, records: Arc<dyn Records>) -> PeopleBook {
        PeopleBook { database, records, stores: Mutex::default() }
    }

    async fn store_of(&self, person: &Person) -> Result<Arc<dyn Store>, StoreError> {
        let mut stores = self.stores.lock().await;
        if let Some(store) = stores.get(person.id.as_str()) {
            return Ok(store.clone());
        }
        let opened = self.database.store_of(person).await.map_err(|error| StoreError::Io {
            doing: "reading what everybody spent".into(),
            why: format!("{error:#}"),
        })?;
        stores.insert(person.id.0.clone(), opened.clone());
        Ok(opened)
    }

    async fn list_people(&self) -> Result<Vec<Person>, StoreError> {
        let now = WallClock::default().now();
        let entries = self.records.list(PERSON, None, now).await?;
        entries
            .iter()
            .map(|entry| {
                serde_json::from_str(&entry.text).map_err(|error| StoreError::Damaged {
                    what: format!("the account {}", entry.name),
                    why: error.to_string(),
                })
            })
            .collect()
    }
}

#[async_trait]
impl ServerBook for PeopleBook {
    async fn spent_on(&self, day: &str) -> Result<f64, StoreError> {
        let people = self.list_people().await?;
        let ids: Vec<&str> = people.iter().map(|person| person.id.as_str()).collect();
        self.stores.lock().await.retain(|id, _| ids.contains(&id.as_str()));
        let filter = UsageFilter { from: Some(day.to_owned()), to: None };
        let mut spent = 0.0;
        for person in &people {
            let rows = self.store_of(person).await?.usage_rows(&filter).await?;
            spent += rows.iter().map(|row| row.cost_usd).sum::<f64>();
        }
        Ok(spent)
    }

    async fn read_book(&self, now: Timestamp) -> Result<(u64, String), StoreError> {
        let kept = self.records.get(BOOK.0, BOOK.1, now).await?;
        Ok(kept.map_or_else(|| (0, String::new()), |kept| (kept.version, kept.text)))
    }

    async fn replace_book(
        &self,
        text: String,
        version: u64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let entry = RecordEntry {
            kind: BOOK.0.into(),
            name: BOOK.1.into(),
            owner: String::new(),
            text,
            version,
            expires: None,
            ts: now,
        };
        let put = self.records.put(&entry, Some(version)).await?;
        Ok(matches!(put, PutOutcome::Kept(_)))
    }
}
