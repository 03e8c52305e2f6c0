//! Several programs over one store and one workspace, each with an engine of its own: for what must
//! hold wherever a session runs. Not here: what must hold (`tests/scenarios/host.rs`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use weir_core::ids::SessionId;
use weir_engine::engine::{Engine, EngineError};
use weir_engine::host::{
    HostParts, LiveSession, SessionAccess, SessionHost, SessionPlace, SessionState, SessionView,
};
use weir_engine::ports::{Store, StoreError};
use weir_store::this_process;

use crate::crash::CrashPoint;
use crate::parse::Scenario;
use crate::play::{Depth, World};
use crate::world::WorldClock;

/// One machine with a store, on which programs come and go.
pub struct Machine {
    world: World,
    scenario: Scenario,
    clock: Arc<WorldClock>,
}

/// What a program does with a session that nobody runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It takes it up.
    Up,
    /// It writes beside the loop.
    Nothing,
}

/// A program on that machine. All programs of a test live in one process, and each of them is a
/// living owner of what it holds.
pub struct Program {
    machine: Arc<Machine>,
    engine: Engine,
    takes: Takes,
    live: Mutex<Option<Arc<LiveSession>>>,
}

impl Machine {
    /// A machine with the files and the scripted model of `scenario`.
    ///
    /// # Errors
    /// It cannot be set up.
    pub fn new(scenario: Scenario, depth: Depth) -> anyhow::Result<Arc<Machine>> {
        let world = World::new(&scenario, depth)?;
        let clock = WorldClock::starting_at(Duration::ZERO);
        Ok(Arc::new(Machine { world, scenario, clock }))
    }

    /// The store of all its programs.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.world.store
    }

    /// Starts a program.
    ///
    /// # Errors
    /// Its engine cannot be made.
    pub fn start(self: &Arc<Machine>, label: &str, takes: Takes) -> anyhow::Result<Arc<Program>> {
        let (owner, point) = (this_process(label), CrashPoint::new(0));
        let setup = &self.scenario.setup;
        let engine = self.world.engine_of(owner, setup, &point, self.clock.clone())?;
        let (machine, live) = (self.clone(), Mutex::default());
        Ok(Arc::new(Program { machine, engine, takes, live }))
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

    /// Begins a session.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn open(&self, id: &SessionId) -> anyhow::Result<Arc<LiveSession>> {
        let options =
            self.machine.world.options(&self.machine.scenario.setup, &CrashPoint::new(0))?;
        let handle = self.engine.open(id.clone(), options).await?;
        Ok(self.admit(LiveSession::new(handle, SessionState::default())))
    }

    /// Ends where it stands: its session is free from now on.
    pub async fn end(&self) {
        let live = self.lock().take();
        if let Some(live) = live {
            live.handle().request_stop().await;
            live.handle().wait_until_ended().await;
        }
    }

    fn admit(&self, live: LiveSession) -> Arc<LiveSession> {
        let live = Arc::new(live);
        *self.lock() = Some(live.clone());
        tokio::spawn(live.clone().follow_facts());
        live
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<LiveSession>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn resume(&self, id: &SessionId) -> anyhow::Result<SessionPlace> {
        let mut view = SessionView::of_journal(id.clone(), SessionState::default());
        view.catch_up(self.machine.store().as_ref()).await?;
        let options =
            self.machine.world.options(&self.machine.scenario.setup, &CrashPoint::new(0))?;
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
}

/// The sessions of a program, as its host finds and opens them.
pub struct ProgramAccess(Arc<Program>);

impl SessionAccess for ProgramAccess {
    type Error = anyhow::Error;

    fn find_live(&self, session: &SessionId) -> Option<Arc<LiveSession>> {
        let live = self.0.lock().clone();
        live.filter(|live| live.id() == session && !live.is_over())
    }

    async fn take_up(&self, session: &SessionId) -> anyhow::Result<SessionPlace> {
        match (self.find_live(session), self.0.takes) {
            (Some(live), _) => Ok(SessionPlace::Here(live)),
            (None, Takes::Up) => self.0.resume(session).await.context("it cannot be taken up"),
            (None, Takes::Nothing) => Ok(SessionPlace::Nowhere),
        }
    }
}
