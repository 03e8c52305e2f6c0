//! Things in the box that are one sign there and more when they are sent: long pasted texts, files
//! that go along. Not here: how a pasted text is told from a path ([`super::paste`]).
//!
//! In the text a token is one code point of a range that Unicode never assigns and always keeps
//! apart from its neighbours (`Default_Ignorable_Code_Point` without assignment, a grapheme cluster
//! of its own). So moving, deleting, undoing and cutting need to know nothing of tokens.

use std::borrow::Cow;
use std::sync::Arc;

use crate::link::{CommandTicket, MessageAttachment};

const FIRST: u32 = 0xE_0200;
/// Tokens at a time, those that could be had back by undoing included.
pub(super) const TOKENS_MAX: usize = 0xE00;

/// Whether this stands for a token. Nothing that is typed or pasted may contain it.
pub(super) fn is_token(c: char) -> bool {
    token_index(c).is_some()
}

fn token_index(c: char) -> Option<usize> {
    let index = u32::from(c).checked_sub(FIRST)? as usize;
    (index < TOKENS_MAX).then_some(index)
}

/// Whether a text has a token in it. Quick for long texts: the first byte of them all is rare.
pub(super) fn has_token(text: &str) -> bool {
    text.as_bytes().contains(&0xF3) && text.contains(is_token)
}

/// What a token stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ComposerToken {
    /// A long text.
    Pasted(Arc<str>),
    /// A file that goes along.
    File(MessageAttachment),
    /// What the clipboard holds, while it is being read; `None`: nothing came of it. Its place is
    /// kept all the same: an undone step may still name it.
    Clipboard(Option<CommandTicket>),
}

#[derive(Debug)]
struct LabelledToken {
    token: ComposerToken,
    label: String,
}

/// All tokens of a box.
#[derive(Debug, Default)]
pub(super) struct TokenTable {
    held: Vec<Option<LabelledToken>>,
    pasted: usize,
}

impl TokenTable {
    /// A sign for a token; `None`: there are too many.
    pub(super) fn add(&mut self, token: ComposerToken) -> Option<char> {
        let free = self.held.iter().position(Option::is_none).unwrap_or(self.held.len());
        let sign = char::from_u32(FIRST + free as u32).filter(|c| is_token(*c))?;
        if matches!(token, ComposerToken::Pasted(_)) {
            self.pasted += 1;
        }
        let label = token_label(&token, self.pasted);
        let held = Some(LabelledToken { token, label });
        match self.held.get_mut(free) {
            Some(slot) => *slot = held,
            None => self.held.push(held),
        }
        Some(sign)
    }

    /// From now on a sign stands for this.
    pub(super) fn set(&mut self, sign: char, token: ComposerToken) {
        if matches!(token, ComposerToken::Pasted(_)) {
            self.pasted += 1;
        }
        let label = token_label(&token, self.pasted);
        if let Some(held) = token_index(sign).and_then(|slot| self.held.get_mut(slot)) {
            *held = Some(LabelledToken { token, label });
        }
    }

    /// The sign that stands for what this look at the clipboard is going to find.
    pub(super) fn sign_for_ticket(&self, ticket: CommandTicket) -> Option<char> {
        let is_it = |held: &Option<LabelledToken>| {
            let token = held.as_ref().map(|held| &held.token);
            token == Some(&ComposerToken::Clipboard(Some(ticket)))
        };
        char::from_u32(FIRST + self.held.iter().position(is_it)? as u32)
    }

    pub(super) fn get(&self, sign: char) -> Option<&ComposerToken> {
        Some(&self.held.get(token_index(sign)?)?.as_ref()?.token)
    }

    /// How a sign is shown.
    pub(super) fn label(&self, sign: char) -> Option<&str> {
        Some(&self.held.get(token_index(sign)?)?.as_ref()?.label)
    }

    /// `text` with what pasted tokens stand for, labels of files, and the files.
    pub(super) fn expand_tokens<'a>(
        &self,
        text: &'a str,
    ) -> (Cow<'a, str>, Vec<MessageAttachment>) {
        let mut files = Vec::new();
        if !has_token(text) {
            return (Cow::Borrowed(text), files);
        }
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c) {
                Some(ComposerToken::Pasted(content)) => out.push_str(content),
                Some(ComposerToken::File(file)) => {
                    out.push_str(self.label(c).unwrap_or_default());
                    if !files.contains(file) {
                        files.push(file.clone());
                    }
                }
                Some(ComposerToken::Clipboard(_)) => (),
                None if is_token(c) => (),
                None => out.push(c),
            }
        }
        (Cow::Owned(out), files)
    }

    /// `text` in which the labels of these files, each once, are tokens again; files whose label it
    /// does not have are left out.
    pub(super) fn restore_labelled_files(
        &mut self,
        text: &str,
        files: &[MessageAttachment],
    ) -> String {
        let mut out = text.to_owned();
        for file in files {
            let token = ComposerToken::File(file.clone());
            let label = token_label(&token, 0);
            if let Some(at) = out.find(&label)
                && let Some(sign) = self.add(token)
            {
                out.replace_range(at..at + label.len(), sign.encode_utf8(&mut [0; 4]));
            }
        }
        out
    }

    /// Lets go of the tokens that are in none of these texts; numbers begin anew when none is left.
    pub(super) fn retain_used<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        let mut kept: Vec<bool> = vec![false; self.held.len()];
        for text in texts.filter(|text| has_token(text)) {
            for index in text.chars().filter_map(token_index) {
                if let Some(kept) = kept.get_mut(index) {
                    *kept = true;
                }
            }
        }
        for (held, _) in self.held.iter_mut().zip(kept).filter(|(_, kept)| !kept) {
            *held = None;
        }
        if self.held.iter().all(Option::is_none) {
            *self = TokenTable::default();
        }
    }
}

const PICTURES: [&str; 9] = ["png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic"];

/// Whether a file is a picture, by its name.
pub(super) fn is_picture(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| PICTURES.contains(&ending.as_str()))
}

fn token_label(token: &ComposerToken, number: usize) -> String {
    match token {
        ComposerToken::Pasted(content) => {
            let lines = content.lines().count();
            let size = match lines {
                0 | 1 => format!("{} characters", content.chars().count()),
                _ => format!("{lines} lines"),
            };
            format!("[Pasted text #{number}: {size}]")
        }
        ComposerToken::File(file) => {
            let name = match file {
                MessageAttachment::Path(path) => path.rsplit('/').next().unwrap_or(path),
                MessageAttachment::Bytes { name, .. } => name,
            };
            let kind = if is_picture(name) { "image" } else { "file" };
            // A name may contain anything; in a line of text it is one line.
            let name: String = name.chars().filter(|c| !c.is_control()).collect();
            // What is in no file is known by its size.
            let much = match file {
                MessageAttachment::Path(_) => String::new(),
                MessageAttachment::Bytes { bytes, .. } => format!(", {}", size_text(bytes.len())),
            };
            format!("[{kind}: {name}{much}]")
        }
        ComposerToken::Clipboard(Some(_)) => "[reading the clipboard]".to_owned(),
        ComposerToken::Clipboard(None) => "[nothing]".to_owned(),
    }
}

/// How many bytes something has, in words.
pub(crate) fn size_text(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    #[test]
    fn f1_every_token_is_a_cluster_of_its_own() {
        for index in 0..TOKENS_MAX as u32 {
            let sign = char::from_u32(FIRST + index).expect("no surrogate is in the range");
            let text = format!("👩\u{200D}{sign}\u{301}\u{600}{sign}");
            let clusters: Vec<&str> = text.graphemes(true).collect();
            assert_eq!(clusters.iter().filter(|c| c.chars().any(is_token)).count(), 2, "{index:x}");
            assert!(clusters.contains(&sign.to_string().as_str()));
        }
    }

    #[test]
    fn f1_tokens_become_what_they_stand_for() {
        let mut tokens = TokenTable::default();
        let long = tokens.add(ComposerToken::Pasted("a\nb".into())).expect("the first");
        let shot = ComposerToken::File(MessageAttachment::Path("/tmp/shot.png".into()));
        let shot = tokens.add(shot).expect("the second");
        assert_eq!(tokens.label(long), Some("[Pasted text #1: 2 lines]"));
        let text = format!("see {long} and {shot}, {shot}");
        let (sent, files) = tokens.expand_tokens(&text);
        assert_eq!(sent, "see a\nb and [image: shot.png], [image: shot.png]");
        assert_eq!(files, [MessageAttachment::Path("/tmp/shot.png".into())]);
        let back = tokens.restore_labelled_files(&sent, &files);
        assert_eq!(tokens.expand_tokens(&back), (sent, files));
        tokens.retain_used([long.to_string().as_str()].into_iter());
        assert_eq!((tokens.get(shot), tokens.get(long).is_some()), (None, true));
        tokens.retain_used(std::iter::empty());
        let next = tokens.add(ComposerToken::Pasted("xy".into())).expect("all are free");
        assert_eq!(tokens.label(next), Some("[Pasted text #1: 2 characters]"));
    }

    #[test]
    fn f1_tokens_have_a_bound() {
        let mut tokens = TokenTable::default();
        for _ in 0..TOKENS_MAX {
            assert!(tokens.add(ComposerToken::Pasted("x".into())).is_some());
        }
        assert_eq!(tokens.add(ComposerToken::Pasted("x".into())), None);
    }
}
