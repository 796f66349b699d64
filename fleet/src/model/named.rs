//! Enums whose values have names, as configurations and command lines give them.

macro_rules! named {
    (
        $what:literal
        $(#[$of_error:meta])* pub struct $unknown:ident;
        $(#[$of_enum:meta])*
        pub enum $name:ident { $($(#[$of_value:meta])* $value:ident = $text:literal,)+ }
    ) => {
        $(#[$of_enum])*
        pub enum $name { $($(#[$of_value])* $value,)+ }

        impl $name {
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $(Self::$value => $text,)+ })
            }
        }

        $(#[$of_error])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error(
            "{0:?} is not {what}; use one of {names}",
            what = $what,
            names = [$($text),+].join(", ")
        )]
        pub struct $unknown(String);

        impl std::str::FromStr for $name {
            type Err = $unknown;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut all = Self::ALL.into_iter();
                all.find(|known| known.to_string() == text).ok_or_else(|| $unknown(text.to_owned()))
            }
        }
    };
}

pub(crate) use named;
