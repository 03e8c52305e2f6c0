//! Programs of everybody that call tools over MCP (R2): each person has an agent of their own behind them,
//! made of their settings and of the rights that they have now. Not here: the address and who may ask there
//! (`mcp`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_install::failure::InstallationError;
use weir_install::mcp_serving::ClientAgent;
use weir_install::people::{Person, PersonId};
use weir_install::user_space::UserSpace;
use weir_mcp_server::{HttpClients, HttpOptions};

use crate::auth::accounts;
use crate::auth::shelf::TypedRecords;

/// The address at which they ask.
pub(crate) const MCP_PATH: &str = "/mcp";
/// How long an agent is kept for programs that ask nothing: longer than a connection that says nothing is.
const IDLE_MAX: Duration = Duration::from_secs(65 * 60);

/// The programs of one person.
pub(crate) struct PersonClients {
    pub(crate) http: HttpClients,
    /// Cancelled when they are served no longer.
    pub(crate) stop: CancellationToken,
    agent: Arc<ClientAgent>,
    /// What the agent was made of. Held, so that its revision goes on counting: a space that was made anew
    /// would count from the beginning, and look unchanged.
    space: Arc<UserSpace>,
    /// Of the settings that the agent was made of.
    revision: u64,
    used: Mutex<Instant>,
}

impl PersonClients {
    fn note_used(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_unused(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.agent.is_idle() && used.elapsed() > IDLE_MAX
    }

    /// Ends what is on, idle or not, and every connection.
    async fn end_clients(&self) {
        self.agent.close_agent().await;
        self.stop.cancel();
    }
}

/// Where the programs of one person are served. Held while their agent is made or ended, which may take long:
/// so each person has one of their own.
#[derive(Default)]
struct PersonPlace {
    /// Cancelled when nothing is made here any more.
    ended: CancellationToken,
    clients: tokio::sync::Mutex<Option<Arc<PersonClients>>>,
}

impl PersonPlace {
    async fn current_clients(
        &self,
        space: &Arc<UserSpace>,
        options: HttpOptions,
    ) -> Result<Arc<PersonClients>, InstallationError> {
        let mut there = self.clients.lock().await;
        let look = space.look_at_settings().await?;
        let revision = look.revision();
        // Another space is one of other rights: nothing goes on with those of before.
        if let Some(clients) = there.as_ref().filter(|one| Arc::ptr_eq(&one.space, space)) {
            let is_current = clients.revision == revision;
            if is_current || !clients.agent.is_idle() {
                if !is_current {
                    clients.agent.refuse_new_calls();
                }
                clients.note_used();
                return Ok(clients.clone());
            }
        }
        if let Some(old) = there.take() {
            old.end_clients().await;
        }
        let agent = Arc::new(space.mcp_agent(&look).await?);
        let stop = options.stop.clone();
        let http = HttpClients::new(agent.clone(), options);
        let used = Mutex::new(Instant::now());
        let space = space.clone();
        let clients = Arc::new(PersonClients { http, stop, agent, space, revision, used });
        *there = Some(clients.clone());
        Ok(clients)
    }

    async fn end_place(&self) {
        // Whatever is being made stops being made, and gives the place free.
        self.ended.cancel();
        if let Some(clients) = self.clients.lock().await.take() {
            clients.end_clients().await;
        }
    }
}

/// The programs of everybody.
#[derive(Default)]
pub(crate) struct McpClients {
    places: Mutex<HashMap<PersonId, Arc<PersonPlace>>>,
}

impl McpClients {
    /// The programs of a person, with their settings as they are now once nothing is under way.
    ///
    /// # Errors
    /// The settings cannot be used, the database does not answer, or the person's rights changed meanwhile.
    pub(crate) async fn clients_of(
        &self,
        space: &Arc<UserSpace>,
        options: HttpOptions,
    ) -> Result<Arc<PersonClients>, InstallationError> {
        let place = self.place_of(space.person());
        tokio::select! {
            biased;
            () = place.ended.cancelled() => Err(InstallationError::Refused(
                "what this account may do has changed; begin again".into(),
            )),
            clients = place.current_clients(space, options) => clients,
        }
    }

    /// Ends what programs of a person have under way: their account is disabled or removed, their tokens are
    /// revoked, or they have another role.
    pub(crate) async fn end_person(&self, person: &PersonId) {
        let place = self.lock_places().remove(person);
        if let Some(place) = place {
            place.end_place().await;
        }
    }

    /// Ends what is on and gives every session back.
    pub(crate) async fn close_all(&self) {
        let places = std::mem::take(&mut *self.lock_places());
        join_all(places.values().map(|place| place.end_place())).await;
    }

    /// Ends agents that nobody uses, and those of people whose account is another one by now, also where
    /// another replica was told so.
    pub(crate) async fn end_those_over(&self, shelf: &TypedRecords) {
        let all: Vec<(PersonId, Arc<PersonPlace>)> =
            self.lock_places().iter().map(|(id, place)| (id.clone(), place.clone())).collect();
        for (id, place) in all {
            // One that is being made is in use.
            let Ok(there) = place.clients.try_lock() else { continue };
            let Some(clients) = there.clone() else { continue };
            drop(there);
            let is_over = clients.is_unused()
                || match accounts::get(shelf, id.as_str()).await {
                    Ok(found) => !found.is_some_and(|person| may_go_on(&person, &clients.space)),
                    Err(problem) => {
                        tracing::warn!(why = %problem.detail, "whose calls go on could not be looked up");
                        false
                    }
                };
            if is_over {
                self.end_person(&id).await;
            }
        }
    }

    fn place_of(&self, person: &PersonId) -> Arc<PersonPlace> {
        self.lock_places().entry(person.clone()).or_default().clone()
    }

    fn lock_places(&self) -> std::sync::MutexGuard<'_, HashMap<PersonId, Arc<PersonPlace>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an agent that was made in this space is still what its person may have.
fn may_go_on(person: &Person, space: &UserSpace) -> bool {
    !person.disabled && person.role == space.role()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn r2_one_person_whose_agent_is_slow_to_start_holds_nobody_else_up() {
        let clients = McpClients::default();
        let (ann, bob) = (PersonId("ann".into()), PersonId("bob".into()));
        let anns = clients.place_of(&ann);
        let _making = anns.clients.lock().await;
        assert!(clients.place_of(&ann).clients.try_lock().is_err(), "one agent for one person");
        assert!(clients.place_of(&bob).clients.try_lock().is_ok());
    }

    #[tokio::test]
    async fn r2_nothing_is_made_in_a_place_that_has_ended() {
        let clients = McpClients::default();
        let ann = PersonId("ann".into());
        let before = clients.place_of(&ann);
        clients.end_person(&ann).await;
        assert!(before.ended.is_cancelled());
        assert!(!clients.place_of(&ann).ended.is_cancelled(), "who is let in again begins anew");
    }
}
