//! All accounts of the installation: a task for each that is followed, begun and ended as people
//! change them.

use std::collections::HashMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_install::mail::accounts::{self, MailAccountEntry, entry_name};

use super::follow::follow_account;
use crate::app::App;
use crate::app::follow_status::FollowStatus;
use crate::auth;

/// First wait after a failure, and the longest.
const RETRY_FIRST: Duration = Duration::from_secs(5);
const RETRY_LAST: Duration = Duration::from_secs(15 * 60);
/// How often accounts are looked at although nobody said that they changed.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

struct FollowTask {
    version: u64,
    stop: CancellationToken,
}

/// Follows every account that is switched on, until the server ends.
pub(crate) async fn watch_mail_accounts(app: App) {
    let mut tasks: HashMap<String, FollowTask> = HashMap::new();
    loop {
        match accounts::list_mail_accounts(app.records.as_ref(), None, app.current_time()).await {
            Ok(found) => update_follow_tasks(&app, &mut tasks, found).await,
            Err(error) => tracing::warn!(%error, "mail accounts could not be read"),
        }
        tokio::select! {
            () = app.stop.cancelled() => break,
            () = app.records.wait_for_change() => (),
            () = tokio::time::sleep(LOOK_AGAIN) => (),
        }
    }
    for task in tasks.into_values() {
        task.stop.cancel();
    }
}

/// Begins what is new, ends what is gone or changed.
async fn update_follow_tasks(
    app: &App,
    tasks: &mut HashMap<String, FollowTask>,
    found: Vec<MailAccountEntry>,
) {
    let mut wanted = HashMap::new();
    for found in found.into_iter().filter(|found| found.line.enabled) {
        wanted.insert(entry_name(&found.owner, &found.line.name), found);
    }
    tasks.retain(|name, task| {
        let stays = wanted.get(name).is_some_and(|found| found.version == task.version);
        if !stays {
            task.stop.cancel();
            app.mail.set_status(name, None);
        }
        stays
    });
    for (name, found) in wanted {
        if !tasks.contains_key(&name) {
            let stop = app.stop.child_token();
            tasks.insert(name.clone(), FollowTask { version: found.version, stop: stop.clone() });
            tokio::spawn(follow_with_retries(app.clone(), name, found, stop));
        }
    }
}

/// One account: tried again and again, less and less often while it fails.
async fn follow_with_retries(
    app: App,
    name: String,
    found: MailAccountEntry,
    stop: CancellationToken,
) {
    let mut wait = RETRY_FIRST;
    while !stop.is_cancelled() {
        let began = tokio::time::Instant::now();
        let person = auth::accounts::get(&app.auth.shelf, found.owner.as_str()).await;
        let why = match person {
            // Nothing of somebody who may not come in runs.
            Ok(None) => "there is no such person any more".to_owned(),
            Ok(Some(person)) if person.disabled => "the account is switched off".to_owned(),
            Err(problem) => problem.detail,
            Ok(Some(person)) => tokio::select! {
                biased;
                () = stop.cancelled() => return,
                done = follow_account(&app, &person, &found) => match done {
                    Ok(()) => continue,
                    Err(error) => error.to_string(),
                },
            },
        };
        tracing::warn!(account = name, why, "a mail account is not followed");
        app.mail
            .set_status(&name, Some(FollowStatus { why: Some(why), since: app.current_time() }));
        // A line that held for long is no failure to be punished for.
        wait = if began.elapsed() > RETRY_LAST { RETRY_FIRST } else { wait };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => (),
        }
        wait = (wait * 2).min(RETRY_LAST);
    }
}
