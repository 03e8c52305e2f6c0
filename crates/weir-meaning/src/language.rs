//! Which language a text is in, told by its commonest words: enough to choose a stemmer. A text that
//! tells nothing has none, and its words stay as they are.

use rust_stemmers::Algorithm;

/// Words of a text that are looked at.
const WORDS_LOOKED_AT: usize = 400;
/// Least share of words that must be known ones, in per cent.
const SHARE_MIN: usize = 12;

/// A language with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TextLanguage {
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Turkish,
}

use TextLanguage::{
    Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian, Norwegian,
    Portuguese, Romanian, Russian, Spanish, Swedish, Turkish,
};

/// Languages and words that stand in nearly every text of theirs. What two of them share counts for
/// both, and the rest decides.
const COMMON: &[(TextLanguage, &str)] = &[
    (English, "the of and to in is that for it with as you this are be on not can or your from if"),
    (
        German,
        "der die das und ist nicht ein eine zu mit den von auf für im sich dem sie werden wird",
    ),
    (French, "le la les des est et un une du dans pour que qui vous pas sur ce avec au votre ou"),
    (Spanish, "el la los las de y que en un una es para por con del se no su como al puede o"),
    (Italian, "il lo la gli di e che un una è per con del della nel si non le come puoi o"),
    (Portuguese, "o a os as de e que em um uma é para por com do da não no na se você ou"),
    (Dutch, "de het een en van is dat op te in voor met niet je zijn aan om ook als kunt of"),
    (Swedish, "och att det som en på är av för med till den har inte om ett du kan eller i"),
    (Danish, "og at det som en på er af for med til den har ikke om et du kan eller i"),
    (Norwegian, "og å det som en på er av for med til den har ikke om et du kan eller i"),
    (Finnish, "ja on ei se että voit sen tai kun ovat joka mutta myös kuin jos niin voi ole"),
    (Hungarian, "a az és hogy nem egy is van meg ha de azt mint vagy ezt csak lehet el"),
    (Romanian, "și de la în o un care nu este pe cu din să pentru sau se mai puteți că"),
    (Turkish, "ve bir bu için ile da de olarak daha çok veya gibi olan her ne var sonra kadar"),
    (Russian, "и в не на что с по для это как вы из к или от но можно если его у а"),
    (Greek, "και το να του η της με που για από την στο είναι οι τα θα δεν ή σε ένα"),
];

impl TextLanguage {
    pub(crate) fn stemmer_algorithm(self) -> Algorithm {
        match self {
            Danish => Algorithm::Danish,
            Dutch => Algorithm::Dutch,
            English => Algorithm::English,
            Finnish => Algorithm::Finnish,
            French => Algorithm::French,
            German => Algorithm::German,
            Greek => Algorithm::Greek,
            Hungarian => Algorithm::Hungarian,
            Italian => Algorithm::Italian,
            Norwegian => Algorithm::Norwegian,
            Portuguese => Algorithm::Portuguese,
            Romanian => Algorithm::Romanian,
            Russian => Algorithm::Russian,
            Spanish => Algorithm::Spanish,
            Swedish => Algorithm::Swedish,
            Turkish => Algorithm::Turkish,
        }
    }

    /// A number that stays the same for kept indexes.
    pub(crate) fn to_number(self) -> u8 {
        COMMON.iter().position(|(language, _)| *language == self).map_or(u8::MAX, |at| at as u8)
    }

    pub(crate) fn from_number(number: u8) -> Option<TextLanguage> {
        COMMON.get(usize::from(number)).map(|(language, _)| *language)
    }

    /// Its commonest words.
    pub(crate) fn common_words(self) -> impl Iterator<Item = &'static str> {
        let words = COMMON.iter().find(|(language, _)| *language == self).map_or("", |(_, w)| w);
        words.split(' ')
    }
}

/// The language of `text`; `None`: nobody can tell.
pub(crate) fn detect_language(text: &str) -> Option<TextLanguage> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .take(WORDS_LOOKED_AT)
        .map(str::to_lowercase)
        .collect();
    let count = |known: &str| {
        let known: std::collections::HashSet<&str> = known.split(' ').collect();
        words.iter().filter(|word| known.contains(word.as_str())).count()
    };
    let counted = COMMON.iter().map(|(language, known)| (count(known), *language));
    // Of two alike the first of the list.
    let (best, language) = counted.rev().max_by_key(|(count, _)| *count)?;
    (best * 100 >= words.len() * SHARE_MIN && best >= 2).then_some(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_common_words_tell_the_language() {
        for (text, language) in [
            ("You can open the command palette from the ribbon.", Some(English)),
            ("Die Notizen werden in einem Ordner auf dem Rechner abgelegt.", Some(German)),
            ("Vous pouvez ouvrir la palette de commandes dans le ruban.", Some(French)),
            ("Вы можете открыть палитру команд с помощью и для этого", Some(Russian)),
            ("ノートを検索する", None),
            ("fn main() { println!(); }", None),
            ("", None),
        ] {
            assert_eq!(detect_language(text), language, "{text}");
        }
    }

    #[test]
    fn k6_a_kept_language_is_the_same_one() {
        for (language, _) in COMMON {
            assert_eq!(TextLanguage::from_number(language.to_number()), Some(*language));
        }
        assert_eq!(TextLanguage::from_number(200), None);
    }
}
