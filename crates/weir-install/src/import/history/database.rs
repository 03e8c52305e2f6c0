//! Databases of sessions of other agents: opened within bounds and only to be read, and their
//! sessions put among what was found, the newest first. What cannot be read is said and keeps
//! nobody from the rest. Not here: which table says what, which each agent's reader knows.

use std::cmp::Reverse;
use std::path::Path;

use serde_json::Value;
use weir_core::sorting::sort_stably_by_key;
use weir_store::{
    ForeignBounds, ForeignDatabase, ForeignDatabaseError, ForeignRow, ForeignRows, ForeignValue,
};

use super::super::files::ImportPlaces;
use super::super::{ImportFindings, ImportTarget};
use super::ImportedHistory;
use super::files::{
    ALL_BYTES_MAX, HistoryRest, NOTHING_SAID, SESSIONS_MAX, parse_bounded, put_history,
};

/// Rows of one table, bytes of an id or a title in it, and bytes of what was said in one row.
const ROWS_MAX: usize = 300_000;
const WORD_BYTES_MAX: usize = 1_000;
const SAID_BYTES_MAX: usize = 4 << 20;
const SAYS: &str = "sessions in a database";

/// A table of an agent, and what of it must be there.
pub(in crate::import) struct HistoryTable {
    pub(in crate::import) name: &'static str,
    pub(in crate::import) columns: &'static [&'static str],
}

/// A session as its table has it, to be filled with what was said.
pub(in crate::import) struct DatabaseSession {
    /// Its id in the database.
    pub(in crate::import) key: String,
    /// When it was last gone on with, in milliseconds since 1970.
    pub(in crate::import) changed_ms: i64,
    /// What was said.
    pub(in crate::import) history: ImportedHistory,
    /// Rows that say nothing that can be understood, and rows that are too large.
    broken: usize,
    large: usize,
}

impl DatabaseSession {
    pub(in crate::import) fn new(
        key: &str,
        changed_ms: i64,
        history: ImportedHistory,
    ) -> DatabaseSession {
        DatabaseSession { key: key.to_owned(), changed_ms, history, broken: 0, large: 0 }
    }

    /// What a row says in JSON; what it does not is counted.
    pub(in crate::import) fn parse_said(&mut self, said: &ForeignValue) -> Option<Value> {
        let parsed = said.as_text().and_then(parse_bounded);
        match said {
            _ if parsed.is_some() => {}
            ForeignValue::TooLarge => self.large += 1,
            ForeignValue::Missing
            | ForeignValue::Whole(_)
            | ForeignValue::Text(_)
            | ForeignValue::Other => self.broken += 1,
        }
        parsed
    }

    fn into_rest(self) -> (ImportedHistory, HistoryRest) {
        let why_empty = match self.broken + self.large {
            0 => NOTHING_SAID.to_owned(),
            left => format!("{left} of its rows cannot be read, and the rest says nothing"),
        };
        let mut notes = Vec::new();
        if self.broken > 0 {
            notes.push(format!("{} of its rows are no JSON and are left", self.broken));
        }
        if self.large > 0 {
            notes.push(format!(
                "{} of its rows have more than {SAID_BYTES_MAX} bytes and are left",
                self.large
            ));
        }
        (self.history, HistoryRest { why_empty, notes })
    }
}

/// A database of sessions.
pub(in crate::import) struct HistoryDatabase {
    /// Its path, for people.
    pub(in crate::import) name: String,
    database: ForeignDatabase,
}

/// Reads the sessions of a database, if there is one: `list` names them, and what is wrong with it
/// is said.
pub(in crate::import) fn read_from_database(
    path: &Path,
    tables: &[HistoryTable],
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
    read: impl FnOnce(&HistoryDatabase, &mut ImportFindings) -> Result<(), ForeignDatabaseError>,
) {
    let name = path.display().to_string();
    let opened = places.real_path(path).and_then(|real| {
        let Some(real) = real else { return Ok(None) };
        let database = ForeignDatabase::open_file(&real).map_err(|error| error.to_string())?;
        match missing_part(&database, tables).map_err(|error| error.to_string())? {
            Some(missing) => Err(format!(
                "has no {missing}: it is of a version whose sessions are not known here"
            )),
            None => Ok(Some(database)),
        }
    });
    let leave = |why: &str, found: &mut ImportFindings| {
        found.leave_item(name.clone(), SAYS.to_owned(), why, ImportTarget::User);
    };
    let database = match opened {
        Ok(Some(database)) => HistoryDatabase { name: name.clone(), database },
        Ok(None) => return,
        Err(why) => return leave(&why, found),
    };
    found.read.push(name.clone());
    if let Err(error) = read(&database, found) {
        leave(&error.to_string(), found);
    }
}

/// The first of these that the database does not have.
fn missing_part(
    database: &ForeignDatabase,
    tables: &[HistoryTable],
) -> Result<Option<String>, ForeignDatabaseError> {
    for table in tables {
        let columns = database.plain_columns(table.name)?;
        if columns.is_empty() {
            return Ok(Some(format!("table {}", table.name)));
        }
        let is_there = |wanted: &&&str| columns.iter().any(|column| column == **wanted);
        if let Some(column) = table.columns.iter().find(|wanted| !is_there(wanted)) {
            return Ok(Some(format!("column {column} in its table {}", table.name)));
        }
    }
    Ok(None)
}

impl HistoryDatabase {
    /// Those of these columns that the table has: what only some versions write.
    pub(in crate::import) fn known_columns(
        &self,
        table: &str,
        wanted: &[&'static str],
    ) -> Result<Vec<&'static str>, ForeignDatabaseError> {
        let there = self.database.plain_columns(table)?;
        let is_there = |column: &&&'static str| there.iter().any(|known| known == **column);
        Ok(wanted.iter().filter(is_there).copied().collect())
    }

    /// The sessions that rows of this table are; how many have no id to find their words by is
    /// said.
    pub(in crate::import) fn list_sessions(
        &self,
        table: &str,
        columns: &[&str],
        found: &mut ImportFindings,
        session_of: impl Fn(&ForeignRow, &HistoryDatabase) -> Option<DatabaseSession>,
    ) -> Result<Vec<DatabaseSession>, ForeignDatabaseError> {
        let rows = self.list_rows(table, columns, found)?;
        let sessions: Vec<DatabaseSession> =
            rows.iter().filter_map(|row| session_of(row, self)).collect();
        if sessions.len() < rows.len() {
            let says = format!("{} more sessions", rows.len() - sessions.len());
            let why = "have no id that can be read";
            found.leave_item(self.name.clone(), says, why, ImportTarget::User);
        }
        Ok(sessions)
    }

    /// Rows of short values, the newest first; where there are more, that is said.
    pub(in crate::import) fn list_rows(
        &self,
        table: &str,
        columns: &[&str],
        found: &mut ImportFindings,
    ) -> Result<Vec<ForeignRow>, ForeignDatabaseError> {
        let bounds = ForeignBounds { rows_max: ROWS_MAX, value_bytes_max: WORD_BYTES_MAX };
        let ForeignRows { rows, has_more } = self.database.newest_rows(table, columns, bounds)?;
        if has_more {
            let (says, why) = (
                format!("older rows of its table {table}"),
                format!("at most {ROWS_MAX} are read: the newest"),
            );
            found.leave_item(self.name.clone(), says, &why, ImportTarget::User);
        }
        Ok(rows)
    }

    /// What was said in one row; `None`: it is not there.
    pub(in crate::import) fn read_said(
        &self,
        table: &str,
        columns: &[&str],
        rowid: i64,
    ) -> Result<Option<Vec<ForeignValue>>, ForeignDatabaseError> {
        let row = self.database.read_row(table, columns, rowid, SAID_BYTES_MAX)?;
        Ok(row.map(|row| row.values))
    }

    /// Fills these sessions, the newest first and as many as the import takes, and puts them among
    /// what was found once it is sure that they are one state of the database.
    ///
    /// # Errors
    /// The database changed while it was read: nothing of it is taken.
    pub(in crate::import) fn add_sessions(
        &self,
        mut sessions: Vec<DatabaseSession>,
        found: &mut ImportFindings,
        mut fill: impl FnMut(&mut DatabaseSession) -> Result<(), ForeignDatabaseError>,
    ) -> Result<(), ForeignDatabaseError> {
        sort_stably_by_key(&mut sessions, |session| Reverse(session.changed_ms));
        let most = SESSIONS_MAX.saturating_sub(found.sessions);
        let mut left: Vec<(String, String)> = Vec::new();
        if sessions.len() > most {
            let older = format!("{} more sessions", sessions.len() - most);
            left.push((older, format!("at most {SESSIONS_MAX} are imported: the newest")));
            sessions.truncate(most);
        }
        let (mut filled, mut bytes) = (Vec::new(), found.history_bytes);
        let mut rest = sessions.into_iter();
        for mut session in rest.by_ref() {
            match fill(&mut session) {
                Ok(()) => {
                    bytes += session.history.bytes;
                    filled.push(session);
                }
                Err(error) => {
                    left.push((format!("session {}", session.history.head.id), error.to_string()));
                    if error == ForeignDatabaseError::Beyond {
                        break;
                    }
                }
            }
            // It is in memory until all of it was read.
            if bytes > ALL_BYTES_MAX {
                break;
            }
        }
        match rest.count() {
            0 => {}
            more => left.push((
                format!("{more} more sessions"),
                "those before them are as much as is read of one import".to_owned(),
            )),
        }
        self.database.check_unchanged()?;
        found.sessions += filled.len();
        for session in filled {
            let (history, rest) = session.into_rest();
            put_history(&self.name, history, rest, found);
        }
        for (says, why) in left {
            found.leave_item(self.name.clone(), says, &why, ImportTarget::User);
        }
        Ok(())
    }
}
