//! What of an account its person is told (S2): whoever takes an account over must not be the only one
//! who knows it. What is told is kept as an event first. Not here: events of which nobody is told
//! (`auth::events`).

use weir_install::people::{Person, PersonId};

use crate::app::App;
use crate::auth::events::{EventActor, record_event};
use crate::notify::{Notice, NoticeKind, NoticeSink as _};
use crate::problem::HandlerResult;

/// What is told, by the word that the event has.
const TOLD: &[(&str, &str)] = &[
    ("signed_in", "Somebody signed in to your account from a new browser"),
    ("password_changed", "Your password was changed"),
    ("password_set_by_invitation", "A password of your account was set by a link of an admin"),
    ("app_added", "An authenticator app was added to your account"),
    ("app_removed", "The authenticator app of your account was removed"),
    ("recovery_codes_made", "New recovery codes of your account were made"),
    ("passkey_added", "A passkey was added to your account"),
    ("passkey_removed", "A passkey of your account was removed"),
    ("phone_paired", "A telephone was paired with your account"),
    ("phone_revoked", "A telephone of your account was revoked"),
    ("token_made", "A token for your account was made"),
    ("role_changed", "Your role was changed"),
    ("second_factor_reset", "Your second factors were taken away"),
    ("signed_out_everywhere", "You were signed out everywhere, and your tokens were revoked"),
];

/// Keeps an event of somebody's account, and tells them where it is to be told.
pub(crate) async fn note_account_event(
    app: &App,
    doer: EventActor<'_>,
    person: &Person,
    what: &str,
    detail: &str,
) -> HandlerResult<()> {
    record_event(&app.auth.shelf, doer, what, &person.name, detail).await?;
    tell_account(app, &person.id, what).await;
    Ok(())
}

/// Tells a person what happened to their account; what is not in the list is not told.
pub(crate) async fn tell_account(app: &App, person: &PersonId, what: &str) {
    let Some((_, title)) = TOLD.iter().find(|(word, _)| *word == what) else { return };
    let notice = Notice {
        kind: NoticeKind::Account,
        title: (*title).to_owned(),
        text:
            "If it was neither you nor an admin whom you asked, change your password and end all \
               sign-ins."
                .to_owned(),
        link: "/account".to_owned(),
        offer: None,
    };
    app.notices.notify_person(person, notice).await;
}
