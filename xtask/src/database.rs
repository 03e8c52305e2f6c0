//! PostgreSQL databases of a proof's own, made and removed by `psql`: in the server that
//! `WEIR_TEST_POSTGRES` names, one at 127.0.0.1:5432, or one of a proof's own (`own`). Not here: what a test
//! works with (`weir-test-kit`).

use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

pub(crate) mod own;

/// Names the server; its user may make databases.
const VARIABLE: &str = "WEIR_TEST_POSTGRES";
/// Where a server is looked for if no variable names one.
const LOCAL: &str = "postgres://postgres@127.0.0.1:5432/postgres";

/// A server in which databases are made.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseServer {
    url: String,
}

/// A database, gone with this.
pub(crate) struct Database {
    /// How to reach it.
    pub(crate) url: String,
    name: String,
    server: DatabaseServer,
}

impl DatabaseServer {
    /// The server that there is.
    ///
    /// # Errors
    /// There is none, or no `psql`.
    pub(crate) fn find() -> anyhow::Result<DatabaseServer> {
        let url = std::env::var(VARIABLE).unwrap_or_else(|_| LOCAL.to_owned());
        ask(&url, "SELECT 1").with_context(|| {
            format!(
                "no PostgreSQL to work with: start one at 127.0.0.1:5432 whose user postgres may make \
                 databases, or name one in {VARIABLE}"
            )
        })?;
        Ok(DatabaseServer { url })
    }

    /// The server that the variable names, if it is set.
    ///
    /// # Errors
    /// It names one that does not answer.
    pub(crate) fn named() -> anyhow::Result<Option<DatabaseServer>> {
        std::env::var_os(VARIABLE).map(|_| DatabaseServer::find()).transpose()
    }

    /// Makes an empty database; an older one of this name goes.
    ///
    /// # Errors
    /// The user of the server may not.
    pub(crate) fn create(&self, name: &str) -> anyhow::Result<Database> {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        ensure!(is_plain, "{name:?} is no name for a database");
        ask(&self.url, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        ask(&self.url, &format!("CREATE DATABASE {name}"))?;
        let url = with_name(&self.url, name)?;
        Ok(Database { url, name: name.to_owned(), server: self.clone() })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // What cannot be removed does no harm: the next of its name goes first.
        let _ =
            ask(&self.server.url, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// What stands before host and port, and these with what follows.
fn split_at_authority(url: &str) -> anyhow::Result<(&str, &str)> {
    let scheme = url.find("://").context("the URL of the database has no scheme")? + 3;
    let authority = url[scheme..].find(['/', '?']).map_or(url.len(), |end| scheme + end);
    let user = url[scheme..authority].rfind('@').map_or(scheme, |at| scheme + at + 1);
    Ok(url.split_at(user))
}

/// The same server, another database.
fn with_name(url: &str, name: &str) -> anyhow::Result<String> {
    let (before, rest) = split_at_authority(url)?;
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = address.split('/').next().unwrap_or_default();
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    Ok(format!("{before}{host}/{name}{query}"))
}

/// Where the server of a URL listens: `HOST:PORT`.
///
/// # Errors
/// It is reached by a socket of its machine, and nothing can stand between.
pub(crate) fn upstream(url: &str) -> anyhow::Result<String> {
    let (_, rest) = split_at_authority(url)?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    ensure!(
        !authority.is_empty() && !rest.contains("host="),
        "the server has to be named by host and port, as in postgres://postgres@127.0.0.1:5432/postgres"
    );
    Ok(if authority.contains(':') { authority.to_owned() } else { format!("{authority}:5432") })
}

/// The same database, reached by way of `proxy`; `writer` is what the connections call themselves
/// (`current_setting('cluster.writer')`).
///
/// # Errors
/// It is no URL.
pub(crate) fn through(url: &str, proxy: &str, writer: &str) -> anyhow::Result<String> {
    let (before, rest) = split_at_authority(url)?;
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let name = address.split_once('/').map_or("", |(_, name)| name);
    let query = if query.is_empty() { String::new() } else { format!("{query}&") };
    Ok(format!("{before}{proxy}/{name}?{query}options[cluster.writer]={writer}"))
}

/// What the database answers, one row a line.
///
/// # Errors
/// There is no `psql`, or what the database has against it.
pub(crate) fn ask(url: &str, sql: &str) -> anyhow::Result<String> {
    let output = Command::new("psql")
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"])
        // Nobody is there to be asked for one: without it there is an error.
        .arg("--no-password")
        .args(["--command", sql, "--dbname", url])
        .env("PGCONNECT_TIMEOUT", "20")
        .stdin(Stdio::null())
        .output()
        .context("psql cannot be started: install the client programs of PostgreSQL")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "psql: {}", said.trim());
    String::from_utf8(output.stdout).context("psql printed no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_another_database_of_the_same_server_is_named() {
        for (url, named) in [
            (
                "postgres://postgres@127.0.0.1:5432/postgres",
                "postgres://postgres@127.0.0.1:5432/one",
            ),
            (
                "postgres://a:b%40c@db.example.org/x?sslmode=disable",
                "postgres://a:b%40c@db.example.org/one?sslmode=disable",
            ),
        ] {
            assert_eq!(with_name(url, "one").expect("a URL"), named);
        }
        assert!(with_name("nothing", "one").is_err());
    }

    #[test]
    fn d7_a_proxy_stands_between_a_replica_and_the_server() {
        let url = "postgres://a:b@db.example.org/one?sslmode=disable";
        assert_eq!(upstream(url).expect("a URL"), "db.example.org:5432");
        assert_eq!(
            through(url, "127.0.0.1:7", "r1.2").expect("a URL"),
            "postgres://a:b@127.0.0.1:7/one?sslmode=disable&options[cluster.writer]=r1.2"
        );
        assert_eq!(
            through("postgres://a@h:1/one", "127.0.0.1:7", "r1").expect("a URL"),
            "postgres://a@127.0.0.1:7/one?options[cluster.writer]=r1"
        );
        assert!(upstream("postgres://a@localhost/one?host=%2Ftmp").is_err());
    }
}
