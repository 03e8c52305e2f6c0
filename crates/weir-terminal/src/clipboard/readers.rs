//! The programs that read a clipboard, and how each is called. Pure. Not here: who calls them.

/// Kinds of pictures that models take, the best first.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// What says that there are words.
const TEXTS: [&str; 4] = ["UTF8_STRING", "text/plain", "STRING", "TEXT"];

/// How it is known which kinds of things there are.
pub(super) enum KindListing {
    /// With these arguments it lists them.
    Listed(&'static [&'static str]),
    /// It does not say: it gives a PNG or fails.
    Unlisted,
}

/// In what form a picture comes.
#[derive(Clone, Copy)]
pub(super) enum PictureEncoding {
    /// As it is.
    Bytes,
    /// In digits, as the language of macOS writes data.
    AppleScript,
}

/// A program and how it is called.
pub(super) struct ClipboardReader {
    pub(super) program: &'static str,
    /// What to install, where it is missing.
    package: &'static str,
    pub(super) kinds: KindListing,
    /// Arguments that give a picture; `{}` is its kind.
    picture: &'static [&'static str],
    pub(super) form: PictureEncoding,
    /// Another program, where it is one, and arguments that give words; `None`: it gives none.
    pub(super) text: Option<(Option<&'static str>, &'static [&'static str])>,
}

static WAYLAND: ClipboardReader = ClipboardReader {
    program: "wl-paste",
    package: "wl-clipboard",
    kinds: KindListing::Listed(&["--list-types"]),
    picture: &["--no-newline", "--type", "{}"],
    form: PictureEncoding::Bytes,
    text: Some((None, &["--no-newline", "--type", "text"])),
};

static X11: ClipboardReader = ClipboardReader {
    program: "xclip",
    package: "xclip",
    kinds: KindListing::Listed(&["-selection", "clipboard", "-t", "TARGETS", "-o"]),
    picture: &["-selection", "clipboard", "-t", "{}", "-o"],
    form: PictureEncoding::Bytes,
    text: Some((None, &["-selection", "clipboard", "-t", "UTF8_STRING", "-o"])),
};

static PNGPASTE: ClipboardReader = ClipboardReader {
    program: "pngpaste",
    package: "pngpaste",
    kinds: KindListing::Unlisted,
    picture: &["-"],
    form: PictureEncoding::Bytes,
    text: None,
};

static APPLE_SCRIPT: ClipboardReader = ClipboardReader {
    program: "osascript",
    package: "pngpaste",
    kinds: KindListing::Unlisted,
    picture: &["-e", "the clipboard as «class PNGf»"],
    form: PictureEncoding::AppleScript,
    text: Some((Some("pbpaste"), &[])),
};

impl ClipboardReader {
    /// Arguments that give a picture of this kind.
    pub(super) fn picture_arguments(&self, kind: &'static str) -> Vec<&'static str> {
        self.picture.iter().map(|word| if *word == "{}" { kind } else { *word }).collect()
    }
}

/// Those that can be asked, in their order. `set`: whether a variable is.
pub(super) fn available_readers(
    is_mac: bool,
    set: impl Fn(&str) -> bool,
) -> Vec<&'static ClipboardReader> {
    if is_mac {
        return vec![&PNGPASTE, &APPLE_SCRIPT];
    }
    // Where both are there, programs of either kind put things into one clipboard.
    let both = [("WAYLAND_DISPLAY", &WAYLAND), ("DISPLAY", &X11)];
    both.into_iter().filter(|(name, _)| set(name)).map(|(_, reader)| reader).collect()
}

/// That none of them is installed, and which to install.
pub(super) fn describe_missing_readers(readers: &[&ClipboardReader]) -> String {
    let named = |reader: &&ClipboardReader| match reader.program == reader.package {
        true => reader.program.to_owned(),
        false => format!("{} (package {})", reader.program, reader.package),
    };
    let names: Vec<String> = readers.iter().map(named).collect();
    let names = names.join(" or ");
    format!(
        "Nothing here can read the clipboard: install {names}, or save the picture as a file and \
         name it with @"
    )
}

/// The best kind of picture among these.
pub(super) fn best_picture_kind(listed: &[&str]) -> Option<&'static str> {
    PICTURES.into_iter().find(|kind| listed.contains(kind))
}

/// Whether there are words among these.
pub(super) fn has_text(listed: &[&str]) -> bool {
    // `text/plain;charset=utf-8`
    let kind = |listed: &&str| listed.split(';').next().unwrap_or_default().to_owned();
    listed.iter().any(|listed| TEXTS.contains(&kind(listed).as_str()))
}

/// The bytes in `«data PNGf89504E47…»`; `None`: it is none.
pub(super) fn apple_script_data(printed: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(printed).ok()?.trim();
    let digits = text.strip_prefix("«data PNGf")?.strip_suffix('»')?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    if digits.len() % 2 != 0 {
        return None;
    }
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_readers_are_those_of_the_displays_that_are_there() {
        for (set, programs) in [
            (&["WAYLAND_DISPLAY", "DISPLAY"][..], &["wl-paste", "xclip"][..]),
            (&["WAYLAND_DISPLAY"], &["wl-paste"]),
            (&["DISPLAY"], &["xclip"]),
            (&[], &[]),
        ] {
            let readers = available_readers(false, |name| set.contains(&name));
            let names: Vec<&str> = readers.iter().map(|reader| reader.program).collect();
            assert_eq!(names, programs, "{set:?}");
            assert_eq!(
                available_readers(true, |name| set.contains(&name)).len(),
                2,
                "a Mac needs neither"
            );
        }
        assert_eq!(
            WAYLAND.picture_arguments("image/jpeg"),
            ["--no-newline", "--type", "image/jpeg"],
            "the kind is one argument"
        );
    }

    #[test]
    fn f1_the_best_kind_of_picture_is_chosen() {
        for (listed, kind, text) in [
            (&["TARGETS", "image/bmp", "image/jpeg", "image/png"][..], Some("image/png"), false),
            (&["image/webp", "image/gif", "text/html"], Some("image/webp"), false),
            (&["image/bmp", "image/tiff"], None, false),
            (&["text/plain;charset=utf-8", "text/html"], None, true),
            (&["UTF8_STRING", "image/png"], Some("image/png"), true),
            (&["text/html", "application/x-text/plain"], None, false),
            (&[], None, false),
        ] {
            assert_eq!((best_picture_kind(listed), has_text(listed)), (kind, text), "{listed:?}");
        }
    }

    #[test]
    fn f1_data_of_a_mac_is_read_from_its_digits() {
        for (printed, bytes) in [
            ("«data PNGf89504E470d»\n", Some(&b"\x89PNG\r"[..])),
            ("«data PNGf»", Some(b"")),
            ("«data PNGf895»", None),
            ("«data PNGf8x»", None),
            ("«data TIFF89»", None),
            ("89504E47", None),
            ("", None),
        ] {
            assert_eq!(apple_script_data(printed.as_bytes()).as_deref(), bytes, "{printed}");
        }
    }
}
