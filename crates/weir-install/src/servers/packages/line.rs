//! Command lines that fetch a package and start it: `npx`, `npm exec`, `bunx`, `pnpm dlx`, `yarn
//! dlx`, `uvx`, `uv tool run`, `pipx run`. What is not understood whole is no such line: it is
//! started as it stands. Pure.

use std::path::Path;

use super::{PackageRegistry, ServerPackage};

/// Longest name or version.
const WORD_CHARS_MAX: usize = 214;

/// Options without a value that change nothing here.
const NPM_FLAGS: &[&str] = &[
    "-y",
    "--yes",
    "-q",
    "--quiet",
    "--silent",
    "--prefer-offline",
    "--prefer-online",
    "--bun",
    "--no-install",
    "--offline",
];
/// Options that name the package.
const NPM_PACKAGE: &[&str] = &["-p", "--package"];
const PYTHON_FLAGS: &[&str] = &[
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "-n",
    "--no-cache",
    "--isolated",
    "--refresh",
    "--offline",
];
const PYTHON_PACKAGE: &[&str] = &["--from", "--spec"];
const PYTHON_VERSION: &[&str] = &["-p", "--python"];

/// The package that this command line starts.
pub(super) fn package_of_command_line(command: &str, args: &[String]) -> Option<ServerPackage> {
    let program = Path::new(command).file_name()?.to_str()?;
    let begins = |words: &[&str]| {
        let same = args.len() >= words.len() && words.iter().zip(args).all(|(a, b)| a == b);
        same.then(|| &args[words.len()..])
    };
    match program {
        "npx" | "bunx" | "pnpx" => parse_npm_package(args),
        "npm" => begins(&["exec"]).or_else(|| begins(&["x"])).and_then(parse_npm_package),
        "bun" => begins(&["x"]).and_then(parse_npm_package),
        "pnpm" | "yarn" => begins(&["dlx"]).and_then(parse_npm_package),
        "uvx" => parse_python_package(args),
        "uv" => begins(&["tool", "run"]).and_then(parse_python_package),
        "pipx" => begins(&["run"]).and_then(parse_python_package),
        _ => None,
    }
}

/// The options before the first word that is none, and the words from there on.
struct RunnerArguments<'a> {
    package: Option<&'a str>,
    python: Option<&'a str>,
    rest: &'a [String],
}

/// Which options are known.
struct KnownOptions {
    flags: &'static [&'static str],
    package: &'static [&'static str],
    python: &'static [&'static str],
}

fn parse_runner_arguments<'a>(
    args: &'a [String],
    known: &KnownOptions,
) -> Option<RunnerArguments<'a>> {
    let mut found = RunnerArguments { package: None, python: None, rest: &[] };
    let mut at = 0;
    while let Some(word) = args.get(at) {
        if word == "--" {
            found.rest = &args[at + 1..];
            return Some(found);
        }
        if !word.starts_with('-') {
            found.rest = &args[at..];
            return Some(found);
        }
        at += 1;
        if known.flags.contains(&word.as_str()) {
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, value),
            None => {
                at += 1;
                (word.as_str(), args.get(at - 1)?.as_str())
            }
        };
        let place = if known.package.contains(&name) {
            &mut found.package
        } else if known.python.contains(&name) {
            &mut found.python
        } else {
            return None;
        };
        // Two packages at once are more than is understood here.
        if place.replace(value).is_some() {
            return None;
        }
    }
    Some(found)
}

fn parse_npm_package(args: &[String]) -> Option<ServerPackage> {
    let words = parse_runner_arguments(
        args,
        &KnownOptions { flags: NPM_FLAGS, package: NPM_PACKAGE, python: &[] },
    )?;
    let (first, rest) = words.rest.split_first()?;
    let (spec, program) = match words.package {
        Some(spec) => (spec, Some(first.clone())),
        None => (first.as_str(), None),
    };
    // The first sign of a scope is no sign of a version.
    let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, wanted) = match at {
        Some(at) => (&spec[..at], &spec[at + 1..]),
        None => (spec, ""),
    };
    let wanted = if wanted == "latest" { "" } else { wanted };
    let scope = name.strip_prefix('@').map(|name| name.split_once('/'));
    let is_name = match scope {
        Some(parts) => parts.is_some_and(|(scope, name)| is_npm_word(scope) && is_npm_word(name)),
        None => is_npm_word(name),
    };
    let program_fits = program.as_deref().is_none_or(is_program);
    (is_name && is_version(wanted, "^~") && program_fits).then(|| ServerPackage {
        registry: PackageRegistry::Npm,
        name: name.to_owned(),
        extras: String::new(),
        wanted: wanted.to_owned(),
        program,
        python: None,
        args: rest.to_vec(),
    })
}

fn is_npm_word(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    word.len() <= WORD_CHARS_MAX
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(plain)
}

fn parse_python_package(args: &[String]) -> Option<ServerPackage> {
    let known =
        KnownOptions { flags: PYTHON_FLAGS, package: PYTHON_PACKAGE, python: PYTHON_VERSION };
    let words = parse_runner_arguments(args, &known)?;
    let (first, rest) = words.rest.split_first()?;
    let spec = words.package.unwrap_or(first);
    let end = spec.find(|c: char| !(c.is_ascii_alphanumeric() || "-._".contains(c)));
    let (name, more) = spec.split_at(end.unwrap_or(spec.len()));
    let (extras, wanted) = match more.strip_prefix('[').and_then(|more| more.split_once(']')) {
        Some((extras, wanted)) => (format!("[{extras}]"), wanted),
        None => (String::new(), more),
    };
    let wanted = match wanted.strip_prefix('@') {
        Some("latest") => String::new(),
        Some(version) => format!("=={version}"),
        None => wanted.to_owned(),
    };
    let is_name = name.len() <= WORD_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    let plain_extras = extras.chars().all(|c| c.is_ascii_alphanumeric() || "[],-._".contains(c));
    let constrains = wanted.is_empty() || wanted.starts_with(['=', '<', '>', '!', '~']);
    // Without `--from` the program has the name of the package.
    let program = match words.package {
        Some(_) => first.as_str(),
        None => name,
    };
    let python = words.python.map(ToOwned::to_owned);
    let is_python = |text: &String| {
        text.starts_with("3.") && text[2..].chars().all(|c| c.is_ascii_digit()) && text.len() > 2
    };
    let fits = is_name
        && plain_extras
        && constrains
        && is_version(&wanted, "=<>!~,")
        && is_program(program)
        && python.as_ref().is_none_or(is_python);
    fits.then(|| ServerPackage {
        registry: PackageRegistry::PyPi,
        name: name.to_owned(),
        extras,
        wanted,
        program: Some(program.to_owned()),
        python,
        args: rest.to_vec(),
    })
}

/// A version or range in signs that mean nothing else to a client of the registry: no address, no
/// path, no option.
fn is_version(text: &str, more: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".*+-".contains(c) || more.contains(c);
    text.len() <= WORD_CHARS_MAX && !text.starts_with('-') && text.chars().all(plain)
}

/// A name of a program, not a path.
fn is_program(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    name.len() <= WORD_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The package, its program and its arguments; empty: started as it stands.
    fn told(line: &str) -> String {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().expect("a program");
        let args: Vec<String> = words.collect();
        package_of_command_line(&command, &args).map_or(String::new(), |package| {
            format!("{} {:?} {}", package.display_name(), package.program, package.args.join(" "))
        })
    }

    #[test]
    fn c9_command_lines_that_fetch_a_package_are_known() {
        for (line, expected) in [
            ("npx -y @scope/server .", "npm @scope/server None ."),
            ("/usr/bin/npx @scope/server@1.2.3 --flag", "npm @scope/server@1.2.3 None --flag"),
            ("npx -y server@latest", "npm server None "),
            ("npx --yes --package=@a/b -- run-it x", "npm @a/b Some(\"run-it\") x"),
            ("npm exec -y -p pkg@^1 cmd", "npm pkg@^1 Some(\"cmd\") "),
            ("bunx server a b", "npm server None a b"),
            ("bun x server", "npm server None "),
            ("pnpm dlx server", "npm server None "),
            (
                "uvx mcp-server-time --local-timezone X",
                "PyPI mcp-server-time Some(\"mcp-server-time\") --local-timezone X",
            ),
            ("uvx mcp-server-time@1.0", "PyPI mcp-server-time==1.0 Some(\"mcp-server-time\") "),
            ("uvx --from pkg[a,b]>=1,<2 cmd", "PyPI pkg[a,b]>=1,<2 Some(\"cmd\") "),
            ("uv tool run pkg@latest", "PyPI pkg Some(\"pkg\") "),
            ("uvx --python 3.12 pkg", "PyPI pkg Some(\"pkg\") "),
            ("pipx run --spec pkg==2 cmd", "PyPI pkg==2 Some(\"cmd\") "),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
    }

    #[test]
    fn z8_what_is_not_understood_whole_is_started_as_it_stands() {
        for line in [
            "node server.js",
            "npx",
            "npx -y",
            "npx -c ls",
            "npx ./server",
            "npx github:a/b",
            "npx https://h/x.tgz",
            "npx -p a -p b c",
            "npx --registry http://h server",
            "npx a@file:../x",
            "npx a@--x",
            "npx -p a ../../bin/sh",
            "npx @scope",
            "npx ..",
            "npm install server",
            "uvx --with x pkg",
            "uvx git+https://h/x",
            "uvx ./x",
            "uvx --from git+https://h/x cmd",
            "uvx pkg@../x",
            "uvx --index-url http://h pkg",
            "uvx --python ../evil pkg",
            "uv run server.py",
            "pipx install x",
            "docker run x",
        ] {
            assert_eq!(told(line), "", "{line}");
        }
    }
}
