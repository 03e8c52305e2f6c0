//! Names of models of other agents as ours: `provider/name` of the catalogue. A name that the
//! catalogue does not have is left with the nearest one, never guessed at.

use weir_engine::text_diff::measure_likeness;
use weir_providers::catalogue::ModelCatalogue;

use super::ImportFindings;
use super::ImportMapping;
use super::marked::MarkedField;

/// Bytes of a name: it is compared with every name of the catalogue.
const NAME_BYTES_MAX: usize = 200;
/// Their words for providers, and ours.
const PROVIDERS: &[(&str, &str)] = &[
    ("google", "gemini"),
    ("google-ai-studio", "gemini"),
    ("x-ai", "xai"),
    ("mistralai", "mistral"),
    ("lm-studio", "lmstudio"),
    ("lmstudio-local", "lmstudio"),
    ("ollama-local", "ollama"),
    ("together-ai", "together"),
    ("fireworks-ai", "fireworks"),
];
/// Bare words that stand for the newest model of a family.
const FAMILIES: &[(&str, &str)] =
    &[("sonnet", "claude-sonnet"), ("opus", "claude-opus"), ("haiku", "claude-haiku")];

/// The model here, with what a person should know.
///
/// # Errors
/// Why there is none, and which is the nearest.
pub(super) fn model_here(
    catalogue: &ModelCatalogue,
    vendor: Option<&str>,
    name: &str,
) -> Result<(String, Vec<String>), String> {
    let name = name.trim();
    if vendor.map_or(0, str::len) + name.len() > NAME_BYTES_MAX {
        return Err(format!("is no name of a model: it has more than {NAME_BYTES_MAX} bytes"));
    }
    let (vendor, name) = match (vendor, name.split_once('/')) {
        (None, Some((vendor, name))) => (Some(vendor), name),
        (vendor, _) => (vendor, name),
    };
    let vendor = vendor.map(|vendor| {
        let ours = PROVIDERS.iter().find(|(theirs, _)| *theirs == vendor);
        ours.map_or(vendor, |(_, ours)| *ours)
    });
    let name = name.strip_prefix("models/").unwrap_or(name);
    if name.is_empty() || name.contains(|sign: char| sign.is_whitespace() || sign.is_control()) {
        return Err("is no name of a model".into());
    }
    if let Some((word, family)) = FAMILIES.iter().find(|(word, _)| *word == name) {
        // The catalogue has the newest of a family first.
        let newest = catalogue.models().iter().find(|row| row.model.name.starts_with(family));
        let note = format!("{word} is the newest of its family there; here it is this one");
        return newest
            .map(|row| (row.model.to_string(), vec![note]))
            .ok_or_else(|| "is not in the catalogue".into());
    }
    let of_vendor = |provider: &str| vendor.is_none_or(|vendor| vendor == provider);
    let rows = || catalogue.models().iter().filter(|row| of_vendor(&row.model.provider));
    let spellings = spellings_of(name);
    for spelling in &spellings {
        if let Some(row) = rows().find(|row| row.model.name == *spelling) {
            let same = spelling == name;
            let notes = (!same).then(|| format!("{name} is called so here"));
            return Ok((row.model.to_string(), notes.into_iter().collect()));
        }
    }
    match vendor {
        Some(vendor) if catalogue.find_vendor(vendor).is_none() => Err(format!(
            "is of the provider {vendor}, which is not known here; declare it with \
             [providers.{vendor}]"
        )),
        // Of such a vendor no whole list is kept: it serves its own, or models of others by their
        // names.
        Some(vendor) if rows().next().is_none() || name.contains('/') => {
            let note =
                "nothing is known of it but its name: `weir models show` says what is assumed";
            Ok((format!("{vendor}/{name}"), vec![note.to_owned()]))
        }
        _ => Err(nearest_text(catalogue, vendor, name)),
    }
}

/// The name, with dashes for dots, in the newer order of words, and without a date.
fn spellings_of(name: &str) -> Vec<String> {
    let undated = match name.rsplit_once('-') {
        Some((head, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => head,
        _ => name,
    };
    let dashed = undated.replace('.', "-");
    let mut all = vec![name.to_owned(), undated.to_owned(), dashed.clone()];
    // claude-4.5-sonnet is claude-sonnet-4-5.
    let words: Vec<&str> = dashed.split('-').collect();
    if let ["claude", middle @ .., family] = words.as_slice()
        && middle.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
    {
        all.push(format!("claude-{family}-{}", middle.join("-")));
    }
    all
}

fn nearest_text(catalogue: &ModelCatalogue, vendor: Option<&str>, name: &str) -> String {
    let likeness = |other: &str| measure_likeness(name, other);
    let rows =
        catalogue.models().iter().filter(|row| vendor.is_none_or(|v| v == row.model.provider));
    // Each is compared once.
    let rated = rows.map(|row| (likeness(&row.model.name), row));
    let nearest = rated.reduce(|best, other| match other.0 > best.0 {
        true => other,
        // Of equals the one that stands first.
        false => best,
    });
    let nearest = nearest.map(|(_, row)| row);
    match nearest {
        Some(row) => format!(
            "is not in the catalogue; the nearest is {0}: `weir config set model {0}`",
            row.model
        ),
        None => "is not in the catalogue: `weir models`, then `weir config set model`".into(),
    }
}

/// The default model that a file names.
pub(super) fn put_model(
    field: &MarkedField<'_>,
    vendor: Option<&str>,
    name: &str,
    catalogue: &ModelCatalogue,
    found: &mut ImportFindings,
) {
    let (becomes, notes) = match model_here(catalogue, vendor, name) {
        Ok((model, notes)) => (ImportMapping::Model(model), notes),
        Err(why) => (ImportMapping::Nothing(why), Vec::new()),
    };
    field.settle_value(format!("model {name}"), becomes, notes, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_models_are_named_by_the_catalogue_or_left_with_the_nearest() {
        let catalogue = ModelCatalogue::built_in();
        for (vendor, name, here) in [
            (Some("anthropic"), "claude-sonnet-4-5", Some("anthropic/claude-sonnet-4-5")),
            (Some("anthropic"), "claude-sonnet-4-5-20250929", Some("anthropic/claude-sonnet-4-5")),
            (Some("anthropic"), "claude-4.5-sonnet", Some("anthropic/claude-sonnet-4-5")),
            (None, "anthropic/claude-opus-4.6", Some("anthropic/claude-opus-4-6")),
            (None, "gemini-2.5-pro", Some("gemini/gemini-2.5-pro")),
            (Some("google"), "models/gemini-2.5-pro", Some("gemini/gemini-2.5-pro")),
            (None, "gpt-5", Some("openai/gpt-5")),
            (Some("openrouter"), "qwen/qwen3-coder", Some("openrouter/qwen/qwen3-coder")),
            (Some("ollama"), "qwen3:8b", Some("ollama/qwen3:8b")),
            (Some("acme"), "large", None),
            (Some("anthropic"), "claude-sonnet-9", None),
            (None, "two words", None),
        ] {
            let found = model_here(catalogue, vendor, name).map(|(model, _)| model).ok();
            assert_eq!(found.as_deref(), here, "{vendor:?} {name}");
        }
        let why = model_here(catalogue, Some("openai"), "gpt-5-nanox").expect_err("unknown");
        assert!(why.contains("the nearest is openai/gpt-5-nano"), "{why}");
        let long = "x".repeat(8 << 20);
        let why = model_here(catalogue, Some("openai"), &long).expect_err("too long");
        assert!(why.contains("more than 200 bytes"), "{why}");
        assert!(model_here(catalogue, Some(&long), "x").is_err_and(|why| why.len() < 1_000));
        assert!(model_here(catalogue, None, "opus").is_ok_and(|(m, _)| m.contains("claude-opus")));
    }
}
