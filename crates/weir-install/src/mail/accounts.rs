//! Mail accounts as they are kept: everything but the password in the open, the password sealed.
//! A password goes in and never comes out.

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_engine::ports::{MailAccount, MailSecurity, MailServer, PutOutcome, RecordEntry, Records};

use super::rules::{self, MailRule, RULES_MAX};
use crate::failure::InstallationError;
use crate::people::{Person, PersonId};
use crate::seal::SecretSeal;

/// The kind of an account in the records.
pub const ACCOUNT: &str = "mail_account";
/// The kind of the place up to which an account was read.
pub const PLACE: &str = "mail_place";
/// Accounts of one person, at most.
const ACCOUNTS_MAX: usize = 10;

/// One server of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerLine {
    /// Host name of the server.
    pub host: String,
    /// Its port: 993 for IMAP, 465 or 587 for SMTP.
    pub port: u16,
    /// `tls`, `starttls`, or `none` to this machine only.
    #[serde(default)]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "String"))]
    pub security: MailSecurity,
}

impl From<&ServerLine> for MailServer {
    fn from(line: &ServerLine) -> MailServer {
        MailServer { host: line.host.trim().into(), port: line.port, security: line.security }
    }
}

/// An account as people see and set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AccountLine {
    /// Its name here: lower-case letters, digits and `-`.
    pub name: String,
    /// Mail address of the account.
    pub address: String,
    /// Where mail is fetched.
    pub imap: ServerLine,
    /// Where mail is sent; `null`: it only reads.
    #[serde(default)]
    pub smtp: Option<ServerLine>,
    /// Name at the servers.
    pub user: String,
    /// The folder that is followed.
    #[serde(default = "default_mail_folder")]
    pub folder: String,
    /// The name under which its own server says whether a sender was checked
    /// (`Authentication-Results`); empty: no sender counts as checked.
    #[serde(default)]
    pub receiver: String,
    /// It is followed, and its rules count.
    #[serde(default)]
    pub enabled: bool,
    /// The tool `email` works with it.
    #[serde(default)]
    pub tool: bool,
    /// Which mails start which agent; the first that fits counts.
    #[serde(default)]
    pub rules: Vec<MailRule>,
}

fn default_mail_folder() -> String {
    "INBOX".into()
}

#[derive(Serialize, Deserialize)]
struct StoredMailAccount {
    #[serde(flatten)]
    line: StoredAccountLine,
    sealed: String,
    everywhere: bool,
}

/// [`AccountLine`] without the check for unknown fields, which cannot be flattened.
#[derive(Serialize, Deserialize)]
struct StoredAccountLine {
    name: String,
    address: String,
    imap: ServerLine,
    smtp: Option<ServerLine>,
    user: String,
    folder: String,
    receiver: String,
    enabled: bool,
    tool: bool,
    rules: Vec<MailRule>,
}

impl From<AccountLine> for StoredAccountLine {
    fn from(line: AccountLine) -> StoredAccountLine {
        let AccountLine {
            name,
            address,
            imap,
            smtp,
            user,
            folder,
            receiver,
            enabled,
            tool,
            rules,
            ..
        } = line;
        StoredAccountLine {
            name,
            address,
            imap,
            smtp,
            user,
            folder,
            receiver,
            enabled,
            tool,
            rules,
        }
    }
}

impl From<StoredAccountLine> for AccountLine {
    fn from(line: StoredAccountLine) -> AccountLine {
        let StoredAccountLine {
            name,
            address,
            imap,
            smtp,
            user,
            folder,
            receiver,
            enabled,
            tool,
            rules,
        } = line;
        AccountLine { name, address, imap, smtp, user, folder, receiver, enabled, tool, rules }
    }
}

/// An account, as it is kept, with what is needed to use it.
pub struct MailAccountEntry {
    /// What people see.
    pub line: AccountLine,
    /// Id of the person whose account it is.
    pub owner: PersonId,
    /// Grows with each change.
    pub version: u64,
    sealed: String,
    everywhere: bool,
}

impl MailAccountEntry {
    /// Ready to be used.
    pub fn open_account(&self, seal: &SecretSeal) -> Result<MailAccount, InstallationError> {
        let place = entry_name(&self.owner, &self.line.name);
        Ok(MailAccount {
            address: self.line.address.clone(),
            imap: (&self.line.imap).into(),
            smtp: self.line.smtp.as_ref().map(MailServer::from),
            user: self.line.user.clone(),
            password: seal.open(&place, &self.sealed)?,
            everywhere: self.everywhere,
        })
    }
}

/// The name of an account's entries.
pub fn entry_name(owner: &PersonId, name: &str) -> String {
    format!("{owner}/{name}")
}

fn parse_account(entry: &RecordEntry) -> Option<MailAccountEntry> {
    let kept: StoredMailAccount = serde_json::from_str(&entry.text)
        .inspect_err(|error| tracing::error!(%error, "a mail account cannot be read"))
        .ok()?;
    Some(MailAccountEntry {
        line: kept.line.into(),
        owner: PersonId(entry.owner.clone()),
        version: entry.version,
        sealed: kept.sealed,
        everywhere: kept.everywhere,
    })
}

/// The accounts of a person, or of everybody.
pub async fn list_mail_accounts(
    records: &dyn Records,
    owner: Option<&PersonId>,
    now: Timestamp,
) -> Result<Vec<MailAccountEntry>, InstallationError> {
    let entries = records.list(ACCOUNT, owner.map(PersonId::as_str), now).await?;
    Ok(entries.iter().filter_map(parse_account).collect())
}

/// One account of a person.
pub async fn find_mail_account(
    records: &dyn Records,
    owner: &PersonId,
    name: &str,
    now: Timestamp,
) -> Result<MailAccountEntry, InstallationError> {
    let entry = records.get(ACCOUNT, &entry_name(owner, name), now).await?;
    let found =
        entry.filter(|entry| entry.owner == owner.as_str()).as_ref().and_then(parse_account);
    found.ok_or_else(|| InstallationError::Missing(format!("the mail account {name:?}")))
}

/// The account that the tool `email` of a person works with, with its password; `None`: none.
///
/// # Errors
/// The database does not answer, or the password does not open.
pub async fn tool_mail_account(
    records: &dyn Records,
    key: &[u8; 32],
    owner: &PersonId,
    now: Timestamp,
) -> Result<Option<MailAccount>, InstallationError> {
    let found = list_mail_accounts(records, Some(owner), now).await?;
    let Some(found) = found.into_iter().find(|found| found.line.tool) else { return Ok(None) };
    found.open_account(&SecretSeal::new(key)?).map(Some)
}

/// What is wrong with an account, in words.
fn account_problem(line: &AccountLine) -> Option<String> {
    let name_fits = !line.name.is_empty()
        && line.name.len() <= 32
        && line.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !name_fits {
        return Some("a name has lower-case letters, digits and -, 32 at most".into());
    }
    let plain = |text: &str| text.len() <= 320 && !text.contains(char::is_control);
    if !line.address.contains('@') || !plain(&line.address) {
        return Some(format!("{:?} is no mail address", line.address));
    }
    if !plain(&line.user) || !plain(&line.folder) || line.folder.trim().is_empty() {
        return Some("name and folder have one line each".into());
    }
    if line.rules.len() > RULES_MAX {
        return Some(format!("an account has {RULES_MAX} rules at most"));
    }
    MailServer::from(&line.imap)
        .setup_problem()
        .or_else(|| line.smtp.as_ref().and_then(|smtp| MailServer::from(smtp).setup_problem()))
        .or_else(|| line.rules.iter().find_map(rules::rule_problem))
}

/// An account as a person enters it.
pub struct MailAccountDraft<'a> {
    /// Everything but the password.
    pub line: AccountLine,
    /// `None`, or empty: the password that the account has already.
    pub password: Option<&'a str>,
}

/// Keeps an account.
///
/// # Errors
/// It cannot be used: a sentence; somebody else changed it meanwhile; the database does not answer.
pub async fn store_mail_account(
    records: &dyn Records,
    seal: &SecretSeal,
    person: &Person,
    draft: MailAccountDraft<'_>,
    now: Timestamp,
) -> Result<(), InstallationError> {
    let MailAccountDraft { line, password } = draft;
    if let Some(problem) = account_problem(&line) {
        return Err(InstallationError::Refused(problem));
    }
    let owned = list_mail_accounts(records, Some(&person.id), now).await?;
    let before = owned.iter().find(|found| found.line.name == line.name);
    if before.is_none() && owned.len() >= ACCOUNTS_MAX {
        return Err(InstallationError::Refused(format!("{ACCOUNTS_MAX} accounts at most")));
    }
    let name = entry_name(&person.id, &line.name);
    // A password stays with the servers it was entered for: who changes them enters it again.
    let same_servers = |found: &&MailAccountEntry| {
        found.line.imap == line.imap && found.line.smtp == line.smtp && found.line.user == line.user
    };
    let sealed = match (password.filter(|password| !password.is_empty()), before) {
        (Some(password), _) => seal.seal(&name, password)?,
        (None, Some(found)) if same_servers(&found) => found.sealed.clone(),
        (None, _) => {
            return Err(InstallationError::Refused("enter the password of the account".into()));
        }
    };
    if line.tool
        && let Some(other) = owned.iter().find(|f| f.line.tool && f.line.name != line.name)
    {
        return Err(InstallationError::Refused(format!(
            "the tool works with {} already; take it from there first",
            other.line.name
        )));
    }
    let kept = StoredMailAccount { line: line.into(), sealed, everywhere: person.is_admin() };
    let text =
        serde_json::to_string(&kept).map_err(|e| InstallationError::Failed(e.to_string()))?;
    let owner = person.id.0.clone();
    let kind = ACCOUNT.to_owned();
    let entry = RecordEntry { kind, name, owner, text, version: 0, expires: None, ts: now };
    match records.put(&entry, Some(before.map_or(0, |found| found.version))).await? {
        PutOutcome::Kept(_) => Ok(()),
        PutOutcome::Changed(_) => {
            Err(InstallationError::Stale("somebody changed it meanwhile; look at it again".into()))
        }
    }
}

/// Takes an account away; whether it was there.
pub async fn remove(
    records: &dyn Records,
    owner: &PersonId,
    name: &str,
    now: Timestamp,
) -> Result<(), InstallationError> {
    find_mail_account(records, owner, name, now).await?;
    let name = entry_name(owner, name);
    records.remove(ACCOUNT, &name).await?;
    records.remove(PLACE, &name).await?;
    Ok(())
}
