//! The values of a script's lines. Each function takes the text after the colon.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use weir_core::model::{Price, StopReason, Usage};

use crate::fault::ScriptedFault;
use crate::step::{ExpectedContent, ScriptedPiece};

/// Largest count of `loop:` and `repeat:`; larger than any test needs, small enough to end.
const COUNT_MAX: u64 = 100_000_000;
/// Longest delay: a day.
const DELAY_MAX: Duration = Duration::from_secs(86_400);
const IMAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The picture of `image: dot`: a PNG of one black pixel.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe\
                   /AAAAABJRU5ErkJggg==";

/// A whole number, `_` and `,` allowed between digits.
pub(super) fn parse_count(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    match digits.parse::<u64>() {
        Ok(number) if (1..=COUNT_MAX).contains(&number) => Ok(number),
        _ => Err(format!("`{text}` is no whole number from 1 to {COUNT_MAX}")),
    }
}

/// `200ms`, `2s`, `1m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration such as 200ms, 2s or 1m");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let duration = match text[digits..].trim() {
        "us" => Duration::from_micros(number),
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        _ => return Err(wrong()),
    };
    if duration > DELAY_MAX { Err(format!("`{text}` is longer than a day")) } else { Ok(duration) }
}

/// `"quoted"` as JSON, a comment may follow; anything else as it stands.
pub(super) fn quoted_or_plain(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a text is missing after the colon".to_owned());
    }
    let is_comment = |rest: &str| rest.trim().is_empty() || rest.trim_start().starts_with('#');
    if text.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
        if let Some(Ok(string)) = strings.next()
            && is_comment(&text[strings.byte_offset()..])
        {
            return Ok(string);
        }
        // A regular expression in quotes is easier to write with single backslashes, so what is
        // not a JSON string is taken as it stands between the quotes.
        let last = text.rfind('"').unwrap_or(0);
        if last > 0 && is_comment(&text[last + 1..]) {
            return Ok(text[1..last].to_owned());
        }
    }
    Ok(text.to_owned())
}

pub(super) fn json_string(text: &str) -> Result<String, String> {
    serde_json::from_str(text.trim()).map_err(|error| format!("no JSON string: {error}"))
}

/// `NAME {…}`, the arguments as one JSON object.
pub(super) fn parse_call(text: &str) -> Result<ScriptedPiece, String> {
    let (tool, rest) = parse_name(text)?;
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(ScriptedPiece::Call { tool, arguments: "{}".to_owned() });
    }
    // Places for numbers count as numbers of the same length, so that offsets stay true.
    let scanned = rest.replace("{{i}}", "11111").replace("{{n}}", "11111");
    let mut values = serde_json::Deserializer::from_str(&scanned).into_iter::<serde_json::Value>();
    let value = match values.next() {
        Some(Ok(value @ serde_json::Value::Object(_))) => value,
        Some(Ok(_)) => return Err(format!("the arguments of `{tool}` are not a JSON object")),
        Some(Err(error)) => {
            return Err(format!(
                "the arguments of `{tool}` are not JSON: {error} (`raw-arguments:` sends what is \
                 not JSON)"
            ));
        }
        None => return Err(format!("`{tool}` has no arguments")),
    };
    let (own, after) = rest.split_at(values.byte_offset());
    let after = after.trim();
    if !(after.is_empty() || after.starts_with('#')) {
        return Err(format!("`{after}` stands after the arguments of `{tool}`"));
    }
    let arguments = if scanned == rest { value.to_string() } else { own.to_owned() };
    Ok(ScriptedPiece::Call { tool, arguments })
}

/// `NAME anything`, sent as it stands.
pub(super) fn raw_call(text: &str) -> Result<ScriptedPiece, String> {
    let (tool, rest) = parse_name(text)?;
    Ok(ScriptedPiece::Call { tool, arguments: rest.strip_prefix(' ').unwrap_or(rest).to_owned() })
}

/// The first word, or a JSON string for names that a model made up, and what follows.
fn parse_name(text: &str) -> Result<(String, &str), String> {
    if text.starts_with('"') {
        let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
        if let Some(Ok(name)) = strings.next() {
            return Ok((name, &text[strings.byte_offset()..]));
        }
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(text.len());
    if end == 0 {
        return Err("the name of a tool is missing after the colon".to_owned());
    }
    Ok((text[..end].to_owned(), &text[end..]))
}

fn split_pairs(text: &str) -> impl Iterator<Item = Result<(&str, &str), String>> {
    text.split_whitespace()
        .map(|pair| pair.split_once('=').ok_or_else(|| format!("`{pair}` is not `name=number`")))
}

/// `input=1200 output=40 cache_read=1000`.
pub(super) fn parse_usage(text: &str) -> Result<Usage, String> {
    let mut usage = Usage::default();
    for pair in split_pairs(text) {
        let (name, number) = pair?;
        let number: u64 =
            number.parse().map_err(|_| format!("`{number}` is no number of tokens"))?;
        match name {
            "input" => usage.input = number,
            "output" => usage.output = number,
            "cache_read" => usage.cache_read = number,
            "cache_write" => usage.cache_write = number,
            "reasoning" => usage.reasoning = number,
            _ => {
                return Err(format!(
                    "`{name}` is none of input, output, cache_read, cache_write, reasoning"
                ));
            }
        }
    }
    Ok(usage)
}

/// `input=3 output=15 cache_read=0.3 cache_write=3.75`.
pub(super) fn parse_price(text: &str) -> Result<Price, String> {
    let mut price = Price { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
    for pair in split_pairs(text) {
        let (name, number) = pair?;
        let number: f64 = number
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| format!("`{number}` is no price"))?;
        match name {
            "input" => price.input = number,
            "output" => price.output = number,
            "cache_read" => price.cache_read = number,
            "cache_write" => price.cache_write = number,
            _ => {
                return Err(format!("`{name}` is none of input, output, cache_read, cache_write"));
            }
        }
    }
    Ok(price)
}

/// Why the model stops.
pub(super) fn parse_stop(text: &str) -> Result<StopReason, String> {
    match text {
        "end" => Ok(StopReason::End),
        "calls" => Ok(StopReason::Calls),
        "max_tokens" => Ok(StopReason::MaxTokens),
        "refusal" => Ok(StopReason::Refusal),
        _ => Err(format!("`{text}` is none of end, calls, max_tokens, refusal")),
    }
}

pub(super) fn parse_fault(text: &str) -> Result<ScriptedFault, String> {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let named = match first {
        "overflow" => Some(ScriptedFault::Overflow),
        "safety" => Some(ScriptedFault::Safety),
        "cut" => Some(ScriptedFault::Cut),
        "reset" => Some(ScriptedFault::Reset),
        "stall" => Some(ScriptedFault::Stall),
        "midstream" => Some(ScriptedFault::Midstream),
        "garbage" => Some(ScriptedFault::Garbage),
        "hang" => Some(ScriptedFault::Hang),
        "network" => Some(ScriptedFault::Network),
        _ => None,
    };
    if let Some(fault) = named {
        return Ok(fault);
    }
    let status =
        first.parse().ok().filter(|status| (400..600).contains(status)).ok_or_else(|| {
            format!(
                "`{first}` is neither a status from 400 to 599 nor one of overflow, safety, cut, \
             reset, stall, midstream, garbage, hang, network"
            )
        })?;
    let mut retry_after = None;
    let mut words = Vec::new();
    for word in rest.split_whitespace() {
        match word.strip_prefix("retry-after=") {
            Some(seconds) => retry_after = Some(seconds.to_owned()),
            None => words.push(word),
        }
    }
    let message = words.join(" ").trim_matches('"').to_owned();
    Ok(ScriptedFault::Status { status, retry_after, message })
}

/// `text "…"`, `result "…"`, `pattern "…"`, `system "…"`, `tool NAME`, `body "…"`, `image`; a
/// quoted text alone is `text`.
pub(super) fn parse_expected(text: &str) -> Result<ExpectedContent, String> {
    let text = text.trim();
    if text.starts_with('"') {
        return Ok(ExpectedContent::Text(quoted_or_plain(text)?));
    }
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let value = || quoted_or_plain(rest.trim());
    match word {
        "text" => Ok(ExpectedContent::Text(value()?)),
        "result" => Ok(ExpectedContent::Result(value()?)),
        "system" => Ok(ExpectedContent::System(value()?)),
        "tool" => Ok(ExpectedContent::Tool(value()?)),
        "body" => Ok(ExpectedContent::Body(value()?)),
        "image" => Ok(ExpectedContent::Image),
        "pattern" => {
            let pattern = value()?;
            regex::Regex::new(&pattern)
                .map_err(|error| format!("no regular expression: {error}"))?;
            Ok(ExpectedContent::Pattern(pattern))
        }
        _ => Err(format!("`{word}` is none of text, result, pattern, system, tool, body, image")),
    }
}

/// `dot`, a `data:` address, or a file beside the script.
pub(super) fn parse_image(text: &str, folder: Option<&Path>) -> Result<ScriptedPiece, String> {
    let decode = |data: &str| {
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|error| format!("the picture is not base64: {error}"))
    };
    if text == "dot" {
        return Ok(ScriptedPiece::Image {
            media_type: "image/png".to_owned(),
            data: decode(DOT)?.into(),
        });
    }
    if let Some(address) = text.strip_prefix("data:") {
        let (media_type, data) = address
            .split_once(";base64,")
            .ok_or("a picture in the script is written `data:image/png;base64,…`")?;
        return Ok(ScriptedPiece::Image {
            media_type: media_type.to_owned(),
            data: decode(data)?.into(),
        });
    }
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
    let media_type = match extension {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => {
            return Err(format!(
                "`{text}` is neither `dot`, a data: address nor a .png, .jpg, .gif or .webp file"
            ));
        }
    };
    let Some(folder) = folder else {
        return Err("a script that is not a file cannot name a picture's file".to_owned());
    };
    let path = folder.join(text);
    let read = || {
        let bytes = std::fs::metadata(&path)?.len();
        if bytes > IMAGE_BYTES_MAX {
            return Err(std::io::Error::other(format!("{bytes} bytes are too many")));
        }
        std::fs::read(&path)
    };
    let data = read().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(ScriptedPiece::Image { media_type: media_type.to_owned(), data: Arc::from(data) })
}
