//! The models of a scenario that go on in the place of the first one, each with a script of its own (V8). Not
//! here: when one does (the session).

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use serde_json::{Map, Value};
use weir_core::model::Price;
use weir_core::routing::{ModelRouting, RouteRule};
use weir_engine::ports::Model;
use weir_scripted_model::{ModelOptions, Script, ScriptedModel};

use crate::crash::{CrashModel, CrashPoint, Listener};
use crate::parse::{Scenario, Setup};

/// How the model is named that the scenario begins with.
pub(crate) const FIRST: &str = "first";

/// The scripts of all models, by name.
#[derive(Clone)]
pub(crate) struct ModelScripts {
    scripts: BTreeMap<String, Script>,
    /// What the setup says of the first one: its window and its price.
    window: Option<u64>,
    price: Option<Price>,
    /// Models that cannot be had, and why.
    missing: BTreeMap<String, String>,
}

impl ModelScripts {
    /// Those of a scenario.
    ///
    /// # Errors
    /// A script that cannot be read.
    pub(crate) fn parse(scenario: &Scenario) -> anyhow::Result<ModelScripts> {
        let first = (FIRST.to_owned(), scenario.script.clone());
        let all = std::iter::once(&first).chain(&scenario.other_scripts);
        let read = |(name, text): &(String, String)| {
            let script = Script::parse(text).map_err(|error| anyhow!("script {name}: {error}"))?;
            Ok((name.clone(), script))
        };
        let scripts: anyhow::Result<BTreeMap<String, Script>> = all.map(read).collect();
        Ok(ModelScripts {
            scripts: scripts?,
            window: scenario.setup.window,
            price: scenario.setup.price.map(|(input, output)| Price {
                input,
                output,
                cache_read: 0.0,
                cache_write: 0.0,
            }),
            missing: scenario.setup.missing_models.iter().cloned().collect(),
        })
    }

    /// The first model has this script from now on.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn set_first(&mut self, text: &str) -> anyhow::Result<()> {
        self.scripts.insert(FIRST.to_owned(), Script::parse(text)?);
        Ok(())
    }

    /// The same, whose first model has another window: that of this life.
    pub(crate) fn with_window(&self, window: Option<u64>) -> ModelScripts {
        ModelScripts { window, ..self.clone() }
    }

    /// The model of this name.
    ///
    /// # Errors
    /// It cannot be had: why.
    pub(crate) fn model(
        &self,
        name: &str,
        point: &Arc<CrashPoint>,
        heard: &Listener,
    ) -> Result<Arc<dyn Model>, String> {
        if let Some(why) = self.missing.get(name) {
            return Err(why.clone());
        }
        let script = self.scripts.get(name).ok_or_else(|| format!("there is no model {name}"))?;
        let mut script = script.clone();
        if name == FIRST {
            script.header.window = self.window.or(script.header.window);
            script.header.price = self.price.or(script.header.price);
        }
        let inner = ScriptedModel::new(script, ModelOptions::default())
            .map_err(|error| error.to_string())?;
        let (inner, point, heard) = (Arc::new(inner), point.clone(), heard.clone());
        Ok(Arc::new(CrashModel { inner, point, heard }))
    }
}

/// The other models of a session, as its setup says; `away`: the one that it speaks with now.
pub(crate) fn routing(setup: &Setup, away: Option<&str>) -> ModelRouting {
    if setup.fallback.is_empty() && setup.routes.is_empty() {
        return ModelRouting::default();
    }
    ModelRouting {
        home: Some(FIRST.into()),
        away: away.map(String::from),
        fallback: setup.fallback.clone(),
        rules: setup.routes.clone(),
    }
}

/// Reads `NAME KEY=VALUE …`.
///
/// # Errors
/// It is no rule.
pub(crate) fn parse_route(line: &str) -> anyhow::Result<RouteRule> {
    let mut words = line.split_whitespace();
    let name = words.next().context("route NAME KEY=VALUE …")?;
    let mut fields = Map::new();
    fields.insert("model".into(), name.into());
    for word in words {
        let (key, value) = word.split_once('=').context("route NAME KEY=VALUE …")?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        fields.insert(key.into(), value);
    }
    Ok(serde_json::from_value(Value::Object(fields))?)
}
