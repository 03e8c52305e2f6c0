//! The first minute: `weir` where no model can be asked yet. A short dialogue in the terminal before the
//! face opens: a vendor and its key, which is checked before it is kept, a local server, or the demo.
//! Not here: the face, and how keys are read (`keyboard`).

use weir_core::secret::Secret;
use weir_core::view::plain::visible_text;
use weir_install::context::InstallationContext;
use weir_install::keys::{KeySource, ProviderKeys};
use weir_install::models::{self, MissingForModel};
use weir_providers::catalogue::{ModelCatalogue, Vendor};
use weir_providers::http_model::ModelEndpoint;
use weir_providers::probe::{self, FoundModel, KeyCheck};

use super::keyboard::{EchoMode, LineReadOutcome, PressedKey, RawKeyboard, print_text};
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
pub(in crate::command) enum SetupOutcome {
    /// A model can be asked: with these surroundings, and this model where one was chosen.
    Ready(Box<InstallationContext>, Option<String>),
    /// The person left.
    Left,
}

/// How a step ended.
enum StepOutcome {
    Done(Option<String>),
    Back,
    Leave,
}

/// Asks until a model can be asked.
///
/// # Errors
/// The terminal cannot be used, or the settings cannot be read.
pub(in crate::command) async fn run_model_setup(
    cx: InstallationContext,
    missing: MissingForModel,
) -> anyhow::Result<SetupOutcome> {
    // Held to the end: what is typed or pasted meanwhile is never shown by the terminal itself.
    let keyboard = &mut RawKeyboard::open()?;
    let step = match &missing {
        MissingForModel::Model => run_vendor_menu(&cx, keyboard).await?,
        MissingForModel::Key(vendor) => {
            let name = vendor_title(vendor);
            print_text(&format!(
                "\nThe configured model needs a key for {name}, and none is set yet.\n"
            ))?;
            match ask_vendor_key(&cx, vendor, keyboard).await? {
                // The choices are for whoever has no such key: what they choose stands for the model
                // that is set.
                StepOutcome::Back => match run_vendor_menu(&cx, keyboard).await? {
                    StepOutcome::Done(Some(model)) => announce_chosen_model(&model)?,
                    step => step,
                },
                StepOutcome::Done(_) => StepOutcome::Done(None),
                StepOutcome::Leave => StepOutcome::Leave,
            }
        }
    };
    match step {
        StepOutcome::Done(model) => {
            print_text("\n")?;
            let folder = cx.folder.clone();
            Ok(SetupOutcome::Ready(Box::new(cx.reloaded_in_folder(&folder)?), model))
        }
        StepOutcome::Back | StepOutcome::Leave => Ok(SetupOutcome::Left),
    }
}

/// The choices, until one of them leads to a model. They are listed once: whoever comes back from a step
/// knows them, and has them again by a key.
async fn run_vendor_menu(
    cx: &InstallationContext,
    keyboard: &mut RawKeyboard,
) -> anyhow::Result<StepOutcome> {
    let catalogue = models::load_catalogue(cx)?;
    let first = KNOWN.iter().filter_map(|(name, ..)| catalogue.find_vendor(name));
    let first: Vec<&Vendor> = first.collect();
    let (other, local, demo) = (first.len() + 1, first.len() + 2, first.len() + 3);
    print_text(&format!("{}\nPress 1 to {demo}, or Esc to leave. ", menu_text(&first)))?;
    loop {
        let step = match read_menu_choice(demo, keyboard)? {
            MenuChoice::Leave => StepOutcome::Leave,
            MenuChoice::List => {
                print_text(&menu_text(&first))?;
                StepOutcome::Back
            }
            MenuChoice::Number(n) if n == other => {
                choose_other_vendor(cx, catalogue, &first, keyboard).await?
            }
            MenuChoice::Number(n) if n == local => on_this_machine(cx, catalogue, keyboard).await?,
            MenuChoice::Number(n) if n == demo => {
                run_demo_step(cx).await?;
                StepOutcome::Back
            }
            MenuChoice::Number(n) => match first.get(n - 1) {
                Some(vendor) => ask_vendor_key(cx, vendor, keyboard).await?,
                None => StepOutcome::Back,
            },
        };
        if !matches!(step, StepOutcome::Back) {
            return Ok(step);
        }
        print_text(&format!("\nPress 1 to {demo}, ? to list the choices, or Esc to leave. "))?;
    }
}

/// What there is to choose from.
fn menu_text(first: &[&Vendor]) -> String {
    let mut text = String::from("\nWeir needs a model, and none is set up yet.\n\n");
    for (n, vendor) in first.iter().enumerate() {
        text += &format!("  {}  {}: paste an API key\n", n + 1, vendor_title(vendor));
    }
    let after = first.len();
    text += &format!("  {}  Another vendor: paste an API key\n", after + 1);
    text +=
        &format!("  {}  A model on this machine (Ollama, LM Studio, llama.cpp, vLLM)\n", after + 2);
    text += &format!("  {}  See the demo first: no key, no network\n", after + 3);
    text
}

/// What was pressed where something is to be chosen.
enum MenuChoice {
    /// From 1 on.
    Number(usize),
    /// What there is, once more.
    List,
    Leave,
}

/// A choice, by one key.
fn read_menu_choice(most: usize, keyboard: &mut RawKeyboard) -> anyhow::Result<MenuChoice> {
    loop {
        match keyboard.next_key()? {
            PressedKey::Escape | PressedKey::Leave | PressedKey::Byte(b'q') => {
                print_text("\n")?;
                return Ok(MenuChoice::Leave);
            }
            PressedKey::Byte(b'?') => {
                print_text("?\n")?;
                return Ok(MenuChoice::List);
            }
            PressedKey::Byte(digit @ b'1'..=b'9') if usize::from(digit - b'0') <= most => {
                let n = usize::from(digit - b'0');
                print_text(&format!("{n}\n"))?;
                return Ok(MenuChoice::Number(n));
            }
            PressedKey::Byte(_)
            | PressedKey::Enter
            | PressedKey::Back
            | PressedKey::Clear
            | PressedKey::Other => (),
        }
    }
}

/// One of several by its number, or whatever else is typed.
fn choose_listed_row<'a, T>(
    rows: &'a [(String, T)],
    question: &str,
    keyboard: &mut RawKeyboard,
) -> anyhow::Result<Result<&'a T, StepOutcome>> {
    let mut text = String::from("\n");
    for (n, (row, _)) in rows.iter().enumerate().take(LISTED_MAX) {
        text += &format!("  {:>2}  {}\n", n + 1, visible_text(row));
    }
    if rows.len() > LISTED_MAX {
        text += &format!("      … and {} more, by name\n", rows.len() - LISTED_MAX);
    }
    print_text(&text)?;
    loop {
        let line = match keyboard.ask_line(question, EchoMode::Shown)? {
            LineReadOutcome::Typed(line) => line,
            LineReadOutcome::Escape => return Ok(Err(StepOutcome::Back)),
            LineReadOutcome::Leave => return Ok(Err(StepOutcome::Leave)),
        };
        let by_number = line.parse::<usize>().ok().and_then(|n| rows.get(n.checked_sub(1)?));
        let found = by_number.or_else(|| rows.iter().find(|(row, _)| *row == line));
        match found {
            Some((_, value)) => return Ok(Ok(value)),
            None if line.is_empty() => (),
            None => print_text(&format!("{} is not in this list.\n", visible_text(&line)))?,
        }
    }
}

/// A vendor that is not among the first ones.
async fn choose_other_vendor(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
    first: &[&Vendor],
    keyboard: &mut RawKeyboard,
) -> anyhow::Result<StepOutcome> {
    let mut rows: Vec<(String, &Vendor)> = Vec::new();
    for vendor in catalogue.vendors() {
        let (endpoint, _) = models::vendor_endpoint(cx, catalogue, vendor)?;
        let same = |other: &&Vendor| other.key_env.iter().any(|env| vendor.key_env.contains(env));
        let is_known = first.iter().any(same) || rows.iter().any(|(_, other)| same(other));
        if vendor.needs_key && !endpoint.base_url.is_empty() && !is_known {
            rows.push((vendor.name.clone(), vendor));
        }
    }
    match choose_listed_row(&rows, "Number or name (Esc goes back): ", keyboard)? {
        Ok(vendor) => ask_vendor_key(cx, vendor, keyboard).await,
        Err(step) => Ok(step),
    }
}

/// A vendor as people know it.
fn vendor_title(vendor: &Vendor) -> String {
    let known = KNOWN.iter().find(|(name, ..)| *name == vendor.name);
    known.map_or_else(|| visible_text(&vendor.name), |(_, title, _)| (*title).to_owned())
}

/// Asks for the key of a vendor until one is taken, and keeps it.
async fn ask_vendor_key(
    cx: &InstallationContext,
    vendor: &Vendor,
    keyboard: &mut RawKeyboard,
) -> anyhow::Result<StepOutcome> {
    let title = vendor_title(vendor);
    let made = KNOWN.iter().find(|(name, ..)| *name == vendor.name);
    let made = made.map(|(_, _, at)| format!("You can create a key at {at}\n")).unwrap_or_default();
    print_text(&format!(
        "\nPaste your API key for {title}. It is not shown. Esc goes back.\n{made}"
    ))?;
    loop {
        let text = match keyboard.ask_line("Key: ", EchoMode::Hidden)? {
            LineReadOutcome::Typed(text) => text,
            LineReadOutcome::Escape => return Ok(StepOutcome::Back),
            LineReadOutcome::Leave => return Ok(StepOutcome::Leave),
        };
        if text.is_empty() {
            continue;
        }
        if !ProviderKeys::is_key(&text) {
            print_text(
                "That is not a key: a key is one word of letters, digits and symbols. Try again.\n",
            )?;
            continue;
        }
        let key = Secret::new(text);
        let catalogue = models::load_catalogue(cx)?;
        let (endpoint, _) = models::vendor_endpoint(cx, catalogue, vendor)?;
        let endpoint = ModelEndpoint { key: Some(key.clone()), ..endpoint };
        print_text(&format!("Checking with {} … ", visible_text(&endpoint.base_url)))?;
        let found = match probe::check_key(&endpoint, &models::process_transport(cx)).await {
            KeyCheck::Accepted(found) => {
                print_text("the key works.\n")?;
                found
            }
            KeyCheck::Refused(status) => {
                print_text(&format!("the key is not accepted (HTTP {status}).\n"))?;
                print_text("Did you paste all of it? Try again; Esc goes back.\n")?;
                continue;
            }
            KeyCheck::Unsaid(why) => {
                print_text(&format!("\nThe key could not be checked: {}\n", visible_text(&why)))?;
                match keyboard.ask_line("Save it anyway? [y/N] ", EchoMode::Shown)? {
                    LineReadOutcome::Typed(yes)
                        if matches!(yes.to_lowercase().as_str(), "y" | "yes") =>
                    {
                        Vec::new()
                    }
                    LineReadOutcome::Leave => return Ok(StepOutcome::Leave),
                    LineReadOutcome::Typed(_) | LineReadOutcome::Escape => continue,
                }
            }
        };
        save_and_tell(cx, vendor, key)?;
        return choose_vendor_model(vendor, &found, keyboard);
    }
}

/// Keeps a key, and says where it is now.
fn save_and_tell(cx: &InstallationContext, vendor: &Vendor, key: Secret) -> anyhow::Result<()> {
    let place = cx.keys_to_change()?.save_key(&vendor.name, key)?;
    let whose = match &place.source {
        KeySource::File(_) | KeySource::Variable(_) => "only you can read it; ",
        // Whoever runs as this person can ask an unlocked keyring.
        KeySource::Keyring => "",
    };
    print_text(&format!(
        "It is saved in {}\n({whose}`weir auth remove {}` removes it).\n",
        visible_text(&place.source.to_string()),
        visible_text(&vendor.name)
    ))?;
    for note in &place.notes {
        print_text(&format!("Note: {}.\n", visible_text(note)))?;
    }
    Ok(())
}

/// The model, where the vendor has none for those who name none.
fn choose_vendor_model(
    vendor: &Vendor,
    found: &[FoundModel],
    keyboard: &mut RawKeyboard,
) -> anyhow::Result<StepOutcome> {
    if let Some(name) = &vendor.default_model {
        return Ok(StepOutcome::Done(Some(format!("{}/{name}", vendor.name))));
    }
    let name = |model: &FoundModel| format!("{}/{}", vendor.name, model.name);
    let rows: Vec<(String, String)> =
        found.iter().map(|model| (name(model), name(model))).collect();
    if rows.is_empty() {
        print_text(&format!("Name the model when you start: weir --model {}/NAME\n", vendor.name))?;
        return Ok(StepOutcome::Leave);
    }
    Ok(match choose_listed_row(&rows, "Which model? Number or name: ", keyboard)? {
        Ok(model) => announce_chosen_model(model)?,
        Err(step) => step,
    })
}

/// A model of a server on this machine.
async fn on_this_machine(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
    keyboard: &mut RawKeyboard,
) -> anyhow::Result<StepOutcome> {
    let local = catalogue.vendors().iter().filter(|vendor| vendor.local);
    let mut endpoints = Vec::new();
    for vendor in local {
        endpoints.push(models::vendor_endpoint(cx, catalogue, vendor)?.0);
    }
    loop {
        let transport = models::process_transport(cx);
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
            print_text(&format!("Found {}.\n", visible_text(model)))?;
            return announce_chosen_model(model);
        }
        if !rows.is_empty() {
            return Ok(
                match choose_listed_row(
                    &rows,
                    "Which model? Number or name (Esc goes back): ",
                    keyboard,
                )? {
                    Ok(model) => announce_chosen_model(model)?,
                    Err(step) => step,
                },
            );
        }
        let mut text = match empty.first() {
            Some(name) => format!("\n{name} responds, but has no models yet.\n"),
            None => "\nNo model server found on this machine. Tried:\n".to_owned(),
        };
        for endpoint in endpoints.iter().filter(|_| empty.is_empty()) {
            text +=
                &format!("  {:<9} {}\n", endpoint.vendor.name, visible_text(&endpoint.base_url));
        }
        text += "With Ollama: `ollama serve` in another terminal, then `ollama pull qwen3:8b`.\n";
        text += "Enter tries again, Esc goes back. ";
        match keyboard.ask_line(&text, EchoMode::Shown)? {
            LineReadOutcome::Typed(_) => (),
            LineReadOutcome::Escape => return Ok(StepOutcome::Back),
            LineReadOutcome::Leave => return Ok(StepOutcome::Leave),
        }
    }
}

/// A model that was chosen: for now; how it stays is said.
fn announce_chosen_model(model: &str) -> anyhow::Result<StepOutcome> {
    let model_seen = visible_text(model);
    print_text(&format!(
        "This session uses {model_seen}. To make it the default: weir config set model \
         {model_seen}\n"
    ))?;
    Ok(StepOutcome::Done(Some(model.to_owned())))
}

/// The demo.
async fn run_demo_step(cx: &InstallationContext) -> anyhow::Result<()> {
    print_text("\n")?;
    let args = DemoArgs { output: OutputFormat::Text, quiet: false, keep: false };
    demo::run_demo(cx, args).await?;
    Ok(())
}
