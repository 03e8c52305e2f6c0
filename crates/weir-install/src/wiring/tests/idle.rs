//! Tools with nothing behind them are in no session.

use weir_core::session::SessionConfig;

use super::House;
use crate::wiring::{SessionOverrides, session_options};

/// Of the tools that may be idle those that the session is told of.
fn told(config: &SessionConfig) -> Vec<&str> {
    const MAY_BE_IDLE: [&str; 7] = [
        "consult_flagship",
        "generate_image",
        "use_mcp_tool",
        "read_mcp_tool",
        "execute_command",
        "call_plugin_api",
        "enable_plugin",
    ];
    let all = config.tools.iter().chain(config.deferred.iter()).map(|tool| tool.name.as_str());
    all.filter(|name| MAY_BE_IDLE.contains(name)).collect()
}

#[tokio::test]
async fn t4_a_tool_with_nothing_behind_it_is_in_no_session() {
    let house = House::new();
    let plain = house.settled(&SessionOverrides::default(), None).await;
    assert_eq!(told(&plain), [""; 0]);
    assert!(!plain.system.contains("connected servers"), "{}", plain.system);
    // Opened again as it was, nothing is another word: the vendor's cache holds.
    assert_eq!(
        house.settled(&SessionOverrides::default(), Some(&plain)).await.system,
        plain.system
    );

    house.write(
        "config/weir/config.toml",
        "[helpers]\nflagship = \"anthropic/claude-opus-4-5\"\n[commands.list]\ndescription = \"Lists.\"\nrun = \"ls\"\n\
         [mcp_servers.git]\ncommand = \"git-mcp\"\n",
    );
    let set = house.settled(&SessionOverrides::default(), None).await;
    let expected = ["consult_flagship", "use_mcp_tool", "read_mcp_tool", "execute_command"];
    assert_eq!(told(&set), expected);
    // Nobody approved the server: none of its tools is there, and nobody is told that they are.
    assert!(!set.system.contains("connected servers"), "{}", set.system);
}

#[tokio::test]
async fn t11_a_plugin_that_could_be_switched_on_brings_the_tool_that_proposes_it() {
    let house = House::new();
    house.write("work/.obsidian/app.json", "{}");
    assert_eq!(told(&house.settled(&SessionOverrides::default(), None).await), ["enable_plugin"]);
    let other = House::new();
    other.write(
        "config/weir/plugins/hello/plugin.toml",
        "id = \"hello\"\nname = \"Hello\"\nversion = \"1\"\ndescription = \"Greets.\"\n",
    );
    assert_eq!(told(&other.settled(&SessionOverrides::default(), None).await), ["enable_plugin"]);
}

#[tokio::test]
async fn k13_the_tool_for_pictures_is_there_where_a_model_for_it_is_named() {
    let house = House::new();
    house.write("config/weir/config.toml", "[helpers]\nimage = \"ollama/painter\"\n");
    let named = house.settled(&SessionOverrides::default(), None).await;
    assert_eq!(told(&named), ["generate_image"]);
    let plan = SessionOverrides { profile: Some("plan".into()), ..SessionOverrides::default() };
    assert_eq!(told(&house.settled(&plan, None).await), [""; 0], "it writes a file");
}

#[tokio::test]
async fn k13_a_model_that_cannot_be_asked_for_pictures_is_refused_with_its_place() {
    let house = House::new();
    let key = [("ANTHROPIC_API_KEY", "sk-ant-test-key-000000")];
    for (image, word) in [
        ("anthropic/claude-opus-5", "anthropic makes no pictures"),
        ("openai/gpt-image-2", "weir auth set openai"),
        ("nobody/x", "nobody"),
    ] {
        house.write("config/weir/config.toml", &format!("[helpers]\nimage = \"{image}\"\n"));
        let wishes =
            SessionOverrides { model: Some(house.script()), ..SessionOverrides::default() };
        let refused = session_options(&house.cx(&key), &wishes, None).await.err();
        let refused = refused.map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(refused.contains(word) && refused.contains("helpers.image"), "{refused}");
    }
}
