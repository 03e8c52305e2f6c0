//! What a name is made of: one word or more, a bare participle or not. Not here: where names stand.

/// Names that std, or everybody's habit, dictates: nobody would find a better one.
const CONVENTIONAL: &[&str] = &[
    "as_mut", "as_ref", "borrow", "clear", "clone", "cmp", "contains", "default", "deref", "drop",
    "eq", "extend", "fmt", "from", "get", "hash", "index", "insert", "into", "is_empty", "iter",
    "len", "main", "new", "next", "pop", "push", "remove", "run",
];

/// Participles that do not end in -ed. A form that is also what one orders (`read`, `set`, `put`,
/// `cut`, `split`) or a thing (`bound`, `thought`) is none here.
const IRREGULAR: &[&str] = &[
    "been",
    "begun",
    "bent",
    "bitten",
    "blown",
    "born",
    "borne",
    "bought",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "dealt",
    "done",
    "drawn",
    "driven",
    "eaten",
    "fallen",
    "forbidden",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "gone",
    "gotten",
    "grown",
    "heard",
    "held",
    "hidden",
    "hung",
    "kept",
    "known",
    "laid",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "mistaken",
    "overridden",
    "overwritten",
    "paid",
    "proven",
    "rebuilt",
    "redone",
    "resent",
    "rewritten",
    "ridden",
    "risen",
    "said",
    "seen",
    "sent",
    "shaken",
    "shown",
    "shrunk",
    "slept",
    "sold",
    "sought",
    "spent",
    "spoken",
    "spun",
    "stolen",
    "stood",
    "struck",
    "stuck",
    "sung",
    "sunk",
    "sworn",
    "taken",
    "taught",
    "thrown",
    "told",
    "torn",
    "understood",
    "undone",
    "unknown",
    "unmade",
    "unseen",
    "untold",
    "unwritten",
    "withdrawn",
    "withheld",
    "woken",
    "won",
    "worn",
    "woven",
    "written",
];

/// Words in -ed that are no participles; those in -eed are none but `freed` and `agreed`.
const NO_PARTICIPLES: &[&str] = &["bed", "embed", "red", "shed", "sled", "wed", "hundred", "shred"];

/// Whether the name of a function is one word: nothing but `_` at its ends parts it.
pub(super) fn is_one_word(name: &str) -> bool {
    !name.trim_matches('_').contains('_')
}

/// Whether the name of a type is one word: one hump. `SQL` is one, `SqlStore` and `OAuth` are two.
pub(super) fn is_one_hump(name: &str) -> bool {
    let letters: Vec<char> = name.chars().filter(|c| *c != '_').collect();
    let begins_hump = |at: usize| {
        let after_capital = at > 0 && letters[at - 1].is_uppercase();
        let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        letters[at].is_uppercase() && (!after_capital || before_small)
    };
    (1..letters.len()).all(|at| !begins_hump(at))
}

/// Whether a name is nothing but a participle.
pub(super) fn is_participle(name: &str) -> bool {
    let word = name.trim_matches('_').to_lowercase();
    if IRREGULAR.contains(&word.as_str()) || matches!(word.as_str(), "freed" | "agreed") {
        return true;
    }
    let is_word = word.chars().all(char::is_alphabetic);
    is_word
        && word.len() > 3
        && word.ends_with("ed")
        && !word.ends_with("eed")
        && !NO_PARTICIPLES.contains(&word.as_str())
}

/// Whether a function's name is one that everybody uses for the same thing.
pub(super) fn is_conventional(name: &str) -> bool {
    CONVENTIONAL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_functions_are_parted_by_underscores() {
        assert!(is_one_word("told"));
        assert!(is_one_word("_told"));
        assert!(is_one_word("sha256"));
        assert!(!is_one_word("describe_fact"));
    }

    #[test]
    fn words_of_types_are_humps() {
        for name in ["Kept", "SQL", "V4", "Id", "A"] {
            assert!(is_one_hump(name), "{name}");
        }
        for name in ["KeptNote", "SqlStore", "SQLStore", "OAuth", "ATool"] {
            assert!(!is_one_hump(name), "{name}");
        }
    }

    #[test]
    fn participles_stand_alone() {
        for name in ["told", "Kept", "named", "Unmade", "written", "freed", "nested", "used"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["read", "feed", "Seed", "need", "red", "bed", "set", "name", "describe_told"] {
            assert!(!is_participle(name), "{name}");
        }
    }

    #[test]
    fn the_lists_are_sorted_and_say_nothing_twice() {
        for list in [CONVENTIONAL, IRREGULAR] {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "{list:?}");
        }
    }
}
