//! The table of formats: adding one is an entry, and a reader where no family has one that fits.
//!
//! Not here: any reader.

use super::block::{CallBlock, ReplySource};
use super::{bare, begin, markup, named, python, tagged};

/// Where a block of a format counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Anywhere, but the rest of its last line is empty and nothing quotes it.
    Lines,
    /// The same, and words may follow on its last line.
    Inline,
    /// Where a line begins and the reply ends.
    Ending,
    /// Only as the whole reply.
    Alone,
}

/// A format of textual calls: data, and the reader that its family shares.
#[derive(Clone, Copy)]
pub(super) struct TextFormat {
    pub(super) name: &'static str,
    /// What a block begins with. `{tool}` stands for the name of any offered tool.
    pub(super) opens: &'static [&'static str],
    /// What a block ends with, in every way in which it is written.
    pub(super) closes: &'static [&'static str],
    /// What stands before the names of elements.
    pub(super) space: &'static str,
    /// The JSON is the end of the block; a closing mark may follow.
    pub(super) closes_itself: bool,
    pub(super) place: Place,
    /// Whether a block may begin at a mark, by what stands behind it so far.
    pub(super) goes_on: fn(&ReplySource<'_>, FoundMark<'_>) -> bool,
    pub(super) read: fn(&ReplySource<'_>, FoundMark<'_>) -> Option<CallBlock>,
}

/// A mark that was found in a reply.
#[derive(Clone, Copy)]
pub(super) struct FoundMark<'a> {
    pub(super) format: &'a TextFormat,
    /// Where the mark begins.
    pub(super) start: usize,
    /// Where what follows it begins.
    pub(super) body: usize,
}

/// Name of the format whose results have a mark that is a word of anybody's: `Observation:`.
pub(super) const REACT: &str = "react";
/// Marks with which turns of the known models end.
pub(super) const TURN_ENDS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|call|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "<|end▁of▁sentence|>",
    "<|observation|>",
    "<|user|>",
    "<end_of_turn>",
    "<turn|>",
    "<|stop|>",
    "</s>",
    "[e~[",
];

const fn tagged(
    name: &'static str,
    opens: &'static [&'static str],
    closes: &'static [&'static str],
) -> TextFormat {
    TextFormat {
        name,
        opens,
        closes,
        space: "",
        closes_itself: false,
        place: Place::Lines,
        goes_on: begin::with_data,
        read: tagged::read_tagged,
    }
}

/// A block of JSON that needs no closing mark.
const fn opened(
    name: &'static str,
    opens: &'static [&'static str],
    closes: &'static [&'static str],
) -> TextFormat {
    TextFormat { closes_itself: true, ..tagged(name, opens, closes) }
}

const fn invoked(
    name: &'static str,
    space: &'static str,
    opens: &'static [&'static str],
    closes: &'static [&'static str],
) -> TextFormat {
    with(markup::read_invokes, TextFormat { space, ..tagged(name, opens, closes) })
}

const fn with(
    read: fn(&ReplySource<'_>, FoundMark<'_>) -> Option<CallBlock>,
    of: TextFormat,
) -> TextFormat {
    TextFormat { read, goes_on: begin::with_anything, ..of }
}

const fn ending(of: TextFormat) -> TextFormat {
    TextFormat { place: Place::Ending, ..of }
}

/// A format that needs no mark: what stands there shows what it is.
const fn unmarked(
    goes_on: fn(&ReplySource<'_>, FoundMark<'_>) -> bool,
    of: TextFormat,
) -> TextFormat {
    TextFormat { goes_on, ..ending(of) }
}

/// Every format. Where several begin alike, the first whose reader takes the block has it.
pub(super) const FORMATS: &[TextFormat] = &[
    tagged("hermes", &["<tool_call>"], &["</tool_call>"]),
    with(
        markup::read_function_markup,
        tagged("qwen3_coder", &["<tool_call>", "<function="], &["</tool_call>"]),
    ),
    with(markup::read_glm, tagged("glm45", &["<tool_call>"], &["</tool_call>"])),
    with(python::read_python, tagged("hermes_python", &["<tool_call>"], &["</tool_call>"])),
    with(named::read_name_line, tagged("hermes_named", &["<tool_call>"], &["</tool_call>"])),
    with(
        named::read_function_tag,
        tagged(
            "llama31_function",
            &["<function=", "<tool_call><function=", "<tool_call>\n<function="],
            &["</function>"],
        ),
    ),
    with(
        markup::read_function_markup,
        tagged("seed_oss", &["<seed:tool_call>"], &["</seed:tool_call>"]),
    ),
    tagged("tool_calls", &["<tool_calls>"], &["</tool_calls>"]),
    tagged(
        "function_call",
        &["<function_call>", "<functioncall>"],
        &["</function_call>", "</functioncall>", "<|endoftext|>"],
    ),
    tagged("tools_tag", &["<tools>"], &["</tools>"]),
    tagged(
        "tool_use_json",
        &["<tool_use>", "<tool-use>", "<tool>"],
        &["</tool_use>", "</tool-use>", "</tool>"],
    ),
    with(
        markup::read_name_element,
        tagged(
            "tool_use",
            &["<tool_use>", "<function_call>", "<tool_call>"],
            &["</tool_use>", "</function_call>", "</tool_call>"],
        ),
    ),
    tagged("nemotron", &["<TOOLCALL>", "<toolcall>"], &["</TOOLCALL>", "</toolcall>"]),
    tagged("longcat", &["<longcat_tool_call>"], &["</longcat_tool_call>"]),
    opened("granite", &["<|tool_call|>"], &["<|/tool_call|>", "<|tool_call|>"]),
    opened("functools", &["functools"], &[]),
    opened("mistral", &["[TOOL_CALLS]"], &["[/TOOL_CALLS]"]),
    with(named::read_mistral, tagged("mistral_args", &["[TOOL_CALLS]"], &["[/TOOL_CALLS]"])),
    tagged("lm_studio", &["[TOOL_REQUEST]"], &["[END_TOOL_REQUEST]"]),
    with(named::read_arrows, tagged("tool_arrows", &["[TOOL_CALL]"], &["[/TOOL_CALL]"])),
    tagged("tool_call_brackets", &["[TOOL_CALL]"], &["[/TOOL_CALL]"]),
    with(tagged::read_python_tag, opened("llama3_python_tag", &["<|python_tag|>"], TURN_ENDS)),
    with(python::read_python, opened("llama4", &["<|python_start|>"], &["<|python_end|>"])),
    TextFormat {
        place: Place::Inline,
        ..with(
            python::read_python,
            tagged("lfm2", &["<|tool_call_start|>"], &["<|tool_call_end|>"]),
        )
    },
    tagged("lfm2_json", &["<|tool_call_start|>"], &["<|tool_call_end|>"]),
    with(python::read_python, tagged("olmo3", &["<function_calls>"], &["</function_calls>"])),
    with(python::read_gemma, tagged("gemma4", &["<|tool_call>"], &["<tool_call|>"])),
    with(
        python::read_gemma,
        tagged("function_gemma", &["<start_function_call>"], &["<end_function_call>"]),
    ),
    with(
        named::read_deepseek,
        tagged(
            "deepseek",
            &[
                "<｜tool▁calls▁begin｜>",
                "<｜tool▁call▁begin｜>",
                "<|tool▁calls▁begin|>",
                "<|tool▁call▁begin|>",
                "<｜tool_calls_begin｜>",
                "<｜tool_call_begin｜>",
            ],
            &[],
        ),
    ),
    with(
        named::read_kimi,
        tagged(
            "kimi_k2",
            &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
            &[],
        ),
    ),
    tagged(
        "internlm2",
        &["<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"],
        &["<|action_end|>"],
    ),
    tagged("command_r7b", &["<|START_ACTION|>"], &["<|END_ACTION|>"]),
    tagged("apertus", &["<|tools_prefix|>"], &["<|tools_suffix|>"]),
    with(
        named::read_harmony,
        tagged(
            "harmony",
            &["<|start|>assistant", "<|channel|>commentary", "<|channel|>analysis to="],
            &["<|call|>", "<|end|>", "<|return|>"],
        ),
    ),
    with(
        named::read_functionary,
        opened("functionary_v2", &["<|from|>assistant\n<|recipient|>", "<|recipient|>"], TURN_ENDS),
    ),
    with(named::read_qwen_agent, opened("qwen_agent", &["✿FUNCTION✿"], &[])),
    invoked("anthropic", "", &["<function_calls>", "<invoke name="], &["</function_calls>"]),
    invoked(
        "anthropic_spaced",
        "antml:",
        &["<antml:function_calls>", "<antml:invoke name="],
        &["</antml:function_calls>"],
    ),
    with(
        markup::read_name_element,
        tagged("anthropic_2023", &["<function_calls>"], &["</function_calls>"]),
    ),
    invoked("minimax", "", &["<minimax:tool_call>"], &["</minimax:tool_call>"]),
    invoked(
        "deepseek_dsml",
        "｜DSML｜",
        &["<｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "<｜DSML｜invoke name="],
        &["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
    ),
    invoked(
        "deepseek_dsml_wide",
        "｜｜DSML｜｜",
        &["<｜｜DSML｜｜function_calls>", "<｜｜DSML｜｜tool_calls>", "<｜｜DSML｜｜invoke name="],
        &["</｜｜DSML｜｜function_calls>", "</｜｜DSML｜｜tool_calls>"],
    ),
    invoked("step3", "steptml:", &["<steptml:invoke name="], &["</steptml:toolcall>"]),
    with(
        markup::read_step3,
        TextFormat {
            space: "steptml:",
            ..tagged("step3", &["<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"], &[])
        },
    ),
    with(markup::read_minicpm, tagged("minicpm", &["<function name="], &[])),
    ending(with(markup::read_tool_element, tagged("tool_element", &["<{tool}>"], &[]))),
    ending(with(
        named::read_bare_harmony,
        opened(
            "harmony_bare",
            &["commentary to=", "assistantcommentary to=", "to=functions."],
            TURN_ENDS,
        ),
    )),
    ending(with(named::read_function_tail, tagged("llama31_tail", &["{tool}{"], &["</function>"]))),
    ending(with(named::read_functionary, opened("functionary", &[">>>{tool}\n"], TURN_ENDS))),
    ending(with(bare::read_action, opened(REACT, &["Action:", "**Action:**"], &["```"]))),
    unmarked(begin::as_json, with(bare::read_json, tagged("json", &["{", "["], &[]))),
    unmarked(
        begin::as_python,
        with(python::read_bare, tagged("pythonic", &["[", "{tool}(", "print("], &[])),
    ),
    ending(with(bare::read_named, tagged("glm4", &["{tool}\n"], &[]))),
];
