//! `weir doctor`: what works here, what does not, and what to do about it. It looks; it changes
//! nothing but opening the store.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use futures::future::join_all;
use serde::Serialize;
use weir_core::tool::Tier;
use weir_core::view::plain::visible_text;
use weir_install::catalogue::servers::server_status;
use weir_install::context::InstallationContext;
use weir_install::maintenance::HealthLevel;
use weir_install::models;
use weir_install::trust::WorkspaceTrust;
use weir_install::unusable::find_unusable_settings;
use weir_install::wiring;
use weir_providers::http_model::ModelEndpoint;
use weir_providers::probe;
use weir_sandbox::TierWish;
use weir_store::{check_audit_writable, filesystem_warning, verify_audit};

use crate::command::current_timestamp;
use crate::failure::exit;
use crate::options::DoctorArgs;
use crate::terminal::{out_json, out_line};

/// How long an endpoint is waited for.
const ENDPOINT_WAIT: Duration = Duration::from_secs(5);

/// Hidden files of a repository that are named.
const HIDDEN_NAMED: usize = 10;

/// Why bubblewrap is recommended where nothing confines commands.
const WHY_NOT_UNCONFINED: &str = "every command needs approval unless you allow it; avoid \
    `--permission full` on a machine you care about. bubblewrap is recommended, or namespaces for \
    this user: only a confined command is kept from your files and the network, and only such a \
    one passes without a question in `auto-edit`; without it, people of a server who are not \
    admins can run no commands";

/// The same in the tier Landlock. That everyday work is no reason is what
/// `docs/generated/everyday.txt` says, which a test holds against this sentence.
const WHY_NOT_LANDLOCK: &str = "everyday work (commits, builds, tests, new files) is the same in \
    this tier; bubblewrap is recommended, or namespaces for this user, because only there a \
    command has a view of its own: here it sees the names of hidden files and the command lines \
    of your other programs, shares the loopback with them, and people of a server who are not \
    admins can run no commands";

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingState {
    /// It works.
    Ok,
    /// It works, but somebody should know something.
    Note,
    /// Something that is needed does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct DoctorFinding {
    what: String,
    state: FindingState,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

fn ok_finding(what: &str, detail: impl Into<String>) -> DoctorFinding {
    DoctorFinding {
        what: what.into(),
        state: FindingState::Ok,
        detail: detail.into(),
        remedy: None,
    }
}

fn note_finding(what: &str, detail: impl Into<String>, remedy: &str) -> DoctorFinding {
    let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
    DoctorFinding { what: what.into(), state: FindingState::Note, detail: detail.into(), remedy }
}

fn broken_finding(what: &str, detail: impl Into<String>, remedy: &str) -> DoctorFinding {
    DoctorFinding { state: FindingState::Broken, ..note_finding(what, detail, remedy) }
}

/// Looks at everything.
pub(crate) async fn run_doctor(
    cx: &InstallationContext,
    args: DoctorArgs,
) -> anyhow::Result<ExitCode> {
    let mut findings = check_configuration(cx);
    // What is wrong with the settings is said; the rest is looked at with what can be read.
    let looking = cx.for_looking()?;
    let cx = &looking.cx;
    // An address may stand in what cannot be read: nobody else is told a key in its place.
    let is_whole = looking.problems.is_empty();
    if !is_whole && !args.offline {
        findings.push(note_finding(
            "endpoints",
            "none was contacted, because the settings cannot all be read",
            "correct them first",
        ));
    }
    findings.extend(keys_and_endpoints(cx, args.offline || !is_whole).await);
    findings.extend(check_key_store(cx));
    findings.push(check_web_search(cx));
    findings.extend(check_command_sandbox(cx));
    findings.push(check_git());
    findings.extend(check_store(cx).await);
    findings.extend(check_certificate(cx));
    findings.push(check_workspace(cx));
    findings.push(check_workspace_trust(cx));
    findings.extend(check_mcp_servers(cx).await);
    findings.push(check_terminal());
    let is_broken = findings.iter().any(|finding| finding.state == FindingState::Broken);
    if args.json.json {
        out_json(&findings)?;
    } else {
        out_line(&findings_text(&findings))?;
    }
    Ok(if is_broken { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

fn findings_text(findings: &[DoctorFinding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let sign = match finding.state {
            FindingState::Ok => "ok    ",
            FindingState::Note => "note  ",
            FindingState::Broken => "BROKEN",
        };
        let detail = finding.detail.trim_end().replace('\n', "\n          ");
        text.push_str(&format!("{sign}  {}: {detail}\n", finding.what));
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("          -> {remedy}\n"));
        }
    }
    text
}

/// The files, and each setting of each source that no run or server can work with.
fn check_configuration(cx: &InstallationContext) -> Vec<DoctorFinding> {
    let files = cx.config_files();
    let remedy = "correct that line; `weir config path` shows the files, `weir config set` and \
                  `weir config unset` change them";
    let unusable = find_unusable_settings(cx);
    let mut found: Vec<DoctorFinding> = unusable
        .iter()
        .map(|one| broken_finding("settings", visible_text(&one.to_string()), remedy))
        .collect();
    // Nothing found: they were read as a run reads them, and that worked.
    if found.is_empty() {
        let there = [&files.user, &files.project].into_iter().filter(|path| path.exists());
        let there: Vec<String> = there.map(|path| path.display().to_string()).collect();
        let detail = if there.is_empty() { "no file, defaults".into() } else { there.join(", ") };
        found.push(ok_finding("settings", detail));
    }
    found
}

/// Keys, and whether the endpoints that were configured answer.
async fn keys_and_endpoints(cx: &InstallationContext, offline: bool) -> Vec<DoctorFinding> {
    let catalogue = match models::load_catalogue(cx) {
        Ok(catalogue) => catalogue,
        Err(error) => {
            return vec![broken_finding("providers", error.to_string(), "correct the settings")];
        }
    };
    let mut findings = Vec::new();
    let mut configured = Vec::new();
    let mut local = Vec::new();
    for vendor in catalogue.vendors() {
        match models::vendor_endpoint(cx, catalogue, vendor) {
            Ok((endpoint, Some(source))) => {
                findings.push(ok_finding(&format!("key for {}", vendor.name), source.to_string()));
                configured.push(endpoint);
            }
            Ok((endpoint, None)) if is_named(cx, &vendor.name) => configured.push(endpoint),
            Ok((endpoint, None)) if vendor.local => local.push(endpoint),
            Ok(_) => {}
            Err(error) => {
                return vec![broken_finding("keys", error.to_string(), "see `weir auth list`")];
            }
        }
    }
    if offline {
        if configured.is_empty() {
            let remedy = "run `weir auth set anthropic`, or omit --offline to look for local \
                          servers";
            findings.push(note_finding(
                "model",
                "no provider has a key; no endpoint was contacted",
                remedy,
            ));
        }
        return findings;
    }
    // Several rows of one vendor share an address (openai, openai-chat): asked once.
    configured.dedup_by(|a, b| a.base_url == b.base_url);
    let transport = models::process_transport(cx);
    let asked = configured.iter().map(|endpoint| probe_endpoint(endpoint, &transport));
    findings.extend(join_all(asked).await);
    let there = local.iter().map(async |endpoint| {
        let models = probe::local_server(endpoint, &transport).await?;
        let detail = format!("{} responds, with {} models", endpoint.base_url, models.len());
        Some(ok_finding(&endpoint.vendor.name, detail))
    });
    let there: Vec<DoctorFinding> = join_all(there).await.into_iter().flatten().collect();
    if configured.is_empty() && there.is_empty() {
        findings.push(broken_finding(
            "model",
            "no provider has a key, and no local server responds",
            "run `weir auth set anthropic` or `ollama serve`; `weir demo` needs neither",
        ));
    }
    findings.extend(there);
    findings
}

/// Where `weir auth set` would keep a key now, and whether those in the keyring can be used.
fn check_key_store(cx: &InstallationContext) -> Vec<DoctorFinding> {
    const WHAT: &str = "new keys are kept in";
    let keys = match cx.keys_to_change() {
        Ok(keys) => keys,
        Err(error) => {
            return vec![broken_finding(WHAT, error.to_string(), "correct what it names")];
        }
    };
    let mut findings = vec![match keys.describe_store() {
        Ok(place) => ok_finding(WHAT, place),
        Err(why) => broken_finding(
            WHAT,
            why,
            "mend that, or run `weir config set keys.store auto`: then the file takes them",
        ),
    }];
    if let Some(why) = keys.keyring_problem() {
        let names = keys.unread_in_keyring().collect::<Vec<_>>().join(", ");
        findings.push(note_finding(
            "keys in the system keyring",
            format!("{why} (not usable: {names})"),
            "unlock it, or save them again with `weir auth set`",
        ));
    }
    let unread = keys.unread_outdated_in_keyring().into_iter().collect::<Vec<_>>().join(", ");
    if !unread.is_empty() {
        findings.push(note_finding(
            "older keys in the system keyring",
            format!("{unread} cannot be read: no text is cleaned of them"),
            "unlock it, then run `weir auth remove NAME` for each",
        ));
    }
    findings
}

/// Who searches the web for sessions that begin here.
fn check_web_search(cx: &InstallationContext) -> DoctorFinding {
    const WHAT: &str = "web search";
    match wiring::vendor_search::describe_search(cx) {
        Ok(Some(detail)) => ok_finding(WHAT, detail),
        Ok(None) => note_finding(
            WHAT,
            "nobody searches: sessions have no web_search",
            "`weir config set web.search.kind vendor` lets the model's vendor search, with its key \
             (anthropic, openai, gemini, openrouter)",
        ),
        Err(error) => broken_finding(WHAT, error.to_string(), "correct the settings"),
    }
}

/// Whether settings or a variable name this provider's address.
fn is_named(cx: &InstallationContext, provider: &str) -> bool {
    cx.config().is_ok_and(|config| config.settings.providers.contains_key(provider))
}

async fn probe_endpoint(
    endpoint: &ModelEndpoint,
    transport: &weir_providers::transport::ModelTransport,
) -> DoctorFinding {
    let what = format!("endpoint of {}", endpoint.vendor.name);
    let place = &endpoint.base_url;
    let remedy = "check network, proxy and address; check the key with `weir auth list`";
    match tokio::time::timeout(ENDPOINT_WAIT, probe::list_models(endpoint, transport)).await {
        Ok(Ok(models)) => {
            ok_finding(&what, format!("{place} responds, with {} models", models.len()))
        }
        // It spoke: some servers list nothing.
        Ok(Err(why)) if why.contains("HTTP 404") => ok_finding(&what, format!("{place} responds")),
        Ok(Err(why)) => broken_finding(&what, format!("{place}: {why}"), remedy),
        Err(_) => {
            let seconds = ENDPOINT_WAIT.as_secs();
            broken_finding(&what, format!("{place}: no response within {seconds} s"), remedy)
        }
    }
}

/// What holds for commands, said plainly, and why a stronger tier does not work here.
fn check_command_sandbox(cx: &InstallationContext) -> Vec<DoctorFinding> {
    // Settings that cannot be read are a finding of their own.
    let wish = cx.config().map_or(TierWish::Auto, wiring::tier_wish);
    let report = weir_sandbox::probe_tiers(wish, &wiring::this_program());
    let held = report.guarantees.iter().map(|line| format!("+ {line}\n")).collect::<String>();
    let missing = report.missing.iter().map(|line| format!("- {line}\n")).collect::<String>();
    let tier = report.tier.as_str();
    let weakness = weir_sandbox::tier_weakness(report.tier).map(|text| format!("{text}\n"));
    let weakness = weakness.unwrap_or_default();
    let detail = format!("sandbox {tier}\n{weakness}{held}{missing}");
    let mut findings = vec![match (report.works, report.tier) {
        (false, _) => broken_finding(
            "commands",
            detail,
            "fix the tier as described below, or set sandbox.tier to \"auto\"",
        ),
        (true, Tier::None) => note_finding("commands", detail, WHY_NOT_UNCONFINED),
        (true, Tier::Landlock) => note_finding("commands", detail, WHY_NOT_LANDLOCK),
        (true, Tier::Bubblewrap | Tier::Namespaces) => ok_finding("commands", detail),
    }];
    for check in report.tiers {
        let what = format!("tier {}", check.tier.as_str());
        let used = if check.tier == report.tier { "in use" } else { "not in use" };
        findings.push(match check.remedy {
            None => ok_finding(&what, format!("works, {used}: {}", check.detail)),
            Some(remedy) => {
                note_finding(&what, format!("does not work: {}", check.detail), &remedy)
            }
        });
    }
    findings
}

fn check_git() -> DoctorFinding {
    match std::process::Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            ok_finding("git", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => note_finding(
            "git",
            "not found",
            "checkpoints work without it, but agents in repositories need it",
        ),
    }
}

/// The store: does it open, does it hold together, where does it lie.
async fn check_store(cx: &InstallationContext) -> Vec<DoctorFinding> {
    use weir_engine::ports::Store;
    let place = cx.dirs.state.display().to_string();
    let store = match cx.local_store() {
        Ok(store) => store,
        Err(error) => {
            // What it says of damage names the remedy itself.
            let remedy = match error.downcast_ref() {
                Some(weir_engine::ports::StoreError::Damaged { .. }) => "restore it from a backup",
                _ => "make the folder writable, or set WEIR_STATE_DIR to another one",
            };
            return vec![broken_finding("database", format!("{place}: {error}"), remedy)];
        }
    };
    let mut findings = vec![match store.check_integrity().await {
        Ok(()) => ok_finding("database", format!("{place}/weir.db can be opened and is intact")),
        Err(error) => broken_finding("database", error.to_string(), "restore it from a backup"),
    }];
    let dir = cx.dirs.state.clone();
    let verified = tokio::task::spawn_blocking(move || verify_audit(&dir)).await;
    findings.push(match verified {
        Ok(Ok(report)) if report.fault.is_none() => {
            ok_finding("audit", format!("{} lines, the hash chain is intact", report.lines))
        }
        Ok(Ok(_)) => broken_finding(
            "audit",
            "the hash chain is broken",
            "`weir audit verify` reports the line",
        ),
        Ok(Err(error)) => broken_finding("audit", error.to_string(), "`weir audit verify`"),
        Err(error) => broken_finding("audit", error.to_string(), "`weir audit verify`"),
    });
    findings.extend(unwritable_audit(&cx.dirs.state));
    if let Some(warning) = filesystem_warning(&cx.dirs.state) {
        findings.push(note_finding("file system", warning, ""));
    }
    match store.pause_state().await {
        Ok(None) => {}
        Ok(Some(pause)) => {
            let detail = format!("since {} by {}: {}", pause.since, pause.by, pause.reason);
            findings.push(note_finding("kill switch", detail, "`weir release`"));
        }
        Err(error) => {
            findings.push(broken_finding("kill switch", error.to_string(), "see database"))
        }
    }
    findings
}

/// Why no run can do anything here, where its line cannot be written.
fn unwritable_audit(state: &Path) -> Option<DoctorFinding> {
    let now = current_timestamp();
    let error = check_audit_writable(state, now).err()?;
    let remedy = "until this is fixed, every run stops before its first action";
    Some(broken_finding("audit log", error.to_string(), remedy))
}

/// The server's own certificate, where the settings name one.
fn check_certificate(cx: &InstallationContext) -> Option<DoctorFinding> {
    let server = &cx.config().ok()?.settings.server;
    if server.certificate.is_empty() {
        return None;
    }
    let (chain, key) = (Path::new(&server.certificate), Path::new(&server.key));
    let now = current_timestamp();
    let remedy = "replace the file that server.certificate names; a running server reloads it";
    Some(match weir_server::certificate_finding(chain, key, now) {
        Ok(found) if found.health == HealthLevel::Good => ok_finding("certificate", found.says),
        Ok(found) => note_finding("certificate", found.says, remedy),
        Err(error) => broken_finding("certificate", error.to_string(), remedy),
    })
}

fn check_workspace(cx: &InstallationContext) -> DoctorFinding {
    let folder = cx.folder.display().to_string();
    match cx.open_workspace() {
        Ok(workspace) => match workspace.hidden_in_history().as_slice() {
            [] => ok_finding("workspace", folder),
            hidden => {
                let named = hidden.iter().take(HIDDEN_NAMED).cloned().collect::<Vec<_>>();
                let detail = format!(
                    "{folder}; the git history contains {} hidden files: {}",
                    hidden.len(),
                    visible_text(&named.join(", "))
                );
                note_finding(
                    "workspace",
                    detail,
                    "commands that read the history need approval; remove the files from the \
                     repository, or allow each with a rule Read(PATH)",
                )
            }
        },
        Err(error) => broken_finding("workspace", error.to_string(), "name another folder with -C"),
    }
}

/// Whether the workspace's own files may widen anything. That they may not is nothing broken.
fn check_workspace_trust(cx: &InstallationContext) -> DoctorFinding {
    let trust = cx.workspace_trust();
    let detail = trust.to_string();
    match trust {
        WorkspaceTrust::Trusted { .. } | WorkspaceTrust::Never => ok_finding("trust", detail),
        WorkspaceTrust::Changed { .. } => {
            note_finding("trust", detail, "`weir trust` shows the changes and asks again")
        }
        WorkspaceTrust::Unclear { .. } => {
            note_finding("trust", detail, "until then, its own files cannot allow more")
        }
    }
}

/// The MCP servers that are declared here, without starting any.
async fn check_mcp_servers(cx: &InstallationContext) -> Vec<DoctorFinding> {
    let (known, notes) = match wiring::mcp::load_known_servers(cx).await {
        Ok(found) => found,
        Err(error) => {
            return vec![broken_finding("MCP servers", error.to_string(), "correct that line")];
        }
    };
    let noted = notes.into_iter().map(|text| note_finding("MCP servers", text, ""));
    let stand = known.iter().map(|one| {
        let name = &one.declared.name;
        let (what, stands) = (format!("MCP server {name}"), server_status(one));
        let detail = visible_text(&stands.detail);
        let approve = format!("`weir mcp-servers approve {name}`");
        match stands.word {
            "broken" => broken_finding(&what, detail, &one.declared.place),
            "unapproved" | "changed" => note_finding(&what, detail, &approve),
            "uninstalled" => {
                note_finding(&what, detail, &format!("`weir mcp-servers install {name}`"))
            }
            _ => ok_finding(&what, detail),
        }
    });
    stand.chain(noted).collect()
}

fn check_terminal() -> DoctorFinding {
    let is = |terminal: bool| if terminal { "a terminal" } else { "no terminal" };
    let input = is(std::io::stdin().is_terminal());
    let output = is(std::io::stdout().is_terminal());
    let detail = format!("input is {input}, output is {output}");
    if crate::terminal::is_attended() {
        return ok_finding("terminal", detail);
    }
    note_finding(
        "terminal",
        detail,
        "nobody can be asked here: calls that need approval are denied",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{WHY_NOT_LANDLOCK, WHY_NOT_UNCONFINED};

    /// U13: what is said of Landlock is what the table of everyday commands says: they work there
    /// as in the other tiers. A row that does not any more must be named in the sentence.
    #[test]
    fn u13_doctor_says_of_landlock_what_the_table_of_everyday_commands_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/everyday.txt");
        let table = std::fs::read_to_string(path).expect("the table is kept");
        let mut lines = table.lines();
        let tiers: Vec<&str> = lines.next().expect("a heading").split_whitespace().collect();
        let landlock = tiers.iter().position(|tier| *tier == "landlock").expect("its column");
        let mut rows = 0;
        for line in lines.filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let cells = &words[words.len() - tiers.len()..];
            assert_eq!(cells[landlock], "works", "{line}");
            rows += 1;
        }
        assert!(rows >= 20, "only {rows} rows were read");
        assert!(
            WHY_NOT_LANDLOCK
                .contains("everyday work (commits, builds, tests, new files) is the same")
        );
    }

    #[test]
    fn u13_doctor_recommends_bubblewrap_with_a_reason() {
        for words in [WHY_NOT_LANDLOCK, WHY_NOT_UNCONFINED] {
            assert!(words.contains("bubblewrap is recommended"), "{words}");
        }
    }
}
