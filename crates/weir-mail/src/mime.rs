//! A mail taken apart: who, when, what, and whether its sender was checked. Total: any bytes give
//! something, within bounds.

use std::fmt::Write as _;

use mail_parser::{Address, HeaderName, HeaderValue, Message, MessageParser, MimeHeaders};
use weir_engine::ports::{MailText, ReceivedMail};

/// Characters of a mail's text that are kept.
const TEXT_CHARS_MAX: usize = 200_000;
/// Characters of one header that are kept.
const HEADER_CHARS_MAX: usize = 1_000;
/// Recipients and attachments that are named.
const NAMED_MAX: usize = 50;

/// Takes a mail apart. `receiver`: the name under which the account's own server writes
/// `Authentication-Results`; only the topmost header with that name counts, because a sender can
/// write any other.
pub fn parse_mail(bytes: &[u8], receiver: &str) -> ReceivedMail {
    let Some(mail) = MessageParser::default().parse(bytes) else { return ReceivedMail::default() };
    let sender = mail.from().and_then(first_address).unwrap_or_default().to_ascii_lowercase();
    let text = MailText {
        from: mail.from().map(first_address_text).unwrap_or_default(),
        to: mail.all_to().flat_map(Address::iter).take(NAMED_MAX).map(address_text).collect(),
        reply_to: mail
            .reply_to()
            .and_then(first_address)
            .map(|text| plain_text(text, HEADER_CHARS_MAX)),
        subject: plain_text(mail.subject().unwrap_or_default(), HEADER_CHARS_MAX),
        date: mail.date().map(mail_parser::DateTime::to_rfc3339).unwrap_or_default(),
        message_id: mail.message_id().map(|id| plain_text(id, HEADER_CHARS_MAX)),
        text: plain_text(&mail.body_text(0).unwrap_or_default(), TEXT_CHARS_MAX),
        attachments: describe_attachments(&mail),
    };
    let authenticated = !sender.is_empty() && is_sender_verified(&mail, receiver, &sender);
    ReceivedMail { text, authenticated, automatic: is_automatic(&mail), sender }
}

fn first_address<'a>(address: &'a Address<'_>) -> Option<&'a str> {
    address.first()?.address()
}

fn first_address_text(address: &Address<'_>) -> String {
    address.first().map(address_text).unwrap_or_default()
}

fn address_text(one: &mail_parser::Addr<'_>) -> String {
    let address = one.address().unwrap_or_default();
    plain_text(
        &one.name().map_or_else(|| address.into(), |name| format!("{name} <{address}>")),
        300,
    )
}

/// The text without control characters, cut.
fn plain_text(text: &str, max: usize) -> String {
    let plain = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(plain).take(max).collect()
}

fn describe_attachments(mail: &Message<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for part in mail.attachments().take(NAMED_MAX) {
        let mut line = plain_text(part.attachment_name().unwrap_or("without a name"), 200);
        if let Some(kind) = part.content_type() {
            let _ = write!(line, " ({}/{}", kind.ctype(), kind.subtype().unwrap_or("?"));
            let _ = write!(line, ", {} bytes)", part.len());
        }
        all.push(line);
    }
    all
}

/// Whether the receiving server says that the sender's domain vouches for the mail. What it writes may
/// quote the sender: a mailbox may be called almost anything, in quotation marks.
fn is_sender_verified(mail: &Message<'_>, receiver: &str, sender: &str) -> bool {
    let Some((_, domain)) = sender.rsplit_once('@') else { return false };
    if !has_one_sender(mail) {
        return false;
    }
    let Some(results) = own_results(mail, receiver) else { return false };
    let results = without_quoted(&results);
    let results: Vec<Vec<&str>> =
        results.split(';').skip(1).map(|one| one.split_whitespace().collect()).collect();
    // `none`, where a domain has no policy, refuses nothing.
    let is_refused = |one: &Vec<&str>| one.first() == Some(&"dmarc=fail");
    !results.iter().any(is_refused) && results.iter().any(|words| vouches_for(words, domain))
}

/// Whether it says in one place, and of one address alone, who it is from: of several, the server that
/// receives it may have checked another than is taken for the sender here.
fn has_one_sender(mail: &Message<'_>) -> bool {
    let said = mail.headers().iter().filter(|header| header.name == HeaderName::From);
    said.count() == 1 && mail.from().is_some_and(|from| from.iter().count() == 1)
}

/// What the account's own server wrote, in small letters: the topmost such header, also where it has bytes
/// that are no text. Such a one must not make way for one that the sender brought along.
fn own_results(mail: &Message<'_>, receiver: &str) -> Option<String> {
    mail.headers().iter().find_map(|header| {
        let range = header.offset_start as usize..header.offset_end as usize;
        let value = String::from_utf8_lossy(mail.raw_message.get(range)?);
        let value = value.trim();
        let by = value.split([';', ' ', '\t', '\r', '\n']).next().unwrap_or_default();
        (header.name.as_str().eq_ignore_ascii_case("Authentication-Results")
            && !receiver.is_empty()
            && by.eq_ignore_ascii_case(receiver))
        .then(|| value.to_ascii_lowercase())
    })
}

/// Whether one result says that this domain vouches.
fn vouches_for(words: &[&str], domain: &str) -> bool {
    let names = |property: &str| {
        words.iter().find_map(|word| word.strip_prefix(property)).map(|value| {
            let value = value.trim_matches('"');
            value.rsplit_once('@').map_or(value, |(_, domain)| domain)
        })
    };
    match words.first() {
        Some(&"dmarc=pass") => names("header.from=").is_none_or(|of| of == domain),
        Some(&"dkim=pass") => {
            names("header.d=").or_else(|| names("header.i=")).is_some_and(|of| of == domain)
        }
        Some(&"spf=pass") => names("smtp.mailfrom=").is_some_and(|of| of == domain),
        _ => false,
    }
}

/// The same without comments, and with nothing in quotation marks that would end a word or a result: the
/// sender may have had a hand in both. What is not closed goes to the end.
fn without_quoted(text: &str) -> String {
    let mut depth = 0_u32;
    let mut quoted = false;
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            // In both, the next letter stands for itself.
            '\\' if quoted || depth > 0 => {
                let meant = letters.next();
                if quoted {
                    out.extend(meant.map(|_| '_'));
                }
            }
            '"' if depth == 0 => {
                quoted = !quoted;
                out.push(c);
            }
            c if quoted => out.push(if c.is_whitespace() || c == ';' { '_' } else { c }),
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => (),
        }
    }
    out
}

fn is_automatic(mail: &Message<'_>) -> bool {
    let says = |name: &str| match mail.header(name.to_owned()) {
        Some(HeaderValue::Text(text)) => Some(text.to_ascii_lowercase()),
        Some(_) => Some(String::new()),
        None => None,
    };
    says("Auto-Submitted").is_some_and(|value| value.trim() != "no")
        || says("Precedence").is_some_and(|v| matches!(v.trim(), "bulk" | "junk" | "list"))
        || says("List-Id").is_some()
        || mail.return_address().is_some_and(str::is_empty)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse_mail;

    const HEAD: &str = "From: Ann <Ann@Good.example>\r\nTo: me@home.example\r\nSubject: =?utf-8?q?h=C3=A9llo?=\r\nDate: Fri, 20 Nov 2026 10:00:00 +0100\r\nMessage-ID: <1@good.example>\r\n";

    fn with(headers: &str, body: &str) -> weir_engine::ports::ReceivedMail {
        parse_mail(format!("{headers}{HEAD}\r\n{body}").as_bytes(), "mx.home.example")
    }

    #[test]
    fn s16_a_mail_is_read() {
        let mail = with("", "Hello\r\nthere");
        assert_eq!(mail.sender, "ann@good.example");
        assert_eq!(mail.text.from, "Ann <Ann@Good.example>");
        assert_eq!(mail.text.subject, "héllo");
        assert_eq!(mail.text.date, "2026-11-20T10:00:00+01:00");
        assert_eq!(mail.text.message_id.as_deref(), Some("1@good.example"));
        assert!(mail.text.text.starts_with("Hello"));
        assert!(!mail.authenticated && !mail.automatic);
    }

    #[test]
    fn z11_a_senders_own_word_about_itself_does_not_count() {
        let table = [
            (
                "Authentication-Results: mx.home.example; dmarc=pass header.from=good.example\r\n",
                true,
            ),
            ("Authentication-Results: mx.home.example; dkim=pass header.d=good.example\r\n", true),
            (
                "Authentication-Results: mx.home.example; spf=pass smtp.mailfrom=x@good.example\r\n",
                true,
            ),
            ("Authentication-Results: mx.home.example; dkim=pass header.d=evil.example\r\n", false),
            (
                "Authentication-Results: mx.home.example; spf=pass smtp.mailfrom=evil.example\r\n",
                false,
            ),
            (
                "Authentication-Results: mx.home.example; dmarc=fail header.from=good.example\r\n",
                false,
            ),
            (
                "Authentication-Results: mx.home.example; none (; dmarc=pass header.from=good.example)\r\n",
                false,
            ),
            (
                "Authentication-Results: mx.evil.example; dmarc=pass header.from=good.example\r\n",
                false,
            ),
            ("", false),
            // The server's own header stands above one that the sender brought along.
            (
                "Authentication-Results: mx.home.example; dmarc=fail header.from=good.example\r\nAuthentication-Results: mx.home.example; dmarc=pass header.from=good.example\r\n",
                false,
            ),
        ];
        for (headers, expected) in table {
            assert_eq!(with(headers, "x").authenticated, expected, "{headers}");
        }
    }

    #[test]
    fn s16_what_the_sender_is_quoted_with_vouches_for_nobody() {
        let of = "Authentication-Results: mx.home.example; ";
        let table: [(&str, bool); 10] = [
            // Mailboxes of evil.example, as the server quotes them.
            ("spf=pass smtp.mailfrom=\"x;dkim=pass header.d=good.example;y\"@evil.example", false),
            (
                "spf=pass smtp.mailfrom=\"x; dmarc=pass header.from=good.example; y\"@evil.example",
                false,
            ),
            ("spf=pass smtp.mailfrom=\"x@good.example y\"@evil.example", false),
            (
                "spf=pass smtp.mailfrom=\"a\\\"; dkim=pass header.d=good.example\"@evil.example",
                false,
            ),
            ("spf=pass smtp.mailfrom=\"never closed; dkim=pass header.d=good.example", false),
            ("spf=pass (of \"x\\) ; dkim=pass header.d=good.example\"@evil.example)", false),
            ("dkim=pass header.d=good.example; dmarc=fail header.from=good.example", false),
            // What servers write of honest mail.
            ("dkim=pass (good \"key\") reason=\"a; b\" header.d=good.example", true),
            ("dmarc=none; spf=pass smtp.mailfrom=ann@good.example", true),
            ("spf=pass smtp.mailfrom=\"ann lee\"@good.example; dmarc=pass", true),
        ];
        for (results, expected) in table {
            let mail = with(&format!("{of}{results}\r\n"), "x");
            assert_eq!(mail.authenticated, expected, "{results}");
        }
    }

    #[test]
    fn s16_a_header_of_the_server_that_is_no_text_makes_way_for_none_of_the_sender() {
        let brought =
            "Authentication-Results: mx.home.example; dkim=pass header.d=good.example\r\n";
        let mut bytes = b"Authentication-Results: mx.home.example; spf=fail smtp.mailfrom=\xff@evil.example\r\n".to_vec();
        bytes.extend_from_slice(format!("{brought}{HEAD}\r\nx").as_bytes());
        assert!(!parse_mail(&bytes, "mx.home.example").authenticated);
        assert!(with(brought, "x").authenticated);
    }

    #[test]
    fn s16_who_names_two_senders_is_neither() {
        let passes = "Authentication-Results: mx.home.example; dmarc=pass\r\n";
        assert!(with(passes, "x").authenticated);
        assert!(!with(&format!("{passes}From: mallory@evil.example\r\n"), "x").authenticated);
        let both = format!("{passes}From: ann@good.example, mallory@evil.example\r\n\r\nx");
        assert!(!parse_mail(both.as_bytes(), "mx.home.example").authenticated);
    }

    #[test]
    fn s16_programs_are_told_from_people() {
        for header in
            ["Auto-Submitted: auto-replied\r\n", "List-Id: <x>\r\n", "Precedence: bulk\r\n"]
        {
            assert!(with(header, "x").automatic, "{header}");
        }
        assert!(!with("Auto-Submitted: no\r\n", "x").automatic);
    }

    #[test]
    fn z10_html_becomes_text_and_attachments_are_named() {
        let mail = parse_mail(
            b"From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
              --x\r\nContent-Type: text/html\r\n\r\n<p>Hi <b>you</b></p><script>bad()</script>\r\n\
              --x\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\nPDF\r\n--x--\r\n",
            "",
        );
        assert!(mail.text.text.contains("Hi you"), "{:?}", mail.text.text);
        assert!(!mail.text.text.contains("bad()"), "{:?}", mail.text.text);
        assert_eq!(mail.text.attachments.len(), 1);
        assert!(mail.text.attachments[0].starts_with("a.pdf (application/pdf"));
    }

    proptest! {
        #[test]
        fn z10_any_bytes_give_something(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mail = parse_mail(&bytes, "x");
            prop_assert!(mail.text.text.chars().count() <= super::TEXT_CHARS_MAX);
        }
    }
}
