//! The profile for small windows (R6): how small it is, and that it is chosen where nobody chose one.

use weir_core::tool::built_in::{ToolTrait, names_with};

use super::*;

/// Most bytes of the system prompt and the schemas of the tools together.
const BYTES_MAX: usize = 6_000;

fn model(house: &House, window: u64) -> SessionOverrides {
    house.write("small.script", &format!("window: {window}\n\nsays: hello\n"));
    let script = format!("script:{}", house.folder.path().join("small.script").display());
    SessionOverrides { model: Some(script), ..SessionOverrides::default() }
}

async fn settled(house: &House, wishes: &SessionOverrides) -> SessionConfig {
    let cx = house.cx(&[]);
    session_options(&cx, wishes, None).await.expect("it can be settled").config
}

#[tokio::test]
async fn r6_the_smallest_prompt_with_its_tools_has_at_most_six_thousand_bytes() {
    let house = House::new();
    // A vault has the most tools to name.
    house.write("work/.obsidian/app.json", "{}");
    let wishes = SessionOverrides { profile: Some("compact".into()), ..model(&house, 8_000) };
    let config = settled(&house, &wishes).await;
    let bytes = config.system.len() + prompt::tool_bytes(&config.tools);
    assert!(bytes <= BYTES_MAX, "{bytes} bytes: {}", config.system);
    let few: Vec<&str> = names_with(ToolTrait::InCompact).collect();
    let mut loaded = names(&config);
    loaded.sort_unstable();
    let mut expected = few.clone();
    expected.sort_unstable();
    assert_eq!(loaded, expected);
    // Nothing is lost: whatever the profile `agent` has can be found.
    let whole = SessionOverrides { profile: Some("agent".into()), ..model(&house, 200_000) };
    let whole = settled(&house, &whole).await;
    let all = |config: &SessionConfig| -> BTreeSet<String> {
        config.all_tools().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(all(&config), all(&whole));
}

/// `(window, flag, setting, the profile)`
#[tokio::test]
async fn r6_a_small_window_has_the_small_profile_where_nobody_chose_one() {
    for (window, flag, setting, expected) in [
        (8_000, None, "", "compact"),
        (32_767, None, "", "compact"),
        (32_768, None, "", "agent"),
        (200_000, None, "", "agent"),
        (8_000, Some("agent"), "", "agent"),
        (8_000, None, "profile = \"ask\"\n", "ask"),
    ] {
        let house = House::new();
        house.write("config/weir/config.toml", setting);
        let wishes = SessionOverrides { profile: flag.map(str::to_owned), ..model(&house, window) };
        let config = settled(&house, &wishes).await;
        assert_eq!(config.profile.name, expected, "{window} {flag:?} {setting}");
        // It stays with the session, whatever the settings say later.
        let cx = house.cx(&[]);
        let again = session_options(&cx, &model(&house, window), Some(&config)).await;
        assert_eq!(again.expect("settled").config.profile.name, expected);
    }
}
