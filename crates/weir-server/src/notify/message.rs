//! A notice as a messenger shows it: its words, cut to what fits, and the addresses that lead on.

use super::Notice;

/// Units (UTF-16) of a message: what Telegram takes. In Matrix it is far below the 65,536 bytes of an
/// event, even where each unit is escaped twice (`"` is `&quot;` in HTML and `\"` in JSON).
pub(super) const MESSAGE_UNITS_MAX: usize = 4_096;
/// Units of its first line.
const TITLE_UNITS_MAX: usize = 512;

/// What a messenger shows of a notice. Its words are a model's or a server's: they are never markup.
pub(super) struct NoticeMessage<'a> {
    /// The first line.
    pub(super) title: String,
    /// More; may be empty.
    pub(super) text: String,
    /// The page on which it is answered, whole.
    pub(super) answer: Option<&'a str>,
    /// The page that it is about, whole.
    pub(super) page: Option<&'a str>,
}

impl<'a> NoticeMessage<'a> {
    /// From a notice and its addresses, of which those count that lead somewhere by themselves.
    pub(super) fn new(
        notice: &Notice,
        answer: Option<&'a str>,
        page: &'a str,
    ) -> NoticeMessage<'a> {
        let is_whole = |address: &&str| address.starts_with("http");
        let title = cut_to_units(notice.title.trim(), TITLE_UNITS_MAX);
        let used = count_units(&title) + 1;
        NoticeMessage {
            text: cut_to_units(notice.text.trim(), MESSAGE_UNITS_MAX - used),
            title,
            answer: answer.filter(is_whole),
            page: Some(page).filter(is_whole),
        }
    }

    /// Its words, one after the other.
    pub(super) fn words(&self) -> String {
        let parts = [self.title.as_str(), self.text.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// How long messengers say a text is.
pub(super) fn count_units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The beginning of a text that is no longer than this, and a sign where something was left out.
fn cut_to_units(text: &str, units_max: usize) -> String {
    if count_units(text) <= units_max {
        return text.to_owned();
    }
    let mut left = units_max.saturating_sub(1);
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::NoticeKind;

    #[test]
    fn r5_a_message_is_cut_in_units_and_no_character_is_halved() {
        assert_eq!(cut_to_units("abc", 3), "abc");
        assert_eq!(cut_to_units("abcd", 3), "ab…");
        assert_eq!(cut_to_units("😀😀", 4), "😀😀");
        assert_eq!(cut_to_units("😀😀", 3), "😀…");
        assert_eq!(cut_to_units("a😀b", 3), "a…");
        assert_eq!(cut_to_units("😀a", 2), "…");
        let notice = Notice {
            kind: NoticeKind::Question,
            title: "😀".repeat(400),
            text: "<U+202E>".repeat(2_000),
            link: "/chats/s".into(),
            offer: None,
        };
        let message = NoticeMessage::new(&notice, Some("/act/x"), "https://weir.example/chats/s");
        let words = message.words();
        assert_eq!(count_units(&words), MESSAGE_UNITS_MAX);
        assert!(words.ends_with('…'), "{words}");
        assert_eq!(message.answer, None, "it leads nowhere without the server's address");
        assert_eq!(message.page, Some("https://weir.example/chats/s"));
    }
}
