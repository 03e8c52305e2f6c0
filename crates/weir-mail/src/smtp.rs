//! SMTP: one mail handed over, once. Never tried again by itself: a mail may have been sent although
//! its answer did not come.

use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use weir_engine::ports::{MailAccount, MailDraft, MailSecurity, MailServer};

use crate::MailError;
use crate::wire::{self, CONNECT_MAX};

/// Sends a mail. Gives its name (`Message-ID`).
///
/// # Errors
/// It was refused, or it is not known whether it was sent.
pub(crate) async fn send_mail(
    account: &MailAccount,
    draft: &MailDraft,
) -> Result<String, MailError> {
    let Some(endpoint) = &account.smtp else {
        return Err(MailError::Account("no server for sending is set up".into()));
    };
    if let Some(problem) = endpoint.setup_problem() {
        return Err(MailError::Account(problem));
    }
    // The name is judged before the library looks it up once more.
    wire::resolve_server(endpoint, account.everywhere).await?;
    let (message, name) = build_message(account, draft)?;
    let transport = smtp_transport(account, endpoint)?;
    let host = endpoint.host.clone();
    match transport.send(message).await {
        Ok(_) => Ok(name),
        Err(error) if error.is_permanent() || error.is_transient() => {
            Err(MailError::Refused { host, doing: "a mail", why: error.to_string() })
        }
        Err(error) if error.is_tls() || error.is_client() => {
            Err(MailError::Line { host, doing: "sending", why: error.to_string() })
        }
        Err(error) if is_before(&error) => {
            Err(MailError::Line { host, doing: "connecting", why: error.to_string() })
        }
        Err(error) => Err(MailError::Unknown { host, why: error.to_string() }),
    }
}

/// Signs in and out, where a server for sending is set up.
pub(crate) async fn check_smtp(account: &MailAccount) -> Result<(), MailError> {
    let Some(endpoint) = &account.smtp else { return Ok(()) };
    wire::connect_server(endpoint, account.everywhere).await?;
    let host = endpoint.host.clone();
    match smtp_transport(account, endpoint)?.test_connection().await {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err(MailError::Refused { host, doing: "a greeting", why: "it is not ready".into() })
        }
        Err(error) => Err(MailError::Refused { host, doing: "signing in", why: error.to_string() }),
    }
}

/// Whether nothing was handed over yet: the line never stood.
fn is_before(error: &lettre::transport::smtp::Error) -> bool {
    use std::error::Error as _;
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::ConnectionRefused)
}

fn smtp_transport(
    account: &MailAccount,
    endpoint: &MailServer,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, MailError> {
    let parameters = || {
        TlsParameters::new_rustls(endpoint.host.clone())
            .map_err(|error| MailError::Account(error.to_string()))
    };
    let tls = match endpoint.security {
        MailSecurity::Tls => Tls::Wrapper(parameters()?),
        MailSecurity::StartTls => Tls::Required(parameters()?),
        MailSecurity::None => Tls::None,
    };
    let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&endpoint.host)
        .port(endpoint.port)
        .tls(tls)
        .timeout(Some(CONNECT_MAX));
    let builder = match account.user.is_empty() {
        true => builder,
        false => {
            builder.credentials(Credentials::new(account.user.clone(), account.password.clone()))
        }
    };
    Ok(builder.build())
}

fn build_message(account: &MailAccount, draft: &MailDraft) -> Result<(Message, String), MailError> {
    let wrong = |what: &str, why: &dyn std::fmt::Display| {
        MailError::Account(format!("{what} cannot be used: {why}"))
    };
    let from: Mailbox =
        account.address.parse().map_err(|why| wrong("the account's own address", &why))?;
    let domain = account.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    let name = format!("<{}@{domain}>", uuid::Uuid::now_v7().simple());
    let mut builder = Message::builder()
        .from(from)
        .message_id(Some(name.clone()))
        .subject(single_line(&draft.subject));
    for to in &draft.to {
        builder = builder.to(to.parse().map_err(|why| wrong(to, &why))?);
    }
    if let Some(answers) = &draft.answers {
        let answers = format!("<{}>", single_line(answers).trim_matches(['<', '>']));
        builder = builder.in_reply_to(answers.clone()).references(answers);
    }
    let built = builder.header(ContentType::TEXT_PLAIN).body(draft.text.clone());
    Ok((built.map_err(|why| wrong("the mail", &why))?, name))
}

/// One line: a line break would begin a header of the sender's choice.
fn single_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use weir_engine::ports::{MailAccount, MailDraft, MailSecurity, MailServer};

    use super::build_message;

    #[test]
    fn z11_no_header_can_be_slipped_in() {
        let endpoint =
            MailServer { host: "localhost".into(), port: 25, security: MailSecurity::None };
        let account = MailAccount {
            address: "me@home.example".into(),
            imap: endpoint.clone(),
            smtp: Some(endpoint),
            user: String::new(),
            password: String::new(),
            everywhere: true,
        };
        let draft = MailDraft {
            to: vec!["bob@a.example".into()],
            subject: "Hi\r\nBcc: eve@evil.example".into(),
            text: "x\r\n.\r\nMAIL FROM:<eve@evil.example>".into(),
            answers: Some("<1@a>\r\nBcc: eve@evil.example".into()),
            confirmed: false,
        };
        let (built, _) = build_message(&account, &draft).expect("a mail");
        let text = String::from_utf8(built.formatted()).expect("text");
        let (head, _) = text.split_once("\r\n\r\n").expect("a head");
        assert!(!head.lines().any(|line| line.to_lowercase().starts_with("bcc:")), "{head}");
        assert_eq!(built.envelope().to().len(), 1);
        let two = MailDraft { to: vec!["bob@a.example, eve@evil.example".into()], ..draft };
        assert!(build_message(&account, &two).is_err());
    }
}
