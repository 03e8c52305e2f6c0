//! The first minute: `weir` where no model can be asked yet. A short dialogue in the terminal before the
//! face opens: a vendor and its key, which is checked before it is kept, a local server, or the demo.
//! Not here: the face, and how keys are read (`keyboard`).

use weir_core::secret::Secret;
use weir_core::view::plain::visible;
use weir_install::cx::Cx;
use weir_install::keys::Keys;
use weir_install::models::{self, Missing};
use weir_providers::catalogue::{Catalogue, Vendor};
use weir_providers::http_model::Endpoint;
use weir_providers::probe::{self, FoundModel, KeyCheck};

use super::keyboard::{Echo, Key, Keyboard, Line, say};
use crate::command::demo;
use crate::options::{DemoArgs, OutputFormat};

/// Vendors that are offered first, with what people know them by and where a key is made.
const KNOWN: [(&str, &str, &str); 4] = [
    ("anthropic", "Anthropic (Claude)", "https://console.anthropic.com/settings/keys"),
    ("openai", "OpenAI (GPT)", "https://platform.openai.com/api-keys"),
    ("gemini", "Google (Gemini)", "https://aistudio.google.com/apikey"),
    ("openrouter", "OpenRouter (many vendors, one key)", "https://openrouter.ai/keys"),
];
/// Rows of a list to choose from.
const LISTED_MAX: usize = 60;

/// How it ended.
pub(super) enum Ended {
    /// A model can be asked: with these surroundings, and this model where one was chosen.
    Ready(Box<Cx>, Option<String>),
    /// The person left.
    Left,
}

/// How a step ended.
enum Step {
    Done(Option<String>),
    Back,
    Leave,
}

/// Asks until a model can be asked.
///
/// # Errors
/// The terminal cannot be used, or the settings cannot be read.
pub(super) async fn ask(cx: Cx, missing: Missing) -> anyhow::Result<Ended> {
    // Held to the end: what is typed or pasted meanwhile is never shown by the terminal itself.
    let keyboard = &mut Keyboard::open()?;
    let step = match &missing {
        Missing::Model => menu(&cx, keyboard).await?,
        Missing::Key(vendor) => {
            let name = titled(vendor);
            say(&format!("\nThe configured model needs a key for {name}, and none is set yet.\n"))?;
            match key(&cx, vendor, keyboard).await? {
                // The choices are for whoever has no such key: what they choose stands for the model
                // that is set.
                Step::Back => match menu(&cx, keyboard).await? {
                    Step::Done(Some(model)) => remembered(&model)?,
                    step => step,
                },
                Step::Done(_) => Step::Done(None),
                Step::Leave => Step::Leave,
            }
        }
    };
    match step {
        Step::Done(model) => {
            say("\n")?;
            let folder = cx.folder.clone();
            Ok(Ended::Ready(Box::new(cx.anew(&folder)?), model))
        }
        Step::Back | Step::Leave => Ok(Ended::Left),
    }
}

/// The choices, until one of them leads to a model.
async fn menu(cx: &Cx, keyboard: &mut Keyboard) -> anyhow::Result<Step> {
    let catalogue = models::catalogue(cx)?;
    let first = KNOWN.iter().filter_map(|(name, ..)| catalogue.vendor(name));
    let first: Vec<&Vendor> = first.collect();
    loop {
        let mut text = String::from("\nWeir needs a model, and none is set up yet.\n\n");
        for (n, vendor) in first.iter().enumerate() {
            text += &format!("  {}  {}: paste an API key\n", n + 1, titled(vendor));
        }
        let (other, local, demo) = (first.len() + 1, first.len() + 2, first.len() + 3);
        text += &format!("  {other}  Another vendor: paste an API key\n");
        text +=
            &format!("  {local}  A model on this machine (Ollama, LM Studio, llama.cpp, vLLM)\n");
        text += &format!("  {demo}  See the demo first: no key, no network\n");
        text += &format!("\nPress 1 to {demo}, or Esc to leave. ");
        say(&text)?;
        let step = match choice(demo, keyboard)? {
            None => Step::Leave,
            Some(n) if n == other => another(cx, (&catalogue, &first), keyboard).await?,
            Some(n) if n == local => on_this_machine(cx, &catalogue, keyboard).await?,
            Some(n) if n == demo => {
                shown(cx).await?;
                Step::Back
            }
            Some(n) => match first.get(n - 1) {
                Some(vendor) => key(cx, vendor, keyboard).await?,
                None => Step::Back,
            },
        };
        if !matches!(step, Step::Back) {
            return Ok(step);
        }
    }
}

/// A number from 1 on, by one key; `None`: to leave.
fn choice(most: usize, keyboard: &mut Keyboard) -> anyhow::Result<Option<usize>> {
    loop {
        match keyboard.key()? {
            Key::Escape | Key::Leave | Key::Byte(b'q') => {
                say("\n")?;
                return Ok(None);
            }
            Key::Byte(digit @ b'1'..=b'9') if usize::from(digit - b'0') <= most => {
                let n = usize::from(digit - b'0');
                say(&format!("{n}\n"))?;
                return Ok(Some(n));
            }
            Key::Byte(_) | Key::Enter | Key::Back | Key::Clear | Key::Other => (),
        }
    }
}

/// One of several by its number, or whatever else is typed.
fn chosen<'a, T>(
    rows: &'a [(String, T)],
    question: &str,
    keyboard: &mut Keyboard,
) -> anyhow::Result<Result<&'a T, Step>> {
    let mut text = String::from("\n");
    for (n, (row, _)) in rows.iter().enumerate().take(LISTED_MAX) {
        text += &format!("  {:>2}  {}\n", n + 1, visible(row));
    }
    if rows.len() > LISTED_MAX {
        text += &format!("      … and {} more, by name\n", rows.len() - LISTED_MAX);
    }
    say(&text)?;
    loop {
        let line = match keyboard.line(question, Echo::Shown)? {
            Line::Typed(line) => line,
            Line::Escape => return Ok(Err(Step::Back)),
            Line::Leave => return Ok(Err(Step::Leave)),
        };
        let by_number = line.parse::<usize>().ok().and_then(|n| rows.get(n.checked_sub(1)?));
        let found = by_number.or_else(|| rows.iter().find(|(row, _)| *row == line));
        match found {
            Some((_, value)) => return Ok(Ok(value)),
            None if line.is_empty() => (),
            None => say(&format!("{} is not in this list.\n", visible(&line)))?,
        }
    }
}

/// A vendor that is not among the first ones.
async fn another(
    cx: &Cx,
    (catalogue, first): (&Catalogue, &[&Vendor]),
    keyboard: &mut Keyboard,
) -> anyhow::Result<Step> {
    let mut rows: Vec<(String, &Vendor)> = Vec::new();
    for vendor in catalogue.vendors() {
        let (endpoint, _) = models::endpoint(cx, catalogue, vendor)?;
        let same = |other: &&Vendor| other.key_env.iter().any(|env| vendor.key_env.contains(env));
        let is_known = first.iter().any(same) || rows.iter().any(|(_, other)| same(other));
        if vendor.needs_key && !endpoint.base_url.is_empty() && !is_known {
            rows.push((vendor.name.clone(), vendor));
        }
    }
    match chosen(&rows, "Number or name (Esc goes back): ", keyboard)? {
        Ok(vendor) => key(cx, vendor, keyboard).await,
        Err(step) => Ok(step),
    }
}

/// A vendor as people know it.
fn titled(vendor: &Vendor) -> String {
    let known = KNOWN.iter().find(|(name, ..)| *name == vendor.name);
    known.map_or_else(|| visible(&vendor.name), |(_, title, _)| (*title).to_owned())
}

/// Asks for the key of a vendor until one is taken, and keeps it.
async fn key(cx: &Cx, vendor: &Vendor, keyboard: &mut Keyboard) -> anyhow::Result<Step> {
    let title = titled(vendor);
    let made = KNOWN.iter().find(|(name, ..)| *name == vendor.name);
    let made = made.map(|(_, _, at)| format!("You can create a key at {at}\n")).unwrap_or_default();
    say(&format!("\nPaste your API key for {title}. It is not shown. Esc goes back.\n{made}"))?;
    loop {
        let text = match keyboard.line("Key: ", Echo::Hidden)? {
            Line::Typed(text) => text,
            Line::Escape => return Ok(Step::Back),
            Line::Leave => return Ok(Step::Leave),
        };
        if text.is_empty() {
            continue;
        }
        if !Keys::is_key(&text) {
            say(
                "That is not a key: a key is one word of letters, digits and symbols. Try again.\n",
            )?;
            continue;
        }
        let key = Secret::new(text);
        let catalogue = models::catalogue(cx)?;
        let (endpoint, _) = models::endpoint(cx, &catalogue, vendor)?;
        let endpoint = Endpoint { key: Some(key.clone()), ..endpoint };
        say(&format!("Checking with {} … ", visible(&endpoint.base_url)))?;
        let found = match probe::check_key(&endpoint, &models::transport(cx)).await {
            KeyCheck::Accepted(found) => {
                say("the key works.\n")?;
                found
            }
            KeyCheck::Refused(status) => {
                say(&format!("the key is not accepted (HTTP {status}).\n"))?;
                say("Did you paste all of it? Try again; Esc goes back.\n")?;
                continue;
            }
            KeyCheck::Unsaid(why) => {
                say(&format!("\nThe key could not be checked: {}\n", visible(&why)))?;
                match keyboard.line("Save it anyway? [y/N] ", Echo::Shown)? {
                    Line::Typed(yes) if matches!(yes.to_lowercase().as_str(), "y" | "yes") => {
                        Vec::new()
                    }
                    Line::Leave => return Ok(Step::Leave),
                    Line::Typed(_) | Line::Escape => continue,
                }
            }
        };
        let mut keys = cx.keys()?.clone();
        keys.set(&vendor.name, key)?;
        let place = keys.path().display().to_string();
        say(&format!(
            "It is saved in {}\n(only you can read it; `weir auth remove {}` removes it).\n",
            visible(&place),
            visible(&vendor.name)
        ))?;
        return model(vendor, &found, keyboard);
    }
}

/// The model, where the vendor has none for those who name none.
fn model(vendor: &Vendor, found: &[FoundModel], keyboard: &mut Keyboard) -> anyhow::Result<Step> {
    if let Some(name) = &vendor.default_model {
        return Ok(Step::Done(Some(format!("{}/{name}", vendor.name))));
    }
    let name = |model: &FoundModel| format!("{}/{}", vendor.name, model.name);
    let rows: Vec<(String, String)> =
        found.iter().map(|model| (name(model), name(model))).collect();
    if rows.is_empty() {
        say(&format!("Name the model when you start: weir --model {}/NAME\n", vendor.name))?;
        return Ok(Step::Leave);
    }
    Ok(match chosen(&rows, "Which model? Number or name: ", keyboard)? {
        Ok(model) => remembered(model)?,
        Err(step) => step,
    })
}

/// A model of a server on this machine.
async fn on_this_machine(
    cx: &Cx,
    catalogue: &Catalogue,
    keyboard: &mut Keyboard,
) -> anyhow::Result<Step> {
    let local = catalogue.vendors().iter().filter(|vendor| vendor.local);
    let mut endpoints = Vec::new();
    for vendor in local {
        endpoints.push(models::endpoint(cx, catalogue, vendor)?.0);
    }
    loop {
        let transport = models::transport(cx);
        let asked = endpoints.iter().map(|endpoint| probe::local_server(endpoint, &transport));
        let answers = futures::future::join_all(asked).await;
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut empty = Vec::new();
        for (endpoint, found) in endpoints.iter().zip(answers) {
            let Some(mut found) = found else { continue };
            // They talk to nobody.
            found.retain(|model| !model.name.contains("embed"));
            if found.is_empty() {
                empty.push(endpoint.vendor.name.clone());
            }
            let name = |model: &FoundModel| format!("{}/{}", endpoint.vendor.name, model.name);
            rows.extend(found.iter().map(|model| (name(model), name(model))));
        }
        if let [(_, model)] = rows.as_slice() {
            say(&format!("Found {}.\n", visible(model)))?;
            return remembered(model);
        }
        if !rows.is_empty() {
            return Ok(
                match chosen(&rows, "Which model? Number or name (Esc goes back): ", keyboard)? {
                    Ok(model) => remembered(model)?,
                    Err(step) => step,
                },
            );
        }
        let mut text = match empty.first() {
            Some(name) => format!("\n{name} responds, but has no models yet.\n"),
            None => "\nNo model server found on this machine. Tried:\n".to_owned(),
        };
        for endpoint in endpoints.iter().filter(|_| empty.is_empty()) {
            text += &format!("  {:<9} {}\n", endpoint.vendor.name, visible(&endpoint.base_url));
        }
        text += "With Ollama: `ollama serve` in another terminal, then `ollama pull qwen3:8b`.\n";
        text += "Enter tries again, Esc goes back. ";
        match keyboard.line(&text, Echo::Shown)? {
            Line::Typed(_) => (),
            Line::Escape => return Ok(Step::Back),
            Line::Leave => return Ok(Step::Leave),
        }
    }
}

/// A model that was chosen: for now; how it stays is said.
fn remembered(model: &str) -> anyhow::Result<Step> {
    let model_seen = visible(model);
    say(&format!(
        "This session uses {model_seen}. To make it the default: weir config set model \
         {model_seen}\n"
    ))?;
    Ok(Step::Done(Some(model.to_owned())))
}

/// The demo.
async fn shown(cx: &Cx) -> anyhow::Result<()> {
    say("\n")?;
    let args = DemoArgs { output: OutputFormat::Text, quiet: false, keep: false };
    demo::demo(cx, args).await?;
    Ok(())
}
