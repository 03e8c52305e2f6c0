//! What becomes of somebody's factors, and of the identity provider, when the key of the
//! installation is another than the one that their secrets were sealed with.

use std::sync::Arc;

use weir_engine::ports::Records;
use weir_install::seal::SecretSeal;
use weir_store::MemoryRecords;

use super::*;
use crate::auth::still_clock::StillClock;
use crate::sign_in::oidc;

/// The same records with the key of the installation as it was, and with another.
fn shelves() -> (TypedRecords, TypedRecords) {
    let records: Arc<dyn Records> = Arc::new(MemoryRecords::default());
    let shelf = |key: u8| {
        let seal = SecretSeal::new(&[key; 32]).expect("a key");
        TypedRecords::new(records.clone(), Arc::new(StillClock)).with_seal(seal)
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
