//! Addresses of API methods: arguments change what stands behind the host, and nothing before it.
//! Not here: whether the host may be reached, which the gate and the guarded client say.

use super::arguments::{ArgumentValues, ParamKind, ParamSpec, TemplatePiece, split_template};

/// Longest address, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 8 * 1024;

/// Host and port of an address, as they are written.
pub fn address_authority(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// Why this is no address of a method; `Ok`: it is one. Relative ones need a `base`.
///
/// # Errors
/// What is wrong, in words that follow the name of the field.
pub fn check_address_template(template: &str, params: &[ParamSpec]) -> Result<(), String> {
    let (scheme, _) =
        template.split_once("://").ok_or("is no whole address, and the plugin has no base_url")?;
    if !matches!(scheme, "http" | "https") {
        return Err("is neither http nor https".into());
    }
    let authority = address_authority(template).ok_or("names no host")?;
    if authority.contains(['{', '}']) {
        return Err("has an argument in its host; an argument may only stand behind it".into());
    }
    if authority.contains('@') {
        return Err("has a user name or password; name a secret instead".into());
    }
    let behind = &template[scheme.len() + 3 + authority.len()..];
    if !behind.is_empty() && !behind.starts_with('/') {
        return Err("has no / behind its host".into());
    }
    if behind.contains(['#', '\\']) || template.chars().any(char::is_whitespace) {
        return Err("has a #, a \\ or a space; encode them".into());
    }
    for piece in split_template(template)? {
        if let TemplatePiece::Argument(name) = piece
            && !params.iter().any(|param| param.name == name)
        {
            return Err(format!("has {{{{{name}}}}}, and no argument is called so"));
        }
    }
    Ok(())
}

/// Names of the arguments that stand in the address.
pub fn argument_names(template: &str) -> Vec<String> {
    let found = split_template(template).unwrap_or_default();
    let names = found.into_iter().filter_map(|piece| match piece {
        TemplatePiece::Argument(name) => Some(name.to_owned()),
        TemplatePiece::Text(_) => None,
    });
    names.collect()
}

/// The address with its arguments, each encoded so that it stays what it is: one part of the path or
/// one value of the query.
///
/// # Errors
/// A sentence for the model: an argument cannot stand in it.
pub fn fill_address(
    template: &str,
    params: &[ParamSpec],
    values: &ArgumentValues,
) -> Result<String, String> {
    let mut address = String::with_capacity(template.len());
    for piece in split_template(template)? {
        match piece {
            TemplatePiece::Text(text) => address.push_str(text),
            TemplatePiece::Argument(name) => {
                let kind = params.iter().find(|p| p.name == name).map(|p| p.kind);
                let Some(value) = values.get(name) else { continue };
                let keeps_slashes = kind == Some(ParamKind::Path);
                percent_encode(value, keeps_slashes, &mut address);
            }
        }
    }
    if address.len() > ADDRESS_BYTES_MAX {
        return Err(format!("the address is longer than {ADDRESS_BYTES_MAX} bytes"));
    }
    let host = address_authority(template)
        .map_or(0, |host| template.find("://").map_or(0, |at| at + 3) + host.len());
    let path = address[host..].split('?').next().unwrap_or_default();
    let climbs = |part: &str| matches!(decoded_dots(part).as_str(), "." | "..");
    if path.split('/').any(climbs) {
        return Err("a part of the path is . or .., which leads elsewhere; name it plainly".into());
    }
    if path.get(1..).is_some_and(|path| path.contains("//")) || path.starts_with("//") {
        return Err("a part of the path is empty; an argument for it is missing".into());
    }
    Ok(address)
}

/// A part of a path with its encoded dots written out.
fn decoded_dots(part: &str) -> String {
    part.replace("%2e", ".").replace("%2E", ".")
}

/// Appends `value` to `out` as a piece of an address: every byte that is not unreserved is escaped,
/// and `/` unless `keeps_slashes`.
pub fn percent_encode(value: &str, keeps_slashes: bool, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || (keeps_slashes && byte == b'/') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str, kind: ParamKind) -> ParamSpec {
        let (name, description) = (name.into(), String::new());
        ParamSpec { name, kind, required: true, description, allow_dash: false }
    }

    fn params() -> [ParamSpec; 2] {
        [param("a", ParamKind::String), param("p", ParamKind::Path)]
    }

    #[test]
    fn t11_an_argument_never_reaches_the_host() {
        let template = "https://api.example.org/x/{{a}}/y?q={{a}}";
        for (value, encoded) in [
            ("plain", "plain"),
            ("a b&c=d", "a%20b%26c%3Dd"),
            ("@evil.example/", "%40evil.example%2F"),
            ("../../admin", "..%2F..%2Fadmin"),
            ("#x", "%23x"),
            ("?x", "%3Fx"),
            ("\\\\evil", "%5C%5Cevil"),
            ("a\r\nHost: evil", "a%0D%0AHost%3A%20evil"),
            ("http://169.254.169.254/", "http%3A%2F%2F169.254.169.254%2F"),
            ("é", "%C3%A9"),
            ("%2e%2e", "%252e%252e"),
        ] {
            let values = ArgumentValues::from([("a".into(), value.into())]);
            let expected = format!("https://api.example.org/x/{encoded}/y?q={encoded}");
            assert_eq!(fill_address(template, &params(), &values), Ok(expected), "{value}");
        }
        for climbs in [".", ".."] {
            let values = ArgumentValues::from([("a".into(), climbs.into())]);
            assert!(fill_address(template, &params(), &values).is_err(), "{climbs}");
        }
        let empty = ArgumentValues::from([("a".into(), String::new())]);
        assert!(fill_address(template, &params(), &empty).is_err_and(|why| why.contains("empty")));
    }

    #[test]
    fn t11_a_path_keeps_its_parts_and_does_not_climb() {
        let open = |path: &str| {
            let values = ArgumentValues::from([("p".into(), path.into())]);
            fill_address("http://127.0.0.1:27123/open/{{p}}", &params(), &values)
        };
        let told = open("a folder/x#1.md");
        assert_eq!(told, Ok("http://127.0.0.1:27123/open/a%20folder/x%231.md".into()));
        for bad in ["../x", "a/../../x", "a/./b", "a//b", "/a"] {
            assert!(open(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn t11_only_what_stands_behind_the_host_may_change() {
        for (template, part) in [
            ("https://{{a}}/x", "in its host"),
            ("https://{{a}}.example.org/x", "in its host"),
            ("https://api.example.org{{a}}/x", "in its host"),
            ("https://api.example.org:{{a}}/x", "in its host"),
            ("https://x@evil.example/", "user name"),
            ("https:///x", "names no host"),
            ("https://api.example.org?q={{a}}", "no / behind"),
            ("ftp://a.example/", "neither http nor https"),
            ("{{a}}://a.example/", "neither http nor https"),
            ("/x", "no whole address"),
            ("https://a.example/{{zzz}}", "no argument is called so"),
            ("https://a.example/a b", "a space"),
            ("https://a.example/#{{a}}", "#"),
        ] {
            let why = check_address_template(template, &params()).err().unwrap_or_default();
            assert!(why.contains(part), "{template}: {why:?}");
        }
        assert_eq!(check_address_template("https://a.example/{{a}}?x={{p}}", &params()), Ok(()));
        assert_eq!(address_authority("http://[::1]:80/x"), Some("[::1]:80"));
    }
}
