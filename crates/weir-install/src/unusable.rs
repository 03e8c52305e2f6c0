//! Settings that can be read and nobody can work with: names of nothing, files that are not there,
//! addresses that are none, bounds that leave nothing. Each is found in the source that sets it, with what is
//! allowed. Not here: what makes a file unreadable (`config`), whether a key is kept and a server answers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use weir_engine::regular_file::open_regular_file;
use weir_providers::catalogue::ModelCatalogue;

use crate::config::{ConfigDraft, SettingOrigin, Settings, WorkspaceConfig, key_text};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::wiring::{SessionOverrides, session_rules};
use crate::{models, profiles};

/// A setting that breaks each later run, or the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableSetting {
    /// Its key; empty where the problem names file and line itself.
    pub key: String,
    /// Where it is set.
    pub origin: SettingOrigin,
    /// What is wrong with it and what is allowed.
    pub problem: String,
    /// What else the same source sets could not be looked at.
    pub hides_others: bool,
}

impl fmt::Display for UnusableSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => f.write_str(&self.problem),
            key => write!(f, "{}: {key} {}", self.origin, self.problem),
        }
    }
}

impl UnusableSetting {
    fn without_key(error: &anyhow::Error) -> UnusableSetting {
        let (key, origin) = (String::new(), SettingOrigin::BuiltIn);
        UnusableSetting { key, origin, problem: error.to_string(), hides_others: false }
    }

    /// The settings cannot be read, or not put together.
    fn describe_unreadable(error: &anyhow::Error) -> UnusableSetting {
        UnusableSetting { hides_others: true, ..UnusableSetting::without_key(error) }
    }

    /// Whether its words begin with this file: those of what hides others do, where it is a file.
    fn is_about(&self, file: &Path) -> bool {
        self.problem.starts_with(&format!("{}:", file.display()))
    }

    /// Whether it is the same one, at whichever line.
    fn is_same(&self, other: &UnusableSetting) -> bool {
        let source = |origin: &SettingOrigin| std::mem::discriminant(origin);
        // A problem that names its own place has the number of the line in it.
        let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let is_same_problem = match self.key.as_str() {
            "" => words(&self.problem) == words(&other.problem),
            _ => self.problem == other.problem,
        };
        self.key == other.key && is_same_problem && source(&self.origin) == source(&other.origin)
    }
}

/// Every setting of every source that nobody can work with, also where another source takes precedence.
pub fn find_unusable_settings(cx: &InstallationContext) -> Vec<UnusableSetting> {
    let (files, made) = (cx.config_files(), cx.browser_settings());
    let sources = WorkspaceConfig::each_source(&files, &cx.environment, &made);
    let mut found: Vec<UnusableSetting> =
        sources.problems.iter().map(UnusableSetting::describe_unreadable).collect();
    // As if the workspace were trusted: what it declares is there for what it names.
    if found.is_empty() {
        let all = WorkspaceConfig::load_with(&files, &cx.environment, true, &made);
        let error = cx.config().and(all).err();
        found.extend(error.as_ref().map(UnusableSetting::describe_unreadable));
    }
    // What one source gets wrong does not keep the others from being looked at, and is told once.
    let looking = cx.for_looking().ok();
    let cx = looking.as_ref().map_or(cx, |looking| &looking.cx);
    let together = sources.together.unwrap_or_default();
    match models::catalogue_of_complete_providers(&together.settings) {
        Ok((catalogue, incomplete)) => {
            let known = KnownModels { catalogue, incomplete };
            found.extend(known.incomplete_providers(&together));
            found.extend(sources.alone.iter().flat_map(|source| of_source(cx, &known, source)));
            if !found.iter().any(|one| one.hides_others) {
                found.extend(broken_rule(cx));
            }
        }
        Err(error) => found.push(UnusableSetting::describe_unreadable(&error)),
    }
    found
}

/// Checks that a file of settings can be written: everything that holds then can be worked with. Returns
/// what was wrong before and stays so, to be told.
///
/// # Errors
/// A usage error: what nobody could work with, and what is allowed.
pub fn check_config_draft(
    cx: &InstallationContext,
    draft: &ConfigDraft,
) -> anyhow::Result<Vec<UnusableSetting>> {
    let before = find_unusable_settings(cx);
    let after = find_unusable_settings(&cx.with_config_draft(draft.clone())?);
    // What could not be read of this file hid the rest: a file is mended one setting after the other. What
    // another file hides is not looked at before nor after.
    let names_draft = |one: &UnusableSetting| one.hides_others && one.is_about(&draft.path);
    let was_hidden = before.iter().any(names_draft);
    let is_old = |one: &UnusableSetting| {
        (was_hidden && !names_draft(one)) || before.iter().any(|known| known.is_same(one))
    };
    let (old, new): (Vec<_>, Vec<_>) = after.into_iter().partition(is_old);
    if new.is_empty() {
        return Ok(old);
    }
    let texts: Vec<String> = new.iter().map(ToString::to_string).collect();
    Err(usage(format!("not changed: {}", texts.join("\n"))))
}

/// What is wrong with the rules of all files together; the first one.
fn broken_rule(cx: &InstallationContext) -> Option<UnusableSetting> {
    // A workspace that cannot be opened is no mistake of the settings.
    let workspace = cx.open_workspace().ok()?;
    let rules = session_rules(cx, &workspace, &SessionOverrides::default(), None);
    rules.err().map(|error| UnusableSetting::without_key(&error))
}

/// The models that all sources together know.
struct KnownModels {
    catalogue: ModelCatalogue,
    /// Providers that lack something, by name with what.
    incomplete: BTreeMap<String, String>,
}

impl KnownModels {
    /// Why nothing can speak as the model of this name. Of a provider that is not complete that is said once,
    /// of the provider.
    fn problem_of(&self, name: &str) -> Option<String> {
        let provider = name.trim().split('/').next().unwrap_or_default();
        match self.incomplete.contains_key(provider) {
            true => None,
            false => self.catalogue.resolve_model(name).err().map(|error| error.to_string()),
        }
    }

    fn incomplete_providers(&self, together: &WorkspaceConfig) -> Vec<UnusableSetting> {
        let of_provider = |(name, why): (&String, &String)| {
            let key = key_text(&["providers", name]);
            let below = format!("{key}.");
            let set = together.set_keys().find(|(set, _)| set.starts_with(&below));
            let origin = set.map_or(SettingOrigin::BuiltIn, |(_, origin)| origin.clone());
            let problem = format!("cannot be used: {why}");
            UnusableSetting { key, origin, problem, hides_others: false }
        };
        self.incomplete.iter().map(of_provider).collect()
    }
}

fn of_source(
    cx: &InstallationContext,
    known: &KnownModels,
    source: &WorkspaceConfig,
) -> Vec<UnusableSetting> {
    let settings = &source.settings;
    let is_foreign = |key: &str| {
        !cx.is_trusted() && matches!(source.origin_of_key(key), SettingOrigin::Project(..))
    };
    let models = named_models(settings).into_iter().filter_map(|(key, name)| {
        let why = match script_file(name) {
            // What a workspace names that is not trusted, no run plays: it is not even opened.
            Some(_) if is_foreign(key) => None,
            Some(file) => script_problem(cx, file),
            None => known.problem_of(name),
        }?;
        Some((key.to_owned(), format!("cannot be used: {why}")))
    });
    let profile = match source.is_set("profile") {
        true => profiles::find_profile(cx, &settings.profile).err(),
        false => None,
    };
    let profile = profile.map(|error| ("profile".to_owned(), format!("cannot be used: {error}")));
    let found =
        models.chain(profile).chain(bounds_of_nothing(settings)).chain(broken_addresses(settings));
    found
        .map(|(key, problem)| {
            let origin = source.origin_of_key(&key);
            UnusableSetting { key, origin, problem, hides_others: false }
        })
        .collect()
}

/// Every setting that names a model, with its key.
fn named_models(settings: &Settings) -> Vec<(&'static str, &str)> {
    let helpers = &settings.helpers;
    let mut named = vec![
        ("helpers.condense", helpers.condense.as_str()),
        ("helpers.judge", helpers.judge.as_str()),
        ("helpers.plan", helpers.plan.as_str()),
        ("helpers.flagship", helpers.flagship.as_str()),
        ("helpers.titles", helpers.titles.as_str()),
        ("helpers.embed", helpers.embed.as_str()),
        ("helpers.image", helpers.image.as_str()),
        ("web.search.model", settings.web.search.model.as_str()),
    ];
    let routing = &settings.routing;
    named.extend(settings.model.as_deref().map(|name| ("model", name)));
    named.extend(routing.fallback.iter().map(|name| ("routing.fallback", name.as_str())));
    named.extend(routing.rules.iter().map(|rule| ("routing.rules", rule.model.as_str())));
    named.retain(|(_, name)| !name.trim().is_empty());
    named
}

/// The file of a model that is a script.
fn script_file(name: &str) -> Option<&Path> {
    name.trim().strip_prefix("script:").map(Path::new)
}

/// Why nothing can speak as this script. A pipe or a device is not read: nobody may wait for what is only
/// looked at.
fn script_problem(cx: &InstallationContext, file: &Path) -> Option<String> {
    let found = models::found_script(cx, file);
    if let Err(error) = open_regular_file(&found) {
        return Some(format!("{} cannot be read: {error}", found.display()));
    }
    models::scripted_model(cx, file).err().map(|error| error.to_string())
}

/// Bounds under which nothing can be done.
fn bounds_of_nothing(settings: &Settings) -> Vec<(String, String)> {
    let (limits, server) = (&settings.limits, &settings.server);
    let is_none = |number: Option<u64>| number == Some(0);
    let mut found = Vec::new();
    let mut note = |is_wrong: bool, key: &str, problem: &str| {
        if is_wrong {
            found.push((key.to_owned(), format!("is 0: {problem}")));
        }
    };
    let why = "every run would end at once; write \"10m\", or leave it out for no bound";
    note(is_none(limits.run_timeout.map(|span| span.ms)), "limits.run_timeout", why);
    let why = "every run would end at once; set 1 or more, or leave it out for no bound";
    note(is_none(limits.budget_tokens), "limits.budget_tokens", why);
    let why = "every approval would be a denial at once; write \"24h\"";
    note(limits.approval_timeout.ms == 0, "limits.approval_timeout", why);
    let why = "nobody could reach the server; set 1 or more";
    note(server.connections_max == 0, "server.connections_max", why);
    let why = "no other machine could reach the server; set 1 or more";
    note(server.connections_per_address_max == 0, "server.connections_per_address_max", why);
    let why = "the server would answer nobody; set 1 or more";
    note(server.requests_per_minute == 0, "server.requests_per_minute", why);
    for (name, model) in &settings.models {
        let key = |field: &str| key_text(&["models", name, field]);
        let why = "nothing would fit into it; write its context window in tokens";
        note(is_none(model.window), &key("window"), why);
        let why = "it could write nothing; set 1 or more, or leave it out";
        note(is_none(model.max_output), &key("max_output"), why);
    }
    found
}

/// Addresses and folders that are none. A certificate and its key may be put in their place later, or be on
/// another machine: whether they can be used is for the server and `weir doctor` to say.
fn broken_addresses(settings: &Settings) -> Vec<(String, String)> {
    let server = &settings.server;
    let mut found = Vec::new();
    let mut note = |key: &str, value: &str, allowed: &str| {
        found.push((key.to_owned(), format!("is {value:?}; write {allowed}")));
    };
    if server.bind.parse::<SocketAddr>().is_err() {
        note("server.bind", &server.bind, "ADDRESS:PORT, such as 127.0.0.1:7717 or 0.0.0.0:7717");
    }
    if public_origin(&server.public_url).is_err() {
        let allowed = "an address without path, such as https://weir.example.org";
        note("server.public_url", &server.public_url, allowed);
    }
    if let Some(proxy) = server.proxies.iter().find(|text| text.parse::<IpAddr>().is_err()) {
        note("server.proxies", proxy, "IP addresses, such as [\"127.0.0.1\"]");
    }
    let is_database =
        |text: &str| text.is_empty() || text.starts_with("sqlite:") || text.starts_with("postgres");
    if !is_database(&server.database) {
        // It may hold a password.
        note("server.database", "…", "sqlite:PATH or postgres://…, or leave it out");
    }
    let is_folder = |text: &str| text.is_empty() || text.starts_with(['/', '~']);
    if !is_folder(&server.users_dir) {
        note("server.users_dir", &server.users_dir, "an absolute path");
    }
    let endpoint = &settings.telemetry.otlp_endpoint;
    if !endpoint.is_empty() && !is_web_address(endpoint) {
        note("telemetry.otlp_endpoint", endpoint, "http://127.0.0.1:4318");
    }
    found
}

fn is_web_address(text: &str) -> bool {
    let url = url::Url::parse(text);
    url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// The origin of `server.public_url`; `None` where it is empty.
///
/// # Errors
/// It is no address of a web server, or has a path: in words.
pub fn public_origin(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let url = url::Url::parse(text).ok().filter(|url| {
        let plain = matches!(url.scheme(), "http" | "https") && url.path() == "/";
        plain && url.query().is_none() && url.fragment().is_none() && url.username().is_empty()
    });
    let url = url.ok_or_else(|| {
        format!("server.public_url {text:?} is not an address like https://weir.example.org")
    })?;
    Ok(Some(url.origin().ascii_serialization()))
}
