//! `weir demo`: a complete run on a throwaway folder with the built-in scripted model, over the
//! real engine, wire format, gate and store (C1, F7).

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use weir_core::profile::PermissionMode;
use weir_core::session::Guards;
use weir_engine::attach::PromptInput;
use weir_engine::ports::SpendingCaps;
use weir_engine::text_diff::render_named_diff;
use weir_install::context::InstallationContext;
use weir_install::wiring::{self, SessionChoices, SessionOverrides};
use weir_scripted_model::ScriptedModel;

use crate::command::run::{self, OutputOptions};
use crate::options::{DemoArgs, GlobalOptions, OutputFormat};
use crate::terminal;

/// What the scripted model says.
const SCRIPT: &str = include_str!("demo/demo.script");
/// The task.
const PROMPT: &str = "The greeting in greet.sh is wrong: it should say hello to the name that is \
                      given. Fix it, check it, and note it in CHANGES.md.";
/// The files of the throwaway folder. What is run is a shell's: a bare machine has no other language.
const FILES: [(&str, &str); 4] = [
    ("greet.sh", "# Says hello.\nname=$1\n\nprintf 'Hello, world!\\n'\n"),
    ("CHANGES.md", "# Changes\n"),
    (".env", "API_TOKEN=not-a-real-one\n"),
    (".weirignore", "# What the agent never sees\n.env\n"),
];

pub(crate) async fn run_demo(cx: &InstallationContext, args: DemoArgs) -> anyhow::Result<ExitCode> {
    let folder = std::env::temp_dir().join(format!("weir-demo-{}", uuid::Uuid::now_v7().simple()));
    let (work, state) = (folder.join("workspace"), folder.join("state"));
    std::fs::create_dir_all(&work)
        .with_context(|| format!("the demo folder {} cannot be created", folder.display()))?;
    for (name, text) in FILES {
        std::fs::write(work.join(name), text)?;
    }
    if !args.quiet {
        terminal::err_line(
            "This is a demonstration: the model is scripted and plays back prepared replies. The \
             engine, wire format, gate, tools, journal and undo are real.",
        );
        terminal::err_line(&format!("task: {PROMPT}\n"));
    }
    let result = play_demo_session(cx, &args, &work, &state).await;
    if args.keep {
        let (work, state) = (work.display(), state.display());
        terminal::err_line(&format!(
            "\nkept: {work}\nlook at it:  weir -C {work} --state-dir {state} sessions list\n\
             undo it:     weir -C {work} --state-dir {state} undo\n\
             audit it:    weir --state-dir {state} audit tail"
        ));
    } else {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    result
}

async fn play_demo_session(
    cx: &InstallationContext,
    args: &DemoArgs,
    work: &Path,
    state: &Path,
) -> anyhow::Result<ExitCode> {
    let global = GlobalOptions {
        workspace: Some(work.to_path_buf()),
        state_dir: Some(state.to_path_buf()),
        ..GlobalOptions::default()
    };
    let there = global.open_context(cx.environment.clone())?;
    let wishes = SessionOverrides {
        profile: Some("code".into()),
        permission: Some(PermissionMode::AutoEdit),
        allow: vec!["Shell(sh greet.sh:*)".into()],
        ..SessionOverrides::default()
    };
    let workspace = there.open_workspace()?;
    let chosen = SessionChoices {
        rules: wiring::session_rules(&there, &workspace, &wishes, None)?,
        workspace,
        toolbox: wiring::build_toolbox()?,
        profile: wiring::choose_profile(&there, &wishes, None)?,
        model: Arc::new(ScriptedModel::from_text(SCRIPT)?),
    };
    let mut options = wiring::session_options_with(&there, &wishes, None, chosen)?;
    // What is played back costs nothing, whatever caps the person has.
    options.resources.spending = SpendingCaps::default();
    options.config.limits.session_usd = None;
    // The scripted model cannot be its own judge.
    options.config.guards = Guards::default();
    let shown = OutputOptions {
        output: args.output,
        deltas: false,
        quiet: args.quiet,
        resumable: args.keep,
    };
    let engine = wiring::open_engine(&there, "weir demo").await?;
    let play = run::open_unattended_run(engine, options, shown).await?;
    let saying = PromptInput { text: PROMPT.into(), attachments: Vec::new() };
    let code = play.run_to_end(&there, Some(saying)).await?;
    if args.output == OutputFormat::Text && !args.quiet {
        for (name, before) in FILES {
            let after = std::fs::read_to_string(work.join(name)).unwrap_or_default();
            if after != before {
                let shown = render_named_diff([name, name], before, &after);
                terminal::err_line(&format!("\n{}", shown.trim_end()));
            }
        }
    }
    Ok(code)
}
