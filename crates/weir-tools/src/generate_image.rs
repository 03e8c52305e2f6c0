//! `generate_image`: a picture of a description as a new file, made by the model that `helpers.image`
//! names (K13). Not here: asking that model (`weir_engine::ports::PictureModel`), and pictures that
//! stand in a model's own replies.
//!
//! What comes is known only once it is paid for. So the call declares a new file for each format that
//! may come and makes one of them, and it is never made again by itself.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::message::MessageBlock;
use weir_core::tool::{
    EffectClass, Effects, PathAccess, PathEffect, RawResult, ResultEffect, ToolGroup, ToolSpec,
};
use weir_engine::attach::Attachment;
use weir_engine::ports::{
    CallPlan, ModelUse, NO_PICTURE_MODEL, PictureAnswer, PictureAspect, PictureFormat,
    PictureRequest, Tool, ToolContext,
};
use weir_engine::sniff;
use weir_engine::workspace::Workspace;

use crate::built::{BuiltInTool, empty_plan, parse_input, tool_spec};
use crate::draft::plan_blocking;
use crate::{run_blocking, text};

/// Longest description, in characters: a little less than the vendor with the least takes.
const PROMPT_CHARS_MAX: usize = 30_000;
/// Wall time of the call.
const TIME_MS: u64 = 300_000;
/// Where pictures go when nobody says.
const FOLDER: &str = "pictures/";
/// Longest name that is made of a description, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Numbers that are tried for a name.
const NUMBERS_MAX: u32 = 1_000;
/// Most of what the model said beside the picture, in characters.
const SAID_CHARS_MAX: usize = 1_000;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Input {
    /// What is to be seen: subject, style, any words in it.
    prompt: String,
    /// Width to height; the nearest that the model has.
    #[serde(default)]
    aspect: Option<AspectRatio>,
    /// New file (.png, .jpg or .webp), or a folder that ends in /. Default: pictures/.
    #[serde(default)]
    path: Option<String>,
}

/// The shapes that vendors have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum AspectRatio {
    #[serde(rename = "1:1")]
    Square,
    #[serde(rename = "3:2")]
    Landscape,
    #[serde(rename = "2:3")]
    Portrait,
    #[serde(rename = "4:3")]
    Screen,
    #[serde(rename = "3:4")]
    Page,
    #[serde(rename = "16:9")]
    Wide,
    #[serde(rename = "9:16")]
    Tall,
}

impl AspectRatio {
    fn to_aspect(self) -> PictureAspect {
        let (width, height) = match self {
            AspectRatio::Square => (1, 1),
            AspectRatio::Landscape => (3, 2),
            AspectRatio::Portrait => (2, 3),
            AspectRatio::Screen => (4, 3),
            AspectRatio::Page => (3, 4),
            AspectRatio::Wide => (16, 9),
            AspectRatio::Tall => (9, 16),
        };
        PictureAspect { width, height }
    }
}

/// The tool: it sees its permit, because what it writes is known only when it runs.
struct GenerateImage {
    spec: ToolSpec,
}

/// The tool for the list.
pub(crate) fn generate_image_tool() -> Arc<dyn BuiltInTool> {
    let spec = ToolSpec {
        deferred: true,
        keeps_result: true,
        timeout_ms: Some(TIME_MS),
        ..tool_spec(
            "generate_image",
            ToolGroup::Edit,
            "Makes a picture from a description and saves it as a new file. Each one costs money.",
        )
    };
    Arc::new(GenerateImage { spec })
}

impl BuiltInTool for GenerateImage {
    #[cfg(test)]
    fn derived_schema(&self) -> Value {
        crate::schema::input_schema::<Input>()
    }
}

#[async_trait]
impl Tool for GenerateImage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        let input: Input = match parse_input(input) {
            Ok(input) => input,
            Err(why) => return empty_plan("Arguments that cannot be used").with_failure(why),
        };
        let Some(model) = cx.knows.picture_model_name() else {
            return empty_plan("Make a picture").with_failure(NO_PICTURE_MODEL);
        };
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_picture(&input, &model, &workspace)).await
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let input: Input = match parse_input(permit.input()) {
            Ok(input) => input,
            Err(why) => return RawResult::error(why),
        };
        let first = permit.effects().paths.first();
        let request = PictureRequest {
            prompt: input.prompt,
            aspect: input.aspect.map(AspectRatio::to_aspect),
            format: first.and_then(|at| format_of_path(&at.path)).unwrap_or_default(),
        };
        let asked = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return RawResult::error("cancelled; the picture may have been made and charged for");
            }
            asked = cx.knows.make_picture(request) => asked,
        };
        match asked {
            Ok(answer) => {
                let raw = save_picture(permit, &answer, cx).await;
                RawResult { news: used_news(Some(answer.reply.used)), label: answer.label, ..raw }
            }
            Err(error) => RawResult { news: used_news(error.used), ..RawResult::error(error.why) },
        }
    }
}

fn used_news(used: Option<ModelUse>) -> Vec<ResultEffect> {
    used.map(ResultEffect::from).into_iter().collect()
}

/// Looks at what came, and saves it under the name that fits it.
async fn save_picture(permit: Permit, answer: &PictureAnswer, cx: &ToolContext) -> RawResult {
    let PictureAnswer { model, reply, .. } = answer;
    let unusable = |why: &str| {
        RawResult::error(format!(
            "{model} sent a picture that cannot be used: {why}. Nothing was saved; it may be charged \
             for all the same"
        ))
    };
    let fitting = sniff::image_media_type(&reply.bytes)
        .and_then(|media_type| fitting_path(permit.effects(), media_type));
    let path = match fitting {
        Ok(path) => path,
        Err(why) => return unusable(&why),
    };
    // The confined reader decodes it, before it has a name by which others open it.
    let seen = Attachment::of_bytes(cx.documents.as_ref(), &path, reply.bytes.clone()).await;
    let shown = match seen {
        Ok(attachment) => attachment.media_block(|bytes| cx.blobs.put(&cx.session, bytes)),
        Err(error) => return unusable(&error.why),
    };
    let wished = permit.effects().paths.first().map(|at| at.path.clone());
    let (workspace, bytes, at) = (cx.workspace.clone(), reply.bytes.clone(), path.clone());
    let saved = run_blocking(move || workspace.create_permitted_file(&permit, &at, bytes)).await;
    let size = text::size_text(reply.bytes.len() as u64);
    let mut raw = match saved.and_then(|saved| saved.map_err(|why| why.to_string())) {
        Ok(changed) => {
            let summary = format!("{path} ({size})");
            let mut told = format!("Saved {path} ({size}), made by {model}.");
            if wished.is_some_and(|wished| wished != path) {
                told.push_str(" The ending is that of the format that came.");
            }
            if !reply.said.trim().is_empty() {
                let said = text::clip_text(reply.said.trim(), SAID_CHARS_MAX);
                told.push_str(&format!("\n{model} says: {said}"));
            }
            RawResult { changed, ..RawResult::ok(told).with_summary(summary) }
        }
        Err(why) => RawResult::error(format!(
            "{model} made the picture, and it was not saved: {why}. It is in this result, and in \
             `weir sessions export`; do not pay for another before the person says so"
        )),
    };
    raw.blocks.extend(shown.filter(|block| matches!(block, MessageBlock::Image { .. })));
    raw
}

/// The declared path for a picture of this type.
fn fitting_path(effects: &Effects, media_type: &str) -> Result<String, String> {
    let fits = |at: &&PathEffect| {
        format_of_path(&at.path).is_some_and(|format| media_type == format_type(format))
    };
    let found = effects.paths.iter().find(fits).map(|at| at.path.clone());
    found.ok_or_else(|| format!("it is {media_type}, and only PNG, JPEG and WebP are saved"))
}

fn format_type(format: PictureFormat) -> String {
    format!("image/{}", format.as_str())
}

/// The format that the end of a name says.
fn format_of_path(path: &str) -> Option<PictureFormat> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "png" => Some(PictureFormat::Png),
        "jpg" | "jpeg" => Some(PictureFormat::Jpeg),
        "webp" => Some(PictureFormat::Webp),
        _ => None,
    }
}

/// The names under which a picture may be saved: as it was wished first, then one for each other
/// format.
fn picture_names(wished: &str) -> Vec<String> {
    let (stem, format) = match format_of_path(wished) {
        Some(format) => (wished.rsplit_once('.').map_or(wished, |(stem, _)| stem), Some(format)),
        None => (wished, None),
    };
    let all =
        [(PictureFormat::Png, "png"), (PictureFormat::Jpeg, "jpg"), (PictureFormat::Webp, "webp")];
    let others = all.into_iter().filter(|(other, _)| Some(*other) != format);
    let others = others.map(|(_, ending)| format!("{stem}.{ending}"));
    format.map(|_| wished.to_owned()).into_iter().chain(others).collect()
}

/// A name made of the first words of a description.
fn name_of_prompt(prompt: &str) -> String {
    let lower = prompt.to_lowercase();
    let mut name = String::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if name.chars().count() + word.chars().count() >= NAME_CHARS_MAX {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(word);
    }
    if name.is_empty() { "picture".into() } else { name }
}

fn plan_picture(input: &Input, model: &str, workspace: &Workspace) -> CallPlan {
    let about = text::one_line(&input.prompt, 160);
    let fails = |why: String| empty_plan("Make a picture").with_failure(why);
    if about.is_empty() {
        return fails("prompt is empty; describe what is to be seen".into());
    }
    let length = input.prompt.chars().count();
    if length > PROMPT_CHARS_MAX {
        let why = format!("prompt has {length} characters; at most {PROMPT_CHARS_MAX}");
        return fails(why);
    }
    let names = match input.path.as_deref().map(str::trim).filter(|path| !path.is_empty()) {
        Some(path) if !path.ends_with('/') => picture_names(path),
        given => match free_names(given.unwrap_or(FOLDER), &input.prompt, workspace) {
            Some(names) => names,
            None => return fails("every name is taken; give a path".into()),
        },
    };
    let taken = names.iter().find(|name| is_taken(workspace, name)).cloned();
    let paths: Vec<PathEffect> =
        names.iter().map(|name| workspace.resolve(name, PathAccess::Create)).collect();
    let shown = paths.first().map_or("a picture", |at| at.path.as_str());
    let summary = format!("Make the picture {shown} with {model}: {about}");
    let effects = Effects { paths, ..Effects::default() };
    // Not `File`: what it would write nobody knows, and asking again costs again.
    let plan = CallPlan::new(EffectClass::Once, effects, summary);
    match taken {
        Some(taken) => plan.with_failure(format!(
            "{taken} exists already, and no picture replaces a file; give another path, or none"
        )),
        None => plan,
    }
}

/// Names in `folder` of which none is taken; `None`: too many are.
fn free_names(folder: &str, prompt: &str, workspace: &Workspace) -> Option<Vec<String>> {
    let name = name_of_prompt(prompt);
    (1..=NUMBERS_MAX).find_map(|number| {
        let stem = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let names = picture_names(&format!("{folder}{stem}"));
        names.iter().all(|name| !is_taken(workspace, name)).then_some(names)
    })
}

/// Whether anything is there.
fn is_taken(workspace: &Workspace, name: &str) -> bool {
    workspace.stat_entry(&workspace.resolve(name, PathAccess::Read)).is_ok()
}

#[cfg(test)]
mod tests {
    use weir_engine::workspace::WorkspaceOptions;

    use super::*;

    fn workspace_at(folder: &std::path::Path) -> Workspace {
        Workspace::open(WorkspaceOptions {
            root: folder.to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        })
        .expect("a workspace")
    }

    fn planned(workspace: &Workspace, prompt: &str, path: Option<&str>) -> CallPlan {
        let input = Input { prompt: prompt.into(), aspect: None, path: path.map(str::to_owned) };
        plan_picture(&input, "openai/gpt-image-1", workspace)
    }

    fn paths(plan: &CallPlan) -> Vec<&str> {
        plan.effects.paths.iter().map(|at| at.path.as_str()).collect()
    }

    #[test]
    fn k13_a_call_declares_a_new_file_for_each_format_and_is_never_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = workspace_at(folder.path());
        let plan = planned(&workspace, "A Red fox, in snow!", None);
        let expected = ["pictures/a-red-fox-in-snow.png", "pictures/a-red-fox-in-snow.jpg"];
        assert_eq!(paths(&plan)[..2], expected);
        assert!(plan.effects.paths.iter().all(|at| at.access == PathAccess::Create));
        assert_eq!(plan.class, EffectClass::Once);
        assert!(plan.summary.contains("openai/gpt-image-1: A Red fox, in snow!"));
        let jpeg = planned(&workspace, "x", Some("img/fox.JPEG"));
        assert_eq!(paths(&jpeg), ["img/fox.JPEG", "img/fox.png", "img/fox.webp"]);
        let bare = planned(&workspace, "x", Some("fox"));
        assert_eq!(paths(&bare), ["fox.png", "fox.jpg", "fox.webp"]);
        let inner = planned(&workspace, "?!", Some("img/"));
        assert_eq!(paths(&inner)[0], "img/picture.png");
    }

    #[test]
    fn k13_no_picture_takes_a_name_that_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("pictures")).expect("made");
        std::fs::write(folder.path().join("pictures/fox.webp"), "mine").expect("written");
        let workspace = workspace_at(folder.path());
        assert_eq!(paths(&planned(&workspace, "fox", None))[0], "pictures/fox-2.png");
        let plan = planned(&workspace, "fox", Some("pictures/fox.png"));
        assert!(plan.fails.is_some_and(|why| why.contains("pictures/fox.webp exists")));
        assert!(planned(&workspace, " ", None).fails.is_some_and(|why| why.contains("empty")));
    }

    #[test]
    fn k13_the_content_decides_under_which_name_it_is_saved() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = planned(&workspace_at(folder.path()), "x", Some("fox.jpg"));
        let fits = |media_type: &str| fitting_path(&plan.effects, media_type);
        assert_eq!(fits("image/jpeg"), Ok("fox.jpg".into()));
        assert_eq!(fits("image/png"), Ok("fox.png".into()));
        assert!(fits("image/gif").is_err_and(|why| why.contains("only PNG, JPEG and WebP")));
    }
}
