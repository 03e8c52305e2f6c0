//! Tokens as short text on one line, always the same for the same tokens. Not here: what they mean.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

/// What stands without blanks beside it.
const TIGHT: &[(&str, &str)] = &[
    (" :: ", "::"),
    (":: ", "::"),
    (" ::", "::"),
    ("< ", "<"),
    (" <", "<"),
    (" >", ">"),
    ("& ", "&"),
    (" ,", ","),
    ("( ", "("),
    (" )", ")"),
    (" (", "("),
    ("[ ", "["),
    (" ]", "]"),
    (" ;", ";"),
    (" :", ":"),
    ("->", " -> "),
    ("  ", " "),
    ("->(", "-> ("),
    (",(", ", ("),
    (":(", ": ("),
    ("=(", "= ("),
    (",)", ")"),
    (",>", ">"),
];

/// Anything of the language as it would be written on one line.
pub(super) fn short_text(of: &impl ToTokens) -> String {
    let mut text = of.to_token_stream().to_string().replace('\n', " ");
    for (wide, tight) in TIGHT {
        while wide.len() > tight.len() && text.contains(wide) {
            text = text.replace(wide, tight);
        }
        if wide.len() <= tight.len() {
            text = text.replace(wide, tight);
        }
    }
    text.trim().to_owned()
}

/// Whether a name stands anywhere in the tokens.
pub(super) fn has_ident(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => has_ident(&group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// The tokens that a macro was given, in pieces that end with a comma, a semicolon or a block; without
/// documentation. A comma between the parameters of a type ends none.
pub(super) fn given_pieces(tokens: &TokenStream) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = TokenStream::new();
    let mut angles = AngleDepth::default();
    let mut tokens = tokens.clone().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_hash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        let documents =
            |next: &TokenTree| matches!(next, TokenTree::Group(group) if is_doc(&group.stream()));
        if is_hash && tokens.peek().is_some_and(documents) {
            tokens.next();
            continue;
        }
        let is_end = angles.ends_piece(&token);
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let head = short_text(&std::mem::take(&mut piece));
                let inner = given_pieces(&group.stream());
                pieces.push(head.clone());
                pieces.extend(inner.into_iter().map(|inner| format!("{head} {{ {inner} }}")));
            }
            _ if is_end => pieces.push(short_text(&std::mem::take(&mut piece))),
            token => piece.extend([token]),
        }
    }
    pieces.push(short_text(&piece));
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// How deep in the parameters of a type the last token stood.
#[derive(Default)]
struct AngleDepth {
    depth: usize,
    before: Option<char>,
}

impl AngleDepth {
    /// Takes a token; whether it ends a piece.
    fn ends_piece(&mut self, token: &TokenTree) -> bool {
        let sign = match token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => None,
        };
        let before = std::mem::replace(&mut self.before, sign);
        match sign {
            Some('<') => self.depth += 1,
            // An arrow closes nothing.
            Some('>') if !matches!(before, Some('-' | '=')) => {
                self.depth = self.depth.saturating_sub(1);
            }
            Some(';') => {
                self.depth = 0;
                return true;
            }
            Some(',') => return self.depth == 0,
            _ => (),
        }
        false
    }
}

fn is_doc(attribute: &TokenStream) -> bool {
    let first = attribute.clone().into_iter().next();
    matches!(first, Some(TokenTree::Ident(ident)) if ident == "doc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(text: &str) -> String {
        let ty: syn::Type = syn::parse_str(text).expect("a type");
        short_text(&ty)
    }

    #[test]
    fn types_are_written_as_people_write_them() {
        for text in [
            "Option<Arc<dyn Tool>>",
            "&'a [u8]",
            "Box<dyn Fn(&str) -> (u8, bool) + Send>",
            "Result<Vec<T>, std::io::Error>",
            "[Mode; 4]",
            "(A, B)",
        ] {
            assert_eq!(shortened(text), text);
        }
    }

    #[test]
    fn what_a_macro_is_given_is_told_piece_by_piece() {
        let tokens: TokenStream =
            "/// Doc.\npub enum E { /// A.\n A = \"a\", B = \"b\" }".parse().expect("tokens");
        assert_eq!(
            given_pieces(&tokens),
            ["pub enum E", "pub enum E { A = \"a\" }", "pub enum E { B = \"b\" }"]
        );
        let tokens: TokenStream = "fn f(a: A) -> Result<B, C>; fn g();".parse().expect("tokens");
        assert_eq!(given_pieces(&tokens), ["fn f(a: A) -> Result<B, C>", "fn g()"]);
    }
}
