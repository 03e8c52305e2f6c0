//! `weir mcp-servers install` and `update`: the package that a server is started from, asked of the
//! person with name, version, place and checksum before anything of it is fetched. Which version
//! there is and how it is installed: `weir_install::servers`.

use std::process::ExitCode;

use serde_json::json;
use weir_core::view::plain::visible_text;
use weir_install::context::InstallationContext;
use weir_install::servers::packages::{self, PackageReplacement, ServerPackage};
use weir_install::wiring::mcp::{self, KnownMcpServer};

use super::approve::{ApprovalPrompting, LIST_SHOWS, review_server};
use crate::failure::{exit, failure_with_status, usage};
use crate::options::McpApproveArgs;
use crate::terminal::{confirm_by_person, out_json, out_line};

/// Installs what is not installed yet; what is offers then, and the question, as in `approve`.
pub(super) async fn install_server_package(
    cx: &InstallationContext,
    args: &McpApproveArgs,
) -> anyhow::Result<ExitCode> {
    let known = mcp::find_known_server(cx, &args.name).await?;
    let how = ApprovalPrompting { yes: args.yes, json: args.json.json };
    let package = require_package(&known)?;
    if let Some(installed) = known.declared.installed_package(cx, &package) {
        let word =
            format!("is installed; `weir mcp-servers update {}` looks for a newer one", args.name);
        return report_unchanged_version(&known, &installed.version, how, &word);
    }
    review_server(cx, &known, how).await
}

/// Installs a newer version, if there is one; shown and approved anew. A no leaves the one before.
pub(super) async fn update_server_package(
    cx: &InstallationContext,
    args: &McpApproveArgs,
) -> anyhow::Result<ExitCode> {
    let known = mcp::find_known_server(cx, &args.name).await?;
    let how = ApprovalPrompting { yes: args.yes, json: args.json.json };
    how.check_can_ask(LIST_SHOWS)?;
    let package = require_package(&known)?;
    let Some(installed) = known.declared.installed_package(cx, &package) else {
        return review_server(cx, &known, how).await;
    };
    let found = packages::find_package_version(cx, &known.declared, &package).await?;
    if found.version == installed.version {
        return report_unchanged_version(
            &known,
            &installed.version,
            how,
            "is the newest matching version",
        );
    }
    let before = Some(installed.version.as_str());
    let replaced =
        confirm_and_install(cx, &known, PackageOffer { package: &package, found, before }, how)
            .await?;
    let cx = cx.reloaded_in_folder(&cx.folder)?;
    let looked = match mcp::find_known_server(&cx, &args.name).await {
        Ok(known) => review_server(&cx, &known, how).await,
        Err(error) => Err(error),
    };
    match looked {
        Ok(code) if code == ExitCode::SUCCESS => {
            replaced.keep_new();
            Ok(code)
        }
        other => {
            replaced.put_back()?;
            other
        }
    }
}

fn require_package(known: &KnownMcpServer) -> anyhow::Result<ServerPackage> {
    known.package.clone().ok_or_else(|| {
        usage(format!(
            "{} is not started from a package that Weir can install (npx, bunx, pnpm dlx, uvx or \
             pipx run, in the sandbox)",
            known.declared.name
        ))
    })
}

fn report_unchanged_version(
    known: &KnownMcpServer,
    version: &str,
    how: ApprovalPrompting,
    word: &str,
) -> anyhow::Result<ExitCode> {
    let name = &known.declared.name;
    match how.json {
        true => out_json(&json!({"name": name, "version": version, "changed": false}))?,
        false => out_line(&format!("{name}: {version} {word}"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The server with its package, which is installed if it is not and the person says yes.
pub(super) async fn install_missing_package(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    how: ApprovalPrompting,
) -> anyhow::Result<InstallationContext> {
    let package = require_package(known)?;
    let found = packages::find_package_version(cx, &known.declared, &package).await?;
    confirm_and_install(cx, known, PackageOffer { package: &package, found, before: None }, how)
        .await?
        .keep_new();
    cx.reloaded_in_folder(&cx.folder)
}

/// A version of a package that a person is asked about.
struct PackageOffer<'a> {
    package: &'a ServerPackage,
    found: packages::FoundVersion,
    /// The version that is installed now.
    before: Option<&'a str>,
}

async fn confirm_and_install(
    cx: &InstallationContext,
    known: &KnownMcpServer,
    offer: PackageOffer<'_>,
    how: ApprovalPrompting,
) -> anyhow::Result<PackageReplacement> {
    let PackageOffer { package, found, before } = offer;
    let name = &known.declared.name;
    if !how.json {
        out_line(&describe_package_install(known, &found, before))?;
    }
    if !how.yes && !confirm_by_person("Install it?")? {
        let again = format!("`weir mcp-servers install {name}` asks again");
        return Err(failure_with_status(
            exit::FAILED,
            format!("{name}: nothing was installed; {again}"),
        ));
    }
    packages::install_package(cx, &known.declared, package, found).await
}

/// What a person has to know before a package is fetched.
fn describe_package_install(
    known: &KnownMcpServer,
    found: &packages::FoundVersion,
    before: Option<&str>,
) -> String {
    let mut text = format!(
        "{} is started from a package. The package is installed once, with your own settings and \
         network access; the server then runs in the sandbox without network.\n",
        known.declared.name
    );
    let mut line = |what: &str, words: &str| {
        text.push_str(&format!("  {what}: {}\n", visible_text(words)));
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
