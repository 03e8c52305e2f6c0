//! What all sessions of an engine share: the ports, and what the program knows about itself. Not here:
//! what one session has beside them (`session_options`).

use std::sync::Arc;

use weir_core::ids::Seq;

use crate::ports::{
    Checkpoints, Clock, DocumentReaders, Hooks, LeaseOwner, Model, ObserverList, OwnGate,
    Processes, Store, Web,
};
use crate::toolbox::Toolbox;

/// What all sessions of an engine share.
pub struct EngineParts {
    /// Journal and what is kept beside it.
    pub store: Arc<dyn Store>,
    /// Files as they were.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// The clock that tells the time.
    pub clock: Arc<dyn Clock>,
    /// Tools.
    pub toolbox: Arc<Toolbox>,
    /// Commands.
    pub processes: Arc<dyn Processes>,
    /// The network.
    pub web: Arc<dyn Web>,
    /// Readers of images and PDFs.
    pub documents: Arc<dyn DocumentReaders>,
    /// The person's hooks.
    pub hooks: Arc<dyn Hooks>,
    /// Gates of the program around the engine: each is asked about every call, and can only narrow.
    pub gates: Vec<Arc<dyn OwnGate>>,
    /// The model that is asked about calls and foreign content; none: each session's own.
    pub judge: Option<Arc<dyn Model>>,
    /// The model that summarises what no longer fits; none: each session's own.
    pub condenser: Option<Arc<dyn Model>>,
    /// The model that fills recipes in; none: each session's own.
    pub planner: Option<Arc<dyn Model>>,
    /// The stronger model that the agent may ask a few times a run; none: it cannot ask.
    pub flagship: Option<Arc<dyn Model>>,
    /// This process as the owner of leases.
    pub owner: LeaseOwner,
    /// On whose behalf: the name that stands in audit lines.
    pub principal: String,
    /// Version of the program.
    pub version: String,
    /// Values that must never reach model, log or screen.
    pub secrets: Vec<String>,
    /// Facts after which the fold of a session that runs is kept again beside its journal, so that it opens
    /// quickly however long it is (Q10); 0: never. [`crate::engine::SNAPSHOT_EVERY`] is a good one.
    pub snapshot_every: Seq,
    /// Observers that count and time what happens.
    pub observers: Arc<ObserverList>,
}
