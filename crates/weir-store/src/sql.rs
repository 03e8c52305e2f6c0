//! Statements, rows and connections as both databases have them, so that what only differs in its
//! connection is written once (`tables`). Not here: transactions, and statements that one database
//! has alone (`sqlite`, `postgres`).

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_core::ids::Timestamp;
use weir_engine::ports::StoreError;

pub(crate) const READING: &str = "reading the database";

/// The text of a statement for each database; [`sql!`] writes both.
#[derive(Clone, Copy)]
pub(crate) struct SqlText {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// One part of [`sql!`]. Everything in PostgreSQL has an owner, and it orders by bytes only when it is
/// told to; what stands in brackets is in the statement of one database alone.
macro_rules! sql_part {
    (sqlite, owner) => {
        ""
    };
    (postgres, owner) => {
        "owner, "
    };
    (sqlite, bytewise) => {
        ""
    };
    (postgres, bytewise) => {
        " COLLATE \"C\""
    };
    (sqlite, (sqlite $text:literal)) => {
        $text
    };
    (postgres, (postgres $text:literal)) => {
        $text
    };
    ($database:ident, ($other:ident $text:literal)) => {
        ""
    };
    ($database:ident, $text:literal) => {
        $text
    };
}

/// A statement of literals and of the parts that differ: `sql!("… ON CONFLICT (" owner "name)")`.
macro_rules! sql {
    ($($part:tt)+) => {
        $crate::sql::SqlText {
            sqlite: concat!($($crate::sql::sql_part!(sqlite, $part)),+),
            postgres: concat!($($crate::sql::sql_part!(postgres, $part)),+),
        }
    };
}

pub(crate) use {sql, sql_part};

/// A value that is bound to a statement.
pub(crate) enum SqlValue {
    Text(Option<String>),
    Integer(Option<i64>),
    /// A text that only the statement of PostgreSQL has.
    PostgresText(Option<String>),
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> SqlValue {
        SqlValue::Text(Some(text.to_owned()))
    }
}

impl From<&String> for SqlValue {
    fn from(text: &String) -> SqlValue {
        SqlValue::Text(Some(text.clone()))
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> SqlValue {
        SqlValue::Text(Some(text))
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(text: Option<&str>) -> SqlValue {
        SqlValue::Text(text.map(str::to_owned))
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> SqlValue {
        SqlValue::Integer(Some(number))
    }
}

impl From<Timestamp> for SqlValue {
    fn from(ts: Timestamp) -> SqlValue {
        SqlValue::Integer(Some(ts.micros()))
    }
}

impl From<Option<Timestamp>> for SqlValue {
    fn from(ts: Option<Timestamp>) -> SqlValue {
        SqlValue::Integer(ts.map(Timestamp::micros))
    }
}

/// A statement with its values.
pub(crate) struct SqlStatement {
    pub(crate) text: SqlText,
    pub(crate) values: Vec<SqlValue>,
}

impl SqlStatement {
    pub(crate) fn new(text: SqlText) -> SqlStatement {
        SqlStatement { text, values: Vec::new() }
    }

    pub(crate) fn bind(mut self, value: impl Into<SqlValue>) -> SqlStatement {
        self.values.push(value.into());
        self
    }

    /// Binds a value that only the statement of PostgreSQL has.
    pub(crate) fn bind_postgres(mut self, text: Option<&str>) -> SqlStatement {
        self.values.push(SqlValue::PostgresText(text.map(str::to_owned)));
        self
    }
}

/// A row, read by column.
pub(crate) trait SqlRow {
    fn text(&self, column: usize) -> Result<String, StoreError>;
    fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError>;
    fn integer(&self, column: usize) -> Result<i64, StoreError>;
    fn optional_integer(&self, column: usize) -> Result<Option<i64>, StoreError>;
    fn boolean(&self, column: usize) -> Result<bool, StoreError>;
    fn real(&self, column: usize) -> Result<f64, StoreError>;
    fn bytes(&self, column: usize) -> Result<Arc<[u8]>, StoreError>;

    fn number(&self, column: usize) -> Result<u64, StoreError> {
        Ok(self.integer(column)?.cast_unsigned())
    }

    /// A number that never was larger; where the database says otherwise, the largest.
    fn small_number(&self, column: usize) -> Result<u32, StoreError> {
        Ok(u32::try_from(self.number(column)?).unwrap_or(u32::MAX))
    }

    fn timestamp(&self, column: usize) -> Result<Timestamp, StoreError> {
        Ok(Timestamp(self.integer(column)?))
    }

    fn optional_timestamp(&self, column: usize) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.optional_integer(column)?.map(Timestamp))
    }

    /// A value that is kept as JSON; `what` says what is damaged where it is none.
    fn json<T: DeserializeOwned>(&self, column: usize, what: &str) -> Result<T, StoreError> {
        serde_json::from_str(&self.text(column)?)
            .map_err(|e| StoreError::Damaged { what: what.to_string(), why: e.to_string() })
    }
}

/// A connection; what must be done together is within a transaction that the caller began.
pub(crate) trait SqlConnection: Send {
    type Row: SqlRow + Send + Sync;
    /// Why an append failed: some databases may be asked again.
    type AppendError: From<StoreError>;

    /// Runs a statement that gives rows.
    fn fetch_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> impl Future<Output = Result<Vec<Self::Row>, StoreError>> + Send;

    /// Runs a statement; how many rows it touched.
    fn change_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a statement of an append.
    fn append_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> impl Future<Output = Result<(), Self::AppendError>> + Send;
}

/// The number in the one cell of the answer; 0 where there is none.
pub(crate) async fn fetch_number<C: SqlConnection>(
    connection: &mut C,
    doing: &'static str,
    statement: SqlStatement,
) -> Result<u64, StoreError> {
    let rows = connection.fetch_rows(doing, statement).await?;
    rows.first().map_or(Ok(0), |row| row.number(0))
}

/// A length as a SQL limit.
pub(crate) fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn to_json<T: Serialize>(doing: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Io { doing: doing.to_string(), why: e.to_string() })
}
