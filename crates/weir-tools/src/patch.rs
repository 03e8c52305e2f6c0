//! Unified diffs as models write them: parsed, and applied to the bytes of one file.
//!
//! Line numbers may be wrong and counts may be missing; content must match exactly. Nothing here
//! touches the disk.

use crate::{nearest, text};

/// Most bytes of a patch, and most files in it.
const PATCH_BYTES_MAX: usize = 5_000_000;
const FILES_MAX: usize = 500;
/// Places that are named in a message.
const PLACES_SHOWN: usize = 8;

/// What a patch does to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// Path before; `None`: the file is new.
    pub(crate) old: Option<String>,
    /// Path after; `None`: the file is deleted.
    pub(crate) new: Option<String>,
    /// Its hunks in order.
    pub(crate) hunks: Vec<Hunk>,
}

/// One place of change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// First line in the old file, from 1; `None`: not said.
    line: Option<usize>,
    lines: Vec<HunkLine>,
    old_without_newline: bool,
    new_without_newline: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HunkLine {
    sign: LineSign,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineSign {
    Keep,
    Remove,
    Add,
}

impl Hunk {
    fn side_lines(&self, without: LineSign) -> Vec<&str> {
        self.lines.iter().filter(|l| l.sign != without).map(|l| l.text.as_str()).collect()
    }
}

/// The files of a patch.
///
/// # Errors
/// What is not a unified diff about it, with its line.
pub(crate) fn parse_patch(patch: &str) -> Result<Vec<FilePatch>, String> {
    if patch.len() > PATCH_BYTES_MAX {
        return Err(format!(
            "the patch has {}; at most {} can be applied at once",
            text::size_text(patch.len() as u64),
            text::size_text(PATCH_BYTES_MAX as u64)
        ));
    }
    let lines: Vec<&str> = patch.lines().collect();
    let mut parser = PatchParser { lines: &lines, at: 0, files: Vec::new(), git: None };
    parser.run()?;
    match parser.files.len() {
        0 => Err(
            "there is no change in the patch. Give a unified diff: `--- a/path`, `+++ b/path`, \
                  then hunks that begin with `@@ -line,count +line,count @@` and lines that begin \
                  with a space, `-` or `+`"
                .into(),
        ),
        n if n > FILES_MAX => Err(format!("the patch has {n} files; at most {FILES_MAX} at once")),
        _ => Ok(parser.files),
    }
}

struct PatchParser<'a> {
    lines: &'a [&'a str],
    at: usize,
    files: Vec<FilePatch>,
    /// A `diff --git` section whose `---` line has not come (yet).
    git: Option<FilePatch>,
}

impl PatchParser<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(line) = self.lines.get(self.at).copied() {
            let next = self.lines.get(self.at + 1).copied().unwrap_or_default();
            if line.starts_with("diff --git ") {
                self.end_git_section();
                self.git = Some(git_header(line));
            } else if line.starts_with("--- ") && next.starts_with("+++ ") {
                let renamed = self.git.take();
                self.files.push(file_header(&line[4..], &next[4..], renamed)?);
                self.at += 1;
            } else if line.starts_with("@@") {
                self.parse_hunk()?;
                continue;
            } else if let Some(git) = &mut self.git {
                git_line(git, line);
            } else if line.starts_with("*** ") {
                return Err(format!(
                    "line {}: {line:?} is not part of a unified diff; write `--- a/path` and \
                     `+++ b/path` before the hunks of each file",
                    self.at + 1
                ));
            }
            self.at += 1;
        }
        self.end_git_section();
        Ok(())
    }

    fn end_git_section(&mut self) {
        if let Some(git) = self.git.take() {
            let says_something = git.old != git.new;
            if says_something {
                self.files.push(git);
            }
        }
    }

    fn parse_hunk(&mut self) -> Result<(), String> {
        let header = self.lines[self.at];
        let place = self.at + 1;
        let (line, counts) = hunk_header(header);
        self.at += 1;
        let mut hunk = match counts.and_then(|(old, new)| self.counted_hunk(old, new)) {
            Some(hunk) => hunk,
            None => self.uncounted_hunk(),
        };
        if hunk.lines.iter().all(|line| line.sign == LineSign::Keep) {
            return Err(format!(
                "line {place}: the hunk {header:?} changes nothing: it has no line that begins \
                 with - or +"
            ));
        }
        hunk.line = line;
        let Some(file) = self.files.last_mut().filter(|_| self.git.is_none()) else {
            return Err(format!(
                "line {place}: the hunk {header:?} has no file; write `--- a/path` and \
                 `+++ b/path` before it"
            ));
        };
        file.hunks.push(hunk);
        Ok(())
    }

    /// The body, when it has just as many lines as its header says.
    fn counted_hunk(&mut self, mut old: usize, mut new: usize) -> Option<Hunk> {
        let mut hunk = Hunk::default();
        let mut at = self.at;
        while old > 0 || new > 0 {
            let line = body_line(self.lines.get(at)?)?;
            old = old.checked_sub(usize::from(line.sign != LineSign::Add))?;
            new = new.checked_sub(usize::from(line.sign != LineSign::Remove))?;
            hunk.push(line);
            at += 1;
            at += usize::from(hunk.mark_missing_newline(self.lines.get(at)));
        }
        let goes_on = self
            .lines
            .get(at)
            .is_some_and(|line| line.starts_with(['+', ' ', '-']) && !self.is_file_header(at));
        if goes_on {
            return None;
        }
        self.at = at;
        Some(hunk)
    }

    /// The body up to the next header, whatever the counts.
    fn uncounted_hunk(&mut self) -> Hunk {
        let mut hunk = Hunk::default();
        while let Some(line) = self.lines.get(self.at) {
            if line.starts_with("@@")
                || line.starts_with("diff --git ")
                || self.is_file_header(self.at)
            {
                break;
            }
            let Some(line) = body_line(line) else { break };
            hunk.push(line);
            self.at += 1;
            self.at += usize::from(hunk.mark_missing_newline(self.lines.get(self.at)));
        }
        // Empty lines between hunks belong to none of them.
        while hunk.lines.last().is_some_and(|l| l.sign == LineSign::Keep && l.text.is_empty()) {
            hunk.lines.pop();
        }
        hunk
    }

    fn is_file_header(&self, at: usize) -> bool {
        let starts =
            |at: usize, with: &str| self.lines.get(at).is_some_and(|l| l.starts_with(with));
        starts(at, "--- ") && starts(at + 1, "+++ ")
    }
}

impl Hunk {
    fn push(&mut self, line: HunkLine) {
        self.lines.push(line);
    }

    /// Takes `\ No newline at end of file` as said of the line before it.
    fn mark_missing_newline(&mut self, line: Option<&&str>) -> bool {
        let is_mark = line.is_some_and(|line| line.starts_with("\\ "));
        if let (true, Some(last)) = (is_mark, self.lines.last()) {
            self.old_without_newline |= last.sign != LineSign::Add;
            self.new_without_newline |= last.sign != LineSign::Remove;
        }
        is_mark
    }
}

fn body_line(line: &str) -> Option<HunkLine> {
    let (sign, text) = match line.as_bytes().first() {
        // Editors strip the space of an empty context line.
        None => (LineSign::Keep, line),
        Some(b' ') => (LineSign::Keep, &line[1..]),
        Some(b'-') => (LineSign::Remove, &line[1..]),
        Some(b'+') => (LineSign::Add, &line[1..]),
        Some(_) => return None,
    };
    Some(HunkLine { sign, text: text.to_owned() })
}

/// The old line number and both counts of `@@ -1,2 +1,3 @@`, where they are given.
fn hunk_header(header: &str) -> (Option<usize>, Option<(usize, usize)>) {
    let mut words = header.trim_start_matches('@').split_whitespace();
    let mut range = |sign: char| -> Option<(usize, usize)> {
        let word = words.next()?.strip_prefix(sign)?;
        let (line, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((line.parse().ok()?, count.parse().ok()?))
    };
    let (old, new) = (range('-'), range('+'));
    (old.map(|(line, _)| line), old.zip(new).map(|(old, new)| (old.1, new.1)))
}

fn file_header(old: &str, new: &str, git: Option<FilePatch>) -> Result<FilePatch, String> {
    let git_renames =
        git.filter(|git| git.old.is_some() && git.new.is_some() && git.old != git.new);
    if let Some(renamed) = git_renames {
        return Ok(renamed);
    }
    let (old, new) = (header_path(old), header_path(new));
    let prefixed = old.as_deref().is_none_or(|path| path.starts_with("a/"))
        && new.as_deref().is_none_or(|path| path.starts_with("b/"));
    let strip = |path: Option<String>| match path {
        Some(path) if prefixed => Some(path[2..].to_owned()),
        path => path,
    };
    let (old, new) = (strip(old), strip(new));
    if old.is_none() && new.is_none() {
        return Err("a file cannot be /dev/null before and after".into());
    }
    Ok(FilePatch { old, new, hunks: Vec::new() })
}

/// A path of a `---` or `+++` line: without time stamp and quotes; `None` for `/dev/null`.
fn header_path(text: &str) -> Option<String> {
    let text = text.split('\t').next().unwrap_or(text).trim_end();
    let path = unquote_path(text);
    (path != "/dev/null").then_some(path)
}

/// Git quotes paths with special characters like strings in C.
fn unquote_path(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(digit @ b'0'..=b'3') => {
                let mut value = digit - b'0';
                while let Some(next @ b'0'..=b'7') = rest.peek().copied() {
                    rest.next();
                    value = value.wrapping_mul(8).wrapping_add(next - b'0');
                }
                bytes.push(value);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `diff --git a/x b/x`: both paths, when they are the same; lines that follow say more.
fn git_header(line: &str) -> FilePatch {
    let rest = &line["diff --git ".len()..];
    let path = rest.split_at_checked(rest.len() / 2).and_then(|(old, new)| {
        let (old, new) = (unquote_path(old), unquote_path(new.strip_prefix(' ')?));
        let path = match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
            (Some(old), Some(new)) if old == new => old,
            _ if old == new => &old,
            _ => return None,
        };
        (!path.is_empty()).then(|| path.to_owned())
    });
    FilePatch { old: path.clone(), new: path, hunks: Vec::new() }
}

fn git_line(git: &mut FilePatch, line: &str) {
    if let Some(path) = line.strip_prefix("rename from ") {
        git.old = Some(unquote_path(path));
    } else if let Some(path) = line.strip_prefix("rename to ") {
        git.new = Some(unquote_path(path));
    } else if line.starts_with("new file mode") {
        git.old = None;
    } else if line.starts_with("deleted file mode") {
        git.new = None;
    }
}

// ------------------------------------------------------------ applying

/// A line of a file with its own end.
#[derive(Clone, Copy)]
struct SourceLine<'a> {
    text: &'a [u8],
    end: &'static [u8],
}

fn split_lines(bytes: &[u8]) -> Vec<SourceLine<'_>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            for end in [&b"\r\n"[..], &b"\n"[..]] {
                if let Some(text) = line.strip_suffix(end) {
                    return SourceLine { text, end };
                }
            }
            SourceLine { text: line, end: b"" }
        })
        .collect()
}

/// The new bytes of a file.
///
/// # Errors
/// Which hunk does not fit, and the lines found there; every hunk that fails is named.
pub(crate) fn apply_hunks(path: &str, bytes: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, String> {
    let lines = split_lines(bytes);
    let crlf = lines.iter().filter(|line| line.end == b"\r\n").count();
    let ending: &'static [u8] = if crlf * 2 > lines.len() { b"\r\n" } else { b"\n" };
    let mut errors = Vec::new();
    let mut out: Vec<(&[u8], &[u8])> = Vec::new();
    let mut done = 0;
    let mut shift = 0_isize;
    for (number, hunk) in hunks.iter().enumerate() {
        let start = match locate_hunk(&lines, hunk, done, shift) {
            Ok(start) => start,
            Err(why) => {
                errors.push(format!("hunk {} of {path}: {why}", number + 1));
                continue;
            }
        };
        if let Some(line) = hunk.line.filter(|_| !hunk.side_lines(LineSign::Add).is_empty()) {
            let said = line.saturating_sub(1).cast_signed();
            shift = start.cast_signed().saturating_sub(said);
        }
        out.extend(lines[done..start].iter().map(|line| (line.text, line.end)));
        done = start;
        for line in &hunk.lines {
            match line.sign {
                LineSign::Keep => out.push((lines[done].text, lines[done].end)),
                LineSign::Add => out.push((line.text.as_bytes(), ending)),
                LineSign::Remove => {}
            }
            done += usize::from(line.sign != LineSign::Add);
        }
        if let (true, Some(last)) = (hunk.new_without_newline, out.last_mut()) {
            last.1 = b"";
        }
    }
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    out.extend(lines[done..].iter().map(|line| (line.text, line.end)));
    let last = out.len().saturating_sub(1);
    let mut new = Vec::with_capacity(bytes.len());
    for (index, (text, end)) in out.into_iter().enumerate() {
        new.extend_from_slice(text);
        new.extend_from_slice(if end.is_empty() && index < last { ending } else { end });
    }
    Ok(new)
}

/// Where a hunk's old lines stand: at its own line number (moved as the hunk before was), or at
/// the only other place.
fn locate_hunk(
    lines: &[SourceLine<'_>],
    hunk: &Hunk,
    done: usize,
    shift: isize,
) -> Result<usize, String> {
    let old = hunk.side_lines(LineSign::Add);
    let hint = hunk.line.map(|line| {
        // `-5,0` means after line 5; otherwise the hunk begins at its line.
        let start = if old.is_empty() { line } else { line.saturating_sub(1) };
        start.checked_add_signed(shift).unwrap_or(0)
    });
    if old.is_empty() {
        return match hint {
            Some(start) if (done..=lines.len()).contains(&start) => Ok(start),
            None if lines.is_empty() => Ok(0),
            Some(_) | None => Err(format!(
                "it has no context and its line is not in the file, which has {}; add context \
                 lines",
                text::count_noun(lines.len(), "line")
            )),
        };
    }
    let fits = |start: usize| {
        let end = start.checked_add(old.len());
        end.and_then(|end| lines.get(start..end)).is_some_and(|here| {
            here.iter().zip(&old).all(|(line, wanted)| line.text == wanted.as_bytes())
        })
    };
    if let Some(start) = hint.filter(|start| *start >= done && fits(*start)) {
        return Ok(start);
    }
    let places: Vec<usize> = (done..lines.len()).filter(|start| fits(*start)).collect();
    match places.as_slice() {
        [only] => Ok(*only),
        [] => Err(describe_mismatch(lines, &old)),
        several => {
            let shown: Vec<String> =
                several.iter().take(PLACES_SHOWN).map(|start| (start + 1).to_string()).collect();
            Err(format!(
                "its lines stand at {} places (lines {}{}); correct its line number or add context",
                several.len(),
                shown.join(", "),
                if several.len() > PLACES_SHOWN { ", …" } else { "" }
            ))
        }
    }
}

fn describe_mismatch(lines: &[SourceLine<'_>], old: &[&str]) -> String {
    let file: Vec<String> =
        lines.iter().map(|line| String::from_utf8_lossy(line.text).into_owned()).collect();
    let file: Vec<&str> = file.iter().map(String::as_str).collect();
    format!(
        "its context and removed lines are not in the file. {}",
        nearest::explain_nearest(&file, old)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(file: &str, patch: &str) -> Result<String, String> {
        let files = parse_patch(patch)?;
        let new = apply_hunks("f", file.as_bytes(), &files[0].hunks)?;
        Ok(String::from_utf8(new).expect("text"))
    }

    const HEAD: &str = "--- a/f\n+++ b/f\n";

    #[test]
    fn wrong_numbers_are_forgiven_and_wrong_content_is_not() {
        let file = "a\nb\nc\nd\n";
        let right = format!("{HEAD}@@ -2,2 +2,2 @@\n b\n-c\n+C\n");
        let far = format!("{HEAD}@@ -90,7 +90,9 @@\n b\n-c\n+C\n");
        let bare = format!("{HEAD}@@ @@\n b\n-c\n+C\n");
        for patch in [right, far, bare] {
            assert_eq!(patched(file, &patch).as_deref(), Ok("a\nb\nC\nd\n"), "{patch}");
        }
        let wrong = patched(file, &format!("{HEAD}@@ -2,2 +2,2 @@\n b\n-x\n+C\n"));
        assert!(wrong.is_err_and(|why| why.starts_with("hunk 1 of f: ")));
    }

    #[test]
    fn ambiguous_places_are_refused_unless_the_number_says_which() {
        let file = "x\ny\nx\ny\n";
        let at = |line| format!("{HEAD}@@ -{line},1 +{line},1 @@\n-x\n+z\n");
        assert_eq!(patched(file, &at(3)).as_deref(), Ok("x\ny\nz\ny\n"));
        assert!(patched(file, &at(2)).is_err_and(|why| why.contains("2 places (lines 1, 3)")));
    }

    #[test]
    fn line_ends_and_missing_newlines_are_kept() {
        let crlf = patched("a\r\nb\r\n", &format!("{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c\n"));
        assert_eq!(crlf.as_deref(), Ok("a\r\nc\r\n"));
        let open = format!("{HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n");
        assert_eq!(patched("a\n", &open).as_deref(), Ok("b"));
        let added = format!("{HEAD}@@ -1 +1,2 @@\n a\n+b\n");
        assert_eq!(patched("a", &added).as_deref(), Ok("a\nb\n"));
    }

    #[test]
    fn git_headers_name_renames_creations_and_deletions() {
        let renamed = parse_patch(
            "diff --git a/x.rs b/y.rs\nsimilarity index 100%\nrename from x.rs\nrename to y.rs\n",
        );
        let expected =
            FilePatch { old: Some("x.rs".into()), new: Some("y.rs".into()), hunks: Vec::new() };
        assert_eq!(renamed, Ok(vec![expected]));
        let empty = parse_patch("diff --git a/x b/x\nnew file mode 100644\nindex 000..e69\n");
        let created = FilePatch { old: None, new: Some("x".into()), hunks: Vec::new() };
        assert_eq!(empty, Ok(vec![created]));
        assert_eq!(header_path("\"a/caf\\303\\251\"").as_deref(), Some("a/café"));
    }

    #[test]
    fn z10_odd_git_headers_name_no_file_or_the_right_one() {
        for header in ["", "x", "x y", "x y z", "é", "a/x b/y", "\u{fffd}"] {
            let patch = format!("diff --git {header}\nnew file mode 100644\n");
            assert!(parse_patch(&patch).is_err(), "{header:?}");
        }
        for header in ["x x", "a/x b/x", "\"a/x\" \"b/x\""] {
            let created = FilePatch { old: None, new: Some("x".into()), hunks: Vec::new() };
            let patch = format!("diff --git {header}\nnew file mode 100644\n");
            assert_eq!(parse_patch(&patch), Ok(vec![created]), "{header:?}");
        }
    }

    #[test]
    fn z10_line_numbers_beyond_any_file_are_wrong_numbers() {
        for line in ["18446744073709551615", "9223372036854775809", "9223372036854775808"] {
            let patch = format!("{HEAD}@@ -{line},1 +1,1 @@\n-a\n+b\n@@ -{line} +1 @@\n-c\n+d\n");
            assert_eq!(patched("a\nc\n", &patch).as_deref(), Ok("b\nd\n"), "{line}");
        }
    }

    #[test]
    fn what_is_no_diff_says_so() {
        assert!(parse_patch("hello").is_err_and(|why| why.contains("unified diff")));
        assert!(parse_patch("*** Begin Patch\n").is_err_and(|why| why.contains("line 1")));
        assert!(parse_patch("@@ -1 +1 @@\n-a\n+b\n").is_err_and(|why| why.contains("has no file")));
        assert!(parse_patch(&format!("{HEAD}@@ -1 +1 @@\n a\n")).is_err());
    }

    #[test]
    fn a_removed_line_of_dashes_is_not_a_header() {
        let patch = format!("{HEAD}@@ -1,2 +1,1 @@\n--- x\n a\n");
        assert_eq!(patched("-- x\na\n", &patch).as_deref(), Ok("a\n"));
    }
}
