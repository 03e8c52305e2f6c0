//! One public item as lines, each of which is a promise: it can be removed or changed only by breaking
//! it. What may grow without breaking anybody is not counted; what may not is. Not here: which items
//! are public, and under which path (`surface`).

use quote::ToTokens as _;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Fields, FnArg, GenericParam, ImplItem, Item, ItemImpl, ItemTrait, Meta, Signature,
    Token, TraitItem, Visibility,
};

use super::modules::is_public;
use super::text::{given_pieces, short_text};

/// The lines of an item under its public path.
pub(super) fn item_lines(item: &Item, path: &str) -> Vec<String> {
    match item {
        Item::Const(it) => vec![format!("{path} const: {}", short_text(&it.ty))],
        Item::Static(it) => vec![format!("{path} static: {}", short_text(&it.ty))],
        Item::Fn(it) => vec![format!("{path} {}", signature_text(&it.sig))],
        Item::Type(it) => {
            let generics = generics_text(&it.generics);
            vec![format!("{path} type{generics} = {}", short_text(&it.ty))]
        }
        Item::Struct(it) => {
            let kind = format!("struct{}", generics_text(&it.generics));
            struct_lines(&it.fields, is_open(&it.attrs), &[path, &kind])
        }
        Item::Union(it) => {
            let fields = Fields::Named(it.fields.clone());
            struct_lines(&fields, is_open(&it.attrs), &[path, "union"])
        }
        Item::Enum(it) => {
            let kind = format!("enum{}", generics_text(&it.generics));
            let mut lines = vec![match is_open(&it.attrs) {
                true => format!("{path} {kind}, may get more variants"),
                false => format!("{path} {kind}, {} variants", it.variants.len()),
            }];
            lines.extend(it.variants.iter().map(|variant| {
                format!("{path}::{}{}", variant.ident, variant_text(&variant.fields))
            }));
            lines
        }
        Item::Trait(it) => trait_lines(it, path),
        Item::Macro(it) => {
            let macro_name = short_text(&it.mac.path);
            let pieces = given_pieces(&it.mac.tokens);
            pieces.iter().map(|piece| format!("{path} by {macro_name}!: {piece}")).collect()
        }
        _ => Vec::new(),
    }
}

/// Names of the traits that `derive` implements, also where a feature has to be turned on.
pub(super) fn derived_traits(item: &Item) -> Vec<String> {
    let attrs = match item {
        Item::Struct(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        _ => return Vec::new(),
    };
    let mut names = Vec::new();
    for meta in attrs.iter().flat_map(metas_with_features) {
        let Meta::List(list) = &meta else { continue };
        if list.path.is_ident("derive") {
            let _ = list.parse_nested_meta(|meta| {
                names.extend(meta.path.segments.last().map(|last| last.ident.to_string()));
                Ok(())
            });
        }
    }
    names
}

/// An attribute, or those that it stands for where a feature of the crate is turned on. What is there in tests
/// alone is no promise.
fn metas_with_features(attr: &Attribute) -> Vec<Meta> {
    if !attr.path().is_ident("cfg_attr") {
        return vec![attr.meta.clone()];
    }
    let parts = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let mut parts = parts.into_iter().flatten();
    let condition = parts.next().map(|condition| condition.to_token_stream().to_string());
    match condition.is_some_and(|condition| condition.contains("feature")) {
        true => parts.collect(),
        false => Vec::new(),
    }
}

/// The lines of an `impl TYPE` for the public path of the type.
pub(super) fn method_lines(item: &ItemImpl, path: &str) -> Vec<String> {
    let lines = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(it) if is_told(&it.vis, &it.attrs) => {
            Some(format!("{path}::{} {}", it.sig.ident, signature_text(&it.sig)))
        }
        ImplItem::Const(it) if is_told(&it.vis, &it.attrs) => {
            Some(format!("{path}::{} const: {}", it.ident, short_text(&it.ty)))
        }
        _ => None,
    });
    lines.collect()
}

/// Whether an item is hidden from documentation, and so from promises.
pub(super) fn is_hidden(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("doc")
            && attr.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "hidden")
    })
}

fn is_told(visibility: &Visibility, attrs: &[Attribute]) -> bool {
    is_public(visibility) && !is_hidden(attrs) && !crate::tidy::tree::is_for_tests(attrs)
}

fn is_open(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("non_exhaustive"))
}

fn struct_lines(fields: &Fields, open: bool, of: &[&str; 2]) -> Vec<String> {
    let [path, kind] = of;
    let whole = !open && fields.iter().all(|field| is_public(&field.vis));
    // Who can write all fields down must write a new one down, too.
    let mut lines = vec![match whole {
        true => format!("{path} {kind}, {} fields, all public", fields.len()),
        false => format!("{path} {kind}"),
    }];
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis)) {
        let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
        lines.push(format!("{path}::{name}: {}", short_text(&field.ty)));
    }
    lines
}

fn variant_text(fields: &Fields) -> String {
    let named = |field: &syn::Field| {
        let name = field.ident.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        format!("{name}{}", short_text(&field.ty))
    };
    let texts: Vec<String> = fields.iter().map(named).collect();
    match fields {
        Fields::Named(_) => format!(" {{ {} }}", texts.join(", ")),
        Fields::Unnamed(_) => format!("({})", texts.join(", ")),
        Fields::Unit => String::new(),
    }
}

fn trait_lines(item: &ItemTrait, path: &str) -> Vec<String> {
    let required = item.items.iter().filter(|item| match item {
        TraitItem::Fn(it) => it.default.is_none(),
        TraitItem::Const(it) => it.default.is_none(),
        TraitItem::Type(it) => it.default.is_none(),
        _ => false,
    });
    let above = match item.supertraits.is_empty() {
        true => String::new(),
        false => format!(": {}", short_text(&item.supertraits)),
    };
    let generics = generics_text(&item.generics);
    let mut lines = vec![format!("{path} trait{generics}{above}, {} required", required.count())];
    lines.extend(item.items.iter().filter_map(|item| match item {
        TraitItem::Fn(it) => {
            let given = if it.default.is_some() { ", provided" } else { "" };
            Some(format!("{path}::{} {}{given}", it.sig.ident, signature_text(&it.sig)))
        }
        TraitItem::Const(it) => Some(format!("{path}::{} const: {}", it.ident, short_text(&it.ty))),
        TraitItem::Type(it) => Some(format!("{path}::{} type", it.ident)),
        _ => None,
    }));
    lines
}

/// A function without the names of its parameters, which callers do not write.
fn signature_text(signature: &Signature) -> String {
    let taken = signature.inputs.iter().map(|input| match input {
        FnArg::Receiver(it) if it.colon_token.is_some() => format!("self: {}", short_text(&it.ty)),
        FnArg::Receiver(it) => match (&it.reference, it.mutability.is_some()) {
            (Some(_), true) => "&mut self".to_owned(),
            (Some(_), false) => "&self".to_owned(),
            (None, _) => "self".to_owned(),
        },
        FnArg::Typed(it) => short_text(&it.ty),
    });
    let taken: Vec<String> = taken.collect();
    let before = [
        signature.constness.map(|_| "const "),
        signature.asyncness.map(|_| "async "),
        signature.unsafety.map(|_| "unsafe "),
    ];
    let before: String = before.into_iter().flatten().collect();
    let gives = match &signature.output {
        syn::ReturnType::Default => String::new(),
        syn::ReturnType::Type(_, ty) => format!(" -> {}", short_text(&**ty)),
    };
    let generics = generics_text(&signature.generics);
    format!("{before}fn{generics}({}){gives}", taken.join(", "))
}

fn generics_text(generics: &syn::Generics) -> String {
    let params: Vec<String> = generics
        .params
        .iter()
        .map(|param| match param {
            GenericParam::Type(it) => short_text(it),
            GenericParam::Lifetime(it) => short_text(it),
            GenericParam::Const(it) => short_text(it),
        })
        .collect();
    let bounds = generics.where_clause.as_ref().map(|clause| format!(" {}", short_text(clause)));
    match params.is_empty() {
        true => bounds.unwrap_or_default(),
        false => format!("<{}>{}", params.join(", "), bounds.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &str) -> Vec<String> {
        let item: Item = syn::parse_str(text).expect("an item");
        item_lines(&item, "c::X")
    }

    #[test]
    fn who_can_build_a_struct_is_promised_the_number_of_its_fields() {
        let open = lines_of("pub struct X { pub a: u8, b: u8 }");
        assert_eq!(open, ["c::X struct", "c::X::a: u8"]);
        let whole = lines_of("pub struct X<T> { pub a: Option<T> }");
        assert_eq!(whole, ["c::X struct<T>, 1 fields, all public", "c::X::a: Option<T>"]);
        let grows = lines_of("#[non_exhaustive] pub struct X { pub a: u8 }");
        assert_eq!(grows, ["c::X struct", "c::X::a: u8"]);
    }

    #[test]
    fn enums_and_traits_promise_what_must_be_matched_and_written() {
        let lines = lines_of("pub enum X { A, B(u8), C { c: u8 } }");
        assert_eq!(lines, ["c::X enum, 3 variants", "c::X::A", "c::X::B(u8)", "c::X::C { c: u8 }"]);
        let lines = lines_of(
            "pub trait X: Send { fn needs(&self, name: &str) -> bool; fn has(&mut self) {} }",
        );
        assert_eq!(
            lines,
            [
                "c::X trait: Send, 1 required",
                "c::X::needs fn(&self, &str) -> bool",
                "c::X::has fn(&mut self), provided",
            ]
        );
    }

    #[test]
    fn derived_traits_are_told_with_those_of_features_and_without_those_of_tests() {
        let item: syn::Result<Item> = syn::parse_str(
            "#[derive(Clone, fmt::Debug)] #[cfg_attr(any(test, feature = \"f\"), derive(a::Told), \
             told(with = \"String\"))] #[cfg_attr(test, derive(Hidden))] pub struct X;",
        );
        let names = derived_traits(&item.expect("an item"));
        assert_eq!(names, ["Clone", "Debug", "Told"]);
    }
}
