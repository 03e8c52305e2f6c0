//! What several tests of this crate set up: an installation in a folder of the test, and a journal that is
//! written fact by fact. Not here: the program (`weir-test-kit`), played sessions (`weir-scenario`).

use weir_core::event::{Event, ModelRetried};
use weir_core::ids::{Seq, SessionId, Timestamp, TurnId};
use weir_core::model::{FailureClass, Usage};
use weir_core::record::{GENESIS, Record};
use weir_core::view::wire::fact_record;
use weir_engine::ports::{Append, Lease, SessionMeta, Store};
use weir_store::this_process;
use weir_test_kit::TestFolder;

use crate::context::{InstallationContext, NamedFolders};
use crate::environment::ProcessEnvironment;
use crate::notifier::Notifier;

/// When everything in a written journal happened.
pub(crate) const NOW: Timestamp = Timestamp(1_767_367_800_000_000);

/// An installation whose home, settings, state and workspace lie in `folder`, with more variables.
pub(crate) fn context_with(folder: &TestFolder, variables: &[(&str, &str)]) -> InstallationContext {
    let at = |path: &str| folder.path().join(path).display().to_string();
    let (home, config) = (at("home"), at("config"));
    let mut all = vec![("HOME", home.as_str()), ("XDG_CONFIG_HOME", config.as_str())];
    all.extend(variables);
    let named = NamedFolders {
        workspace: Some(folder.path().join("work")),
        state_dir: Some(folder.path().join("state")),
    };
    InstallationContext::new(&named, ProcessEnvironment::of(&all), Notifier::SILENT)
        .expect("the house stands")
}

/// The same with no other variables.
pub(crate) fn context_in(folder: &TestFolder) -> InstallationContext {
    context_with(folder, &[])
}

/// Someone who writes a journal.
pub(crate) struct JournalWriter {
    lease: Lease,
    /// Facts that are written.
    pub(crate) facts: Seq,
    /// Hash of the last of them.
    pub(crate) last: String,
}

impl JournalWriter {
    pub(crate) async fn of(store: &dyn Store, id: &SessionId) -> JournalWriter {
        let lease = store.acquire_lease(id, &this_process("test")).await.expect("free");
        JournalWriter { lease, facts: 0, last: GENESIS.to_string() }
    }

    /// The line of the session in lists.
    pub(crate) fn meta(&self) -> SessionMeta {
        SessionMeta {
            id: self.lease.session.clone(),
            workspace: "/w".into(),
            title: "Weave".into(),
            model: "acme/large".into(),
            profile: "code".into(),
            status: "idle".into(),
            created: NOW,
            updated: NOW,
            facts: self.facts,
            parent: None,
        }
    }

    pub(crate) async fn write_facts(&mut self, store: &dyn Store, events: &[Event]) {
        let expected = self.facts;
        let mut records = Vec::new();
        for event in events {
            self.facts += 1;
            let record = fact_record(&self.lease.session, self.facts, NOW, event, &self.last);
            self.last.clone_from(&record.hash);
            records.push(record);
        }
        self.write_records(store, expected, records).await;
    }

    pub(crate) async fn write_records(
        &self,
        store: &dyn Store,
        expected: Seq,
        records: Vec<Record>,
    ) {
        let append = Append::of_records(self.lease.clone(), expected, records, self.meta());
        store.append(append).await.expect("it fits");
    }
}

/// A request that failed, and used ten tokens and half a dollar.
pub(crate) fn failed_request() -> Event {
    ModelRetried {
        turn: TurnId(1),
        attempt: 1,
        class: FailureClass::Overloaded,
        wait_ms: 0,
        message: String::new(),
        usage: Usage { input: 10, ..Usage::default() },
        cost_usd: Some(0.5),
    }
    .into()
}
