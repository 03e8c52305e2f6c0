//! Hosts and recipients that need no asking: each person's own, and the installation's for everybody (S9).
//! Kept in the database and changed only in the browser. Not here: what they let pass (rules).

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_engine::ports::{RecordEntry, Records};

use crate::failure::InstallationError;
use crate::people::{Person, PersonId};

/// Entries of one list of one person, or of the installation.
const ENTRIES_MAX: usize = 500;
/// Characters of an entry.
const CHARS_MAX: usize = 253;

/// The lists that a person, or the installation, keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// Hosts that are read without asking: `docs.rs`, `*.example.org`.
    Hosts,
    /// Addresses that mail is sent to: `ann@example.org`, or all of a domain: `@example.org`.
    Recipients,
}

impl ListKind {
    /// The kind of its entries in the records.
    fn record_kind(self) -> &'static str {
        match self {
            ListKind::Hosts => "allow_host",
            ListKind::Recipients => "allow_recipient",
        }
    }
}

/// A list of a person, or of the installation.
#[derive(Clone, Copy)]
pub struct OwnedList<'a> {
    /// What stands on it.
    pub kind: ListKind,
    /// Whose list it is, or who changes the installation's.
    pub person: &'a Person,
    /// The installation's list, which holds for everybody; only an admin changes it.
    pub for_all: bool,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AllowListEntry {
    /// The host or address.
    pub value: String,
    /// It holds for everybody.
    pub for_all: bool,
    /// Name of the person who put the value on the list.
    pub by: String,
    /// When it was added (UTC).
    pub ts: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct StoredListEntry {
    value: String,
    by: String,
}

/// Hosts that `person` may reach without asking: the installation's and their own. No value twice.
///
/// # Errors
/// The database does not answer: then nothing is allowed by these lists.
pub async fn allowed_hosts(
    records: &dyn Records,
    person: &PersonId,
    now: Timestamp,
) -> Result<Vec<String>, InstallationError> {
    list_values(records, ListKind::Hosts, person, now).await
}

/// Addresses that mail of `person` may go to: the installation's and their own. No value twice.
///
/// # Errors
/// The database does not answer: then nothing may be sent.
pub async fn allowed_recipients(
    records: &dyn Records,
    person: &PersonId,
    now: Timestamp,
) -> Result<Vec<String>, InstallationError> {
    list_values(records, ListKind::Recipients, person, now).await
}

/// Whether `address` stands in a list of [`allowed_recipients`]: the address itself, or its domain as
/// `@domain`. Letters of either case are the same.
pub fn is_recipient_allowed(recipients: &[String], address: &str) -> bool {
    let address = address.trim().to_lowercase();
    let Some((_, domain)) = address.rsplit_once('@') else { return false };
    let is_ours = |allowed: &String| match allowed.strip_prefix('@') {
        Some(whole) => whole == domain,
        None => *allowed == address,
    };
    recipients.iter().any(is_ours)
}

async fn list_values(
    records: &dyn Records,
    kind: ListKind,
    person: &PersonId,
    now: Timestamp,
) -> Result<Vec<String>, InstallationError> {
    let mut values: Vec<String> = list_entries(records, kind, person, now)
        .await?
        .into_iter()
        .map(|allowed| allowed.value)
        .collect();
    values.sort();
    values.dedup();
    Ok(values)
}

/// Every entry that holds for `person`: the installation's first.
pub async fn list_entries(
    records: &dyn Records,
    kind: ListKind,
    person: &PersonId,
    now: Timestamp,
) -> Result<Vec<AllowListEntry>, InstallationError> {
    let mut found = Vec::new();
    for owner in ["", person.as_str()] {
        for entry in records.list(kind.record_kind(), Some(owner), now).await? {
            let kept: StoredListEntry = serde_json::from_str(&entry.text).map_err(|error| {
                InstallationError::Failed(format!("an entry of a list: {error}"))
            })?;
            let for_all = entry.owner.is_empty();
            found.push(AllowListEntry { value: kept.value, for_all, by: kept.by, ts: entry.ts });
        }
    }
    Ok(found)
}

/// Puts a value on a list. Twice is once. Returns the value as it is
/// kept.
///
/// # Errors
/// It is no host or address, only an admin may, or the list is full.
pub async fn add_entry(
    records: &dyn Records,
    list: OwnedList<'_>,
    value: &str,
    now: Timestamp,
) -> Result<String, InstallationError> {
    let OwnedList { kind, person, .. } = list;
    let owner = list.owner_id()?;
    let value = match kind {
        ListKind::Hosts => parse_host(value),
        ListKind::Recipients => parse_recipient(value),
    };
    let value = value.map_err(InstallationError::Refused)?;
    if records.list(kind.record_kind(), Some(owner), now).await?.len() >= ENTRIES_MAX {
        return Err(InstallationError::Refused(format!(
            "the list has {ENTRIES_MAX} entries; remove some first"
        )));
    }
    let kept = StoredListEntry { value: value.clone(), by: person.name.clone() };
    let text =
        serde_json::to_string(&kept).map_err(|e| InstallationError::Failed(e.to_string()))?;
    let entry = RecordEntry {
        kind: kind.record_kind().to_owned(),
        name: entry_name(owner, &value),
        owner: owner.to_owned(),
        text,
        version: 0,
        expires: None,
        ts: now,
    };
    records.put(&entry, None).await?;
    Ok(value)
}

/// Takes a value off a list; whether it stood there.
///
/// # Errors
/// Only an admin may change the installation's.
pub async fn remove(
    records: &dyn Records,
    list: OwnedList<'_>,
    value: &str,
) -> Result<bool, InstallationError> {
    let owner = list.owner_id()?;
    Ok(records.remove(list.kind.record_kind(), &entry_name(owner, value)).await?)
}

impl<'a> OwnedList<'a> {
    /// Whose its entries are in the records; empty: the installation's.
    fn owner_id(self) -> Result<&'a str, InstallationError> {
        match (self.for_all, self.person.is_admin()) {
            (false, _) => Ok(self.person.id.as_str()),
            (true, true) => Ok(""),
            (true, false) => Err(InstallationError::Refused(
                "only an admin may change what holds for everybody".into(),
            )),
        }
    }
}

/// A slash is in no id and in no host, so that no two owners share a name.
fn entry_name(owner: &str, value: &str) -> String {
    format!("{owner}/{value}")
}

/// A host in its one spelling. Patterns are those of `Web(…)` rules: a `*.` in front.
fn parse_host(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let (star, bare) = match text.strip_prefix("*.") {
        Some(bare) => ("*.", bare),
        None => ("", text.as_str()),
    };
    // One word after `*.` would be all of a country's hosts.
    let is_narrow = star.is_empty() || bare.contains('.');
    let parsed = url::Host::parse(bare).map(|host| host.to_string());
    match parsed {
        Ok(host) if is_narrow && !bare.contains('*') && host.len() <= CHARS_MAX => {
            Ok(format!("{star}{host}"))
        }
        _ => Err(format!(
            "{text:?} is no host: write docs.rs, or *.example.org for all below a domain; no \
             https:// and no path"
        )),
    }
}

fn parse_recipient(text: &str) -> Result<String, String> {
    let text = text.trim().to_lowercase();
    let wrong = || {
        format!("{text:?} is no address: write ann@example.org, or @example.org for a whole domain")
    };
    let (local, domain) = text.rsplit_once('@').ok_or_else(wrong)?;
    let local_fits = local.chars().all(|c| !c.is_whitespace() && !c.is_control())
        && !local.contains(['@', ',', ';', '<', '>', '"', '*']);
    let host = parse_host(domain).ok().filter(|host| host.contains('.') && !host.contains('*'));
    match host {
        Some(host) if local_fits && text.len() <= CHARS_MAX => Ok(format!("{local}@{host}")),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_hosts_have_one_spelling_and_no_pattern_is_wide() {
        assert_eq!(parse_host(" Docs.RS. ").as_deref(), Ok("docs.rs"));
        assert_eq!(parse_host("*.Example.org").as_deref(), Ok("*.example.org"));
        assert_eq!(parse_host("127.0.0.1").as_deref(), Ok("127.0.0.1"));
        assert_eq!(parse_host("bücher.example").as_deref(), Ok("xn--bcher-kva.example"));
        for wrong in ["", "*", "*.", "*.org", "a*.example.org", "https://x.org", "x.org/a", "a b"] {
            assert!(parse_host(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn s9_recipients_are_addresses_or_domains() {
        assert_eq!(parse_recipient("Ann@Example.org").as_deref(), Ok("ann@example.org"));
        assert_eq!(parse_recipient("@example.org").as_deref(), Ok("@example.org"));
        for wrong in
            ["ann", "ann@", "a b@x.org", "a@b@x.org", "ann@*.org", "<a@x.org>", "a,b@x.org"]
        {
            assert!(parse_recipient(wrong).is_err(), "{wrong:?}");
        }
        let list = ["ann@example.org".to_owned(), "@weir.example".to_owned()];
        assert!(is_recipient_allowed(&list, "ANN@example.org"));
        assert!(is_recipient_allowed(&list, "anyone@weir.example"));
        assert!(!is_recipient_allowed(&list, "bob@example.org"));
        assert!(!is_recipient_allowed(&list, "x@sub.weir.example"));
        assert!(!is_recipient_allowed(&list, "weir.example"));
    }
}
