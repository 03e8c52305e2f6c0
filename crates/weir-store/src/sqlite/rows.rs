//! Rows and connections of SQLite as `tables` uses them.

use std::sync::Arc;

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use weir_engine::ports::StoreError;

use super::error::database_error;
use super::read::read_cell;
use crate::sql::{SqlConnection, SqlRow, SqlStatement, SqlValue};

impl SqlRow for SqliteRow {
    fn text(&self, column: usize) -> Result<String, StoreError> {
        read_cell(self, column)
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        read_cell(self, column)
    }

    fn integer(&self, column: usize) -> Result<i64, StoreError> {
        read_cell(self, column)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        read_cell(self, column)
    }

    fn boolean(&self, column: usize) -> Result<bool, StoreError> {
        read_cell(self, column)
    }

    fn real(&self, column: usize) -> Result<f64, StoreError> {
        read_cell(self, column)
    }

    fn bytes(&self, column: usize) -> Result<Arc<[u8]>, StoreError> {
        read_cell::<&[u8]>(self, column).map(Arc::from)
    }
}

fn bind_values(statement: SqlStatement) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(statement.text.sqlite);
    statement.values.into_iter().fold(query, |query, value| match value {
        SqlValue::Text(text) => query.bind(text),
        SqlValue::Integer(number) => query.bind(number),
        SqlValue::PostgresText(_) => query,
    })
}

impl SqlConnection for SqliteConnection {
    type Row = SqliteRow;
    type AppendError = StoreError;

    async fn fetch_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        bind_values(statement).fetch_all(self).await.map_err(|e| database_error(doing, &e))
    }

    async fn change_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<u64, StoreError> {
        let done =
            bind_values(statement).execute(self).await.map_err(|e| database_error(doing, &e))?;
        Ok(done.rows_affected())
    }

    async fn append_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<(), StoreError> {
        self.change_rows(doing, statement).await.map(drop)
    }
}
