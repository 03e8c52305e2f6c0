//! The package of a presentation: slides with their pictures, charts and notes, in a bundled theme or
//! in a template.

use weir_core::document::DocumentError;
use weir_core::office::SlideDeck;

use super::fit::SlideBox;
use super::layout::{DeckLayouts, SlideLayout};
use super::look::look_of;
use super::master::{
    GROUP, declare_namespaces, layout_xml, master_xml, notes_master_xml, slide_size,
};
use super::shape::ShapeWriter;
use super::template::DeckTemplate;
use super::words::SlideParagraph;
use super::{PlacedGraphic, PlacedSlide};
use crate::make::GivenFiles;
use crate::make::chart::{chart_workbook, chart_xml};
use crate::make::parts::{
    CONTENT_TYPES, ContentTypes, DocumentProperties, PartRelationships, PictureStore, XML_HEAD,
    add_root, relations_xml,
};
use crate::make::template::{MainPart, finish_template};
use crate::make::text::starts_right_to_left;
use crate::package::ZipPackage;
use crate::unfit_description;
use crate::xml::xml_text;

const KIND: &str = "application/vnd.openxmlformats-officedocument.presentationml";
const THEME_KIND: &str = "application/vnd.openxmlformats-officedocument.theme+xml";
const PRESENTATION: &str = "ppt/presentation.xml";

/// The parts of slides while they are added to a package.
struct SlideParts<'a> {
    package: ZipPackage,
    types: ContentTypes,
    deck: &'a SlideDeck,
    files: &'a GivenFiles<'a>,
    pictures: PictureStore,
    charts: usize,
}

impl SlideParts<'_> {
    /// Adds all slides; the names of their parts. `notes` is the master of notes.
    fn add_slides(
        &mut self,
        slides: &[PlacedSlide<'_>],
        layouts: &DeckLayouts,
        notes: &str,
    ) -> Result<Vec<String>, DocumentError> {
        let mut parts = Vec::new();
        for (at, slide) in slides.iter().enumerate() {
            let layout = layouts.find_layout(slide.kind).ok_or_else(|| {
                unfit_description(format!(
                    "there is no layout “{}”; use another template, or none",
                    slide.kind.shown_name()
                ))
            })?;
            let number = at + 1;
            let part = format!("ppt/slides/slide{number}.xml");
            let mut shapes = ShapeWriter::new();
            shapes.relations.add_relationship("slideLayout", &write_relative_target(&layout.part));
            self.add_shapes(slide, layout, &mut shapes)?;
            if let Some(text) = slide.notes {
                self.add_notes(number, text, notes);
                shapes.relations.add_relationship(
                    "notesSlide",
                    &format!("../notesSlides/notesSlide{number}.xml"),
                );
            }
            let xml = format!(
                "{XML_HEAD}<p:sld {}><p:cSld><p:spTree>{GROUP}{}</p:spTree></p:cSld><p:clrMapOvr>\
                 <a:masterClrMapping/></p:clrMapOvr></p:sld>",
                declare_namespaces(),
                shapes.xml
            );
            self.package.insert(&*part, xml);
            let relations = format!("ppt/slides/_rels/slide{number}.xml.rels");
            self.package.insert(relations, shapes.relations.to_xml());
            self.types.add_override(&part, &format!("{KIND}.slide+xml"));
            parts.push(part);
        }
        self.add_pictures();
        Ok(parts)
    }

    fn add_shapes(
        &mut self,
        slide: &PlacedSlide<'_>,
        layout: &SlideLayout,
        shapes: &mut ShapeWriter,
    ) -> Result<(), DocumentError> {
        let title = [SlideParagraph::from_text(&slide.title)];
        shapes.add_text(&layout.title, &title, slide.title_size);
        for text in &slide.texts {
            if let Some(place) = layout.texts.get(text.place) {
                shapes.add_text(place, &text.paragraphs, text.size);
            }
        }
        match &slide.graphic {
            Some(PlacedGraphic::Table { rows, area, look }) => shapes.add_table(rows, *area, look),
            Some(PlacedGraphic::Picture { picture, area }) => {
                let file = self.files.require_file(&picture.path)?;
                let stored = self.pictures.store_picture(&picture.path, file, "weir-picture")?;
                let area = center_picture(*area, stored.picture.width, stored.picture.height);
                let target = format!("../media/{}", stored.file);
                let relation = shapes.relations.add_relationship("image", &target);
                shapes.add_picture(&relation, picture.alt.as_deref().unwrap_or_default(), area);
            }
            Some(PlacedGraphic::Chart { chart, area }) => {
                self.charts += 1;
                let number = self.charts;
                let book = format!("chart-data{number}.xlsx");
                let part = format!("ppt/charts/weir-chart{number}.xml");
                let mut relations = PartRelationships::default();
                let id = relations.add_relationship("package", &format!("../embeddings/{book}"));
                self.package.insert(format!("ppt/embeddings/{book}"), chart_workbook(chart)?);
                self.package.insert(&*part, chart_xml(chart, &id));
                let relation_part = format!("ppt/charts/_rels/weir-chart{number}.xml.rels");
                self.package.insert(relation_part, relations.to_xml());
                let kind = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml";
                self.types.add_override(&part, kind);
                let target = format!("../charts/weir-chart{number}.xml");
                let relation = shapes.relations.add_relationship("chart", &target);
                shapes.add_chart(&relation, *area);
            }
            None => {}
        }
        if let (Some(place), Some(text)) = (&layout.footer, &self.deck.footer) {
            shapes.add_field(place, Some(text));
        }
        if let (Some(place), false) = (&layout.number, slide.kind == super::SlideKind::Cover) {
            shapes.add_field(place, None);
        }
        Ok(())
    }

    /// Adds the pictures that the slides show.
    fn add_pictures(&mut self) {
        for stored in self.pictures.list_pictures() {
            let bytes = stored.picture.bytes.clone();
            self.package.insert(format!("ppt/media/{}", stored.file), bytes);
        }
    }

    fn add_notes(&mut self, number: usize, text: &str, master: &str) {
        let paragraphs: String = text
            .lines()
            .map(|line| {
                let rtl = if starts_right_to_left(line) { " algn=\"r\" rtl=\"1\"" } else { "" };
                format!("<a:p><a:pPr{rtl}/><a:r><a:rPr/><a:t>{}</a:t></a:r></a:p>", xml_text(line))
            })
            .collect();
        let xml = format!(
            "{XML_HEAD}<p:notes {}><p:cSld><p:spTree>{GROUP}<p:sp><p:nvSpPr><p:cNvPr id=\"2\" \
             name=\"Slide 2\"/><p:cNvSpPr><a:spLocks noGrp=\"1\" noRot=\"1\" \
             noChangeAspect=\"1\"/></p:cNvSpPr><p:nvPr><p:ph type=\"sldImg\"/></p:nvPr>\
             </p:nvSpPr><p:spPr/></p:sp><p:sp><p:nvSpPr><p:cNvPr id=\"3\" name=\"Notes 3\"/>\
             <p:cNvSpPr><a:spLocks noGrp=\"1\"/></p:cNvSpPr><p:nvPr><p:ph type=\"body\" \
             idx=\"1\"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:lstStyle/>{}\
             </p:txBody></p:sp></p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/>\
             </p:clrMapOvr></p:notes>",
            declare_namespaces(),
            if paragraphs.is_empty() { "<a:p/>" } else { &paragraphs }
        );
        let part = format!("ppt/notesSlides/notesSlide{number}.xml");
        let mut relations = PartRelationships::default();
        relations.add_relationship("notesMaster", &write_relative_target(master));
        relations.add_relationship("slide", &format!("../slides/slide{number}.xml"));
        self.types.add_override(&part, &format!("{KIND}.notesSlide+xml"));
        self.package.insert(part, xml);
        let relation_part = format!("ppt/notesSlides/_rels/notesSlide{number}.xml.rels");
        self.package.insert(relation_part, relations.to_xml());
    }

    /// Adds the master of notes, with a theme of its own.
    fn add_notes_master(&mut self, theme: String) {
        self.package.insert(NOTES_MASTER, notes_master_xml());
        let mut relations = PartRelationships::default();
        relations.add_relationship("theme", "../theme/weir-notes-theme.xml");
        self.package.insert("ppt/notesMasters/_rels/weir-notesMaster.xml.rels", relations.to_xml());
        self.package.insert("ppt/theme/weir-notes-theme.xml", theme);
        self.types.add_override(NOTES_MASTER, &format!("{KIND}.notesMaster+xml"));
        self.types.add_override("ppt/theme/weir-notes-theme.xml", THEME_KIND);
    }
}

const NOTES_MASTER: &str = "ppt/notesMasters/weir-notesMaster.xml";

/// A part as a part in a neighbouring folder names it.
fn write_relative_target(part: &str) -> String {
    format!("../{}", part.trim_start_matches("ppt/"))
}

/// A picture in the middle of a place, as large as it can be.
fn center_picture(area: SlideBox, width: u32, height: u32) -> SlideBox {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (fit_width, fit_height) = if area.width * height <= area.height * width {
        (area.width, area.width * height / width)
    } else {
        (area.height * width / height, area.height)
    };
    SlideBox {
        x: area.x + (area.width - fit_width) / 2,
        y: area.y + (area.height - fit_height) / 2,
        width: fit_width.max(1),
        height: fit_height.max(1),
    }
}

/// A package in a bundled theme.
pub(super) fn write_package(
    deck: &SlideDeck,
    slides: &[PlacedSlide<'_>],
    layouts: &DeckLayouts,
    files: &GivenFiles<'_>,
) -> Result<Vec<u8>, DocumentError> {
    let look = look_of(deck.theme.unwrap_or_default());
    let mut parts = new_parts(ZipPackage::default(), deck, files);
    let names = parts.add_slides(slides, layouts, NOTES_MASTER)?;
    parts.add_notes_master(look.theme_xml());
    let SlideParts { mut package, mut types, .. } = parts;

    let mut master_relations = PartRelationships::default();
    let mut ids = Vec::new();
    for (kind, layout) in &layouts.layouts {
        package.insert(&*layout.part, layout_xml(*kind, layout));
        let mut relations = PartRelationships::default();
        relations.add_relationship("slideMaster", "../slideMasters/slideMaster1.xml");
        let name = layout.part.rsplit('/').next().unwrap_or_default();
        package.insert(format!("ppt/slideLayouts/_rels/{name}.rels"), relations.to_xml());
        types.add_override(&layout.part, &format!("{KIND}.slideLayout+xml"));
        ids.push(
            master_relations.add_relationship("slideLayout", &write_relative_target(&layout.part)),
        );
    }
    master_relations.add_relationship("theme", "../theme/theme1.xml");
    package.insert("ppt/slideMasters/slideMaster1.xml", master_xml(look, &ids));
    package.insert("ppt/slideMasters/_rels/slideMaster1.xml.rels", master_relations.to_xml());
    package.insert("ppt/theme/theme1.xml", look.theme_xml());
    types.add_override("ppt/slideMasters/slideMaster1.xml", &format!("{KIND}.slideMaster+xml"));
    types.add_override("ppt/theme/theme1.xml", THEME_KIND);
    types.add_override(PRESENTATION, &format!("{KIND}.presentation.main+xml"));

    let mut relations = PartRelationships::default();
    let master = relations.add_relationship("slideMaster", "slideMasters/slideMaster1.xml");
    let notes = relations.add_relationship("notesMaster", "notesMasters/weir-notesMaster.xml");
    relations.add_relationship("theme", "theme/theme1.xml");
    let list = slide_list(&names, &mut relations);
    package.insert(
        PRESENTATION,
        format!(
            "{XML_HEAD}<p:presentation {} saveSubsetFonts=\"1\"><p:sldMasterIdLst><p:sldMasterId \
             id=\"2147483648\" r:id=\"{master}\"/></p:sldMasterIdLst><p:notesMasterIdLst>\
             <p:notesMasterId r:id=\"{notes}\"/></p:notesMasterIdLst>{list}{}</p:presentation>",
            declare_namespaces(),
            slide_size()
        ),
    );
    package.insert("ppt/_rels/presentation.xml.rels", relations.to_xml());
    add_root(&mut package, &mut types, PRESENTATION, properties_of(deck));
    package.insert(CONTENT_TYPES, types.to_xml());
    package.into_bytes(CONTENT_TYPES)
}

fn properties_of(deck: &SlideDeck) -> DocumentProperties<'_> {
    let title = deck.slides.first().map(|slide| slide.title.as_str());
    DocumentProperties { title, author: deck.author.as_deref() }
}

fn new_parts<'a>(
    package: ZipPackage,
    deck: &'a SlideDeck,
    files: &'a GivenFiles<'a>,
) -> SlideParts<'a> {
    SlideParts {
        package,
        types: ContentTypes::default(),
        deck,
        files,
        pictures: PictureStore::default(),
        charts: 0,
    }
}

fn slide_list(parts: &[String], relations: &mut PartRelationships) -> String {
    let rows: String = parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let id = relations.add_relationship("slide", part.trim_start_matches("ppt/"));
            format!("<p:sldId id=\"{}\" r:id=\"{id}\"/>", 256 + at)
        })
        .collect();
    format!("<p:sldIdLst>{rows}</p:sldIdLst>")
}

/// A template with these slides instead of its own.
pub(super) fn fill_template(
    deck: &SlideDeck,
    slides: &[PlacedSlide<'_>],
    template: DeckTemplate,
    files: &GivenFiles<'_>,
) -> Result<Vec<u8>, DocumentError> {
    let DeckTemplate { package, layouts, theme, notes_master, rows, presentation, .. } = template;
    let mut parts = new_parts(package, deck, files);
    let notes = notes_master.as_deref().unwrap_or(NOTES_MASTER);
    let names = parts.add_slides(slides, &layouts, notes)?;
    let mut relations = PartRelationships::beside_rows(&rows, "rIdW");
    let mut notes_list = String::new();
    if notes_master.is_none() {
        parts.add_notes_master(theme);
        let id = relations.add_relationship("notesMaster", "notesMasters/weir-notesMaster.xml");
        notes_list =
            format!("<p:notesMasterIdLst><p:notesMasterId r:id=\"{id}\"/></p:notesMasterIdLst>");
    }
    let list = slide_list(&names, &mut relations);
    let xml = presentation.replace("{notes}", &notes_list).replace("{slides}", &list);
    let SlideParts { mut package, types, .. } = parts;
    package.insert(PRESENTATION, xml);
    let all = format!("{rows}{}", relations.list_rows());
    package.insert("ppt/_rels/presentation.xml.rels", relations_xml(&all));
    let kind = format!("{KIND}.presentation.main+xml");
    let main = MainPart { part: PRESENTATION, kind: &kind };
    finish_template(package, main, types, properties_of(deck))
}
