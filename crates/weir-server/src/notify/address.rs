//! The ways in which a person can be reached beside the bell, as they enter them: what is wrong with one, and
//! what is shown of it. Not here: how it is kept (`channels`), and how it is called (`sender`).

use serde::{Deserialize, Serialize};

/// Characters of an address, a key, a secret.
const TEXT_CHARS_MAX: usize = 2_000;
/// Characters of a bot's token, of a chat's name; Telegram's have fewer.
const BOT_TOKEN_CHARS_MAX: usize = 256;
const CHAT_CHARS_MAX: usize = 64;
/// Bytes of the id of a Matrix room, as its specification has it.
const ROOM_BYTES_MAX: usize = 255;
/// Where bots of Telegram are served, unless a person runs such a server.
pub(super) const TELEGRAM_SERVER: &str = "https://api.telegram.org";

/// A way to reach a person, as they enter it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "way", rename_all = "snake_case")]
pub(crate) enum ChannelAddress {
    /// A browser that agreed to be told (RFC 8030).
    Push {
        /// The address of its push service.
        endpoint: String,
        /// Its public key, base64url.
        p256dh: String,
        /// Its secret, base64url.
        auth: String,
    },
    /// An address that is called with the notice as JSON.
    Webhook {
        /// The address.
        url: String,
        /// By which calls are signed: `x-weir-signature: sha256=…` over time and body; may be empty.
        #[serde(default)]
        secret: String,
    },
    /// A topic of an ntfy server.
    Ntfy {
        /// The server: `https://ntfy.sh`.
        server: String,
        /// The topic.
        topic: String,
        /// Its access token; may be empty.
        #[serde(default)]
        token: String,
    },
    /// A chat in which a Telegram bot of the person's writes.
    Telegram {
        /// The bot's token, from @BotFather.
        token: String,
        /// The chat: its number (`-100…` for groups), or `@name` of a channel.
        chat: String,
        /// A Bot API server of one's own; empty: Telegram's.
        #[serde(default)]
        base_url: String,
    },
    /// A Matrix room.
    Matrix {
        /// The homeserver of the account that writes: `https://matrix.example.org`.
        homeserver: String,
        /// The room's id, which begins with `!`.
        room: String,
        /// An access token of that account.
        token: String,
    },
}

impl ChannelAddress {
    /// Its word: `push`, `webhook`, …
    pub(crate) fn way(&self) -> &'static str {
        match self {
            ChannelAddress::Push { .. } => "push",
            ChannelAddress::Webhook { .. } => "webhook",
            ChannelAddress::Ntfy { .. } => "ntfy",
            ChannelAddress::Telegram { .. } => "telegram",
            ChannelAddress::Matrix { .. } => "matrix",
        }
    }
}

/// Never more than the way: the rest is secrets.
impl std::fmt::Debug for ChannelAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChannelAddress({})", self.way())
    }
}

/// What is shown of a way: where it leads, without what is secret in it.
///
/// # Errors
/// What is wrong with it, in words that hold no secret.
pub(super) fn describe_address(way: &ChannelAddress) -> Result<String, String> {
    match way {
        ChannelAddress::Push { endpoint, p256dh, auth } => {
            super::push::decode_browser_keys(p256dh, auth)?;
            Ok(format!("this browser, by {}", host_of(endpoint)?))
        }
        ChannelAddress::Webhook { url, secret } => {
            if secret.chars().count() > TEXT_CHARS_MAX {
                return Err(format!("a secret has {TEXT_CHARS_MAX} characters at most"));
            }
            host_of(url)
        }
        ChannelAddress::Ntfy { server, topic, token } => {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if topic.is_empty() || topic.len() > 64 || !topic.chars().all(plain) {
                return Err("a topic has letters, digits, - and _, 64 at most".into());
            }
            if token.len() > TEXT_CHARS_MAX || token.contains(char::is_whitespace) {
                return Err("the token cannot be used".into());
            }
            host_of(server)
        }
        ChannelAddress::Telegram { token, chat, base_url } => {
            let bot = bot_of(token)?;
            check_chat(chat)?;
            match base_url.as_str() {
                "" => Ok(format!("chat {chat}, by bot {bot}")),
                own => Ok(format!("chat {chat}, by bot {bot} at {}", server_host(own)?)),
            }
        }
        ChannelAddress::Matrix { homeserver, room, token } => {
            check_room(room)?;
            let is_token = |c: char| c.is_ascii_graphic();
            if token.is_empty() || token.len() > TEXT_CHARS_MAX || !token.chars().all(is_token) {
                return Err("this is no access token: copy the token of the Matrix account that \
                            writes, and nothing else"
                    .into());
            }
            Ok(format!("{room} by {}", server_host(homeserver)?))
        }
    }
}

/// The host of an address that may be called.
fn host_of(address: &str) -> Result<String, String> {
    if address.chars().count() > TEXT_CHARS_MAX {
        return Err(format!("an address has {TEXT_CHARS_MAX} characters at most"));
    }
    let url = url::Url::parse(address).map_err(|why| format!("{address:?}: {why}"))?;
    let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match (url.scheme(), url.host_str()) {
        ("https", Some(host)) => Ok(host.to_owned()),
        ("http", Some(host)) if here => Ok(host.to_owned()),
        _ => Err(format!("{address:?} is not encrypted; an address begins with https://")),
    }
}

/// The host of a server below whose address more is written: nothing else may stand in it.
fn server_host(address: &str) -> Result<String, String> {
    let host = host_of(address)?;
    let url = url::Url::parse(address).map_err(|why| format!("{address:?}: {why}"))?;
    let has_more = url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some();
    if has_more {
        return Err("the address of a server has no name and password, no ? and no #".into());
    }
    Ok(host)
}

/// The number of the bot that a token is of: everybody who writes with it sees that.
fn bot_of(token: &str) -> Result<&str, String> {
    let is_secret = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    match token.split_once(':') {
        Some((bot, secret))
            if token.len() <= BOT_TOKEN_CHARS_MAX
                && is_number(bot)
                && !secret.is_empty()
                && secret.chars().all(is_secret) =>
        {
            Ok(bot)
        }
        _ => {
            Err("this is no token of a Telegram bot: copy it from @BotFather, as in 123456:ABC-def"
                .into())
        }
    }
}

fn check_chat(chat: &str) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_chat = match chat.strip_prefix('@') {
        Some(name) => !name.is_empty() && name.chars().all(is_name),
        None => chat.parse::<i64>().is_ok_and(|number| number != 0),
    };
    if is_chat && chat.len() <= CHAT_CHARS_MAX {
        return Ok(());
    }
    Err("a Telegram chat is a number, as in 123456 or -1001234, or the @name of a channel".into())
}

fn check_room(room: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_graphic();
    let is_room = room.len() > 1 && room.len() <= ROOM_BYTES_MAX && room.chars().all(is_plain);
    if is_room && room.starts_with('!') {
        return Ok(());
    }
    Err("a room's id begins with !, as in !abc:example.org; the room's settings show it under \
         Advanced (what begins with # is a name of the room)"
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_ways_are_looked_at() {
        let hook = |url: &str| ChannelAddress::Webhook { url: url.into(), secret: String::new() };
        for good in ["https://a.example/x", "http://127.0.0.1:9/x", "http://localhost/x"] {
            assert!(describe_address(&hook(good)).is_ok(), "{good}");
        }
        for bad in ["http://a.example", "ftp://a.example", "x", "file:///etc/passwd", "https://"] {
            assert!(describe_address(&hook(bad)).is_err(), "{bad}");
        }
        let ntfy = |topic: &str| ChannelAddress::Ntfy {
            server: "https://ntfy.example".into(),
            topic: topic.into(),
            token: String::new(),
        };
        assert!(describe_address(&ntfy("my-topic_1")).is_ok());
        for bad in ["", "a/b", "a?b", &"x".repeat(65)] {
            assert!(describe_address(&ntfy(bad)).is_err(), "{bad}");
        }
        // What is shown holds no secret part of the address.
        let to = describe_address(&hook("https://a.example/secret?k=1")).expect("good");
        assert_eq!(to, "a.example");
    }

    fn telegram(token: &str, chat: &str, base_url: &str) -> ChannelAddress {
        let (token, chat) = (token.to_owned(), chat.to_owned());
        ChannelAddress::Telegram { token, chat, base_url: base_url.to_owned() }
    }

    fn matrix(homeserver: &str, room: &str, token: &str) -> ChannelAddress {
        let (homeserver, room) = (homeserver.to_owned(), room.to_owned());
        ChannelAddress::Matrix { homeserver, room, token: token.to_owned() }
    }

    #[test]
    fn r5_a_bot_is_shown_by_its_number_and_never_by_its_token() {
        let shown = |way: &ChannelAddress| describe_address(way).expect("good");
        let way = telegram("42:SECRET-x", "-100123", "");
        assert_eq!(shown(&way), "chat -100123, by bot 42");
        assert_eq!(format!("{way:?}"), "ChannelAddress(telegram)");
        let way = telegram("42:SECRET-x", "@news_1", "https://bots.example/api");
        assert_eq!(shown(&way), "chat @news_1, by bot 42 at bots.example");
        for token in
            ["", "42", "42:", ":SECRET", "bot42:SECRET", "42:SECRET/b", "42:SECRET?b", "42:ä"]
        {
            let why = describe_address(&telegram(token, "1", "")).expect_err(token);
            assert!(why.contains("@BotFather") && !why.contains("SECRET"), "{why}");
        }
        for chat in ["", "0", "name", "@", "@a/b", "1/2", "../x", "1&x=y"] {
            assert!(describe_address(&telegram("42:x", chat, "")).is_err(), "{chat}");
        }
        for base in ["http://bots.example", "https://bots.example/?x", "https://a:b@bots.example"] {
            assert!(describe_address(&telegram("42:x", "1", base)).is_err(), "{base}");
        }
    }

    #[test]
    fn r5_a_matrix_room_is_named_by_its_id() {
        let way = matrix("https://matrix.example", "!abc:example.org", "syt_secret");
        assert_eq!(describe_address(&way).expect("good"), "!abc:example.org by matrix.example");
        assert_eq!(format!("{way:?}"), "ChannelAddress(matrix)");
        for room in ["", "!", "#weir:example.org", "abc:example.org", "!a b", "!ä"] {
            assert!(describe_address(&matrix("https://m.example", room, "t")).is_err(), "{room}");
        }
        for token in ["", "a b", "a\nb", "ä"] {
            let way = matrix("https://m.example", "!a:b", token);
            assert!(describe_address(&way).is_err(), "{token:?}");
        }
        assert!(describe_address(&matrix("http://m.example", "!a:b", "t")).is_err());
        assert!(describe_address(&matrix("https://m.example/#x", "!a:b", "t")).is_err());
    }
}
