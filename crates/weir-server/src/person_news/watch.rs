//! Who is watched for things to tell (R5): everybody who has a channel, wherever their sessions run,
//! since other programs use the same store; and for the bell alone whoever's session here says that
//! something happened. Not here: what is told, and whether it was (`news`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_core::ids::Timestamp;
use weir_install::people::{Person, PersonId};

use super::news::PersonNews;
use crate::app::App;
use crate::live::recovery;
use crate::notify::channels;
use crate::problem::HandlerResult;

/// People and their channels are looked at at most so often, and at least so often.
const PEOPLE_PAUSE: Duration = Duration::from_secs(1);
const PEOPLE_EVERY: Duration = Duration::from_secs(20);
/// How long new facts may wait for company before somebody's sessions are looked at again.
const COMPANY: Duration = Duration::from_secs(1);
/// How often they are looked at although nobody announced anything.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How long until a look is tried again that failed.
const RETRY: Duration = Duration::from_secs(10);

/// A person who is watched: since when they have a channel; `None`: they have none.
struct WatchedPerson {
    channel: Option<Timestamp>,
    stop: CancellationToken,
}

/// Tells everybody what is to be told, until the server ends.
pub(crate) async fn watch_people(app: App) {
    let mut watched: HashMap<PersonId, WatchedPerson> = HashMap::new();
    let mut tasks: JoinSet<PersonId> = JoinSet::new();
    // Whatever happened while no server ran is looked for once, for everybody.
    let mut has_looked = false;
    let mut woken: BTreeSet<PersonId> = BTreeSet::new();
    loop {
        while let Some(ended) = tasks.try_join_next() {
            forget_ended(&mut watched, ended);
        }
        match people_and_channels(&app).await {
            Ok((people, channels)) => {
                if !has_looked {
                    woken.extend(people.iter().map(|person| person.id.clone()));
                    has_looked = true;
                }
                watched.iter().for_each(|(id, person)| {
                    let known = people.iter().any(|person| person.id == *id);
                    if !known || person.channel != channels.get(id).copied() {
                        person.stop.cancel();
                    }
                });
                for person in people {
                    let channel = channels.get(&person.id).copied();
                    let is_due = channel.is_some() || woken.contains(&person.id);
                    if !is_due || watched.contains_key(&person.id) {
                        continue;
                    }
                    woken.remove(&person.id);
                    let stop = app.stop.child_token();
                    let entry = WatchedPerson { channel, stop: stop.clone() };
                    watched.insert(person.id.clone(), entry);
                    tasks.spawn(watch_person(app.clone(), person, channel, stop));
                }
            }
            Err(problem) => {
                tracing::warn!(why = %problem.detail, "it could not be looked whom to notify");
            }
        }
        tokio::select! {
            biased;
            () = app.stop.cancelled() => break,
            Some(ended) = tasks.join_next() => forget_ended(&mut watched, ended),
            people = app.notice_waker.wait_for_people() => woken.extend(people),
            () = app.records.wait_for_change() => (),
            () = tokio::time::sleep(PEOPLE_EVERY) => (),
        }
        tokio::select! {
            biased;
            () = app.stop.cancelled() => break,
            () = tokio::time::sleep(PEOPLE_PAUSE) => (),
        }
    }
    while tasks.join_next().await.is_some() {}
}

fn forget_ended(
    watched: &mut HashMap<PersonId, WatchedPerson>,
    ended: Result<PersonId, tokio::task::JoinError>,
) {
    if let Ok(person) = ended {
        watched.remove(&person);
    }
}

async fn people_and_channels(
    app: &App,
) -> HandlerResult<(Vec<Person>, BTreeMap<PersonId, Timestamp>)> {
    let people = recovery::list_active_people(app).await?;
    let channels = channels::channel_owners(app.records.as_ref(), app.current_time()).await?;
    Ok((people, channels))
}

/// Looks and tells: with a channel until it is stopped, without one until nothing is to come.
async fn watch_person(
    app: App,
    person: Person,
    channel: Option<Timestamp>,
    stop: CancellationToken,
) -> PersonId {
    let id = person.id.clone();
    let space = loop {
        match app.user_space(&person).await {
            Ok(space) => break space,
            Err(error) if channel.is_none() => {
                tracing::warn!(person = person.name, %error, "nothing can be told of them");
                return id;
            }
            Err(error) => {
                tracing::warn!(person = person.name, %error, "nothing can be told of them yet");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return id,
            () = tokio::time::sleep(RETRY) => (),
        }
    };
    let store = space.store();
    let mut news = PersonNews::new(app, space, channel);
    while !stop.is_cancelled() {
        let mut changed = pin!(store.journals_changed());
        // It listens from its first poll on: what is written during the look is not missed.
        let is_changed = futures::poll!(&mut changed).is_ready();
        let wait = match news.tell_news().await {
            Ok(wait) => wait,
            Err(problem) => {
                tracing::warn!(person = person.name, why = %problem.detail, "not told yet");
                Some(RETRY)
            }
        };
        if channel.is_none() && wait.is_none() {
            break;
        }
        let heard = async {
            if channel.is_none() {
                return std::future::pending().await;
            }
            if !is_changed {
                changed.await;
            }
            tokio::time::sleep(COMPANY).await;
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = heard => (),
            () = tokio::time::sleep(wait.unwrap_or(LOOK_EVERY)) => (),
        }
    }
    id
}
