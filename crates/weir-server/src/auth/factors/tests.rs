//! What becomes of somebody's factors, and of the identity provider, when the key of the
//! installation is another than the one that their secrets were sealed with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Clock, PutOutcome, RecordEntry, Records, StoreError};
use weir_install::seal::SecretSeal;

use super::*;
use crate::sign_in::oidc;

/// Entries that end with the test; none of them expires.
#[derive(Default)]
struct Drawer(Mutex<BTreeMap<(String, String), RecordEntry>>);

impl Drawer {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<(String, String), RecordEntry>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Records for Drawer {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        _: Timestamp,
    ) -> Result<Option<RecordEntry>, StoreError> {
        Ok(self.with(|all| all.get(&(kind.to_owned(), name.to_owned())).cloned()))
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        _: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        let fits =
            |entry: &&RecordEntry| entry.kind == kind && owner.is_none_or(|o| o == entry.owner);
        Ok(self.with(|all| all.values().filter(fits).cloned().collect()))
    }

    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError> {
        let key = (entry.kind.clone(), entry.name.clone());
        Ok(self.with(|all| {
            let there = all.get(&key).map_or(0, |entry| entry.version);
            if expected.is_some_and(|expected| expected != there) {
                return PutOutcome::Changed(there);
            }
            all.insert(key, RecordEntry { version: there + 1, ..entry.clone() });
            PutOutcome::Kept(there + 1)
        }))
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        Ok(self.with(|all| all.remove(&(kind.to_owned(), name.to_owned())).is_some()))
    }

    async fn remove_owned(&self, _: &str) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn purge(&self, _: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn check_alive(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn wait_for_change(&self) {
        std::future::pending().await
    }
}

/// A clock that stands still.
struct Still;

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000_000)
    }

    async fn sleep_until(&self, _: Timestamp) {}

    fn random_number(&self) -> u64 {
        0
    }
}

/// The same records with the key of the installation as it was, and with another.
fn shelves() -> (TypedRecords, TypedRecords) {
    let records: Arc<dyn Records> = Arc::new(Drawer::default());
    let shelf = |key: u8| {
        let seal = SecretSeal::new(&[key; 32]).expect("a key");
        TypedRecords::new(records.clone(), Arc::new(Still)).with_seal(seal)
    };
    (shelf(1), shelf(2))
}

#[tokio::test]
async fn s2_recovery_codes_are_taken_where_the_secret_of_the_app_does_not_open() {
    let (before, after) = shelves();
    let ann = PersonId("ann".into());
    let secret = before.seal_secret(&totp_seal_place(&ann), &STANDARD.encode([7; SECRET_BYTES]));
    let totp = TotpSecret { secret: secret.expect("sealed"), step: 0 };
    before.put_entry(person_slot(TOTP, &ann), &totp, None).await.expect("an app");
    let codes = new_recovery(&before, &ann).await.expect("codes");

    let lost = take_code(&after, &ann, "000000").await.expect_err("no code fits");
    assert!(lost.detail.contains("key") || lost.status >= 500, "{lost:?}");
    let taken = take_code(&after, &ann, &codes[0]).await.expect("it is looked at");
    assert_eq!(taken, Some("password+recovery code"));
    take_code(&after, &ann, &codes[0]).await.expect_err("it is used up");
    let unknown = take_code(&before, &ann, &codes[0]).await.expect("the key is back");
    assert_eq!(unknown, None);
}

#[tokio::test]
async fn s2_a_provider_whose_secret_does_not_open_is_known_and_can_be_kept_anew() {
    let (before, after) = shelves();
    let provider = oidc::IdentityProvider {
        issuer: "https://accounts.example.org".into(),
        client_id: "weir".into(),
        client_secret: oidc::seal_client_secret(&before, "hunter2").expect("sealed"),
        label: "Example".into(),
        makes_accounts: false,
    };
    assert_ne!(provider.client_secret, "hunter2");
    oidc::set_provider(&before, Some(&provider)).await.expect("kept");

    let known = oidc::find_provider(&after).await.expect("readable").expect("a provider");
    assert_eq!(known, provider, "its button is shown, its secret stays sealed");
    let renamed = oidc::IdentityProvider { label: "Other".into(), ..known };
    oidc::set_provider(&after, Some(&renamed)).await.expect("kept");
    let back = oidc::find_provider(&before).await.expect("readable").expect("a provider");
    assert_eq!(before.open_secret("oidc_provider", &back.client_secret).expect("opens"), "hunter2");
    assert_eq!(oidc::seal_client_secret(&after, "").expect("nothing to seal"), "");
}
