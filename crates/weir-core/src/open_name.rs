//! Names that code branches on and that journals hold as text: an enum whose variants and words stand
//! in one table. A word that this version does not know stays as the journal has it.
//!
//! Not here: closed sets of words, which plain enums with serde are.

/// Makes the enum, its words, and serde and schema as the text that journals have always held.
macro_rules! open_names {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A word of another version, as a journal has it.
            Other(String),
        }

        impl $name {
            /// The word in journals and before people.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)*
                    $name::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)*
                    other => $name::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let known = |word: &str| Ok::<$name, std::convert::Infallible>($name::from(word));
                crate::read_text::read_text(deserializer, known)
            }
        }

        #[cfg(any(test, feature = "schema"))]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <String as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}

pub(crate) use open_names;

#[cfg(test)]
mod tests {
    use crate::governance::GateName;

    #[test]
    fn a_word_is_read_and_written_as_it_is_whether_it_is_known_or_not() {
        for (word, name) in [
            ("canary", GateName::Canary),
            ("rules", GateName::Rules),
            ("a gate of tomorrow", GateName::Other("a gate of tomorrow".into())),
            ("", GateName::Other(String::new())),
        ] {
            let text = serde_json::to_string(word).expect("a text");
            let read: GateName = serde_json::from_str(&text).expect("a name");
            assert_eq!(read, name);
            assert_eq!(serde_json::to_string(&read).expect("a text"), text);
        }
    }
}
