//! Packages of PyPI: asked of and installed by `pip` in an environment of their own (`python3 -m
//! venv`), from wheels alone, so that nothing of a package runs while it is installed. Each is
//! installed with the checksum that pip reported before.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fetch::{
    DraftFolder, FoundVersion, InstalledFiles, RegistryClient, address_without_login,
    read_description_file,
};
use super::{ProgramRunner, ServerPackage};

/// The list of what is installed, with checksums, in the words of pip.
const LIST: &str = "requirements.txt";
/// What pip says of what it would install.
const REPORT: &str = "report.json";
/// Programs of every environment.
const OWN: [&str; 4] = ["python", "pip", "activate", "Activate"];

/// The Python of an environment.
pub(super) fn environment_python(folder: &Path) -> PathBuf {
    folder.join("bin").join("python")
}

/// The newest version that fits, with everything that it needs.
pub(super) async fn find_python_version(
    client: &RegistryClient<'_>,
    package: &ServerPackage,
    draft: DraftFolder,
) -> Result<FoundVersion, String> {
    let named = package.python.as_ref().map_or("python3".into(), |v| format!("python{v}"));
    let python = client.find_program(&named)?;
    let folder = draft.path.display().to_string();
    client
        .run(&python, &["-m", "venv", &folder], &draft.path)
        .await
        .map_err(|why| format!("{why}{}", super::how_to_get("python3")))?;
    let asked = package.registry_request();
    let args = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "--ignore-installed",
        "--dry-run",
        "--report",
        REPORT,
        &asked,
    ];
    client.run(&environment_python(&draft.path), &args, &draft.path).await?;
    let report = parse_pip_report(&read_description_file(&draft.path.join(REPORT))?)?;
    let ReportedWheel { name, version, from, hash } = report.asked;
    Ok(FoundVersion {
        name,
        version,
        from: address_without_login(&from),
        integrity: format!("sha256:{hash}"),
        with: "pip install --only-binary :all: --require-hashes, in an environment of its own",
        pinned: report.pinned,
        draft,
    })
}

/// A package as pip reports it.
struct ReportedWheel {
    name: String,
    version: String,
    from: String,
    hash: String,
}

struct PipReport {
    asked: ReportedWheel,
    /// Everything, in the words of a list of requirements.
    pinned: Vec<String>,
}

fn parse_pip_report(report: &str) -> Result<PipReport, String> {
    let report: Value = serde_json::from_str(report).map_err(|error| error.to_string())?;
    let all = report.get("install").and_then(Value::as_array);
    let all = all.ok_or("pip does not say what it would install")?;
    let mut asked = None;
    let mut pinned = Vec::new();
    for one in all {
        let of = |path: &str| {
            let text = one.pointer(path).and_then(Value::as_str);
            text.map(str::to_owned).ok_or_else(|| format!("pip does not say {path} of a package"))
        };
        let wheel = ReportedWheel {
            name: of("/metadata/name")?,
            version: of("/metadata/version")?,
            from: of("/download_info/url")?,
            hash: of("/download_info/archive_info/hashes/sha256")?,
        };
        let plain = |text: &str, more: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        if !plain(&wheel.name, "-._") || !plain(&wheel.version, ".+!-_") || !plain(&wheel.hash, "")
        {
            return Err("pip names a package in signs that no package has".into());
        }
        pinned.push(format!("{}=={} --hash=sha256:{}", wheel.name, wheel.version, wheel.hash));
        if one.get("requested").and_then(Value::as_bool) == Some(true) {
            asked = Some(wheel);
        }
    }
    let asked = asked.ok_or("pip does not say which version it would install")?;
    Ok(PipReport { asked, pinned })
}

/// Installs exactly what was found.
pub(super) async fn install_python_package(
    client: &RegistryClient<'_>,
    package: &ServerPackage,
    found: &FoundVersion,
) -> Result<InstalledFiles, String> {
    let folder = &found.draft.path;
    let list = found.pinned.join("\n");
    std::fs::write(folder.join(LIST), format!("{list}\n")).map_err(|error| error.to_string())?;
    let args = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "--no-deps",
        "--require-hashes",
        "-r",
        LIST,
    ];
    client.run(&environment_python(folder), &args, folder).await?;
    let name = package.program.as_deref().unwrap_or(&package.name);
    let program = PathBuf::from("bin").join(name);
    let runner = python_program_runner(&folder.join(&program)).map_err(|_| {
        let there = list_installed_programs(folder);
        match there.first() {
            Some(first) => format!(
                "it has no program {name}, but {}: name one, as in `uvx --from {} {first}`",
                there.join(", "),
                package.name
            ),
            None => "it has no program to start".to_owned(),
        }
    })?;
    Ok(InstalledFiles { runner, program, list: found.pinned.clone() })
}

/// The programs that came with the packages.
fn list_installed_programs(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("bin")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| !OWN.iter().any(|own| name.starts_with(own))).collect();
    names.sort();
    names
}

/// What runs this program. The line in it names the folder of the environment, which may be too long
/// for the system.
fn python_program_runner(program: &Path) -> std::io::Result<ProgramRunner> {
    use std::io::Read as _;
    let mut begin = Vec::new();
    std::fs::File::open(program)?.take(2).read_to_end(&mut begin)?;
    Ok(if begin == b"#!" { ProgramRunner::Python } else { ProgramRunner::Itself })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z8_what_pip_reports_is_pinned_with_its_checksum() {
        let one = |name: &str, requested: bool| {
            serde_json::json!({
                "metadata": {"name": name, "version": "1.0"}, "requested": requested,
                "download_info": {"url": "https://h/x.whl",
                                  "archive_info": {"hashes": {"sha256": "ab"}}}
            })
        };
        let told = serde_json::json!({"install": [one("dep", false), one("srv", true)]});
        let report = parse_pip_report(&told.to_string()).expect("it is whole");
        assert_eq!(report.asked.name, "srv");
        assert_eq!(report.pinned, ["dep==1.0 --hash=sha256:ab", "srv==1.0 --hash=sha256:ab"]);
        let odd = serde_json::json!({"install": [one("x --index-url http://h", true)]});
        assert!(parse_pip_report(&odd.to_string()).is_err_and(|why| why.contains("signs")));
        let bare = serde_json::json!({"install": [{"metadata": {"name": "a", "version": "1"}}]});
        assert!(parse_pip_report(&bare.to_string()).is_err());
        assert!(parse_pip_report("{}").is_err() && parse_pip_report("").is_err());
    }
}
