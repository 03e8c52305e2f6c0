//! Vendors and models as data: built in, and overridden by the config (C4, V1).
//!
//! Reads no file and no variable: the caller passes the config's part as [`CatalogueOverrides`] and the
//! environment as a function.

mod own_server;
mod search_offer;
mod vendor;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use serde::Deserialize;
use weir_core::model::{ModelInfo, ModelRef, Price};

use crate::dialect::{VendorQuirks, without_date};
use crate::text_tools::TEXT_CALLS;
pub use own_server::{ServerKind, can_be_asked, guessed_window, is_own_server};
pub use search_offer::{SearchOffer, SearchPrice, SearchPriceUnit, SearchShape};
pub use vendor::{Vendor, VendorOverride};

/// Window that a model is given of which nothing is known.
pub const UNKNOWN_WINDOW: u64 = 128_000;
/// Window that a model of a server of one's own is given where nobody says which holds ([`guessed_window`]): what the most common server starts with by itself, so that nothing is cut at the front unseen (R6).
pub const LOCAL_WINDOW: u64 = 4_096;
/// Output limit that a model is given of which nothing is known.
pub const UNKNOWN_MAX_OUTPUT: u64 = 8_192;

/// A provider that cannot be used as named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// Not `provider/name`.
    #[error(
        "{text:?} names no model: write provider/name, for example anthropic/claude-sonnet-5-5"
    )]
    NotAModel {
        /// What was written.
        text: String,
    },
    /// No such provider.
    #[error(
        "there is no provider {name:?}: known are {known}; others are defined in the config \
         under [providers.{name}]"
    )]
    UnknownProvider {
        /// The name that nobody has.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A provider of the config is not complete.
    #[error("provider {name:?} of the config needs `{field}`: {why}")]
    Incomplete {
        /// Name of the provider.
        name: String,
        /// The setting that is missing or wrong.
        field: &'static str,
        /// What the field is expected to hold.
        why: String,
    },
}

/// `[models."provider/name"]` of the config.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOverride {
    /// Context window in tokens.
    pub window: Option<u64>,
    /// Most tokens of one reply.
    pub max_output: Option<u64>,
    /// Price in USD per million tokens.
    pub price: Option<Price>,
    /// The day on which its vendor asked that: `2026-11-29`.
    pub priced_on: Option<String>,
    /// Abilities, all of them.
    pub abilities: Option<Vec<String>>,
}

/// What the config says of providers and models.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CatalogueOverrides {
    /// By the name of the provider.
    pub providers: BTreeMap<String, VendorOverride>,
    /// By `provider/name`.
    pub models: BTreeMap<String, ModelOverride>,
}

/// A model that can be used: who speaks for it, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedModel {
    /// Who speaks for it.
    pub vendor: Vendor,
    /// Window, price and abilities of the model.
    pub info: ModelInfo,
}

/// All vendors and models.
#[derive(Debug, Clone)]
pub struct ModelCatalogue {
    vendors: Vec<Vendor>,
    models: Vec<ModelInfo>,
    by_name: HashMap<String, usize>,
    /// From when each price is, by `provider/name`.
    priced_on: HashMap<String, PriceSource>,
    /// Rows whose window nobody said.
    guessed: HashSet<String>,
}

/// Where a price is from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceSource {
    /// The day on which the vendor asked it, `2026-11-29`; `None`: nobody said.
    pub day: Option<String>,
    /// The configuration says so, and not the list that the program brings.
    pub is_own: bool,
}

/// The price of a model, with where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceRow {
    /// The model, as `provider/name`.
    pub model: String,
    /// Its price, where it is known.
    pub price: Option<Price>,
    /// Where that is from.
    pub source: PriceSource,
    /// The price that the program brings, where the configuration says another.
    pub built_in: Option<Price>,
}

/// `catalogue.json`: what `vendors.toml` and `models.toml` say, in the form that is read fastest, because
/// nearly every command reads all of it (Q1).
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltInRows {
    vendors: Vec<Vendor>,
    models: Vec<ModelRow>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    model: String,
    window: u64,
    max_output: u64,
    price: Option<Price>,
    /// The day on which the vendor asked that.
    priced_on: Option<String>,
    abilities: Vec<String>,
}

/// Most US dollars that a million tokens can cost: whatever is more was meant for another unit.
const PRICE_MAX: f64 = 10_000.0;

/// What is wrong with a price, as the end of a sentence; `None`: nothing.
pub fn price_complaint(price: &Price) -> Option<String> {
    let parts = [
        ("input", price.input),
        ("output", price.output),
        ("cache_read", price.cache_read),
        ("cache_write", price.cache_write),
    ];
    let wrong = parts.iter().find(|(_, usd)| !usd.is_finite() || *usd < 0.0 || *usd > PRICE_MAX);
    if let Some((name, usd)) = wrong {
        return Some(format!(
            "has {name} = {usd}: a price is in USD for a million tokens, from 0 to {PRICE_MAX}"
        ));
    }
    if price.cache_read > price.input {
        return Some(format!(
            "has cache_read = {}, more than input = {}: what a cache serves costs less",
            price.cache_read, price.input
        ));
    }
    None
}

impl ModelCatalogue {
    /// The catalogue that the program brings, without settings.
    pub fn built_in() -> &'static ModelCatalogue {
        static BUILT_IN: OnceLock<ModelCatalogue> = OnceLock::new();
        BUILT_IN.get_or_init(|| {
            let rows: BuiltInRows = serde_json::from_str(include_str!("catalogue.json"))
                .expect("the built-in rows are valid: a test reads them");
            let mut catalogue = ModelCatalogue {
                vendors: rows.vendors,
                models: Vec::new(),
                by_name: HashMap::new(),
                priced_on: HashMap::new(),
                guessed: HashSet::new(),
            };
            for vendor in &mut catalogue.vendors {
                vendor.quirks.vendor.clone_from(&vendor.name);
            }
            for row in rows.models {
                let model = parse_ref(&row.model).expect("a test reads the built-in models");
                let ModelRow { window, max_output, price, priced_on, abilities, .. } = row;
                if price.is_some() {
                    let source = PriceSource { day: priced_on, is_own: false };
                    catalogue.priced_on.insert(row.model, source);
                }
                catalogue.set_model(ModelInfo {
                    model,
                    window,
                    max_output,
                    price,
                    abilities,
                    may_cut: false,
                });
            }
            catalogue
        })
    }

    /// What is built in, changed by the config.
    ///
    /// # Errors
    /// A new provider without dialect or base URL, an unknown dialect, a name that is no model.
    pub fn new(overrides: &CatalogueOverrides) -> Result<ModelCatalogue, CatalogueError> {
        let mut catalogue = ModelCatalogue::built_in().clone();
        for (name, given) in &overrides.providers {
            catalogue.override_vendor(name, given)?;
        }
        for (name, given) in &overrides.models {
            let model = parse_ref(name)?;
            if given.window.is_none() && catalogue.guesses_window(&model) {
                catalogue.guessed.insert(model.to_string());
            }
            let mut info = catalogue.model_info(&model);
            info.window = given.window.unwrap_or(info.window);
            info.max_output = given.max_output.unwrap_or(info.max_output);
            if given.price.is_some() {
                let source = PriceSource { day: given.priced_on.clone(), is_own: true };
                catalogue.priced_on.insert(model.to_string(), source);
            }
            info.price = given.price.or(info.price);
            info.abilities = given.abilities.clone().unwrap_or(info.abilities);
            catalogue.set_model(info);
        }
        Ok(catalogue)
    }

    fn override_vendor(
        &mut self,
        name: &str,
        given: &VendorOverride,
    ) -> Result<(), CatalogueError> {
        let incomplete = |field, why: &str| CatalogueError::Incomplete {
            name: name.to_owned(),
            field,
            why: why.to_owned(),
        };
        if let Some(dialect) = &given.dialect
            && crate::find_dialect(dialect).is_none()
        {
            let known: Vec<&str> = crate::DIALECTS.iter().map(|dialect| dialect.name()).collect();
            return Err(incomplete("dialect", &format!("one of {}", known.join(", "))));
        }
        let known = self.vendors.iter().position(|vendor| vendor.name == name);
        let mut vendor = match known {
            Some(at) => self.vendors[at].clone(),
            None => Vendor {
                name: name.to_owned(),
                dialect: given.dialect.clone().ok_or_else(|| {
                    incomplete("dialect", "a new provider must say what it speaks")
                })?,
                base_url: given
                    .base_url
                    .clone()
                    .ok_or_else(|| incomplete("base_url", "a new provider must say where it is"))?,
                key_env: Vec::new(),
                base_url_env: Vec::new(),
                env_port: None,
                env_path: None,
                needs_key: given.api_key_env.is_some(),
                local: false,
                is_own: true,
                server: None,
                key_header: None,
                models_of: None,
                default_model: None,
                search: None,
                headers: BTreeMap::new(),
                quirks: VendorQuirks { stream_usage: true, ..VendorQuirks::default() },
            },
        };
        if let Some(dialect) = &given.dialect
            && vendor.dialect != *dialect
        {
            vendor.dialect.clone_from(dialect);
            // What the vendor documents for its own dialect says nothing of another.
            vendor.search = None;
        }
        if let Some(word) = &given.server {
            let known = ServerKind::WORDS.join(", ");
            let kind = ServerKind::of_word(word);
            let why = || incomplete("server", &format!("one of {known}"));
            vendor.server = Some(kind.ok_or_else(why)?);
        }
        if let Some(url) = &given.base_url {
            vendor.base_url.clone_from(url);
            vendor.base_url_env.clear();
        }
        if let Some(variable) = &given.api_key_env {
            vendor.key_env = vec![variable.clone()];
        }
        vendor.headers.extend(given.headers.clone());
        vendor.quirks.vendor = name.to_owned();
        match known {
            Some(at) => self.vendors[at] = vendor,
            None => self.vendors.push(vendor),
        }
        Ok(())
    }

    fn set_model(&mut self, info: ModelInfo) {
        let name = info.model.to_string();
        match self.by_name.get(&name) {
            Some(at) => self.models[*at] = info,
            None => {
                self.by_name.insert(name, self.models.len());
                self.models.push(info);
            }
        }
    }

    /// All vendors, in the order of the default choice.
    pub fn vendors(&self) -> &[Vendor] {
        &self.vendors
    }

    /// The price of a model, with where it is from: its own row, or the one that it borrows.
    pub fn price_row(&self, model: &ModelRef) -> PriceRow {
        let info = self.model_info(model);
        let row = self.row_name(model);
        let source = row.and_then(|row| self.priced_on.get(&row)).cloned().unwrap_or_default();
        let built_in = ModelCatalogue::built_in().model_info(model).price;
        PriceRow {
            model: model.to_string(),
            price: info.price,
            built_in: built_in.filter(|price| source.is_own && Some(*price) != info.price),
            source,
        }
    }

    /// All known models.
    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// The vendor of this name.
    pub fn find_vendor(&self, name: &str) -> Option<&Vendor> {
        self.vendors.iter().find(|vendor| vendor.name == name)
    }

    /// The name of the row that tells what is known of `model`; `None`: none does.
    fn row_name(&self, model: &ModelRef) -> Option<String> {
        let also = self.find_vendor(&model.provider).and_then(|vendor| vendor.models_of.clone());
        let undated = without_date(&model.name);
        [Some(model.provider.clone()), also].into_iter().flatten().find_map(|provider| {
            let names = [model.name.as_str(), undated].into_iter();
            names
                .map(|name| format!("{provider}/{name}"))
                .find(|row| self.by_name.contains_key(row))
        })
    }

    /// Whether the window of a model is a guess: no row says it.
    pub fn guesses_window(&self, model: &ModelRef) -> bool {
        self.row_name(model).is_none_or(|row| self.guessed.contains(&row))
    }

    /// What is known of `model`: its row, the row of the model that a dated name is a snapshot of,
    /// or cautious defaults without a price.
    pub fn model_info(&self, model: &ModelRef) -> ModelInfo {
        let row = self.row_name(model);
        let found = row.and_then(|row| self.by_name.get(&row)).map(|at| &self.models[*at]);
        match found {
            Some(row) => ModelInfo { model: model.clone(), ..row.clone() },
            None => self.unknown_model(model),
        }
    }

    /// Cautious defaults. What a server of one's own makes of a call in a model's text depends on its
    /// template, so the text is looked through too (V5). Behind a provider that is not built in may be one.
    fn unknown_model(&self, model: &ModelRef) -> ModelInfo {
        let vendor = self.find_vendor(&model.provider);
        let is_local = vendor.is_some_and(|vendor| vendor.is_own || can_be_asked(vendor));
        let abilities: &[&str] = match is_local {
            true => &["tools", TEXT_CALLS],
            false => &["tools"],
        };
        ModelInfo {
            model: model.clone(),
            window: vendor.map_or(UNKNOWN_WINDOW, guessed_window),
            max_output: UNKNOWN_MAX_OUTPUT,
            price: None,
            abilities: abilities.iter().map(|ability| (*ability).to_owned()).collect(),
            may_cut: false,
        }
    }

    /// The model that `text` means: `provider/name`, or a provider alone where it has a default.
    ///
    /// # Errors
    /// No such provider, or no model named.
    pub fn resolve_model(&self, text: &str) -> Result<ResolvedModel, CatalogueError> {
        let text = text.trim();
        let named = match (parse_ref(text), self.find_vendor(text)) {
            (Ok(model), _) => model,
            (Err(_), Some(Vendor { name, default_model: Some(model), .. })) => {
                ModelRef { provider: name.clone(), name: model.clone() }
            }
            (Err(error), _) => return Err(error),
        };
        self.resolve_ref(&named)
    }

    /// The model that `model` names.
    ///
    /// # Errors
    /// No such provider.
    pub fn resolve_ref(&self, model: &ModelRef) -> Result<ResolvedModel, CatalogueError> {
        let Some(vendor) = self.find_vendor(&model.provider) else {
            let known: Vec<&str> = self.vendors.iter().map(|vendor| vendor.name.as_str()).collect();
            return Err(CatalogueError::UnknownProvider {
                name: model.provider.clone(),
                known: known.join(", "),
            });
        };
        // A server that somebody set up may cut what is too long; a vendor's own refuses it.
        let may_cut = vendor.local || vendor.is_own;
        let info = ModelInfo { may_cut, ..self.model_info(model) };
        Ok(ResolvedModel { vendor: vendor.clone(), info })
    }

    /// The first provider with a key and a default model (C4).
    pub fn first_with_key(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<ResolvedModel> {
        self.vendors.iter().find_map(|vendor| {
            let name = vendor.default_model.clone()?;
            vendor.key_from_env(env)?;
            self.resolve_ref(&ModelRef { provider: vendor.name.clone(), name }).ok()
        })
    }
}

/// `provider/name`; the name may hold more slashes.
///
/// # Errors
/// When there is no slash, or nothing on one side of it.
pub fn parse_ref(text: &str) -> Result<ModelRef, CatalogueError> {
    match text.trim().split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
            Ok(ModelRef { provider: provider.to_owned(), name: name.to_owned() })
        }
        Some(_) | None => Err(CatalogueError::NotAModel { text: text.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_env(_: &str) -> Option<String> {
        None
    }

    #[derive(Deserialize)]
    struct VendorFile {
        vendor: Vec<Vendor>,
    }

    #[derive(Deserialize)]
    struct ModelFile {
        model: Vec<ModelRow>,
    }

    /// The rows of a table in a file, one a line.
    fn rows_of(text: &str, table: &str) -> String {
        let mut file: serde_json::Value = toml::from_str(text).expect("TOML");
        file.sort_all_objects();
        let rows = file[table].as_array().expect("rows");
        rows.iter().map(ToString::to_string).collect::<Vec<String>>().join(",\n")
    }

    #[test]
    fn c4_the_catalogue_that_is_read_is_what_the_tables_say() {
        let (vendors, models) = (include_str!("vendors.toml"), include_str!("models.toml"));
        let text = format!(
            "{{\"vendors\":[\n{}\n],\"models\":[\n{}\n]}}\n",
            rows_of(vendors, "vendor"),
            rows_of(models, "model")
        );
        let read: BuiltInRows = serde_json::from_str(&text).expect("rows");
        let vendors: VendorFile = toml::from_str(vendors).expect("the vendors");
        let models: ModelFile = toml::from_str(models).expect("the models");
        assert_eq!((read.vendors, read.models), (vendors.vendor, models.model));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/catalogue.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &text).expect("writing the rows");
            return;
        }
        assert!(
            include_str!("catalogue.json") == text,
            "catalogue.json is not what vendors.toml and models.toml say: run this test with UPDATE=1"
        );
    }

    #[test]
    fn c4_every_named_provider_is_built_in_and_speaks_a_known_dialect() {
        let catalogue = ModelCatalogue::built_in();
        for name in [
            "anthropic",
            "openai",
            "openai-chat",
            "gemini",
            "openrouter",
            "ollama",
            "lmstudio",
            "llamacpp",
            "vllm",
            "groq",
            "mistral",
            "deepseek",
            "xai",
            "together",
            "fireworks",
            "cerebras",
            "azure",
        ] {
            let vendor = catalogue.find_vendor(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert!(
                crate::find_dialect(&vendor.dialect).is_some(),
                "{name} speaks {}",
                vendor.dialect
            );
            if let Some(model) = &vendor.default_model {
                let model = ModelRef { provider: name.into(), name: model.clone() };
                assert!(catalogue.models().iter().any(|info| info.model == model), "{model}");
            }
        }
        for info in catalogue.models() {
            assert!(catalogue.find_vendor(&info.model.provider).is_some(), "{}", info.model);
            assert!(info.max_output <= info.window, "{}", info.model);
        }
    }

    #[test]
    fn c4_the_page_about_providers_names_each() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let rows: String = page.lines().filter(|line| line.starts_with("| ")).collect();
        let catalogue = ModelCatalogue::built_in();
        let names = catalogue.vendors().iter().map(|vendor| vendor.name.as_str());
        let missing: Vec<&str> =
            names.filter(|name| !rows.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/providers.md leaves out {missing:?}");
    }

    #[test]
    fn v1_models_are_found_by_name_snapshot_and_borrowed_row() {
        let catalogue = ModelCatalogue::built_in();
        let window =
            |text: &str| catalogue.resolve_model(text).expect("known provider").info.window;
        assert_eq!(window("anthropic/claude-sonnet-4-5"), 200_000);
        assert_eq!(window("anthropic/claude-sonnet-4-5-20250929"), 200_000);
        assert_eq!(window("openai/gpt-5-2025-08-07"), 400_000);
        assert_eq!(window("openai-chat/gpt-5"), 400_000);
        let unknown = catalogue.resolve_model("ollama/qwen3:8b").expect("known provider").info;
        assert_eq!((unknown.window, unknown.price), (LOCAL_WINDOW, None));
        assert_eq!(window("groq/not-listed"), UNKNOWN_WINDOW);
        assert_eq!(unknown.model.to_string(), "ollama/qwen3:8b");
        assert!(matches!(
            catalogue.resolve_model("nope/x"),
            Err(CatalogueError::UnknownProvider { .. })
        ));
        assert!(matches!(catalogue.resolve_model("nope"), Err(CatalogueError::NotAModel { .. })));
        assert_eq!(
            catalogue.resolve_model("anthropic").expect("default").info.model.provider,
            "anthropic"
        );
    }

    #[test]
    fn v1_the_config_overrides_and_adds() {
        let overrides: CatalogueOverrides = toml::from_str(
            r#"
            [providers.acme]
            dialect = "openai-chat"
            base_url = "https://llm.example.org/v1"
            api_key_env = "ACME_API_KEY"
            headers = { "x-team" = "blue" }
            [providers.anthropic]
            base_url = "http://127.0.0.1:9"
            [providers.box]
            dialect = "ollama"
            base_url = "http://192.168.1.20:11434"
            [models."acme/large"]
            window = 64000
            price = { input = 1.0, output = 4.0 }
            "#,
        )
        .expect("TOML");
        let catalogue = ModelCatalogue::new(&overrides).expect("complete");
        let acme = catalogue.resolve_model("acme/large").expect("known");
        assert_eq!((acme.info.window, acme.vendor.quirks.vendor.as_str()), (64_000, "acme"));
        assert!(acme.vendor.needs_key);
        assert_eq!(format!("{:?}", acme.vendor.headers), r#"{"x-team": ***}"#);
        // Ollama on another machine is asked too, and is careful until it has answered (R6).
        let other = catalogue.resolve_model("box/llama3:8b").expect("known");
        assert!(can_be_asked(&other.vendor) && can_be_asked(&acme.vendor));
        assert_eq!(other.info.window, LOCAL_WINDOW);
        assert!(other.info.has_ability(TEXT_CALLS) && other.info.may_cut);
        let anthropic = catalogue.find_vendor("anthropic").expect("built in");
        let env = |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| "http://other".to_owned());
        assert_eq!(anthropic.endpoint_url(&env), "http://127.0.0.1:9");

        let of = |name: &str| parse_ref(name).expect("a name");
        assert!(
            !catalogue.guesses_window(&of("acme/large")) && catalogue.guesses_window(&of("acme/x"))
        );
        assert!(!catalogue.guesses_window(&of("anthropic/claude-sonnet-4-5-20250929")));
        // Nobody knows what stands behind a name that somebody made up (R6).
        let unknown = catalogue.resolve_model("acme/x").expect("known").info;
        assert_eq!((unknown.window, unknown.has_ability(TEXT_CALLS)), (UNKNOWN_WINDOW, true));
        let priced = ModelOverride { price: acme.info.price, ..ModelOverride::default() };
        let models = [("groq/priced".to_owned(), priced)].into();
        let catalogue = ModelCatalogue::new(&CatalogueOverrides { models, ..overrides.clone() });
        assert!(catalogue.expect("complete").guesses_window(&of("groq/priced")));

        let broken = CatalogueOverrides {
            providers: [("x".to_owned(), VendorOverride::default())].into(),
            ..CatalogueOverrides::default()
        };
        assert!(matches!(ModelCatalogue::new(&broken), Err(CatalogueError::Incomplete { .. })));
    }

    #[test]
    fn r6_what_a_server_is_can_be_said_and_is_asked_or_left_alone() {
        let with = |server: &str, dialect: &str| {
            let text = format!(
                "[providers.box]\ndialect = \"{dialect}\"\nbase_url = \"http://box:1/v1\"\n{server}"
            );
            let overrides: CatalogueOverrides = toml::from_str(&text).expect("TOML");
            ModelCatalogue::new(&overrides)
        };
        for (server, dialect, asked, kind) in [
            ("", "openai-chat", true, None),
            ("", "anthropic", false, None),
            ("", "ollama", true, Some(ServerKind::Ollama)),
            ("server = \"vllm\"", "openai-chat", true, Some(ServerKind::Vllm)),
            ("server = \"llama.cpp\"", "anthropic", true, Some(ServerKind::LlamaCpp)),
            ("server = \"lmstudio\"", "openai-chat", true, Some(ServerKind::LmStudio)),
            ("server = \"other\"", "openai-chat", false, Some(ServerKind::Other)),
        ] {
            let catalogue = with(server, dialect).expect("complete");
            let found = catalogue.resolve_model("box/m").expect("known");
            assert_eq!(can_be_asked(&found.vendor), asked, "{server} {dialect}");
            assert_eq!(ServerKind::of_vendor(&found.vendor), kind, "{server} {dialect}");
            assert_eq!(found.info.window, LOCAL_WINDOW, "{server} {dialect}");
            assert!(found.info.has_ability(TEXT_CALLS), "{server} {dialect}");
        }
        let wrong = with("server = \"tgi\"", "openai-chat").expect_err("no such server");
        assert!(wrong.to_string().contains("ollama, lmstudio, llama.cpp, vllm, other"), "{wrong}");
        // A gateway behind a public name has models of vendors; a server of a known kind may cut wherever it is.
        for (server, window) in [("", UNKNOWN_WINDOW), ("server = \"vllm\"", LOCAL_WINDOW)] {
            let text = format!(
                "[providers.far]\ndialect = \"openai-chat\"\nbase_url = \"https://ai.example.com/v1\"\n{server}"
            );
            let overrides: CatalogueOverrides = toml::from_str(&text).expect("TOML");
            let catalogue = ModelCatalogue::new(&overrides).expect("complete");
            assert_eq!(catalogue.resolve_model("far/m").expect("known").info.window, window);
        }
        for word in ServerKind::WORDS {
            assert!(ServerKind::of_word(word).is_some(), "{word}");
        }
        // What is built in is not asked, wherever it was moved to, unless somebody says what it is.
        let moved: CatalogueOverrides = toml::from_str(
            "[providers.openai-chat]\nbase_url = \"http://box:1/v1\"\n\
             [providers.groq]\nserver = \"vllm\"\n",
        )
        .expect("TOML");
        let catalogue = ModelCatalogue::new(&moved).expect("complete");
        let asked = |name: &str| can_be_asked(catalogue.find_vendor(name).expect("built in"));
        assert!(!asked("openai-chat") && asked("groq") && !asked("openai"));
    }

    #[test]
    fn c4_endpoints_and_keys_come_from_the_environment() {
        let catalogue = ModelCatalogue::built_in();
        let ollama = |host: &'static str| {
            let vendor = catalogue.find_vendor("ollama").expect("built in");
            vendor.endpoint_url(&move |_: &str| Some(host.to_owned()))
        };
        assert_eq!(ollama("0.0.0.0"), "http://127.0.0.1:11434/v1");
        assert_eq!(ollama("box:1234"), "http://box:1234/v1");
        assert_eq!(ollama("https://box.example"), "https://box.example/v1");
        assert_eq!(ollama("[::1]"), "http://[::1]:11434/v1");
        assert_eq!(ollama("  "), "http://127.0.0.1:11434/v1");
        assert_eq!(catalogue.first_with_key(&no_env), None);
        let env = |name: &str| match name {
            "GEMINI_API_KEY" => Some("g".to_owned()),
            "OPENAI_API_KEY" => Some(String::new()),
            _ => None,
        };
        let first = catalogue.first_with_key(&env).expect("a key is set");
        assert_eq!(first.vendor.name, "gemini");
    }
}
