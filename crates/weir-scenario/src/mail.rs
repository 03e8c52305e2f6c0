//! A mail account of a scenario: the mails that lie in it and whom it may write to. Not here: how real
//! ones are reached (`weir-mail`), and the lists of a server's people.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::tool::ToolSpec;
use weir_engine::engine::SessionOptions;
use weir_engine::ports::{MailDraft, MailLine, MailText, Mailbox, RecipientStanding, Tool};
use weir_engine::toolbox::Toolbox;

use crate::crash::{CrashPoint, CrashTool};
use crate::parse::Setup;

/// Gives a session the tool `email` over the scenario's account, where it has one.
///
/// # Errors
/// There is a tool of that name.
pub(crate) fn bind_mailbox(
    setup: &Setup,
    point: &Arc<CrashPoint>,
    toolbox: &Arc<Toolbox>,
    options: &mut SessionOptions,
) -> anyhow::Result<()> {
    let Some(listed) = &setup.mailbox else { return Ok(()) };
    let mailbox = FakeMailbox {
        // As an account does: who is the person is on its list.
        listed: listed.iter().chain(&setup.own_addresses).cloned().collect(),
        closed: setup.closed.clone(),
        mails: setup.mails.clone(),
    };
    let inner = weir_tools::email_tool(Arc::new(mailbox));
    let tool: Arc<dyn Tool> = Arc::new(CrashTool { inner, point: point.clone() });
    let spec: ToolSpec = tool.spec().clone();
    let toolbox = options.resources.toolbox.clone().unwrap_or_else(|| Arc::new(toolbox.copy()));
    toolbox.add(tool)?;
    Arc::make_mut(&mut options.config.tools).push(spec);
    options.resources.toolbox = Some(toolbox);
    Ok(())
}

struct FakeMailbox {
    listed: Vec<String>,
    closed: Vec<String>,
    /// Sender, subject and text.
    mails: Vec<(String, String, String)>,
}

#[async_trait]
impl Mailbox for FakeMailbox {
    fn address(&self) -> &str {
        "me@home.example"
    }

    fn host(&self) -> &str {
        "imap.home.example"
    }

    async fn recipient_standing(&self, recipient: &str) -> RecipientStanding {
        let is_in = |list: &[String]| list.iter().any(|one| one == recipient);
        match (is_in(&self.closed), is_in(&self.listed)) {
            (true, _) => RecipientStanding::Closed("the scenario closes that recipient".into()),
            (false, true) => RecipientStanding::Listed,
            (false, false) => RecipientStanding::Unlisted,
        }
    }

    async fn search(
        &self,
        _folder: &str,
        words: &str,
        limit: usize,
        _cancel: &CancellationToken,
    ) -> Result<Vec<MailLine>, String> {
        let line = |(at, (from, subject, _)): (usize, &(String, String, String))| MailLine {
            id: (at + 1).to_string(),
            from: from.clone(),
            subject: subject.clone(),
            date: String::new(),
            unread: true,
        };
        let all = self.mails.iter().enumerate().filter(|(_, (_, _, text))| text.contains(words));
        Ok(all.map(line).take(limit).collect())
    }

    async fn read(&self, id: &str, _cancel: &CancellationToken) -> Result<MailText, String> {
        let at = id.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let mail = at.and_then(|at| self.mails.get(at)).ok_or("there is no such mail")?;
        let (from, subject, text) = mail.clone();
        Ok(MailText { from, subject, text, ..MailText::default() })
    }

    async fn send(&self, draft: &MailDraft, _cancel: &CancellationToken) -> Result<String, String> {
        for to in &draft.to {
            let standing = self.recipient_standing(to).await;
            let goes = match standing {
                RecipientStanding::Listed => true,
                RecipientStanding::Unlisted => draft.confirmed,
                RecipientStanding::Closed(_) => false,
            };
            if !goes {
                return Err(format!("{to} may not be written to"));
            }
        }
        Ok("<1@home.example>".into())
    }
}
