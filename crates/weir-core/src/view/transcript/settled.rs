//! Places at which nothing is open: all that stands before one was said and done, and no later fact
//! changes it. What is seen of a session is kept at such a place and gone on with from there, and older
//! parts of it are read from one on (Q10). Not here: the entries that a client has, and where anything is
//! kept.

use serde::{Deserialize, Serialize};

use crate::event::{RunFinished, SharedFact};
use crate::ids::{CallId, Seq, Timestamp};
use crate::session::handles::HandleTable;
use crate::tool::PlanItem;

use super::{
    Activity, BackgroundJob, CallEntry, SeenFact, SessionMeters, Transcript, UnknownCall,
    VisibleSettings,
};

/// A place in a journal at which nothing was open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledPlace {
    /// The last fact before it; 0: the beginning.
    pub seq: Seq,
    /// A run was on.
    is_running: bool,
    /// The last call that had been asked for.
    last_call: Option<CallId>,
    /// What held.
    settings: VisibleSettings,
}

impl SettledPlace {
    /// The beginning of every journal.
    pub const START: SettledPlace = SettledPlace {
        seq: 0,
        is_running: false,
        last_call: None,
        settings: VisibleSettings {
            model: String::new(),
            profile: String::new(),
            permission: None,
            thinking: None,
        },
    };
}

/// What is seen of a session at a place at which nothing is open, as it is kept: all that later facts
/// depend on, and of what was said and done only how the last run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettledTranscript {
    place: SettledPlace,
    handles: HandleTable,
    unknown: Vec<UnknownCall>,
    jobs: Vec<BackgroundJob>,
    plan: Vec<PlanItem>,
    activity: Option<Activity>,
    /// Microseconds: as a date, one that no calendar reaches would be another.
    run_started: i64,
    ended: Option<SettledEnd>,
    meters: SessionMeters,
}

/// How the last run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SettledEnd {
    seq: Seq,
    /// Microseconds.
    ts: i64,
    fact: RunFinished,
}

impl SettledTranscript {
    /// Where it is.
    pub fn settled_place(&self) -> &SettledPlace {
        &self.place
    }

    /// What is seen there. Calls that are over are not in it.
    pub fn to_transcript(&self) -> Transcript {
        let ended = self.ended.as_ref().map(|end| SeenFact {
            seq: end.seq,
            ts: Timestamp(end.ts),
            fact: SharedFact::from(end.fact.clone()),
        });
        Transcript {
            seq: self.place.seq,
            last_call: self.place.last_call,
            handles: self.handles.clone(),
            unknown: self.unknown.clone(),
            jobs: self.jobs.clone(),
            plan: self.plan.clone(),
            activity: self.activity.clone(),
            is_running: self.place.is_running,
            run_started: Timestamp(self.run_started),
            ended,
            meters: self.meters.clone(),
            settings: self.place.settings.clone(),
            ..Transcript::default()
        }
    }
}

impl Transcript {
    /// Whether nothing is open.
    pub fn is_settled(&self) -> bool {
        self.undelivered.is_empty()
            && self.asks.is_empty()
            && self.pictures.is_empty()
            && !matches!(self.activity, Some(Activity::Retrying(_) | Activity::Paused(_)))
            && self.calls.values().all(CallEntry::is_settled)
    }

    /// Where this is, if nothing is open there.
    pub fn settled_place(&self) -> Option<SettledPlace> {
        self.is_settled().then(|| SettledPlace {
            seq: self.seq,
            is_running: self.is_running,
            last_call: self.last_call,
            settings: self.settings.clone(),
        })
    }

    /// What is to be kept of it, if nothing is open.
    pub fn to_settled(&self) -> Option<SettledTranscript> {
        let place = self.settled_place()?;
        let ended = self.ended.as_ref().map(|end| SettledEnd {
            seq: end.seq,
            ts: end.ts.micros(),
            fact: (*end.fact).clone(),
        });
        Some(SettledTranscript {
            place,
            handles: self.handles.clone(),
            unknown: self.unknown.clone(),
            jobs: self.jobs.clone(),
            plan: self.plan.clone(),
            activity: self.activity.clone(),
            run_started: self.run_started.micros(),
            ended,
            meters: self.meters.clone(),
        })
    }

    /// An empty one at an earlier place of its journal, for whoever reads again what was said and done
    /// after that. It knows the settings that held and the foreign words that stood beside the context
    /// there; numbers it does not know. `None`: what it must know cannot be known any more, and the journal has to be
    /// read from its beginning.
    pub fn at_earlier_place(&self, place: &SettledPlace) -> Option<Transcript> {
        let handles = self.handles.until_call(place.last_call)?;
        Some(Transcript {
            seq: place.seq,
            last_call: place.last_call,
            handles,
            is_running: place.is_running,
            settings: place.settings.clone(),
            ..Transcript::default()
        })
    }
}
