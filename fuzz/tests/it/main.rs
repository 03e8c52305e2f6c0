//! Every target under the stable driver, and the driver against targets that are known to break.

mod driver;

macro_rules! fuzz {
    ($($test:ident $name:ident,)*) => {
        $(
            #[test]
            fn $test() {
                let name = stringify!($name);
                weir_fuzz::driver::check(weir_fuzz::target(name).expect("in the table"));
            }
        )*

        /// A target that nobody runs tests nothing.
        #[test]
        fn z10_every_target_has_its_test() {
            let tested = [$(stringify!($name)),*];
            let table: Vec<&str> = weir_fuzz::TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(table, tested);
            $(assert_eq!(stringify!($test), concat!("z10_fuzz_", stringify!($name)));)*
        }
    };
}

fuzz! {
    z10_fuzz_sse sse,
    z10_fuzz_anthropic anthropic,
    z10_fuzz_openai_responses openai_responses,
    z10_fuzz_openai_chat openai_chat,
    z10_fuzz_gemini gemini,
    z10_fuzz_vendor_error vendor_error,
    z10_fuzz_tool_schema tool_schema,
    z10_fuzz_arguments arguments,
    z10_fuzz_canonical canonical,
    z10_fuzz_rule rule,
    z10_fuzz_command command,
    z10_fuzz_sent_content sent_content,
    z10_fuzz_handle handle,
    z10_fuzz_secrets secrets,
    z10_fuzz_event event,
    z10_fuzz_record record,
    z10_fuzz_script script,
    z10_fuzz_script_of_journal script_of_journal,
    z10_fuzz_answer answer,
    z10_fuzz_ignore_list ignore_list,
    z10_fuzz_path path,
    z10_fuzz_patch patch,
    z10_fuzz_diff diff,
    z10_fuzz_edit edit,
    z10_fuzz_glob glob,
    z10_fuzz_page page,
    z10_fuzz_html html,
    z10_fuzz_address address,
    z10_fuzz_skill skill,
    z10_fuzz_skill_written skill_written,
    z10_fuzz_markdown markdown,
    z10_fuzz_note note,
    z10_fuzz_canvas canvas,
    z10_fuzz_base base,
    z10_fuzz_document document,
    z10_fuzz_text_calls text_calls,
    z10_fuzz_acp acp,
    z10_fuzz_ollama ollama,
}
