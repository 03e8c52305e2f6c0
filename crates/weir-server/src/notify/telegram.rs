//! A notice by a bot of Telegram (Bot API, `sendMessage`): what is sent, and what the answer means. Not here:
//! that it is sent, and tried again (`sender`).

use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_core::secret::Secret;

use super::delivery::{ChannelReply, DeliveryFailure, quoted_words};
use super::message::{NoticeMessage, count_units};

/// The address of a call. The token stands in it: it is shown nowhere.
pub(super) fn method_url(mut server: Url, token: &str) -> Result<Url, DeliveryFailure> {
    let no_path = || DeliveryFailure::Never("this is no address of a Bot API server".into());
    let mut path = server.path_segments_mut().map_err(|()| no_path())?;
    path.pop_if_empty().push(&format!("bot{token}")).push("sendMessage");
    drop(path);
    Ok(server)
}

/// What is sent. The words are `code` and `pre`: so neither markup nor addresses, names or commands in
/// them become anything that can be pressed; what leads on are the buttons alone.
pub(super) fn message_body(chat: &str, message: &NoticeMessage<'_>) -> String {
    let text = message.words();
    let (title, more) = (count_units(&message.title), count_units(&message.text));
    let mut entities = Vec::new();
    if title > 0 {
        entities.push(json!({ "type": "code", "offset": 0, "length": title }));
    }
    if more > 0 {
        let offset = count_units(&text) - more;
        entities.push(json!({ "type": "pre", "offset": offset, "length": more }));
    }
    let mut body = json!({
        "chat_id": chat, "text": text, "entities": entities,
        "link_preview_options": { "is_disabled": true },
    });
    let buttons: Vec<Value> = [("Answer", message.answer), ("Open", message.page)]
        .into_iter()
        .filter_map(|(word, address)| Some((word, address.filter(|at| is_button_address(at))?)))
        .map(|(word, address)| json!([{ "text": word, "url": address }]))
        .collect();
    if !buttons.is_empty() {
        body["reply_markup"] = json!({ "inline_keyboard": buttons });
    }
    body.to_string()
}

/// Whether Telegram takes an address for a button: it refuses a whole message for `localhost` and the like.
fn is_button_address(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| match url.host() {
        Some(url::Host::Domain(name)) => name.contains('.'),
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => true,
        None => false,
    })
}

#[derive(Deserialize)]
struct BotReply {
    ok: bool,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: ReplyParameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReplyParameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

/// What an answer means.
///
/// # Errors
/// The message was not taken: why, without the token, whatever the server said.
pub(super) fn judge_reply(reply: &ChannelReply, token: &str) -> Result<(), DeliveryFailure> {
    let Ok(said) = serde_json::from_slice::<BotReply>(&reply.body) else {
        reply.judge_status()?;
        if !reply.is_whole {
            return Ok(());
        }
        return Err(DeliveryFailure::Never(
            "what answered is no Bot API server: check its address".into(),
        ));
    };
    if said.ok && reply.status.is_success() {
        return Ok(());
    }
    let never = |why: String| Err(DeliveryFailure::Never(why));
    if let Some(chat) = said.parameters.migrate_to_chat_id {
        return never(format!("the group has a new number: add the channel anew with chat {chat}"));
    }
    let words = quoted_words(&Secret::new(token).scrub(&said.description));
    let is_no_chat = words.contains("chat not found");
    match reply.status.as_u16() {
        401 | 404 => never(format!(
            "Telegram does not know the bot's token (it answered {}): copy it from @BotFather and add \
             the channel anew",
            reply.status,
        )),
        403 => never(format!(
            "the bot may not write there ({words}): unblock it, or add it to the chat, and send a test",
        )),
        400 if is_no_chat => never(format!(
            "the bot finds no such chat ({words}): write to the bot first, or add it to the group, and \
             check the chat's number",
        )),
        200..=299 => never(format!("it did not take the message: {words}")),
        _ => {
            let after = said.parameters.retry_after.map(Duration::from_secs);
            let why = format!("it answered {}: {words}", reply.status);
            reply.judge_with(after.or(reply.retry_after), why)
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn judged(status: u16, body: &Value) -> Result<(), DeliveryFailure> {
        let status = StatusCode::from_u16(status).expect("a status");
        let body = body.to_string().into();
        let reply = ChannelReply { status, retry_after: None, body, is_whole: true };
        judge_reply(&reply, "42:SECRET")
    }

    fn message(text: &str) -> NoticeMessage<'static> {
        NoticeMessage { title: "Allow 😀?".into(), text: text.into(), answer: None, page: None }
    }

    #[test]
    fn r5_hostile_words_are_no_markup_in_telegram() {
        let words = "*b* <a href=\"https://evil.example\">x</a> @all /start https://evil.example";
        let body: Value = serde_json::from_str(&message_body("7", &message(words))).expect("JSON");
        let expected = json!({
            "chat_id": "7",
            "text": format!("Allow 😀?\n{words}"),
            "entities": [
                { "type": "code", "offset": 0, "length": 9 },
                { "type": "pre", "offset": 10, "length": words.len() },
            ],
            "link_preview_options": { "is_disabled": true },
        });
        assert_eq!(body, expected);
        let body: Value = serde_json::from_str(&message_body("7", &message(""))).expect("JSON");
        assert_eq!(body["text"], "Allow 😀?");
        assert_eq!(body["entities"].as_array().map(Vec::len), Some(1), "none is empty");
    }

    #[test]
    fn r5_a_button_leads_only_where_telegram_lets_it() {
        for good in
            ["https://weir.example/act/x", "https://192.168.7.20:7878/x", "https://[fd00::1]/"]
        {
            assert!(is_button_address(good), "{good}");
        }
        for bad in ["http://localhost:7878/x", "https://machine/x", "/act/x", ""] {
            assert!(!is_button_address(bad), "{bad}");
        }
    }

    #[test]
    fn r5_the_token_is_part_of_the_path_and_of_nothing_else() {
        let url = |base: &str| {
            let base = Url::parse(base).expect("an address");
            method_url(base, "42:AA-b_c").expect("an address").to_string()
        };
        assert_eq!(
            url("https://api.telegram.org"),
            "https://api.telegram.org/bot42:AA-b_c/sendMessage"
        );
        assert_eq!(url("https://a.example/tg/"), "https://a.example/tg/bot42:AA-b_c/sendMessage");
    }

    #[test]
    fn r5_what_telegram_answers_is_told_without_the_token() {
        assert_eq!(judged(200, &json!({ "ok": true, "result": {} })), Ok(()));
        let said = json!({ "ok": false, "error_code": 429, "description": "Too Many Requests",
            "parameters": { "retry_after": 7 } });
        let why = "it answered 429 Too Many Requests: Too Many Requests".to_owned();
        let after = Some(Duration::from_secs(7));
        assert_eq!(judged(429, &said), Err(DeliveryFailure::Later { why, after }));
        for (status, description, words) in [
            (400, "Bad Request: chat not found", "no such chat"),
            (403, "Forbidden: bot was blocked by the user", "bot was blocked by the user"),
            (401, "Unauthorized", "@BotFather"),
            (404, "Not Found", "@BotFather"),
            (400, "Bad Request: 42:SECRET is\nwrong\u{202e}", "*** is wrong<U+202E>"),
            (200, "odd", "did not take"),
        ] {
            let said = json!({ "ok": false, "description": description });
            let Err(DeliveryFailure::Never(why)) = judged(status, &said) else {
                panic!("{status} is for good");
            };
            assert!(why.contains(words) && !why.contains("SECRET"), "{why}");
        }
        let moved = json!({ "ok": false, "description": "upgraded",
            "parameters": { "migrate_to_chat_id": -1001 } });
        let why = "the group has a new number: add the channel anew with chat -1001".to_owned();
        assert_eq!(judged(400, &moved), Err(DeliveryFailure::Never(why)));
        let odd = judged(200, &json!("a page")).expect_err("no Bot API");
        assert!(odd.into_reason().contains("no Bot API server"));
    }
}
