//! Several programs over one place of sessions and one workspace, each with an engine and a store of
//! its own: for what must hold wherever a session runs, and when one of them dies. Not here: what must
//! hold (`tests/scenarios/host.rs`).

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use weir_core::ids::SessionId;
use weir_engine::engine::{Engine, EngineError};
use weir_engine::host::{
    HostParts, LiveSession, SessionAccess, SessionHost, SessionPlace, SessionState, SessionView,
};
use weir_engine::ports::{LeaseOwner, Store, StoreError};
use weir_store::{PostgresOptions, PostgresStores, open_store, this_process};
use weir_test_kit::TestDatabase;

use crate::crash::CrashPoint;
use crate::parse::Scenario;
use crate::play::{Depth, EngineSeat, World};
use crate::world::WorldClock;

/// The leases of a replica last longer than any test.
const LEASE: Duration = Duration::from_secs(3_600);
/// Connections of a replica: enough for what one session of a test does at once.
const CONNECTIONS: u32 = 4;

/// Where the programs of a machine keep sessions.
#[derive(Clone)]
pub enum Place {
    /// In memory: one store for all of them.
    Memory,
    /// In one folder: each opens its files, as processes of one machine do.
    Folder,
    /// In one database: each connects to it, as replicas of a server do.
    Database(Arc<TestDatabase>),
}

/// One place of sessions, at which programs come and go.
pub struct Machine {
    world: World,
    scenario: Scenario,
    clock: Arc<WorldClock>,
    place: Place,
    /// Whose the sessions of a database are.
    person: String,
    /// The connections of whoever only looks.
    observer: Option<PostgresStores>,
}

/// What a program does with a session that nobody runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It takes it up.
    Up,
    /// It writes beside the loop.
    Nothing,
}

/// A program on that machine. All programs of a test live in one process; where leases tell the
/// living from the dead by their process, each has one that stands for it.
pub struct Program {
    machine: Arc<Machine>,
    engine: Engine,
    takes: Takes,
    point: Arc<CrashPoint>,
    body: Mutex<Option<ProgramBody>>,
    replica: Mutex<Option<PostgresStores>>,
    live: Mutex<Option<Arc<LiveSession>>>,
}

/// A process that does nothing and lives as long as the program for which it stands.
struct ProgramBody(Child);

impl Machine {
    /// A machine with the files and the scripted model of `scenario`.
    ///
    /// # Errors
    /// It cannot be set up.
    pub async fn new(scenario: Scenario, place: Place) -> anyhow::Result<Arc<Machine>> {
        let depth = match place {
            Place::Folder => Depth::Disk,
            Place::Memory | Place::Database(_) => Depth::Memory,
        };
        let mut world = World::new(&scenario, depth)?;
        let clock = WorldClock::starting_at(Duration::ZERO);
        let (mut person, mut observer) = (String::new(), None);
        if let Place::Database(database) = &place {
            person = database.new_person();
            let stores = observer.insert(connect(database).await?);
            world.store = Arc::new(stores.store_of_owner(&person).await?);
        }
        Ok(Arc::new(Machine { world, scenario, clock, place, person, observer }))
    }

    /// Closes its connections: nothing can be looked at from now on.
    pub async fn close(&self) {
        if let Some(observer) = &self.observer {
            // It holds no lease, so there is nothing that the database must be told.
            let _ = observer.close().await;
        }
    }

    /// What all its programs keep, as somebody sees it who is none of them.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.world.store
    }

    /// Starts a program.
    ///
    /// # Errors
    /// Its store or engine cannot be made.
    pub async fn start(
        self: &Arc<Machine>,
        label: &str,
        takes: Takes,
    ) -> anyhow::Result<Arc<Program>> {
        let point = CrashPoint::new(0);
        let mut replica = None;
        let (store, body): (Arc<dyn Store>, _) = match &self.place {
            Place::Memory => (self.world.store.clone(), Some(ProgramBody::start()?)),
            Place::Folder => {
                let location = format!("sqlite:{}", self.world.state_folder().display());
                (open_store(&location)?, Some(ProgramBody::start()?))
            }
            Place::Database(database) => {
                let stores = replica.insert(connect(database).await?);
                (Arc::new(stores.store_of_owner(&self.person).await?), None)
            }
        };
        let owner = match &body {
            Some(body) => body.owner(label)?,
            None => this_process(label),
        };
        let seat = EngineSeat { owner, store, point: point.clone(), clock: self.clock.clone() };
        let engine = self.world.engine_of_program(&self.scenario.setup, seat)?;
        let (body, replica, live) = (Mutex::new(body), Mutex::new(replica), Mutex::default());
        let machine = self.clone();
        Ok(Arc::new(Program { machine, engine, takes, point, body, replica, live }))
    }
}

/// One more replica at the database.
async fn connect(database: &TestDatabase) -> anyhow::Result<PostgresStores> {
    let options = PostgresOptions { lease: LEASE, connections: CONNECTIONS };
    Ok(PostgresStores::connect_with(&database.url, &options).await?)
}

impl ProgramBody {
    fn start() -> anyhow::Result<ProgramBody> {
        let mut command = Command::new("sleep");
        let command = command.arg("600").stdin(Stdio::null()).stdout(Stdio::null());
        Ok(ProgramBody(command.spawn().context("there is a program called sleep")?))
    }

    /// It as the owner of leases.
    fn owner(&self, label: &str) -> anyhow::Result<LeaseOwner> {
        let pid = self.0.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // Behind the name, which may hold anything; the time of its start is the 22nd field.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let started = behind.split_whitespace().nth(19).context("/proc/PID/stat has its fields")?;
        Ok(LeaseOwner { pid, started: started.parse()?, ..this_process(label) })
    }
}

impl Drop for ProgramBody {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Its way to sessions.
    pub fn host(self: &Arc<Program>) -> SessionHost<ProgramAccess> {
        let parts = HostParts::of_engine(self.engine.parts());
        SessionHost::new(ProgramAccess(self.clone()), parts)
    }

    /// Its engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The machine on which it runs.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Where it dies.
    pub fn point(&self) -> &Arc<CrashPoint> {
        &self.point
    }

    /// Begins a session.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn open(&self, id: &SessionId) -> anyhow::Result<Arc<LiveSession>> {
        let options =
            self.machine.world.options(&self.machine.scenario.setup, &self.point, None)?;
        let handle = self.engine.open(id.clone(), options).await?;
        Ok(self.admit(LiveSession::new(handle, SessionState::default())))
    }

    /// Takes a session up where nobody runs it.
    ///
    /// # Errors
    /// There is no such session, or it cannot be opened.
    pub async fn take_up(&self, id: &SessionId) -> anyhow::Result<SessionPlace> {
        let mut view = SessionView::of_journal(id.clone(), SessionState::default());
        view.catch_up(self.engine.parts().store.as_ref()).await?;
        let options =
            self.machine.world.options(&self.machine.scenario.setup, &self.point, None)?;
        match self.engine.resume(id.clone(), options).await {
            Ok(handle) => {
                let live = LiveSession::new(handle, view.read_state(Clone::clone));
                Ok(SessionPlace::Here(self.admit(live)))
            }
            Err(EngineError::Store(StoreError::Held { holder, .. })) => {
                Ok(SessionPlace::Elsewhere(holder))
            }
            Err(error) => Err(anyhow!(error)),
        }
    }

    /// Ends where it stands: its session is free from now on, and its connections are closed.
    pub async fn end(&self) {
        let live = self.lock_live().take();
        if let Some(live) = live {
            live.handle().request_stop().await;
            live.handle().wait_until_ended().await;
        }
        let replica = self.replica.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(replica) = replica {
            // What the database was not told is over with the lease.
            let _ = replica.close().await;
        }
    }

    /// Dies, as by SIGKILL: nothing that it does comes through any more, and nobody gives back what
    /// it holds. The leases of a replica are over, as they are when its time has passed.
    ///
    /// # Errors
    /// The database does not take it.
    pub async fn die(&self) -> anyhow::Result<()> {
        if !self.point.is_crashed() {
            self.point.stop_after(1);
        }
        self.lock_live().take();
        self.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        let replica = {
            let replica = self.replica.lock().unwrap_or_else(PoisonError::into_inner);
            replica.as_ref().map(|replica| replica.replica_id().to_owned())
        };
        match (&self.machine.place, replica) {
            (Place::Database(database), Some(replica)) => {
                let there = database.end_leases_of(&replica).await?;
                ensure!(there, "no replica {replica} holds anything");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn admit(&self, live: LiveSession) -> Arc<LiveSession> {
        let live = Arc::new(live);
        *self.lock_live() = Some(live.clone());
        tokio::spawn(live.clone().follow_facts());
        live
    }

    fn lock_live(&self) -> std::sync::MutexGuard<'_, Option<Arc<LiveSession>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sessions of a program, as its host finds and opens them.
pub struct ProgramAccess(Arc<Program>);

impl SessionAccess for ProgramAccess {
    type Error = anyhow::Error;

    fn find_live(&self, session: &SessionId) -> Option<Arc<LiveSession>> {
        let live = self.0.lock_live().clone();
        live.filter(|live| live.id() == session && !live.is_over())
    }

    async fn take_up(&self, session: &SessionId) -> anyhow::Result<SessionPlace> {
        match (self.find_live(session), self.0.takes) {
            (Some(live), _) => Ok(SessionPlace::Here(live)),
            (None, Takes::Up) => self.0.take_up(session).await.context("it cannot be taken up"),
            (None, Takes::Nothing) => Ok(SessionPlace::Nowhere),
        }
    }
}
