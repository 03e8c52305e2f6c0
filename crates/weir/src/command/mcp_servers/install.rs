//! `weir mcp-servers install` and `update`: the package that a server is started from, asked of the
//! person with name, version, place and checksum before anything of it is fetched. Which version
//! there is and how it is installed: `weir_install::servers`.

use std::process::ExitCode;

use serde_json::json;
use weir_core::view::plain::visible;
use weir_install::cx::Cx;
use weir_install::servers::packages::{self, Package, Replaced};
use weir_install::wiring::mcp::{self, Known};

use super::approve::{How, look};
use crate::failure::{exit, failure, usage};
use crate::options::McpApproveArgs;
use crate::terminal::{confirm, out, out_json};

/// Installs what is not installed yet; what is offers then, and the question, as in `approve`.
pub(super) async fn install(cx: &Cx, args: &McpApproveArgs) -> anyhow::Result<ExitCode> {
    let known = mcp::find(cx, &args.name).await?;
    let how = How { yes: args.yes, json: args.json.json };
    let package = named(&known)?;
    if let Some(installed) = known.declared.installed(cx, &package) {
        let word =
            format!("is installed; `weir mcp-servers update {}` looks for a newer one", args.name);
        return told(&known, &installed.version, how, &word);
    }
    look(cx, &known, how).await
}

/// Installs a newer version, if there is one; shown and approved anew. A no leaves the one before.
pub(super) async fn update(cx: &Cx, args: &McpApproveArgs) -> anyhow::Result<ExitCode> {
    let known = mcp::find(cx, &args.name).await?;
    let how = How { yes: args.yes, json: args.json.json };
    how.check()?;
    let package = named(&known)?;
    let Some(installed) = known.declared.installed(cx, &package) else {
        return look(cx, &known, how).await;
    };
    let found = packages::find(cx, &known.declared, &package).await?;
    if found.version == installed.version {
        return told(&known, &installed.version, how, "is the newest matching version");
    }
    let before = Some(installed.version.as_str());
    let replaced = asked(cx, &known, (&package, found, before), how).await?;
    let cx = cx.anew(&cx.folder)?;
    let looked = match mcp::find(&cx, &args.name).await {
        Ok(known) => look(&cx, &known, how).await,
        Err(error) => Err(error),
    };
    match looked {
        Ok(code) if code == ExitCode::SUCCESS => {
            replaced.keep();
            Ok(code)
        }
        other => {
            replaced.back()?;
            other
        }
    }
}

fn named(known: &Known) -> anyhow::Result<Package> {
    known.package.clone().ok_or_else(|| {
        usage(format!(
            "{} is not started from a package that Weir can install (npx, bunx, pnpm dlx, uvx or \
             pipx run, in the sandbox)",
            known.declared.name
        ))
    })
}

fn told(known: &Known, version: &str, how: How, word: &str) -> anyhow::Result<ExitCode> {
    let name = &known.declared.name;
    match how.json {
        true => out_json(&json!({"name": name, "version": version, "changed": false}))?,
        false => out(&format!("{name}: {version} {word}"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The server with its package, which is installed if it is not and the person says yes.
pub(super) async fn installed(cx: &Cx, known: &Known, how: How) -> anyhow::Result<Cx> {
    let package = named(known)?;
    let found = packages::find(cx, &known.declared, &package).await?;
    asked(cx, known, (&package, found, None), how).await?.keep();
    cx.anew(&cx.folder)
}

async fn asked(
    cx: &Cx,
    known: &Known,
    (package, found, before): (&Package, packages::Found, Option<&str>),
    how: How,
) -> anyhow::Result<Replaced> {
    let name = &known.declared.name;
    if !how.json {
        out(&words(known, &found, before))?;
    }
    if !how.yes && !confirm("Install it?")? {
        let again = format!("`weir mcp-servers install {name}` asks again");
        return Err(failure(exit::FAILED, format!("{name}: nothing was installed; {again}")));
    }
    packages::fetch(cx, &known.declared, package, found).await
}

/// What a person has to know before a package is fetched.
fn words(known: &Known, found: &packages::Found, before: Option<&str>) -> String {
    let mut text = format!(
        "{} is started from a package. The package is installed once, with your own settings and \
         network access; the server then runs in the sandbox without network.\n",
        known.declared.name
    );
    let mut line = |what: &str, words: &str| {
        text.push_str(&format!("  {what}: {}\n", visible(words)));
    };
    line("package", &found.name);
    match before {
        Some(before) => line("version", &format!("{} (installed: {before})", found.version)),
        None => line("version", &found.version),
    }
    line("from", &found.from);
    line("checksum", &found.integrity);
    line("by", found.with);
    text
}
