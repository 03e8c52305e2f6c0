//! Marks of files that foreign words are in: how they are written and read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use weir_core::ids::SessionId;
use weir_engine::ports::{FileMark, StoreError};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql, to_json};

const MARKING: &str = "writing the journal";
const REMOVING: &str = "taking the mark of a file away";

const MARK: SqlText = sql!("INSERT INTO marks (workspace, path, origin, session, ts)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (" owner "workspace, path) DO UPDATE SET
  origin = excluded.origin, session = excluded.session, ts = excluded.ts");
/// Of these folders themselves ($1), of what has one of these whole paths ($2), and of what lies between two
/// of them ($3). An index serves each of the three: on the way to the first request nobody reads the marks of
/// other folders (Q1).
const LIST: SqlText = sql!(
    "SELECT m.workspace, m.path, m.origin, m.session, m.ts FROM "
    (sqlite "json_each($1) f CROSS JOIN marks m ON m.workspace = f.value")
    (postgres "marks m
  WHERE m.workspace = ANY(ARRAY(SELECT jsonb_array_elements_text(CAST($1 AS jsonb))))")
    " UNION SELECT m.workspace, m.path, m.origin, m.session, m.ts FROM "
    (sqlite "json_each($2) f CROSS JOIN marks m ON m.whole = f.value")
    (postgres "marks m
  WHERE m.whole = ANY(ARRAY(SELECT jsonb_array_elements_text(CAST($2 AS jsonb))))")
    " UNION SELECT m.workspace, m.path, m.origin, m.session, m.ts FROM "
    (sqlite "json_each($3) f CROSS JOIN marks m
  ON m.whole >= json_extract(f.value, '$.low') AND m.whole < json_extract(f.value, '$.high')")
    (postgres "jsonb_to_recordset(CAST($3 AS jsonb)) AS f(low TEXT, high TEXT) JOIN marks m
  ON m.whole >= f.low AND m.whole < f.high")
    " ORDER BY 5"
);
const REMOVE: SqlText = sql!("DELETE FROM marks WHERE workspace = $1 AND path = $2");

/// Of two marks of one file the later one stays. Within an append.
pub(crate) async fn write_marks<C: SqlConnection>(
    connection: &mut C,
    marks: &[FileMark],
) -> Result<(), C::AppendError> {
    for mark in marks {
        let statement = SqlStatement::new(MARK)
            .bind(&mark.workspace)
            .bind(&mark.path)
            .bind(&mark.origin)
            .bind(mark.session.as_str())
            .bind(mark.ts);
        connection.append_rows(MARKING, statement).await?;
    }
    Ok(())
}

/// The marks that are of something in these folders, as each shows them: in the order of the folders, and by
/// path.
pub(crate) async fn list_marks<C: SqlConnection>(
    connection: &mut C,
    folders: &[String],
) -> Result<Vec<FileMark>, StoreError> {
    let marks = related_marks(connection, folders).await?;
    let mut found = Vec::new();
    for folder in folders {
        // Of two marks of one file the later one stays.
        let seen = marks.iter().filter_map(|mark| mark.seen_from(folder));
        let by_path: BTreeMap<String, FileMark> =
            seen.map(|mark| (mark.path.clone(), mark)).collect();
        found.extend(by_path.into_values());
    }
    Ok(found)
}

/// Marks that may be of something in these folders, as they were written, the oldest first.
async fn related_marks<C: SqlConnection>(
    connection: &mut C,
    folders: &[String],
) -> Result<Vec<FileMark>, StoreError> {
    // No disk has a folder with NUL in its name, and not every database takes one.
    let folders: Vec<&str> =
        folders.iter().map(String::as_str).filter(|folder| !folder.contains('\0')).collect();
    let around: BTreeSet<String> = folders.iter().flat_map(|folder| names_around(folder)).collect();
    let below: Vec<Value> = folders.iter().map(|folder| range_below(folder)).collect();
    let statement = SqlStatement::new(LIST)
        .bind(to_json(READING, &folders)?)
        .bind(to_json(READING, &around)?)
        .bind(to_json(READING, &below)?);
    connection.fetch_rows(READING, statement).await?.iter().map(read_mark).collect()
}

/// Whole paths of what a folder is in or is: what of it is marked with all that lies in it, and what history
/// is told in it ([`FileMark::seen_from`]).
fn names_around(folder: &str) -> Vec<String> {
    let inside = format!("{}/", folder.trim_end_matches('/'));
    let above = inside.match_indices('/').map(|(at, _)| &inside[..=at]);
    above.flat_map(|above| [above.to_owned(), format!("{above}.git/")]).collect()
}

/// Between which whole paths all stands that lies in a folder, in the order of their bytes.
fn range_below(folder: &str) -> Value {
    let base = folder.trim_end_matches('/');
    // `0` comes after `/`.
    json!({ "low": format!("{base}/"), "high": format!("{base}0") })
}

fn read_mark(row: &impl SqlRow) -> Result<FileMark, StoreError> {
    Ok(FileMark {
        workspace: row.text(0)?,
        path: row.text(1)?,
        origin: row.text(2)?,
        session: SessionId::new(row.text(3)?),
        ts: row.timestamp(4)?,
    })
}

/// Takes the mark of a file away, wherever it was written; whether it had one.
pub(crate) async fn remove_mark<C: SqlConnection>(
    connection: &mut C,
    workspace: &str,
    path: &str,
) -> Result<bool, StoreError> {
    let marks = related_marks(connection, &[workspace.to_owned()]).await?;
    let is_same =
        |mark: &&FileMark| mark.seen_from(workspace).is_some_and(|seen| seen.path == path);
    let mut removed = 0;
    for mark in marks.iter().filter(is_same) {
        let statement = SqlStatement::new(REMOVE).bind(&mark.workspace).bind(&mark.path);
        removed += connection.change_rows(REMOVING, statement).await?;
    }
    Ok(removed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::SqliteOptions;
    use crate::sqlite::connect::DatabasePlace;

    #[test]
    fn q1_marks_of_other_folders_are_not_read_to_find_those_of_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = DatabasePlace::prepare_database(folder.path(), &SqliteOptions::default())
            .expect("a new folder");
        let mut connection = place.connect_writer().expect("a new database");
        let plan: &'static str = format!("EXPLAIN QUERY PLAN {}", LIST.sqlite).leak();
        let steps = connection.read_rows(READING, plan, ["[]", "[]", "[]"]).expect("readable");
        let steps = steps.iter().map(|step| step.text(3).expect("a text"));
        let of_marks =
            |step: &String| ["SEARCH m ", "SCAN m"].iter().any(|of| step.starts_with(of));
        let steps: Vec<String> = steps.filter(of_marks).collect();
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert!(steps.iter().all(|step| step.starts_with("SEARCH m USING ")), "{steps:?}");
    }

    #[test]
    fn z1_what_lies_around_a_folder_is_asked_for_by_name() {
        assert_eq!(names_around("/a/b"), ["/", "/.git/", "/a/", "/a/.git/", "/a/b/", "/a/b/.git/"]);
        assert_eq!(names_around("/"), ["/", "/.git/"]);
        assert_eq!(range_below("/"), json!({ "low": "/", "high": "0" }));
    }
}
