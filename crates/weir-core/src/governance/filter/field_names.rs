//! Names of fields that may be shown of an answer whose words stay outside (U6): made of words that data are
//! named with. Whoever answers chooses the names, so any others could be a sentence, one word a name.
//! Pure. Not here: names that somebody declared (`tool::typed`), and what the fields hold.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Longest name of a field that is shown.
const CHARS_MAX: usize = 40;
/// Most words of one.
const WORDS_MAX: usize = 4;

/// The words; a plural is the same word. None of them asks anybody for anything.
static WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| WORD_LIST.split(' ').collect());

/// Whether it is written as the name of a field is: without signs that mean something in a handle.
pub(super) fn is_plain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= CHARS_MAX && name.chars().all(fits)
}

/// Whether each word of it is one that data are named with.
pub(super) fn is_known(name: &str) -> bool {
    let is_word = |word: &String| {
        let plain = word.strip_suffix('s').unwrap_or(word);
        word.len() == 1 || WORDS.contains(word.as_str()) || WORDS.contains(plain)
    };
    let words = words_of(name);
    is_plain(name) && words.len() <= WORDS_MAX && words.iter().all(is_word)
}

/// The words of `createdAt`, `created_at` and `created-at2`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in name.chars() {
        let begins = !before.is_ascii_alphabetic()
            || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
        match words.last_mut() {
            Some(word) if c.is_ascii_alphabetic() && !begins => word.push(c.to_ascii_lowercase()),
            _ if c.is_ascii_alphabetic() => words.push(c.to_ascii_lowercase().to_string()),
            _ => (),
        }
        before = c;
    }
    words
}

const WORD_LIST: &str = "\
    access account action active activity actor address admin age agent album alias alt amount \
    and answer app area array article asset assignee at attachment attendee attribute author \
    available avatar back balance base batch bcc begin bio birthday blob board body bold booking \
    bot branch brand bucket budget build building business by byte calendar call caller campaign \
    capacity caption card cart case category cc cell cents change changed channel chapter chat \
    check child children city class client closed cluster code collection color colour column \
    comment commit commits committer community company completed condition config confirmed \
    contact container content context conversation coordinate cost count country created \
    creation creator credit currency current cursor customer cycle daily data database date day \
    deadline decimal default delivered delivery demand department depth description destination \
    detail device diff digest dimension direct direction directory disabled discount display \
    distance district document domain done draft due duplicate duration edited edition element \
    email emoji employee empty enabled encoding end ended ending endpoint entity entry \
    environment epic error estimate etag event exact example exchange expense expired expires \
    expiry extension external extra fee feed field file filename filter final finished first \
    fixed flag flight floor folder follower font for form format found frequency from full \
    gender given global goal grade graph gross group guest has hash head header headline height \
    hidden history home host hotel hour house html http icon id identifier iid image important \
    in inbox index info initial inline input internal interval invoice is iso issue item job \
    json key keyword kind label labels language last lat latitude layer layout lead leader left \
    length level license like limit line link list lng load loan local locale location locked \
    lon long longitude low mail mailbox main manager map market mask max media member membership \
    mention menu merge merged message meta metadata method middle milestone mime min minute mode \
    model modified month monthly muted name namespace native nested net new next nickname no \
    node none note notification null number object of offset old on online open opened option \
    order org organisation organization origin original other out output over owner package page \
    pagination paid paragraph parameter parent part participant party passenger path payee payer \
    payload payment pending per percent period permalink permission person phone photo picture \
    pinned pixel place plain plan platform point policy position post postal prefix preview \
    previous price primary priority private product profile progress project property provider \
    public published purchase quantity query queue quota quote range rank rate rating ratio raw \
    reaction read reader real reason received recent recipient record recurrence ref reference \
    region registered relation release remaining remote replied reply repo repository required \
    reservation resolution resource response restaurant result retry review reviewer revision \
    right role room root row rss rule run salary sale scale schedule scheduled scheme scope \
    score screen season seat second secondary section seen segment self sender sent sequence \
    serial series server service session set setting severity sha shape shared shift shipping \
    short side sign signature site size slot slug small snippet social sold sort source space \
    spam speaker speed sprint stage star starred start started stat state statement station \
    statistic status step stock stop store story street string style sub subject subscriber \
    subscription subtask subtitle subtotal success successful suffix suite sum summary supplier \
    surname symbol system table tag target task tax team template term text thread threshold \
    thumbnail ticket tier time timeline timeout timestamp timezone title to token top topic \
    total track tracking traffic transaction transfer translation tree trip ts type uid unit \
    university unread updated upload uploaded uri url usage used user username utc uuid valid \
    value variable variant vat vendor venue version video view viewer visibility visible volume \
    vote warning watcher web website week weekday weekly weight width wiki window word work \
    workspace year yearly zip zone zoom";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u06_names_are_known_by_their_words_and_no_sentence_is_made_of_them() {
        for name in ["id", "createdAt", "created_at", "htmlUrl", "labels", "issue-2", "a", "17"] {
            assert!(is_known(name), "{name}");
        }
        for name in
            ["", "ignore", "sendAll", "send", "forward", "x y", "delete_files", "a/b", "eve"]
        {
            assert!(!is_known(name), "{name}");
        }
        assert!(!is_known(&"id_".repeat(5)) && !is_known(&"1".repeat(41)));
    }
}
