//! Sessions of newer goose, in `sessions.db`: the table `sessions`, and of each session the rows of
//! `messages`, whose `content_json` is what the older files have in a line.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use weir_store::{ForeignDatabaseError, ForeignRow};

use super::super::ImportFindings;
use super::super::files::ImportPlaces;
use super::super::history::{
    DatabaseSession, HistoryDatabase, HistoryTable, ImportedHistory, read_from_database,
};
use super::READER;

const SESSIONS: &str = "sessions";
const MESSAGES: &str = "messages";
const TABLES: &[HistoryTable] = &[
    HistoryTable { name: SESSIONS, columns: &["id", "working_dir", "created_at", "updated_at"] },
    HistoryTable {
        name: MESSAGES,
        columns: &["session_id", "role", "content_json", "created_timestamp"],
    },
];
/// `name` came after `description`, and is told first where both are there.
const TITLES: [&str; 2] = ["name", "description"];
/// Whom a message is for; older versions do not say.
const METADATA: &str = "metadata_json";
/// Some rows have milliseconds where others have seconds: later than this no second is.
const SECONDS_MAX: i64 = 10_000_000_000;

/// The sessions of this database, if there is one.
pub(super) fn collect_sessions(path: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    read_from_database(path, TABLES, places, found, |database, found| {
        let mut columns = vec!["id", "working_dir", "created_at", "updated_at"];
        columns.extend(database.known_columns(SESSIONS, &TITLES)?);
        let sessions = database.list_sessions(SESSIONS, &columns, found, session_of)?;
        let mut messages = list_messages(database, found)?;
        let mut columns = vec!["role", "content_json", "created_timestamp"];
        columns.extend(database.known_columns(MESSAGES, &[METADATA])?);
        database.add_sessions(sessions, found, |session| {
            let mut rows = messages.remove(&session.key).unwrap_or_default();
            // In the order that goose tells them in.
            rows.sort_unstable();
            for (_, rowid) in rows {
                if session.history.is_full() {
                    session.history.cut_rest();
                    break;
                }
                say_message(database, &columns, rowid, session)?;
            }
            Ok(())
        })
    });
}

/// A session of its row; none where it has no id.
fn session_of(row: &ForeignRow, database: &HistoryDatabase) -> Option<DatabaseSession> {
    let text = |at: usize| row.values.get(at).and_then(|value| value.as_text());
    let id = text(0)?;
    let mut history = ImportedHistory::new(READER.name, id, &database.name);
    history.head.workspace = text(1).unwrap_or_default().to_owned();
    let started = time_of(text(2).unwrap_or_default());
    history.head.started = started.map(|time| time.to_string()).unwrap_or_default();
    let titles = [text(4), text(5)].into_iter().flatten();
    let title = titles.map(str::trim).find(|title| !title.is_empty());
    history.head.title = title.unwrap_or_default().to_owned();
    let changed = time_of(text(3).unwrap_or_default()).or(started);
    let changed_ms = changed.map_or(0, jiff::Timestamp::as_millisecond);
    Some(DatabaseSession::new(id, changed_ms, history))
}

/// Of each session when its messages were made, and which rows they are.
fn list_messages(
    database: &HistoryDatabase,
    found: &mut ImportFindings,
) -> Result<HashMap<String, Vec<(i64, i64)>>, ForeignDatabaseError> {
    let rows = database.list_rows(MESSAGES, &["session_id", "created_timestamp"], found)?;
    let mut messages: HashMap<String, Vec<(i64, i64)>> = HashMap::new();
    for row in rows {
        let [session, created] = row.values.as_slice() else { continue };
        if let Some(session) = session.as_text() {
            let created = created.as_whole().map_or(0, to_seconds);
            messages.entry(session.to_owned()).or_default().push((created, row.rowid));
        }
    }
    Ok(messages)
}

fn say_message(
    database: &HistoryDatabase,
    columns: &[&str],
    rowid: i64,
    session: &mut DatabaseSession,
) -> Result<(), ForeignDatabaseError> {
    let Some(row) = database.read_said(MESSAGES, columns, rowid)? else { return Ok(()) };
    let [role, content, created, rest @ ..] = row.as_slice() else { return Ok(()) };
    let Some(role @ ("user" | "assistant")) = role.as_text() else { return Ok(()) };
    let metadata = rest.first().and_then(|value| value.as_text());
    let metadata: Value =
        metadata.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    // A summary that the program wrote for the model, in the name of one of both.
    if metadata.get("userVisible") == Some(&Value::Bool(false)) {
        return Ok(());
    }
    let Some(content) = session.parse_said(content) else { return Ok(()) };
    let at = created.as_whole().map(to_seconds);
    let at = at.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let at = at.map(|time| time.to_string()).unwrap_or_default();
    session.history.say_content(role, &content, &at);
    Ok(())
}

fn to_seconds(created: i64) -> i64 {
    if created > SECONDS_MAX { created / 1_000 } else { created }
}

/// `2026-05-01 10:00:00`, as SQLite writes it, or a time with its zone.
fn time_of(text: &str) -> Option<jiff::Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| format!("{text}Z").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_times_of_goose_are_read_in_each_of_their_forms() {
        for (text, time) in [
            ("2026-05-01 10:00:00", "2026-05-01T10:00:00Z"),
            ("2026-05-01T10:00:00+00:00", "2026-05-01T10:00:00Z"),
            ("2026-05-01T12:00:00.5+02:00", "2026-05-01T10:00:00.5Z"),
            ("soon", ""),
            ("", ""),
        ] {
            let read = time_of(text).map(|time| time.to_string()).unwrap_or_default();
            assert_eq!(read, time, "{text}");
        }
        assert_eq!(to_seconds(1_777_629_600), to_seconds(1_777_629_600_123));
    }
}
