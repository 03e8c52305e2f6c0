//! Packages of npm: asked of and installed by `npm`, without running their scripts. What npm says
//! is read here; where it is put is said elsewhere.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::fetch::{
    DraftFolder, FoundVersion, InstalledFiles, RegistryClient, address_without_login,
    read_description_file,
};
use super::{ProgramRunner, ServerPackage};

/// Bytes of a program that say what runs it.
const SHEBANG_BYTES_MAX: usize = 200;

/// The newest version that fits.
pub(super) async fn find_npm_version(
    client: &RegistryClient<'_>,
    package: &ServerPackage,
    draft: DraftFolder,
) -> Result<FoundVersion, String> {
    // Both are needed, and which of them is missing is said before anything is fetched.
    client.find_program("node")?;
    let npm = client.find_program("npm")?;
    let described = "{\"private\": true}\n";
    std::fs::write(draft.path.join("package.json"), described).map_err(|e| e.to_string())?;
    let asked = package.registry_request();
    let args = ["view", &asked, "name", "version", "dist.tarball", "dist.integrity", "--json"];
    let said = client.run(&npm, &args, &draft.path).await?;
    let [name, version, tarball, integrity] = parse_npm_view(&said, &package.name)?;
    Ok(FoundVersion {
        name,
        version,
        from: address_without_login(&tarball),
        integrity,
        with: "npm install --ignore-scripts",
        pinned: Vec::new(),
        draft,
    })
}

/// Name, version, address and checksum in what `npm view` says: of several versions that fit, the
/// last.
fn parse_npm_view(said: &str, name: &str) -> Result<[String; 4], String> {
    let none = || "there is no such version".to_owned();
    let said: Value = match said.trim() {
        "" => return Err(none()),
        text => serde_json::from_str(text).map_err(|_| "npm view says no JSON".to_owned())?,
    };
    let last = match &said {
        Value::Array(all) => all.last().ok_or_else(none)?,
        one => one,
    };
    let of = |field: &str| {
        let text = last.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| format!("the registry does not say its {field}"))
    };
    let found = [of("name")?, of("version")?, of("dist.tarball")?, of("dist.integrity")?];
    match found[0] == name {
        true => Ok(found),
        false => Err(format!("the registry answers for {} instead", found[0])),
    }
}

/// Installs exactly that version.
pub(super) async fn install_npm_package(
    client: &RegistryClient<'_>,
    package: &ServerPackage,
    found: &FoundVersion,
) -> Result<InstalledFiles, String> {
    let npm = client.find_program("npm")?;
    let exact = format!("{}@{}", found.name, found.version);
    let args = [
        "install",
        &exact,
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-progress",
        "--save-exact",
        "--package-lock=true",
        "--install-strategy=hoisted",
        "--global=false",
        "--omit=dev",
    ];
    client.run(&npm, &args, &found.draft.path).await?;
    let lock = read_description_file(&found.draft.path.join("package-lock.json"))?;
    let list = verify_npm_lock(&lock, found)?;
    let own = PathBuf::from("node_modules").join(&found.name);
    let described = read_description_file(&found.draft.path.join(&own).join("package.json"))?;
    let program = own.join(choose_npm_program(&described, package)?);
    let whole = found.draft.path.join(&program);
    let runner =
        npm_program_runner(&whole).map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(InstalledFiles { runner, program, list })
}

/// Everything that stands in the lock file, if the package in it is the one that was found.
fn verify_npm_lock(lock: &str, found: &FoundVersion) -> Result<Vec<String>, String> {
    let lock: Value = serde_json::from_str(lock).map_err(|error| format!("its lock: {error}"))?;
    let packages = lock.get("packages").and_then(Value::as_object);
    let packages = packages.ok_or("npm wrote no list of what it installed")?;
    let text = |entry: &Value, field: &str| {
        entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let own = packages.get(&format!("node_modules/{}", found.name));
    let own = own.ok_or("npm did not install it")?;
    let (version, integrity) = (text(own, "version"), text(own, "integrity"));
    if version != found.version || integrity != found.integrity {
        return Err(format!(
            "npm installed {version} {integrity}, and not {} {} as you were told",
            found.version, found.integrity
        ));
    }
    let installed = packages.iter().filter(|(path, _)| !path.is_empty());
    Ok(installed
        .map(|(path, e)| format!("{path} {} {}", text(e, "version"), text(e, "integrity")))
        .collect())
}

/// The program that is meant: the named one, the only one, or the one of the package's name.
fn choose_npm_program(described: &str, package: &ServerPackage) -> Result<PathBuf, String> {
    let described: Value =
        serde_json::from_str(described).map_err(|error| format!("its package.json: {error}"))?;
    let plain = package.name.rsplit('/').next().unwrap_or_default();
    let path = match (described.get("bin"), &package.program) {
        (Some(Value::String(path)), None) => Some(path.as_str()),
        (Some(Value::String(path)), Some(name)) if name == plain => Some(path.as_str()),
        (Some(Value::Object(all)), None) if all.len() == 1 => {
            all.values().next().and_then(Value::as_str)
        }
        (Some(Value::Object(all)), name) => {
            all.get(name.as_deref().unwrap_or(plain)).and_then(Value::as_str)
        }
        _ => None,
    };
    let path = path.ok_or_else(|| match described.get("bin") {
        Some(Value::Object(all)) if !all.is_empty() => {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            format!(
                "it has the programs {}: name one, as in `npx -p {} {}`",
                names.join(", "),
                package.name,
                names[0]
            )
        }
        _ => "it has no program to start".into(),
    })?;
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    match Path::new(path).components().all(inside) {
        true => {
            let named = Path::new(path).components();
            Ok(named.filter(|part| *part != Component::CurDir).collect())
        }
        false => Err(format!("its program {path:?} lies outside of it")),
    }
}

/// What runs this program.
fn npm_program_runner(program: &Path) -> std::io::Result<ProgramRunner> {
    use std::io::Read as _;
    let mut begin = Vec::new();
    let file = std::fs::File::open(program)?;
    file.take(SHEBANG_BYTES_MAX as u64).read_to_end(&mut begin)?;
    let line = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let is_script = program
        .extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| matches!(extension, "js" | "mjs" | "cjs"));
    Ok(match line.strip_prefix("#!") {
        Some(line) if line.contains("node") => ProgramRunner::Node,
        None if is_script => ProgramRunner::Node,
        _ => ProgramRunner::Itself,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::packages::line;

    #[test]
    fn c9_what_npm_says_of_a_version_is_read() {
        let one = r#"{"name":"a","version":"1","dist.tarball":"t","dist.integrity":"sha512-x"}"#;
        let other = one.replace("\"1\"", "\"2\"");
        assert_eq!(parse_npm_view(one, "a").expect("it is whole")[1], "1");
        assert_eq!(parse_npm_view(&format!("[{one},{other}]"), "a").expect("two")[1], "2");
        for (said, why) in [
            ("", "no such version"),
            ("[]", "no such version"),
            ("no", "no JSON"),
            (r#"{"name":"a","version":"1"}"#, "dist.tarball"),
        ] {
            assert!(parse_npm_view(said, "a").expect_err(said).contains(why), "{said}");
        }
        assert!(parse_npm_view(one, "b").expect_err("another").contains("instead"));
    }

    #[test]
    fn z8_the_program_of_a_package_lies_in_it() {
        let package = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            line::package_of_command_line("npx", &words).expect("a package")
        };
        for (described, line, expected) in [
            (r#"{"bin":"./dist/i.js"}"#, "@s/a", Ok("dist/i.js")),
            (r#"{"bin":{"x":"i.js"}}"#, "a", Ok("i.js")),
            (r#"{"bin":{"x":"i.js","a":"a.js"}}"#, "@s/a", Ok("a.js")),
            (r#"{"bin":{"x":"i.js","y":"a.js"}}"#, "-p a y", Ok("a.js")),
            (r#"{"bin":{"x":"i.js","y":"a.js"}}"#, "a", Err("the programs x, y")),
            (r#"{"bin":{"x":"../../../../bin/sh"}}"#, "a", Err("outside")),
            (r#"{"bin":"/bin/sh"}"#, "a", Err("outside")),
            ("{}", "a", Err("no program")),
        ] {
            match (choose_npm_program(described, &package(line)), expected) {
                (Ok(path), Ok(expected)) => assert_eq!(path, Path::new(expected), "{described}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, _) => panic!("{described} {line}: {found:?}"),
            }
        }
    }
}
