//! Sessions of newer opencode, in `opencode.db`: the tables `session`, `message` and `part`, whose
//! `data` is what the older files have in them.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use weir_store::{ForeignDatabaseError, ForeignRow};

use super::super::ImportFindings;
use super::super::files::ImportPlaces;
use super::super::history::{
    DatabaseSession, HistoryDatabase, HistoryTable, ImportedHistory, read_from_database, text_at,
};
use super::super::listing::{TreeBounds, list_tree};
use super::{READER, time_text};

const TABLES: &[HistoryTable] = &[
    HistoryTable {
        name: "session",
        columns: &["id", "title", "directory", "time_created", "time_updated"],
    },
    HistoryTable { name: "message", columns: &["id", "session_id", "time_created", "data"] },
    HistoryTable { name: "part", columns: &["id", "message_id", "data"] },
];
/// Where they stand.
const FOLDER: TreeBounds = TreeBounds { depth_max: 0, entries_max: 2_000 };
const FILE: &str = "opencode.db";

/// A message or part by when it was made, its id and its row.
type RowPlace = (i64, String, i64);

/// The sessions of all databases in this folder: one that is no release of opencode has its own,
/// `opencode-CHANNEL.db`.
pub(super) fn collect_sessions(
    folder: &Path,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let mut names = vec![FILE.to_owned()];
    if let Ok(Some(_)) = places.real_path(folder) {
        let others = list_tree(folder, &FOLDER).names.into_iter();
        names.extend(others.filter(|name| name.starts_with("opencode-") && name.ends_with(".db")));
    }
    for name in names {
        read_from_database(&folder.join(name), TABLES, places, found, read_sessions);
    }
}

fn read_sessions(
    database: &HistoryDatabase,
    found: &mut ImportFindings,
) -> Result<(), ForeignDatabaseError> {
    let columns = ["id", "title", "directory", "time_created", "time_updated"];
    let sessions = database.list_sessions("session", &columns, found, session_of)?;
    let columns = ["session_id", "id", "time_created"];
    let mut messages = by_owner(database.list_rows("message", &columns, found)?);
    let mut parts = by_owner(database.list_rows("part", &["message_id", "id"], found)?);
    database.add_sessions(sessions, found, |session| {
        for (created, id, rowid) in in_order(messages.remove(&session.key)) {
            if session.history.is_full() {
                session.history.cut_rest();
                break;
            }
            let Some(message) = read_data(database, "message", rowid, session)? else { continue };
            let role = text_at(&message, "/role");
            if !matches!(role, "user" | "assistant") {
                continue;
            }
            let at = time_text(Some(&Value::from(created)));
            for (_, _, rowid) in in_order(parts.remove(&id)) {
                if let Some(part) = read_data(database, "part", rowid, session)?
                    && part.get("synthetic") != Some(&Value::Bool(true))
                {
                    session.history.say_content(role, &Value::Array(vec![part]), &at);
                }
            }
        }
        Ok(())
    })
}

/// A session of its row; none where it has no id.
fn session_of(row: &ForeignRow, database: &HistoryDatabase) -> Option<DatabaseSession> {
    let [id, title, directory, created, updated] = row.values.as_slice() else { return None };
    let id = id.as_text()?;
    let mut history = ImportedHistory::new(READER.name, id, &database.name);
    history.head.title = title.as_text().unwrap_or_default().to_owned();
    history.head.workspace = directory.as_text().unwrap_or_default().to_owned();
    history.head.started = time_text(created.as_whole().map(Value::from).as_ref());
    let changed_ms = updated.as_whole().or(created.as_whole()).unwrap_or_default();
    Some(DatabaseSession::new(id, changed_ms, history))
}

/// Rows of an owner, an id and, for messages, when they were made.
fn by_owner(rows: Vec<ForeignRow>) -> HashMap<String, Vec<RowPlace>> {
    let mut owned: HashMap<String, Vec<RowPlace>> = HashMap::new();
    for row in rows {
        let [owner, id, rest @ ..] = row.values.as_slice() else { continue };
        if let (Some(owner), Some(id)) = (owner.as_text(), id.as_text()) {
            let created = rest.first().and_then(|value| value.as_whole()).unwrap_or_default();
            let place = (created, id.to_owned(), row.rowid);
            owned.entry(owner.to_owned()).or_default().push(place);
        }
    }
    owned
}

fn in_order(rows: Option<Vec<RowPlace>>) -> Vec<RowPlace> {
    let mut rows = rows.unwrap_or_default();
    rows.sort_unstable();
    rows
}

fn read_data(
    database: &HistoryDatabase,
    table: &str,
    rowid: i64,
    session: &mut DatabaseSession,
) -> Result<Option<Value>, ForeignDatabaseError> {
    let row = database.read_said(table, &["data"], rowid)?;
    let data = row.as_ref().and_then(|values| values.first());
    Ok(data.and_then(|data| session.parse_said(data)))
}
