//! One account, followed: each mail that fits a rule becomes one run of an agent, once.
//!
//! Exactly once over crashes and replicas: the mail's text is kept first, then the tick with the
//! mail's own number is claimed (a tick is claimed once, for ever), then the place moves on.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_core::governance::label::{Integrity, Label};
use weir_core::schedule::{AgentCause, AgentRun};
use weir_engine::ports::{
    GIVEN_ANSWERS, GIVEN_WAITS, KEPT_GIVEN, MAIL_ORIGIN, ReceivedMail, RecordEntry, Store,
    StoredItem, TickClaim,
};
use weir_engine::schedule::{given_name, load_known_agents};
use weir_install::failure::InstallationError;
use weir_install::mail::accounts::{MailAccountEntry, PLACE, entry_name};
use weir_install::mail::rules::{self, MailRule};
use weir_install::people::Person;
use weir_install::seal::SecretSeal;
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::app::follow_status::FollowStatus;
use crate::notify::{Notice, NoticeKind, NoticeSink as _};

/// Longest that a folder is waited on before it is looked at anyway. Servers end idle lines after
/// half an hour.
const LOOK_AFTER: Duration = Duration::from_secs(20 * 60);
/// How long a mail waits whose agent is busy.
const BUSY: Duration = Duration::from_secs(15);

/// Up to where an account was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct MailboxPosition {
    validity: u32,
    number: u32,
}

/// Follows an account until something fails.
///
/// # Errors
/// In words, for the page of the account.
pub(super) async fn follow_account(
    app: &App,
    person: &Person,
    found: &MailAccountEntry,
) -> Result<(), InstallationError> {
    let seal = SecretSeal::new(&app.installation.seal_key()?)?;
    let account = found.open_account(&seal)?;
    let space = app.user_space(person).await?;
    let mut inbox = weir_install::mail::open_inbox(&account, &found.line.folder).await?;
    let (validity, next) = inbox.mailbox_position();
    let mut place = match read_place(app, found).await? {
        Some(place) if place.validity == validity => place,
        // Mails that were there before are nobody's business.
        _ => {
            let place = MailboxPosition { validity, number: next.saturating_sub(1) };
            write_place(app, found, place).await?;
            place
        }
    };
    let standing = FollowStatus { why: None, since: app.current_time() };
    app.mail.set_status(&entry_name(&found.owner, &found.line.name), Some(standing));
    let failed = InstallationError::Failed;
    loop {
        for number in inbox.newer_mails(place.number).await.map_err(failed)? {
            let received = inbox.fetch(number, &found.line.receiver).await.map_err(failed)?;
            let mail = received.as_ref();
            let rule = mail.and_then(|mail| rules::first_matching_rule(&found.line.rules, mail));
            if let (Some(mail), Some(rule)) = (mail, rule) {
                let came = IncomingMail { found, validity, number, mail };
                while !start_agent(app, space.as_ref(), person, rule, &came).await? {
                    tokio::time::sleep(BUSY).await;
                }
            }
            place.number = number;
            write_place(app, found, place).await?;
        }
        inbox.wait_for_change(LOOK_AFTER).await.map_err(failed)?;
    }
}

/// A mail with its place.
struct IncomingMail<'a> {
    found: &'a MailAccountEntry,
    validity: u32,
    number: u32,
    mail: &'a ReceivedMail,
}

/// Starts the agent of a rule; false: it is busy, and the mail waits.
async fn start_agent(
    app: &App,
    space: &UserSpace,
    person: &Person,
    rule: &MailRule,
    came: &IncomingMail<'_>,
) -> Result<bool, InstallationError> {
    let store: Arc<dyn Store> = space.store();
    let now = app.current_time();
    let (agents, _) = load_known_agents(store.as_ref()).await?;
    let Some(agent) = agents.get(&rule.agent).filter(|known| known.active) else {
        let text = format!(
            "A mail fits a rule of {}, and there is no such agent that runs.",
            came.found.line.name
        );
        let title = format!("The agent {} was not started", rule.agent);
        let notice =
            Notice { kind: NoticeKind::Agent, title, text, link: "/mail".into(), offer: None };
        app.notices.notify_person(&person.id, notice).await;
        return Ok(true);
    };
    let line = &came.found.line;
    let tick = format!("mail {}/{}#{}#{}", line.name, line.folder, came.validity, came.number);
    let origin = format!("{MAIL_ORIGIN}{}", came.mail.sender);
    // Whoever nobody checked may be anybody.
    let answers = rule.answers && came.mail.authenticated;
    let label = Label::private(Integrity::External, origin.clone());
    let kept = StoredItem {
        what: KEPT_GIVEN.into(),
        name: given_name(&rule.agent, &tick),
        text: rules::mail_text_for_agent(came.mail),
        state: if answers { GIVEN_ANSWERS } else { GIVEN_WAITS }.into(),
        hash: String::new(),
        version: 1,
        label: label.joined_with(&Label::external(origin.clone())),
        by: origin,
        ts: now,
    };
    store.store_item(&kept).await?;
    let run = AgentRun { claimed: now, ..AgentRun::new(&agent.agent, AgentCause::Mail, tick, now) };
    let claims = store.claim_ticks(std::slice::from_ref(&run), None).await?;
    match claims.first() {
        Some(TickClaim::Claimed) => Ok(true),
        Some(TickClaim::Overlaps) => Ok(false),
        // It was started before a crash, or at another replica; what was kept is not needed twice.
        Some(TickClaim::Taken) | None => {
            let open = weir_engine::ports::AgentRunFilter {
                agent: Some(rule.agent.clone()),
                open: true,
                ..weir_engine::ports::AgentRunFilter::default()
            };
            let runs = store.agent_runs(&open).await?;
            if !runs.iter().any(|open| open.tick == run.tick) {
                store.remove_stored_item(KEPT_GIVEN, &kept.name).await?;
            }
            Ok(true)
        }
    }
}

async fn read_place(
    app: &App,
    found: &MailAccountEntry,
) -> Result<Option<MailboxPosition>, InstallationError> {
    let name = entry_name(&found.owner, &found.line.name);
    let entry = app.records.get(PLACE, &name, app.current_time()).await?;
    Ok(entry.and_then(|entry| serde_json::from_str(&entry.text).ok()))
}

async fn write_place(
    app: &App,
    found: &MailAccountEntry,
    place: MailboxPosition,
) -> Result<(), InstallationError> {
    let text =
        serde_json::to_string(&place).map_err(|e| InstallationError::Failed(e.to_string()))?;
    let entry = RecordEntry {
        kind: PLACE.into(),
        name: entry_name(&found.owner, &found.line.name),
        owner: found.owner.0.clone(),
        text,
        version: 0,
        expires: None,
        ts: app.current_time(),
    };
    app.records.put(&entry, None).await?;
    Ok(())
}
