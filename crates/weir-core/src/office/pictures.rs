//! The pictures that Markdown names: what stands in code is none. Not here: any other Markdown; who
//! writes a document reads all of it.

/// What is between the round brackets of each `![…](…)` outside of code, without a title. Addresses
/// of the network are left out: nothing is fetched for a document.
pub(super) fn list_pictures(markdown: &str) -> Vec<&str> {
    let mut pictures = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    // Code within a line may go on in the next one, until a paragraph ends.
    let (mut from, mut at) = (0, 0);
    for line in markdown.split_inclusive('\n') {
        let inner = line.trim_start_matches([' ', '\t', '>']).trim_end();
        let mark = fence_mark(inner);
        match (fence, mark) {
            (Some((sign, length)), Some((other, count, "")))
                if sign == other && count >= length =>
            {
                fence = None;
                from = at + line.len();
            }
            (Some(_), _) => {}
            (None, Some((sign, count, about))) if sign == '~' || !about.contains('`') => {
                add_pictures(&markdown[from..at], &mut pictures);
                fence = Some((sign, count));
            }
            (None, _) if inner.is_empty() => {
                add_pictures(&markdown[from..at], &mut pictures);
                from = at + line.len();
            }
            (None, _) => {}
        }
        at += line.len();
    }
    if fence.is_none() {
        add_pictures(&markdown[from..], &mut pictures);
    }
    pictures
}

/// The sign of a fence, how often it stands there, and what follows.
fn fence_mark(line: &str) -> Option<(char, usize, &str)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let rest = line.trim_start_matches(sign);
    let count = line.len() - rest.len();
    (count >= 3).then(|| (sign, count, rest.trim()))
}

/// The pictures of a paragraph.
fn add_pictures<'a>(text: &'a str, pictures: &mut Vec<&'a str>) {
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(next) = rest.find(['`', '\\', '!']) else { return };
        let rest = &rest[next..];
        at += next;
        if let Some(after) = rest.strip_prefix('\\') {
            at += 1 + after.chars().next().map_or(0, char::len_utf8);
        } else if rest.starts_with('`') {
            let count = rest.len() - rest.trim_start_matches('`').len();
            at += count + code_end(&rest[count..], count).unwrap_or(0);
        } else {
            at += 1;
            if let Some(target) = rest.strip_prefix("![").and_then(picture_target) {
                pictures.push(target);
            }
        }
    }
}

/// Where code that began with `count` signs ends, its end included; `None`: it is none.
fn code_end(text: &str, count: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        at += next;
        let run = text[at..].len() - text[at..].trim_start_matches('`').len();
        at += run;
        if run == count {
            return Some(at);
        }
    }
    None
}

fn picture_target(rest: &str) -> Option<&str> {
    let target = &rest[rest.find("](")? + 2..];
    let target = target[..target.find(')')?].trim();
    let target =
        target.split([' ', '\n']).next().filter(|_| !target.starts_with('<')).or_else(|| {
            let end = target.find('>')?;
            target.get(1..end)
        })?;
    (!target.is_empty() && !target.contains("://")).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8_a_picture_in_code_is_none() {
        for (markdown, pictures) in [
            ("![a](x.png)", vec!["x.png"]),
            ("`![a](x.png)` ![b](y.png)", vec!["y.png"]),
            ("``a ` ![a](x.png)`` ![b](y.png)", vec!["y.png"]),
            ("a ` alone ![a](x.png)", vec!["x.png"]),
            ("a ` alone\n\n![a](x.png) ` b", vec!["x.png"]),
            ("`over\n![a](x.png)\nlines` ![b](y.png)", vec!["y.png"]),
            ("~~~\n![a](x.png)\n~~~\n![b](y.png)", vec!["y.png"]),
            ("```md\n![a](x.png)\n```\n![b](y.png)", vec!["y.png"]),
            ("~~~\n```\n![a](x.png)\n~~~\n![b](y.png)", vec!["y.png"]),
            ("````\n```\n![a](x.png)\n````\n![b](y.png)", vec!["y.png"]),
            ("- x\n  ```\n  ![a](x.png)\n  ```\n![b](y.png)", vec!["y.png"]),
            ("```\n![a](x.png)", vec![]),
            ("```a` ![a](x.png)", vec!["x.png"]),
            ("\\![a](x.png)", vec![]),
            ("\\`![a](x.png)`", vec!["x.png"]),
            ("![b](<y z.png> \"T\") ![c](z.png 'T')", vec!["y z.png", "z.png"]),
            ("![far](https://e.org/p.png) ![](", vec![]),
            ("![ü](ü.png)`", vec!["ü.png"]),
        ] {
            assert_eq!(list_pictures(markdown), pictures, "{markdown}");
        }
    }
}
