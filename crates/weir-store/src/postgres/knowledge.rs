//! Facts remembered beyond a session, and proposals (M4): how they are written and read.
//!
//! What becomes of a fact that is said again, and when one takes the place of another, is decided in
//! `weir_core::memory`.

use sqlx::postgres::PgConnection;
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{
    MemoryFact, MemoryStatus, NewMemory, first_said, id_of, said_again, settled, takes_place,
};
use weir_engine::ports::{MemoryFilter, Proposal, StoreError};

use super::rows::{
    Statement, all, asked, cell, done, json, lexemes, limit_of, number, sealed, text, to_json,
};
use crate::journal::{check_inbox, check_proposals};
use crate::words::Words;

pub(super) const REMEMBERING: &str = "remembering a fact";
pub(super) const PROPOSING: &str = "putting something before the person";

/// One at a time for each owner: what is decided depends on what there is.
async fn lock(work: &mut PgConnection, doing: &str) -> Result<(), StoreError> {
    let query = sqlx::query(
        "SELECT pg_advisory_xact_lock(hashtextextended('weir knowledge '
           || current_setting('weir.owner'), 0))",
    );
    done(work, doing, query).await.map(drop)
}

pub(super) async fn remember(
    work: &mut PgConnection,
    new: &NewMemory,
    now: Timestamp,
) -> Result<MemoryFact, StoreError> {
    lock(work, REMEMBERING).await?;
    let id = id_of(&new.text, new.workspace.as_deref());
    let old = fact(work, &id).await?;
    let news = note_sayer(work, &id, new).await?;
    let fact = match old {
        Some(old) if !news => return Ok(old),
        Some(old) => said_again(&old, new, now),
        None => {
            let query = sqlx::query("SELECT count(*) FROM memories WHERE status = $1");
            let waiting = count(work, query.bind(word(MemoryStatus::Proposed))).await?;
            check_inbox(new.status, waiting)?;
            first_said(new, now)
        }
    };
    keep(work, &fact).await?;
    if new.supersedes.is_some() && new.supersedes == fact.fact.supersedes {
        supersede(work, &fact, now, false).await?;
    }
    Ok(fact)
}

pub(super) async fn settle(
    work: &mut PgConnection,
    id: &MemoryId,
    status: MemoryStatus,
    now: Timestamp,
) -> Result<Option<MemoryFact>, StoreError> {
    lock(work, REMEMBERING).await?;
    let Some(old) = fact(work, id).await? else { return Ok(None) };
    let fact = settled(&old, status, now);
    keep(work, &fact).await?;
    supersede(work, &fact, now, true).await?;
    Ok(Some(fact))
}

/// Whether it says something new: a call that recovery repeats does not, nor does a session that is
/// looked through twice.
async fn note_sayer(
    work: &mut PgConnection,
    id: &MemoryId,
    new: &NewMemory,
) -> Result<bool, StoreError> {
    let Some(session) = &new.source.session else { return Ok(true) };
    let call = new.source.call.map(|call| call.to_string()).unwrap_or_default();
    let query = sqlx::query(
        "INSERT INTO memories_said (id, session, call) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    );
    let query = query.bind(sealed(id.as_str())).bind(sealed(session.as_str())).bind(call);
    Ok(done(work, REMEMBERING, query).await? > 0)
}

async fn fact(work: &mut PgConnection, id: &MemoryId) -> Result<Option<MemoryFact>, StoreError> {
    let query = sqlx::query("SELECT fact FROM memories WHERE id = $1").bind(sealed(id.as_str()));
    let rows = all(work, query).await?;
    rows.first().map(|row| json(row, 0, "a remembered fact")).transpose()
}

async fn keep(work: &mut PgConnection, fact: &MemoryFact) -> Result<(), StoreError> {
    // A topic says more than a word in passing.
    let words =
        format!("{} {}", lexemes(&fact.fact.text, 'D'), lexemes(&fact.fact.topics.join("\n"), 'A'));
    let query = sqlx::query(
        "INSERT INTO memories (id, workspace, status, updated, fact, words)
         VALUES ($1, $2, $3, $4, $5, $6::tsvector) ON CONFLICT (owner, id) DO UPDATE SET
         status = excluded.status, updated = excluded.updated, fact = excluded.fact,
         words = excluded.words",
    )
    .bind(sealed(fact.id.as_str()))
    .bind(fact.fact.workspace.as_deref().map(sealed))
    .bind(word(fact.fact.status))
    .bind(fact.updated.micros())
    .bind(to_json(REMEMBERING, fact)?)
    .bind(words);
    done(work, REMEMBERING, query).await.map(drop)
}

async fn supersede(
    work: &mut PgConnection,
    newer: &MemoryFact,
    now: Timestamp,
    by_person: bool,
) -> Result<(), StoreError> {
    let Some(id) = &newer.fact.supersedes else { return Ok(()) };
    match fact(work, id).await? {
        Some(older) if takes_place(newer, &older, by_person) => {
            let mut older = settled(&older, MemoryStatus::Superseded, now);
            older.superseded_by = Some(newer.id.clone());
            keep(work, &older).await
        }
        Some(_) | None => Ok(()),
    }
}

pub(super) async fn propose(
    work: &mut PgConnection,
    proposal: &Proposal,
) -> Result<(), StoreError> {
    lock(work, PROPOSING).await?;
    let others = sqlx::query("SELECT count(*) FROM proposals WHERE what = $1 AND name <> $2");
    let others = others.bind(sealed(&proposal.what)).bind(sealed(&proposal.name));
    check_proposals(&proposal.what, count(work, others).await?)?;
    let query = sqlx::query(
        "INSERT INTO proposals (what, name, text, source, label, ts)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner, what, name) DO UPDATE SET
         text = excluded.text, source = excluded.source, label = excluded.label, ts = excluded.ts",
    )
    .bind(sealed(&proposal.what))
    .bind(sealed(&proposal.name))
    .bind(sealed(&proposal.text))
    .bind(to_json(PROPOSING, &proposal.source)?)
    .bind(to_json(PROPOSING, &proposal.label)?)
    .bind(proposal.ts.micros());
    done(work, PROPOSING, query).await.map(drop)
}

pub(super) async fn withdraw(
    work: &mut PgConnection,
    what: &str,
    name: &str,
) -> Result<bool, StoreError> {
    let query = sqlx::query("DELETE FROM proposals WHERE what = $1 AND name = $2");
    let query = query.bind(sealed(what)).bind(sealed(name));
    Ok(done(work, "taking a proposal away", query).await? > 0)
}

async fn count(work: &mut PgConnection, query: Statement<'_>) -> Result<usize, StoreError> {
    let count = all(work, query).await?.first().map_or(Ok(0), |row| number(row, 0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

macro_rules! fits {
    () => {
        "($3::text[] IS NULL OR m.status = ANY($3))
         AND ($4::text IS NULL OR m.workspace IS NULL OR m.workspace = $4)"
    };
}

/// Text and topics that fit, each word weighed by how many facts have it.
const WITH_WORDS: &str = concat!(
    "WITH found AS MATERIALIZED (SELECT m.id, m.words, m.updated, m.fact FROM memories m
       WHERE m.words @@ $1::tsquery AND ",
    fits!(),
    "), word AS MATERIALIZED (SELECT v.q, ln(1 + (t.n - c.df + 0.5) / (c.df + 0.5)) AS rare
       FROM (SELECT q::tsquery AS q FROM unnest($2::text[]) q) v,
       LATERAL (SELECT count(*)::float8 AS df FROM found f WHERE f.words @@ v.q) c,
       (SELECT count(*)::float8 AS n FROM found) t)
     SELECT f.fact FROM found f ORDER BY
       (SELECT sum(w.rare * ts_rank('{0.5,0.5,0.5,1.0}', f.words, w.q, 1)) FROM word w)
         DESC NULLS LAST, f.updated DESC, f.id COLLATE \"C\" LIMIT $5"
);

const NEWEST: &str = concat!(
    "SELECT m.fact FROM memories m WHERE $1::text IS NULL AND $2::text[] IS NULL AND ",
    fits!(),
    " ORDER BY m.updated DESC, m.id COLLATE \"C\" LIMIT $5"
);

pub(super) async fn memories(
    work: &mut PgConnection,
    filter: &MemoryFilter,
) -> Result<Vec<MemoryFact>, StoreError> {
    let question = asked(&Words::of(&filter.words));
    if question.is_none() && !filter.words.trim().is_empty() {
        return Ok(Vec::new());
    }
    let statuses: Vec<String> = filter.statuses.iter().map(|status| word(*status)).collect();
    let query = sqlx::query(if question.is_some() { WITH_WORDS } else { NEWEST })
        .bind(question.as_ref().map(|question| question.any.clone()))
        .bind(question.map(|question| question.each))
        .bind((!statuses.is_empty()).then_some(statuses))
        .bind(filter.workspace.as_deref().map(sealed))
        .bind(limit_of(filter.limit.unwrap_or(usize::MAX)));
    let rows = all(work, query).await?;
    let mut facts = Vec::with_capacity(rows.len());
    for row in &rows {
        match json(row, 0, "a remembered fact") {
            Ok(fact) => facts.push(fact),
            // A newer Weir may know more kinds and states. The others must not be lost for that.
            Err(error) => tracing::debug!(%error, "a remembered fact cannot be read"),
        }
    }
    Ok(facts)
}

pub(super) async fn proposals(
    work: &mut PgConnection,
    what: &str,
) -> Result<Vec<Proposal>, StoreError> {
    let query = sqlx::query(
        "SELECT what, name, text, source, label, ts FROM proposals WHERE what = $1
         ORDER BY ts, name COLLATE \"C\"",
    );
    let rows = all(work, query.bind(sealed(what))).await?;
    rows.iter()
        .map(|row| {
            Ok(Proposal {
                what: text(row, 0)?,
                name: text(row, 1)?,
                text: text(row, 2)?,
                source: json(row, 3, "a proposal")?,
                label: json(row, 4, "a proposal")?,
                ts: Timestamp(cell(row, 5)?),
            })
        })
        .collect()
}

/// The word for a state, as in its JSON.
fn word(status: MemoryStatus) -> String {
    let value = serde_json::to_value(status).ok();
    value.and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
}
