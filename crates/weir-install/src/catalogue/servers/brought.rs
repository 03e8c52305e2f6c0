//! Servers that an editor brings to its sessions (R1): what of them waits for a person, what they read
//! before they say yes, and that they said no. What they approve is kept as of every server
//! (`wiring::mcp::save_approval`). Not here: asking them.

use serde::{Deserialize, Serialize};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::sorting::sort_stably;
use weir_core::view::plain::visible_text;
use weir_mcp::{ServerIdentity, ServerPin, TokenStore as _, in_words};

use super::words;
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::servers::{DeclaredServer, ServerOwner, TokenFiles};
use crate::wiring::mcp::{self, KnownMcpServer};

/// Under which word it is kept that somebody said no.
const KIND: &str = "mcp-refused";
/// Sessions of which is remembered that somebody said no in them.
const SESSIONS_MAX: usize = 64;

/// What is to be done about a server before a session can use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BroughtServerState {
    /// Nothing: it is approved as it is declared.
    Approved,
    /// A person is asked.
    Unapproved,
    /// Nothing: somebody said no in this session.
    Refused,
    /// Nothing can be: why.
    Unusable(String),
}

/// That somebody said no, for one server and as it was then.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RefusedServer {
    identity: Option<ServerIdentity>,
    sessions: Vec<SessionId>,
}

/// The servers that the editor brings and that nothing else declares.
///
/// # Errors
/// As [`mcp::load_known_servers`].
pub async fn load_brought_servers(cx: &InstallationContext) -> anyhow::Result<Vec<KnownMcpServer>> {
    let (known, _) = mcp::load_known_servers(cx).await?;
    Ok(known.into_iter().filter(|one| one.declared.whose == ServerOwner::Editor).collect())
}

/// How one stands for a session.
///
/// # Errors
/// The store cannot be read.
pub async fn brought_server_state(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    session: &SessionId,
) -> anyhow::Result<BroughtServerState> {
    let spec = match &known.spec {
        Ok(spec) => spec,
        Err(why) => return Ok(BroughtServerState::Unusable(why.clone())),
    };
    if known.pin.as_ref().is_some_and(|pin| pin.of_declaration(spec).is_empty()) {
        return Ok(BroughtServerState::Approved);
    }
    let refused = load_refusals(cx, known).await?;
    let is_same = refused.identity.as_ref() == Some(&ServerIdentity::from_spec(spec));
    Ok(match is_same && refused.sessions.contains(session) {
        true => BroughtServerState::Refused,
        false => BroughtServerState::Unapproved,
    })
}

/// What a person reads before it is started for the first time: what would be started or connected to,
/// and what is another than they approved. Values of variables and headers do not stand in it.
pub fn describe_start(known: &KnownMcpServer) -> String {
    let mut text = words::describe_server(known);
    if let (Ok(spec), Some(pin)) = (&known.spec, &known.pin) {
        text.push_str("Changes since you approved it:\n");
        for line in in_words(&pin.of_declaration(spec)).lines() {
            text.push_str(&format!("  {}\n", visible_text(line)));
        }
    }
    text
}

/// Keeps that somebody said no in a session, so that they are not asked in it again.
///
/// # Errors
/// The store cannot be written.
pub async fn save_refusal(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    session: &SessionId,
) -> anyhow::Result<()> {
    let identity = ServerIdentity::from_spec(known.usable_spec()?);
    let before = load_refusals(cx, known).await?;
    let mut sessions = match before.identity.as_ref() == Some(&identity) {
        true => before.sessions,
        false => Vec::new(),
    };
    sessions.push(session.clone());
    let from = sessions.len().saturating_sub(SESSIONS_MAX);
    let refused = RefusedServer { identity: Some(identity), sessions: sessions.split_off(from) };
    let text = serde_json::to_string(&refused)?;
    mcp::keep_decision(cx, &known.declared, KIND, text, String::new()).await
}

/// Takes back what somebody said of a server that an editor brings to sessions in this folder: the yes, the no
/// and the sign-in. Whether there was any of it. The server itself is known to the editor alone.
///
/// # Errors
/// The store or the file of the sign-in cannot be written.
pub async fn forget_brought_server(cx: &InstallationContext, name: &str) -> anyhow::Result<bool> {
    let key = DeclaredServer::editor_storage_key(cx, name);
    let store = cx.session_store()?;
    let was_approved = store.remove_stored_item(mcp::KIND, &key).await?;
    let was_refused = store.remove_stored_item(KIND, &key).await?;
    // Only a name that was decided about is one that files are named after.
    if was_approved || was_refused {
        let keys = [(name.to_owned(), key)].into();
        let forgotten = TokenFiles::new(&cx.dirs.state, keys).save(name, None).await;
        forgotten.map_err(usage)?;
    }
    Ok(was_approved || was_refused)
}

/// What is kept of a person's word about a server of an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroughtDecision {
    /// Name of the server, as the editor has it.
    pub name: String,
    /// They approved it; otherwise they said no, in some sessions.
    pub is_approved: bool,
    /// The command line or address that it was about; empty: it cannot be read any more.
    pub reached: String,
    /// How many tools it offered then; `None`: it was never started.
    pub tools: Option<usize>,
    /// Who decided.
    pub by: String,
    /// When they did.
    pub since: Timestamp,
}

/// What was said of servers that editors bring to sessions in this folder: all that
/// [`forget_brought_server`] can take back. By name; the servers themselves are known to the editors alone.
///
/// # Errors
/// The store cannot be read.
pub async fn list_brought_decisions(
    cx: &InstallationContext,
) -> anyhow::Result<Vec<BroughtDecision>> {
    let here = DeclaredServer::editor_storage_key(cx, "");
    let store = cx.session_store()?;
    let mut found = Vec::new();
    for (kind, is_approved) in [(mcp::KIND, true), (KIND, false)] {
        for kept in store.stored_items(kind).await? {
            let Some(name) = kept.name.strip_suffix(&here) else { continue };
            let (identity, tools) = match is_approved {
                true => ServerPin::from_text(&kept.text).map_or((None, None), |pin| {
                    (Some(pin.identity), Some(pin.listing.tools.len()))
                }),
                false => (parse_refusal(&kept.text).identity, None),
            };
            found.push(BroughtDecision {
                name: name.to_owned(),
                is_approved,
                reached: identity.map(|identity| identity.reached).unwrap_or_default(),
                tools,
                by: kept.by,
                since: kept.ts,
            });
        }
    }
    sort_stably(&mut found, |a, b| (&a.name, !a.is_approved).cmp(&(&b.name, !b.is_approved)));
    Ok(found)
}

async fn load_refusals(
    cx: &InstallationContext,
    known: &KnownMcpServer,
) -> anyhow::Result<RefusedServer> {
    let key = known.declared.storage_key(cx);
    let kept = cx.session_store()?.stored_item(KIND, &key).await?;
    Ok(kept.map(|kept| parse_refusal(&kept.text)).unwrap_or_default())
}

/// What is not understood is asked about again.
fn parse_refusal(text: &str) -> RefusedServer {
    serde_json::from_str(text).unwrap_or_default()
}
