//! What `weir sessions show` prints of a journal that stands in no store. For tests that hold all
//! faces against each other.

use anyhow::ensure;
use serde_json::json;
use weir_core::ids::SessionId;
use weir_core::record::GENESIS;
use weir_core::session::Session;
use weir_core::view::wire::fact_record;
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::status_word;
use weir_engine::ports::{SessionMeta, UsageFilter, UsageNote, UsageRow};
use weir_install::sessions::last::read_end;
use weir_install::sessions::{SessionEnd, SessionSummary, transcript};
use weir_install::usage::journal::JournalUsage;

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

/// So many ends of a journal are held against all of it.
const ENDS_MAX: usize = 64;

/// Whatever end of the journal is read, it tells what all of it tells there (Q10).
///
/// # Errors
/// The place from which on it tells something else.
pub(in crate::command) fn check_ends(
    id: &SessionId,
    facts: &[PublishedFact],
) -> anyhow::Result<()> {
    let mut session = Session::new(id.clone());
    facts.iter().for_each(|fact| session.apply(fact.ts, &fact.event));
    let at_end = SessionEnd::of_session(&session);
    let mut reader = transcript::ConversationReader::default();
    let texts = facts.iter().filter_map(|fact| Some((fact.seq, reader.read_brief_text(fact)?)));
    let whole: Vec<(u64, String)> = texts.collect();
    let mut told = 0;
    for from in (1..facts.len()).step_by(facts.len() / ENDS_MAX + 1) {
        // What reaches back further is read from further back.
        let Some(end) = read_end(&at_end, &facts[from..]) else { continue };
        let end: Vec<(u64, String)> =
            end.into_iter().map(|entry| (entry.fact.seq, entry.text)).collect();
        let expected = &whole[whole.len().saturating_sub(end.len())..];
        ensure!(end == expected, "from fact {} on it tells {end:?}", facts[from].seq);
        let from = facts[from].seq;
        ensure!(
            end.len() == whole.iter().filter(|(seq, _)| *seq >= from).count(),
            "from fact {from} on it leaves something out"
        );
        told += 1;
    }
    ensure!(told > 0 || facts.len() < 2, "no end of the journal can be told alone");
    Ok(())
}

/// What the facts tell of settings and of what was used is what the fold of the session has (Q10).
///
/// # Errors
/// What differs.
pub(in crate::command) fn check_summary(
    id: &SessionId,
    facts: &[PublishedFact],
) -> anyhow::Result<()> {
    let meta = meta(id, facts);
    let mut session = Session::new(id.clone());
    facts.iter().for_each(|fact| session.apply(fact.ts, &fact.event));
    let of_facts = json!(SessionSummary::from_facts(&meta, meta.status.clone(), facts));
    let of_fold = json!(SessionEnd::of_session(&session).to_summary(&meta, meta.status.clone()));
    let permission = session.config().map(|config| config.permission.to_string());
    ensure!(of_facts["permission"] == json!(permission), "{permission:?} is shown as {of_facts}");
    for field in ["permission", "usage", "cost_usd"] {
        let (told, expected) = (&of_facts[field], &of_fold[field]);
        ensure!(told == expected, "{field} is told as {told}, and is {expected}");
    }
    Ok(())
}

/// What was used is the same where its fold was kept and read again on the way (Q10), and all that facts say (R11).
///
/// # Errors
/// A fold has no form as JSON, or says something else.
pub(in crate::command) fn check_kept_usage(
    id: &SessionId,
    facts: &[PublishedFact],
) -> anyhow::Result<()> {
    let (mut whole, mut kept) = (JournalUsage::default(), JournalUsage::default());
    let (mut session, mut said) = (Session::new(id.clone()), UsageRow::default());
    for fact in facts {
        session.apply(fact.ts, &fact.event);
        let notes = UsageNote::notes_for_event(&session, fact.ts, &fact.event);
        notes.iter().for_each(|note| said.add(note));
        let record = fact_record(id, fact.seq, fact.ts, &fact.event, GENESIS);
        whole.apply_record(&record);
        kept.apply_record(&record);
        let text = serde_json::to_string(&kept.to_kept())?;
        kept = serde_json::from_str(&text)?;
    }
    let (meta, all) = (meta(id, facts), UsageFilter::default());
    let (whole, kept) = (whole.sum_days(&meta, &all), kept.sum_days(&meta, &all));
    ensure!(whole == kept, "{kept:?} is kept of {whole:?}");
    let counts = (whole.usage, whole.replies, whole.runs);
    ensure!(counts == (said.usage, said.replies, said.runs), "{whole:?} is read of {said:?}");
    Ok(())
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
