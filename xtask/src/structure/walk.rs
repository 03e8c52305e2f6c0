//! What a source declares: functions, types, traits, implementations of traits, each with its place
//! and whether only tests have it. Not here: what any of it means for a figure.

use syn::visit::{self, Visit};
use syn::{FnArg, Ident, ImplItemFn, Item, ItemFn, ItemImpl, Pat, Signature, TraitItemFn, Type};

use super::{DEVELOPMENT, Place, is_product};
use crate::tidy::tree::{Source, is_for_tests, item_attrs};

/// Everything that one source declares.
pub(super) struct Declared {
    pub(super) krate: String,
    /// Compiled into what people run, tests inside of it apart.
    pub(super) product: bool,
    /// Of a crate that only helps to develop.
    pub(super) development: bool,
    pub(super) functions: Vec<Function>,
    pub(super) types: Vec<TypeItem>,
    pub(super) implementations: Vec<Implementation>,
}

/// A function or method with its own name.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) for_tests: bool,
    /// A trait says that it is called so and what it takes.
    pub(super) dictated: bool,
    /// How many of its parameters are tuples.
    pub(super) tuples: usize,
}

/// What kind of type it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeKind {
    Struct,
    Enum,
    Union,
    Trait,
    Alias,
}

impl TypeKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            TypeKind::Struct => "struct",
            TypeKind::Enum => "enum",
            TypeKind::Union => "union",
            TypeKind::Trait => "trait",
            TypeKind::Alias => "type",
        }
    }
}

/// A type that is given a name.
pub(super) struct TypeItem {
    pub(super) name: String,
    pub(super) kind: TypeKind,
    pub(super) place: Place,
    pub(super) for_tests: bool,
}

/// An `impl TRAIT for TYPE`.
pub(super) struct Implementation {
    /// Last part of the trait's path.
    pub(super) of: String,
    pub(super) by: String,
    pub(super) place: Place,
    pub(super) for_tests: bool,
    /// For a pointer, which only hands calls on.
    pub(super) hands_on: bool,
}

/// Walks one source.
pub(super) fn declared(source: &Source) -> Declared {
    let declared = Declared {
        krate: source.krate.clone(),
        product: is_product(source),
        development: DEVELOPMENT.contains(&source.krate.as_str()),
        functions: Vec::new(),
        types: Vec::new(),
        implementations: Vec::new(),
    };
    let mut walk =
        Walk { path: &source.path, for_tests: source.for_tests, dictated: false, declared };
    walk.visit_file(&source.syntax);
    walk.declared
}

struct Walk<'a> {
    path: &'a str,
    for_tests: bool,
    /// Directly inside of an `impl TRAIT for TYPE`.
    dictated: bool,
    declared: Declared,
}

impl Walk<'_> {
    fn place_of(&self, ident: &Ident) -> Place {
        Place { path: self.path.to_owned(), line: ident.span().start().line }
    }

    fn add_function(&mut self, signature: &Signature, dictated: bool) {
        self.declared.functions.push(Function {
            name: plain_name(&signature.ident),
            place: self.place_of(&signature.ident),
            for_tests: self.for_tests,
            dictated,
            tuples: signature.inputs.iter().filter(|input| is_tuple(input)).count(),
        });
    }

    fn add_type(&mut self, ident: &Ident, kind: TypeKind) {
        self.declared.types.push(TypeItem {
            name: plain_name(ident),
            kind,
            place: self.place_of(ident),
            for_tests: self.for_tests,
        });
    }

    fn add_implementation(&mut self, item: &ItemImpl) {
        let Some(last) = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last()) else {
            return;
        };
        let (by, hands_on) = implementor(&item.self_ty);
        self.declared.implementations.push(Implementation {
            of: plain_name(&last.ident),
            by,
            place: self.place_of(&last.ident),
            for_tests: self.for_tests,
            hands_on,
        });
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let outside = self.for_tests;
        self.for_tests |= is_for_tests(item_attrs(item));
        match item {
            Item::Struct(item) => self.add_type(&item.ident, TypeKind::Struct),
            Item::Enum(item) => self.add_type(&item.ident, TypeKind::Enum),
            Item::Union(item) => self.add_type(&item.ident, TypeKind::Union),
            Item::Trait(item) => self.add_type(&item.ident, TypeKind::Trait),
            Item::Type(item) => self.add_type(&item.ident, TypeKind::Alias),
            _ => {}
        }
        visit::visit_item(self, item);
        self.for_tests = outside;
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add_function(&item.sig, false);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.add_implementation(item);
        let outside = std::mem::replace(&mut self.dictated, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.dictated = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        let outside = self.for_tests;
        self.for_tests |= is_for_tests(&item.attrs);
        self.add_function(&item.sig, self.dictated);
        // What stands in its body is its own.
        let dictated = std::mem::replace(&mut self.dictated, false);
        visit::visit_impl_item_fn(self, item);
        self.dictated = dictated;
        self.for_tests = outside;
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.add_function(&item.sig, false);
        visit::visit_trait_item_fn(self, item);
    }
}

fn plain_name(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// Whether a parameter is a tuple, or is taken apart as one, also behind a reference.
fn is_tuple(input: &FnArg) -> bool {
    let FnArg::Typed(typed) = input else { return false };
    matches!(*typed.pat, Pat::Tuple(_)) || is_tuple_type(&typed.ty)
}

fn is_tuple_type(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_tuple_type(&reference.elem),
        Type::Paren(paren) => is_tuple_type(&paren.elem),
        _ => false,
    }
}

/// What a trait is implemented for, and whether that is a pointer.
fn implementor(ty: &Type) -> (String, bool) {
    match ty {
        Type::Path(path) => {
            let last = path.path.segments.last();
            let name = last.map(|last| plain_name(&last.ident)).unwrap_or_default();
            let pointer = matches!(name.as_str(), "Arc" | "Box" | "Rc");
            (name, pointer)
        }
        Type::Reference(reference) => (format!("&{}", implementor(&reference.elem).0), true),
        Type::TraitObject(_) => ("dyn".to_owned(), false),
        Type::Tuple(_) => ("a tuple".to_owned(), false),
        _ => ("another type".to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree;

    fn declared_by(text: &str) -> Declared {
        let tree = tree::of(&[("crates/weir-core/src/x.rs", text)]);
        declared(&tree.sources[0])
    }

    #[test]
    fn functions_know_whether_a_trait_dictates_them() {
        let declared = declared_by(
            "trait T { fn asked(&self); }\n\
             impl T for S { fn asked(&self) { fn inner() {} } }\n\
             impl S { fn own(&self) {} }\n\
             fn free() {}\n\
             #[cfg(test)]\nmod tests { fn helper() {} }",
        );
        let functions: Vec<(&str, bool, bool)> = declared
            .functions
            .iter()
            .map(|function| (function.name.as_str(), function.dictated, function.for_tests))
            .collect();
        assert_eq!(
            functions,
            [
                ("asked", false, false),
                ("asked", true, false),
                ("inner", false, false),
                ("own", false, false),
                ("free", false, false),
                ("helper", false, true),
            ]
        );
    }

    #[test]
    fn tuples_are_seen_in_the_pattern_and_in_the_type() {
        let count = |text: &str| declared_by(text).functions[0].tuples;
        assert_eq!(count("fn f((a, b): (A, B), c: (A, B)) {}"), 2);
        assert_eq!(count("fn f(x: &(A, B)) {}"), 1);
        assert_eq!(count("fn f((a, b): Pair) {}"), 1);
        assert_eq!(count("fn f(x: Vec<(A, B)>, y: (), Path((a, b)): Path<(A, B)>) {}"), 0);
    }

    #[test]
    fn implementations_name_their_trait_and_their_type() {
        let declared = declared_by("impl a::T for S {}\nimpl<X: T> T for std::sync::Arc<X> {}");
        let found: Vec<(&str, &str, bool)> = declared
            .implementations
            .iter()
            .map(|found| (found.of.as_str(), found.by.as_str(), found.hands_on))
            .collect();
        assert_eq!(found, [("T", "S", false), ("T", "Arc", true)]);
    }
}
