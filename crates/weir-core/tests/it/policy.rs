//! The policy as a table, compared with the one that people reviewed.

use std::path::Path;

use weir_core::governance::policy::policy_table;

#[test]
fn g3_the_policy_table_is_the_reviewed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/policy.txt");
    let table = policy_table();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &table).expect("docs/generated can be written");
    }
    let reviewed = std::fs::read_to_string(&path).expect("docs/generated/policy.txt exists");
    assert!(
        reviewed == table,
        "docs/generated/policy.txt is not what the gates say today; run this test with UPDATE=1 \
         and review the difference"
    );
}
