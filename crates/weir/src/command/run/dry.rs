//! `weir run --dry-run`: exactly what would be sent, by section, with sizes (P6).

use std::process::ExitCode;

use weir_core::ids::Timestamp;
use weir_core::prompt::{self, Stability};
use weir_engine::scene;

use crate::cx::Cx;
use crate::options::RunArgs;
use crate::terminal::out;
use crate::wiring::{self, PromptWish, Wishes};

/// Bytes of a token, roughly, where no vendor has counted yet.
const BYTES_PER_TOKEN: usize = 4;

pub(super) async fn dry_run(cx: &Cx, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let wishes = Wishes::of_run(args, false)?;
    let options = wiring::session_options(cx, &wishes, None).await?;
    let now = Timestamp(jiff::Timestamp::now().as_microsecond());
    let scene = scene::look(&options.scene, &options.workspace, now);
    let size = |text: &str| format!("~{} tokens", text.len() / BYTES_PER_TOKEN);
    let config = &options.config;
    out(&format!("model {} · profile {}\n", config.model.model, config.profile.name))?;
    if wishes.prompt == PromptWish::Own {
        for section in prompt::render(&scene).iter().filter(|s| s.stability == Stability::Session) {
            out(&format!(
                "== system · {} ({})\n{}\n",
                section.name,
                size(&section.text),
                section.text
            ))?;
        }
    } else {
        out(&format!("== system ({})\n{}\n", size(&config.system), config.system))?;
    }
    let mut schemas = 0;
    for tool in &config.tools {
        let text = serde_json::to_string(&tool.input_schema)?;
        let all = tool.name.len() + tool.description.len() + text.len();
        schemas += all;
        out(&format!("== tool · {} (~{} tokens)", tool.name, all / BYTES_PER_TOKEN))?;
    }
    out("")?;
    for section in prompt::render(&scene).iter().filter(|s| s.stability == Stability::Run) {
        out(&format!("== note · {} ({})\n{}\n", section.name, size(&section.text), section.text))?;
    }
    if let Some(text) = args.prompt.as_deref() {
        out(&format!("== prompt ({})\n{text}\n", size(text)))?;
    }
    let total = (config.system.len() + schemas) / BYTES_PER_TOKEN;
    out(&format!("system and tools: {} bytes, ~{total} tokens", config.system.len() + schemas))?;
    Ok(ExitCode::SUCCESS)
}
