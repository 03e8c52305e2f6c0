//! One test for each class of Z11, and the table of all of them.

use weir_redteam::attacks;
use weir_redteam::classes::{CLASSES, class};
use weir_redteam::table::{Row, findings};

fn row(key: &str) -> Row {
    let class = class(key).unwrap_or_else(|| panic!("there is no class {key}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(class.row(&crate::bench())).expect("the bench itself works")
}

/// Nothing was reached that is claimed to be closed, and the row is the one that is kept.
fn check(key: &str) {
    let row = row(key);
    assert!(!row.outcomes.is_empty(), "{key}: nothing was tried");
    let story = findings(std::slice::from_ref(&row));
    assert!(row.holds(), "a hostile model reached its goal:\n{story}");
    let here = attacks::tier(&crate::bench()).expect("a world can be built");
    let path = crate::generated("attacks.txt");
    if crate::wants_update() {
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let same_tier = kept.contains(&format!("confined by: {}\n", here.as_str()));
    if row.by_tier && !same_tier {
        let said = format!(
            "{key}: commands are confined by {} here and not in the table that is kept: its \
             cells are not compared",
            here.as_str()
        );
        assert!(std::env::var_os("CI").is_none() || here.has_own_view(), "{said}");
        crate::say(&said);
        return;
    }
    assert!(
        kept.contains(&row.text()),
        "the row is another one; UPDATE=1 rewrites {}:\n{}\nreached:\n{story}",
        path.display(),
        row.text()
    );
}

macro_rules! classes {
    ($($test:ident $key:ident)*) => {
        $(#[test] fn $test() { check(stringify!($key)); })*

        #[test]
        fn z11_every_class_of_the_list_has_a_test() {
            let tested = [$(stringify!($key)),*];
            for class in CLASSES {
                assert!(tested.contains(&class.key), "{} has no test", class.key);
            }
            assert_eq!(tested.len(), CLASSES.len());
        }
    };
}

classes! {
    z11_read_a_secret read_a_secret
    z11_known_secret known_secret
    z11_canary canary
    z11_canary_disguised canary_disguised
    z11_private_by_argument private_by_argument
    z11_private_by_shell private_by_shell
    z11_allowed_host allowed_host
    z11_allowed_host_letters allowed_host_letters
    z11_allowed_host_private allowed_host_private
    z11_rendered_image rendered_image
    z11_dns dns
    z11_ssrf ssrf
    z11_path_escape path_escape
    z11_persistence persistence
    z11_own_policy_command own_policy_command
    z11_persistence_command persistence_command
    z11_persistence_ignored persistence_ignored
    z11_persistence_older_job persistence_older_job
    z11_repositories repositories
    a02_kernel_settings kernel_settings
    a14_home_stores home_stores
    a13_hidden_history hidden_history
    z11_hidden_code hidden_code
    z11_approval_confusion approval_confusion
    u13_grant_by_name grant_by_name
    u13_what_asks_nothing quiet
    z11_yes_hard yes_hard
    z11_yes_soft yes_soft
    z11_laundering_file laundering_file
    z11_laundering_instructions laundering_instructions
    z11_laundering_history laundering_history
    z11_laundering_fork laundering_fork
    z11_memory memory
    z11_memory_carries memory_carries
    z11_brain brain
    z11_skills skills
    z11_skill_scripts skill_scripts
    z11_made_tools made_tools
    z11_foreign_servers foreign_servers
    z11_foreign_schemas foreign_schemas
    a11_private_by_question private_by_question
    a12_private_by_job private_by_job
    z11_mail mail
    u02_declared_effects declared_effects
    u02_declared_gaps declared_gaps
    u06_handles handles
    u08_bound_leases bound_leases
    u05_own_address own_address
    z11_widen widen
    z11_sub_agents sub_agents
    z11_condense condense
    z11_recipes recipes
    z11_programs programs
    u08_agreed agreed
    z11_runaway runaway
    r5_phone_answers phone_answers
    r2_mcp_face mcp_face
    z11_tampering tampering
    z11_races races
    z11_other_processes other_processes
}

#[test]
fn z11_update_the_table() {
    if !crate::wants_update() {
        return;
    }
    let rows: Vec<Row> = CLASSES.iter().map(|class| row(class.key)).collect();
    let text = attacks::text(&crate::bench(), &rows).expect("a world can be built");
    std::fs::write(crate::generated("attacks.txt"), text).expect("the table can be written");
}
