//! A notice in a Matrix room (client-server API, `PUT …/send/m.room.message/{txnId}`): what is sent, and what
//! the answer means. Not here: that it is sent, and tried again (`sender`).

use std::time::Duration;

use maud::html;
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;
use weir_core::ids::Timestamp;
use weir_core::record::sha256_hex;

use super::Notice;
use super::delivery::{ChannelReply, DeliveryFailure};
use super::message::NoticeMessage;

/// Characters of an error's name.
const ERROR_CHARS_MAX: usize = 64;

/// The name of one delivery: the same for each try of it, so that a room which has the message already does
/// not get it twice. `moment` is when the delivery began: the same words may be told again another day.
pub(super) fn transaction_name(channel: &str, notice: &Notice, moment: Timestamp) -> String {
    sha256_hex(
        json!({ "channel": channel, "notice": notice, "moment": moment }).to_string().as_bytes(),
    )
}

/// The address of a call.
pub(super) fn message_url(
    mut homeserver: Url,
    room: &str,
    transaction: &str,
) -> Result<Url, DeliveryFailure> {
    let no_path = || DeliveryFailure::Never("this is no address of a homeserver".into());
    let mut path = homeserver.path_segments_mut().map_err(|()| no_path())?;
    path.pop_if_empty().extend(["_matrix", "client", "v3", "rooms", room, "send"]);
    path.extend(["m.room.message", transaction]);
    drop(path);
    Ok(homeserver)
}

/// What is sent: an `m.text`, since clients stay silent for an `m.notice`. It mentions nobody, whatever
/// stands in it, and its words are escaped and preformatted, so that nothing in them is a link.
pub(super) fn message_body(message: &NoticeMessage<'_>) -> String {
    let links = [("Answer", message.answer), ("Open", message.page)];
    let links = links.into_iter().filter_map(|(word, address)| Some((word, address?)));
    let mut body = message.title.clone();
    // Each line of somebody else's words is marked: none of them passes for one of ours.
    for line in message.text.lines() {
        body.push_str(&format!("\n\u{2502} {line}"));
    }
    for (word, address) in links.clone() {
        body.push_str(&format!("\n{word}: {address}"));
    }
    let formatted = html! {
        strong { code { (message.title) } }
        @if !message.text.is_empty() { pre { code { (message.text) } } }
        @for (word, address) in links { p { a href=(address) { (word) } } }
    };
    json!({
        "msgtype": "m.text", "body": body,
        "format": "org.matrix.custom.html", "formatted_body": formatted.into_string(),
        "m.mentions": {},
    })
    .to_string()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MatrixReply {
    event_id: String,
    errcode: String,
    retry_after_ms: Option<u64>,
}

/// What an answer means.
///
/// # Errors
/// The message was not taken: why. Of what the server says only the error's name is told.
pub(super) fn judge_reply(reply: &ChannelReply, token: &str) -> Result<(), DeliveryFailure> {
    let said: MatrixReply = serde_json::from_slice(&reply.body).unwrap_or_default();
    if reply.status.is_success() && !said.event_id.is_empty() {
        return Ok(());
    }
    let never = |why: String| Err(DeliveryFailure::Never(why));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let is_error = said.errcode.len() <= ERROR_CHARS_MAX
        && said.errcode.chars().all(is_name)
        && !said.errcode.contains(token);
    let error = if is_error { said.errcode.as_str() } else { "" };
    let answered = match error {
        "" => format!("it answered {}", reply.status),
        error => format!("it answered {} ({error})", reply.status),
    };
    match reply.status.as_u16() {
        200..=299 if !reply.is_whole => Ok(()),
        200..=299 => never("what answered is no Matrix homeserver: check its address".into()),
        401 => never(format!(
            "the homeserver does not take the access token, which may have ended with its sign-in: \
             {answered}; make a new one and add the channel anew",
        )),
        403 => never(format!(
            "the account of the token may not write in this room: {answered}; invite it and have it \
             join, then send a test",
        )),
        404 | 405 => never(format!(
            "there is no such room, or no Matrix homeserver at this address: {answered}; check both",
        )),
        _ => {
            let after = said.retry_after_ms.map(Duration::from_millis);
            reply.judge_with(reply.retry_after.or(after), answered)
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use serde_json::Value;

    use super::super::NoticeKind;
    use super::super::message::MESSAGE_UNITS_MAX;
    use super::*;

    /// Bytes of an event, of which the servers add a part.
    const EVENT_BYTES_MAX: usize = 65_536;

    fn judged(status: u16, body: &Value) -> Result<(), DeliveryFailure> {
        let status = StatusCode::from_u16(status).expect("a status");
        let body = body.to_string().into();
        judge_reply(&ChannelReply { status, retry_after: None, body, is_whole: true }, "syt_token")
    }

    #[test]
    fn r5_hostile_words_are_no_markup_in_matrix() {
        let message = NoticeMessage {
            title: "<b>@room".into(),
            text: "</code></pre><a href=\"https://evil.example\">yes</a>\nAnswer: https://evil.example"
                .into(),
            answer: Some("https://weir.example/act/x"),
            page: None,
        };
        let body: Value = serde_json::from_str(&message_body(&message)).expect("JSON");
        let expected = json!({
            "msgtype": "m.text",
            "body": "<b>@room\n│ </code></pre><a href=\"https://evil.example\">yes</a>\n\
                     │ Answer: https://evil.example\nAnswer: https://weir.example/act/x",
            "format": "org.matrix.custom.html",
            "formatted_body": "<strong><code>&lt;b&gt;@room</code></strong><pre><code>&lt;/code&gt;\
                &lt;/pre&gt;&lt;a href=&quot;https://evil.example&quot;&gt;yes&lt;/a&gt;\n\
                Answer: https://evil.example</code></pre>\
                <p><a href=\"https://weir.example/act/x\">Answer</a></p>",
            "m.mentions": {},
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn r5_the_longest_message_is_an_event() {
        let text = "\"".repeat(MESSAGE_UNITS_MAX - 10);
        let address = format!("https://weir.example/{}", "x".repeat(2_000));
        let message = NoticeMessage {
            title: "Title".into(),
            text,
            answer: Some(&address),
            page: Some(&address),
        };
        // What the servers add (ids, hashes, signatures, the events before it) has room left.
        assert!(message_body(&message).len() < EVENT_BYTES_MAX - 16 * 1024);
    }

    #[test]
    fn r5_a_room_is_one_part_of_the_address() {
        let base = Url::parse("https://m.example/base/").expect("an address");
        let url = message_url(base, "!a/../b?c#d%2F:e", "t1").expect("an address");
        assert_eq!(
            url.as_str(),
            "https://m.example/base/_matrix/client/v3/rooms/!a%2F..%2Fb%3Fc%23d%252F:e/send/\
             m.room.message/t1"
        );
    }

    #[test]
    fn r5_each_delivery_has_one_name() {
        let notice = Notice {
            kind: NoticeKind::RunEnded,
            title: "A run is done".into(),
            text: String::new(),
            link: "/chats/s".into(),
            offer: None,
        };
        let name = |channel: &str, moment| transaction_name(channel, &notice, Timestamp(moment));
        assert_eq!(name("c", 1), name("c", 1));
        assert_ne!(name("c", 1), name("c", 2));
        assert_ne!(name("c", 1), name("d", 1));
    }

    #[test]
    fn r5_an_answer_that_breaks_off_counts_by_its_status() {
        let torn = |status: u16| {
            let status = StatusCode::from_u16(status).expect("a status");
            let body = b"{\"event_".to_vec();
            judge_reply(&ChannelReply { status, retry_after: None, body, is_whole: false }, "t")
        };
        assert_eq!(torn(200), Ok(()));
        assert!(torn(502).is_err());
    }

    #[test]
    fn r5_what_a_homeserver_answers_is_told() {
        assert_eq!(judged(200, &json!({ "event_id": "$x" })), Ok(()));
        let said = json!({ "errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2_500 });
        let why = "it answered 429 Too Many Requests (M_LIMIT_EXCEEDED)".to_owned();
        let after = Some(Duration::from_millis(2_500));
        assert_eq!(judged(429, &said), Err(DeliveryFailure::Later { why, after }));
        for (status, errcode, words) in [
            (401, "M_UNKNOWN_TOKEN", "M_UNKNOWN_TOKEN"),
            (403, "M_FORBIDDEN", "may not write in this room"),
            (404, "M_NOT_FOUND", "no such room"),
            (403, "M_USER_DEACTIVATED", "M_USER_DEACTIVATED"),
            (413, "M_TOO_LARGE", "(M_TOO_LARGE)"),
            (400, "M_BAD_JSON", "(M_BAD_JSON)"),
            (400, "syt_token", "it answered 400"),
            (400, "syt_token <b>", "it answered 400"),
            (200, "", "no Matrix homeserver"),
        ] {
            let Err(DeliveryFailure::Never(why)) = judged(status, &json!({ "errcode": errcode }))
            else {
                panic!("{status} is for good");
            };
            assert!(why.contains(words) && !why.contains("syt_token"), "{why}");
        }
    }
}
