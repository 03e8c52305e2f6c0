//! What packages of all three formats share: content types, relationships, properties, pictures.

use std::fmt::Write as _;

use weir_core::document::DocumentError;

use crate::package::ZipPackage;
use crate::unfit_description;
use crate::xml::xml_text;

/// Longest side of a picture in a document, in pixels, and its most bytes.
const PICTURE_SIDE_MAX: u32 = 3_000;
const PICTURE_BYTES_MAX: u64 = 8 << 20;
pub(super) const XML_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
pub(super) const RELATION: &str =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
pub(super) const CONTENT_TYPES: &str = "[Content_Types].xml";

/// Relationships of one part, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct PartRelationships {
    xml: String,
    count: usize,
    prefix: String,
}

impl PartRelationships {
    /// Whose ids are none of `rows`, which stand in the same part. `prefix` tells those of several
    /// writers apart.
    pub(super) fn beside_rows(rows: &str, prefix: &str) -> PartRelationships {
        let mut prefix = prefix.to_owned();
        while rows.contains(&format!("Id=\"{prefix}")) {
            prefix.push('x');
        }
        PartRelationships { prefix, ..PartRelationships::default() }
    }

    /// Adds a relationship to a part; its id.
    pub(super) fn add_relationship(&mut self, kind: &str, target: &str) -> String {
        self.add_row(kind, target, "")
    }

    /// Adds a link to what is outside.
    pub(super) fn add_link(&mut self, address: &str) -> String {
        self.add_row("hyperlink", address, " TargetMode=\"External\"")
    }

    fn add_row(&mut self, kind: &str, target: &str, mode: &str) -> String {
        self.count += 1;
        let prefix = if self.prefix.is_empty() { "rId" } else { &self.prefix };
        let id = format!("{prefix}{}", self.count);
        let kind =
            if kind.contains("://") { kind.to_owned() } else { format!("{RELATION}/{kind}") };
        let _ = write!(
            self.xml,
            "<Relationship Id=\"{id}\" Type=\"{kind}\" Target=\"{}\"{mode}/>",
            xml_text(target)
        );
        id
    }

    /// The rows alone.
    pub(super) fn list_rows(&self) -> &str {
        &self.xml
    }

    /// The whole part.
    pub(super) fn to_xml(&self) -> String {
        relations_xml(&self.xml)
    }
}

/// A part of relationships with these rows.
pub(super) fn relations_xml(rows: &str) -> String {
    let space = "http://schemas.openxmlformats.org/package/2006/relationships";
    format!("{XML_HEAD}<Relationships xmlns=\"{space}\">{rows}</Relationships>")
}

/// Content types of the parts of a package, each part once.
#[derive(Debug, Default)]
pub(super) struct ContentTypes {
    overrides: Vec<(String, String)>,
}

impl ContentTypes {
    /// Says the type of a part; what was said of it before holds no longer.
    pub(super) fn add_override(&mut self, part: &str, kind: &str) {
        self.overrides.retain(|(known, _)| !known.eq_ignore_ascii_case(part));
        self.overrides.push((part.to_owned(), kind.to_owned()));
    }

    /// Parts and their types.
    pub(super) fn list_overrides(&self) -> impl Iterator<Item = (&str, &str)> {
        self.overrides.iter().map(|(part, kind)| (part.as_str(), kind.as_str()))
    }

    pub(super) fn to_xml(&self) -> String {
        types_xml(default_types(), self.list_overrides())
    }
}

/// The part of content types: `defaults` are rows by the endings of names.
pub(super) fn types_xml<'a>(
    defaults: String,
    overrides: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let space = "http://schemas.openxmlformats.org/package/2006/content-types";
    let mut rows = defaults;
    for (part, kind) in overrides {
        let _ = write!(
            rows,
            "<Override PartName=\"/{}\" ContentType=\"{}\"/>",
            xml_text(part),
            xml_text(kind)
        );
    }
    format!("{XML_HEAD}<Types xmlns=\"{space}\">{rows}</Types>")
}

/// What the endings of names say.
pub(super) fn default_types() -> String {
    let rows = [
        ("rels", "application/vnd.openxmlformats-package.relationships+xml"),
        ("xml", "application/xml"),
        ("png", "image/png"),
        ("jpeg", "image/jpeg"),
        ("gif", "image/gif"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ];
    rows.map(|(ending, kind)| format!("<Default Extension=\"{ending}\" ContentType=\"{kind}\"/>"))
        .concat()
}

/// Title and author as properties of a package. No day: the same description makes the same bytes.
fn properties_xml(title: Option<&str>, author: Option<&str>) -> String {
    let title = title.map(|t| format!("<dc:title>{}</dc:title>", xml_text(t))).unwrap_or_default();
    let author =
        author.map(|a| format!("<dc:creator>{}</dc:creator>", xml_text(a))).unwrap_or_default();
    format!(
        "{XML_HEAD}<cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/\
         metadata/core-properties\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">{title}{author}\
         </cp:coreProperties>"
    )
}

/// The part of properties and its type.
const PROPERTIES: &str = "docProps/core.xml";
const PROPERTIES_KIND: &str = "application/vnd.openxmlformats-package.core-properties+xml";
const PROPERTIES_RELATION: &str =
    "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties";

/// What a document says of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentProperties<'a> {
    pub(super) title: Option<&'a str>,
    pub(super) author: Option<&'a str>,
}

/// Adds what leads into the package: the relationships to its main part and its properties.
pub(super) fn add_root(
    package: &mut ZipPackage,
    types: &mut ContentTypes,
    main: &str,
    properties: DocumentProperties<'_>,
) {
    let mut root = PartRelationships::default();
    root.add_relationship("officeDocument", main);
    root.add_relationship(PROPERTIES_RELATION, PROPERTIES);
    package.insert("_rels/.rels", root.to_xml());
    package.insert(PROPERTIES, properties_xml(properties.title, properties.author));
    types.add_override(PROPERTIES, PROPERTIES_KIND);
}

/// The pictures of a package: each path and each content once.
#[derive(Default)]
pub(super) struct PictureStore {
    /// Which picture a path is.
    paths: Vec<(String, usize)>,
    pictures: Vec<StoredPicture>,
}

/// A picture with the name of its file in the package.
pub(super) struct StoredPicture {
    pub(super) file: String,
    pub(super) picture: PackagePicture,
}

impl PictureStore {
    /// Looks at the picture of `path` and stores it, unless it is there already. `prefix` begins the
    /// name of its file.
    pub(super) fn store_picture(
        &mut self,
        path: &str,
        bytes: &[u8],
        prefix: &str,
    ) -> Result<&StoredPicture, DocumentError> {
        let known = self.paths.iter().find(|(known, _)| known == path).map(|(_, at)| *at);
        let at = match known {
            Some(at) => at,
            None => {
                let picture = prepare_picture(path, bytes)?;
                let same = self.pictures.iter().position(|known| known.picture == picture);
                let at = same.unwrap_or(self.pictures.len());
                if same.is_none() {
                    let file = format!("{prefix}{}.{}", at + 1, picture.ending);
                    self.pictures.push(StoredPicture { file, picture });
                }
                self.paths.push((path.to_owned(), at));
                at
            }
        };
        self.pictures
            .get(at)
            .ok_or_else(|| unfit_description(format!("the picture {path} is gone")))
    }

    /// All pictures.
    pub(super) fn list_pictures(&self) -> impl Iterator<Item = &StoredPicture> {
        self.pictures.iter()
    }
}

/// A picture that goes into a package.
#[derive(PartialEq, Eq)]
pub(super) struct PackagePicture {
    pub(super) bytes: Vec<u8>,
    /// Ending of its name.
    pub(super) ending: &'static str,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Looks at a picture; what readers of these documents do not know becomes PNG.
fn prepare_picture(name: &str, bytes: &[u8]) -> Result<PackagePicture, DocumentError> {
    let made = crate::image::prepare_picture(bytes, PICTURE_SIDE_MAX, PICTURE_BYTES_MAX)
        .map_err(|error| unfit_description(format!("the picture {name}: {error}")))?;
    let ending = match made.media_type.as_str() {
        "image/jpeg" => "jpeg",
        "image/gif" => "gif",
        _ => "png",
    };
    Ok(PackagePicture { bytes: made.bytes, ending, width: made.width, height: made.height })
}
