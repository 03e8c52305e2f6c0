//! What `weir sessions show` prints of a journal that stands in no store. For tests that hold all
//! faces against each other.

use weir_core::ids::SessionId;
use weir_core::session::Session;
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::status_word;
use weir_engine::ports::SessionMeta;
use weir_install::sessions::{SessionSummary, transcript};

/// The lines above the conversation.
pub(in crate::command) fn summary(id: &SessionId, facts: &[PublishedFact]) -> String {
    let meta = meta(id, facts);
    let status = meta.status.clone();
    SessionSummary::from_facts(&meta, status, facts).summary_text()
}

/// The conversation.
pub(in crate::command) fn conversation(facts: &[PublishedFact]) -> String {
    let mut reader = transcript::ConversationReader::default();
    facts.iter().filter_map(|fact| reader.read_brief_text(fact)).collect::<Vec<_>>().join("\n")
}

/// What a store would keep of the session.
fn meta(id: &SessionId, facts: &[PublishedFact]) -> SessionMeta {
    let mut session = Session::new(id.clone());
    facts.iter().for_each(|fact| session.apply(fact.ts, &fact.event));
    let config = session.config().expect("the first fact opens the session");
    SessionMeta {
        id: id.clone(),
        workspace: config.workspace.clone(),
        title: session.title().to_owned(),
        model: config.model.model.to_string(),
        profile: config.profile.name.clone(),
        status: status_word(&session),
        created: facts.first().map(|fact| fact.ts).unwrap_or_default(),
        updated: session.last_fact_time(),
        facts: facts.len() as u64,
        parent: None,
    }
}
