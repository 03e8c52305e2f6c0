//! What the database itself saw being written: a table and a trigger of the proof's own note with each fact
//! under which epoch and by whose connection it came, and when by its own clock and by the writer's. The product knows nothing of them.

use anyhow::Context as _;

use super::check::Written;
use crate::database;

const INSTALL: &str = "CREATE SCHEMA cluster_watch;
  CREATE TABLE cluster_watch.written (session text, seq bigint, hash text, epoch bigint, writer text,
    own_time double precision, at timestamptz DEFAULT clock_timestamp());
  CREATE FUNCTION cluster_watch.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = public AS $$ BEGIN
      INSERT INTO cluster_watch.written (session, seq, hash, epoch, writer, own_time)
        SELECT NEW.session, NEW.seq, NEW.hash, s.epoch, coalesce(current_setting('cluster.writer', true), ''),
          NEW.ts / 1000000.0
        FROM sessions s WHERE s.owner = NEW.owner AND s.id = NEW.session;
      RETURN NULL;
    END $$;
  CREATE TRIGGER cluster_watch AFTER INSERT ON facts FOR EACH ROW
    EXECUTE FUNCTION cluster_watch.note();";

const READ: &str =
    "SELECT json_build_object('session', session, 'seq', seq, 'hash', hash, 'epoch', epoch,
  'writer', writer, 'at', extract(epoch FROM at), 'own_time', own_time)
  FROM cluster_watch.written ORDER BY session, seq, at";

const KEPT: &str = "SELECT seq || ' ' || hash FROM facts WHERE session = ";

/// Begins to note. The schema of the product has to be there.
///
/// # Errors
/// The user of the URL may not.
pub(super) fn install(url: &str) -> anyhow::Result<()> {
    database::ask(url, INSTALL).map(drop).context("installing the trigger that notes who writes")
}

/// All that was noted, each session's facts in their order.
///
/// # Errors
/// The database cannot be read.
pub(super) fn read(url: &str) -> anyhow::Result<Vec<Written>> {
    let text = database::ask(url, READ)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Numbers and hashes of the facts that are kept of a session.
///
/// # Errors
/// The database cannot be read.
pub(super) fn kept(url: &str, session: &str) -> anyhow::Result<Vec<(u64, String)>> {
    let text =
        database::ask(url, &format!("{KEPT}'{}' ORDER BY seq", session.replace('\'', "''")))?;
    text.lines()
        .map(|line| {
            let (seq, hash) = line.split_once(' ').with_context(|| line.to_owned())?;
            Ok((seq.parse()?, hash.to_owned()))
        })
        .collect()
}
