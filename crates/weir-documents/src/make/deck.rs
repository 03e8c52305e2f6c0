//! PPTX from a description: what each slide is, how large its text may be, and what goes on to a
//! further slide because it does not fit. Not here: the parts of the package (`package`).

mod fit;
mod layout;
mod look;
mod master;
mod package;
mod shape;
mod table;
mod template;
mod words;

use weir_core::document::DocumentError;
use weir_core::office::{DeckSlide, SlideChart, SlideDeck, SlidePicture};

use self::fit::{MeasuredText, SlideBox, fits_area, fitting_size};
use self::layout::{DeckLayouts, SlideKind, SlideLayout, SlidePlace, bundled_layouts};
use self::shape::TableLook;
use self::table::place_table;
use self::template::DeckTemplate;
use self::words::{SlideParagraph, slide_paragraphs};
use super::chart::check_chart;
use super::{GivenFiles, MadeDocument};
use crate::unfit_description;

/// Most slides of a description, and of what becomes of it.
const SLIDES_MAX: usize = 200;

/// A slide whose content has its place.
pub(super) struct PlacedSlide<'a> {
    kind: SlideKind,
    title: String,
    title_size: Option<u32>,
    texts: Vec<PlacedText>,
    graphic: Option<PlacedGraphic<'a>>,
    notes: Option<&'a str>,
}

struct PlacedText {
    /// Which text of the layout.
    place: usize,
    paragraphs: Vec<SlideParagraph>,
    size: Option<u32>,
}

enum PlacedGraphic<'a> {
    Table { rows: Vec<Vec<String>>, area: SlideBox, look: TableLook },
    Picture { picture: &'a SlidePicture, area: SlideBox },
    Chart { chart: &'a SlideChart, area: SlideBox },
}

/// Writes a presentation.
pub(super) fn make_deck(
    deck: &SlideDeck,
    files: &GivenFiles<'_>,
) -> Result<MadeDocument, DocumentError> {
    if deck.slides.is_empty() {
        return Err(unfit_description("a presentation needs slides; give at least one"));
    }
    let template = match &deck.template {
        Some(name) => Some(DeckTemplate::read_template(name, files.require_file(name)?)?),
        None => None,
    };
    let layouts = match &template {
        Some(template) => template.layouts.clone(),
        None => bundled_layouts(),
    };
    let layouts = &layouts;
    let mut planner = DeckPlanner { layouts, slides: Vec::new(), remarks: Vec::new() };
    for (number, slide) in deck.slides.iter().enumerate() {
        planner.place_slide(number, slide).map_err(|error| in_slide(number, error))?;
        if planner.slides.len() > SLIDES_MAX {
            return Err(unfit_description(format!(
                "it becomes more than {SLIDES_MAX} slides; make several presentations"
            )));
        }
    }
    let DeckPlanner { slides, mut remarks, .. } = planner;
    let outline = outline_slides(&slides);
    let bytes = match template {
        Some(template) => {
            remarks.extend(template.remarks.iter().cloned());
            package::fill_template(deck, &slides, template, files)?
        }
        None => package::write_package(deck, &slides, layouts, files)?,
    };
    Ok(MadeDocument { bytes, outline, remarks })
}

fn in_slide(number: usize, error: DocumentError) -> DocumentError {
    match error {
        DocumentError::Unfit { why } => unfit_description(format!("slide {}: {why}", number + 1)),
        other => other,
    }
}

struct DeckPlanner<'a> {
    layouts: &'a DeckLayouts,
    slides: Vec<PlacedSlide<'a>>,
    remarks: Vec<String>,
}

impl<'a> DeckPlanner<'a> {
    fn place_slide(&mut self, number: usize, slide: &'a DeckSlide) -> Result<(), DocumentError> {
        let graphics = [!slide.table.is_empty(), slide.picture.is_some(), slide.chart.is_some()];
        let graphics = graphics.into_iter().filter(|there| *there).count();
        if graphics > 1 || (graphics == 1 && slide.right.is_some()) {
            return Err(unfit_description(
                "it has room for one of table, picture, chart and right; make two slides",
            ));
        }
        let body = slide.body.as_deref().map(slide_paragraphs).unwrap_or_default();
        let right = slide.right.as_deref().map(slide_paragraphs).unwrap_or_default();
        let is_bare = body.is_empty() && right.is_empty() && graphics == 0;
        let kind = match (slide.section, is_bare) {
            (true, _) => SlideKind::Section,
            (false, true) if number == 0 || slide.subtitle.is_some() => SlideKind::Cover,
            _ if graphics == 1 && body.is_empty() => SlideKind::TitleOnly,
            _ if graphics == 1 || !right.is_empty() => SlideKind::Columns,
            (false, true) => SlideKind::TitleOnly,
            _ => SlideKind::Content,
        };
        let layout = self.find_layout(kind)?;
        let title_size = size_of(&[SlideParagraph::from_text(&slide.title)], &layout.title)
            .ok_or_else(|| unfit_description("its title is too long; say it in fewer words"))?;
        let mut texts: Vec<(usize, Vec<SlideParagraph>)> = Vec::new();
        if matches!(kind, SlideKind::Cover | SlideKind::Section) {
            let mut below: Vec<SlideParagraph> =
                slide.subtitle.iter().map(|text| SlideParagraph::from_text(text)).collect();
            below.extend(body);
            below.extend(right);
            if graphics > 0 {
                return Err(unfit_description(
                    "a section has no table, picture or chart; put it on a slide of its own",
                ));
            }
            texts.push((0, below));
        } else {
            let mut left: Vec<SlideParagraph> =
                slide.subtitle.iter().map(|text| SlideParagraph::from_text(text)).collect();
            left.extend(body);
            texts.push((0, left));
            texts.push((1, right));
        }
        texts.retain(|(_, paragraphs)| !paragraphs.is_empty());
        self.place_content(slide, kind, title_size, texts)
    }

    fn find_layout(&self, kind: SlideKind) -> Result<&'a SlideLayout, DocumentError> {
        self.layouts.find_layout(kind).ok_or_else(|| {
            unfit_description(format!(
                "the template has no layout “{}”; use another, or none",
                kind.shown_name()
            ))
        })
    }

    /// Places texts and graphics; what does not fit goes on to slides of the same title.
    fn place_content(
        &mut self,
        slide: &'a DeckSlide,
        kind: SlideKind,
        title_size: u32,
        texts: Vec<(usize, Vec<SlideParagraph>)>,
    ) -> Result<(), DocumentError> {
        let layout = self.find_layout(kind)?;
        let first = self.slides.len();
        let mut placed = Vec::new();
        let mut further: Vec<(usize, Vec<PlacedText>)> = Vec::new();
        for (place, paragraphs) in texts {
            let Some(target) = layout.texts.get(place) else {
                return Err(unfit_description(
                    "the template's layout has no place for its text; use another template",
                ));
            };
            for (at, (paragraphs, size)) in split_texts(paragraphs, target)?.into_iter().enumerate()
            {
                let size = (size != target.sizes.most).then_some(size);
                let text = PlacedText { place, paragraphs, size };
                match (at.checked_sub(1), &mut further) {
                    (None, _) => placed.push(text),
                    (Some(at), further) => match further.iter_mut().find(|(n, _)| *n == at) {
                        Some((_, texts)) => texts.push(text),
                        None => further.push((at, vec![text])),
                    },
                }
            }
        }
        let (graphic, rest) = self.place_graphic(slide, kind, layout, !placed.is_empty())?;
        let make = |texts, graphic, notes| PlacedSlide {
            kind,
            title: slide.title.clone(),
            title_size: (title_size != layout.title.sizes.most).then_some(title_size),
            texts,
            graphic,
            notes,
        };
        self.slides.push(make(placed, graphic, slide.notes.as_deref()));
        for (_, texts) in further {
            self.slides.push(make(texts, None, None));
        }
        for graphic in rest {
            self.slides.push(PlacedSlide {
                kind: SlideKind::TitleOnly,
                ..make(Vec::new(), Some(graphic), None)
            });
        }
        let count = self.slides.len() - first;
        if count > 1 {
            self.remarks
                .push(format!("“{}” did not fit on one slide and became {count}", slide.title));
        }
        Ok(())
    }

    fn place_graphic(
        &mut self,
        slide: &'a DeckSlide,
        kind: SlideKind,
        layout: &SlideLayout,
        has_text: bool,
    ) -> Result<(Option<PlacedGraphic<'a>>, Vec<PlacedGraphic<'a>>), DocumentError> {
        let area = match (kind, has_text) {
            (SlideKind::Columns, true) => layout.texts.get(1).map_or(layout.room, |t| t.area),
            _ => layout.room,
        };
        if let Some(chart) = &slide.chart {
            check_chart(chart)?;
            return Ok((Some(PlacedGraphic::Chart { chart, area }), Vec::new()));
        }
        if let Some(picture) = &slide.picture {
            return Ok((Some(PlacedGraphic::Picture { picture, area }), Vec::new()));
        }
        if slide.table.is_empty() {
            return Ok((None, Vec::new()));
        }
        let room = self.find_layout(SlideKind::TitleOnly).map_or(layout.room, |layout| layout.room);
        let mut tables = place_table(&slide.table, area, room)?;
        let first = (!tables.is_empty()).then(|| tables.remove(0));
        Ok((first, tables))
    }
}

fn size_of(paragraphs: &[SlideParagraph], place: &SlidePlace) -> Option<u32> {
    let texts: Vec<String> = paragraphs.iter().map(SlideParagraph::collect_text).collect();
    let measured: Vec<MeasuredText<'_>> =
        paragraphs.iter().zip(&texts).map(|(p, text)| p.measure_text(text)).collect();
    fitting_size(&measured, place.area, place.sizes.most, place.sizes.least)
}

/// Paragraphs in as few pieces as fit, each with its size.
fn split_texts(
    paragraphs: Vec<SlideParagraph>,
    place: &SlidePlace,
) -> Result<Vec<(Vec<SlideParagraph>, u32)>, DocumentError> {
    if let Some(size) = size_of(&paragraphs, place) {
        return Ok(vec![(paragraphs, size)]);
    }
    // Not at the least size: slides that can be read well are better than one that is full.
    let comfortable = (place.sizes.most + place.sizes.least) / 2;
    let mut pieces: Vec<Vec<SlideParagraph>> = Vec::new();
    for paragraph in paragraphs {
        for part in split_paragraph(paragraph, place, comfortable) {
            let joined = pieces.last_mut().filter(|piece| {
                let mut together = (*piece).clone();
                together.push(part.clone());
                fits_at(&together, place, comfortable)
            });
            match joined {
                Some(piece) => piece.push(part),
                None => pieces.push(vec![part]),
            }
        }
    }
    let sized = pieces.into_iter().map(|piece| {
        let size = size_of(&piece, place).map_or(place.sizes.least, |size| size.min(comfortable));
        (piece, size)
    });
    Ok(sized.collect())
}

fn fits_at(paragraphs: &[SlideParagraph], place: &SlidePlace, size: u32) -> bool {
    let texts: Vec<String> = paragraphs.iter().map(SlideParagraph::collect_text).collect();
    let measured: Vec<MeasuredText<'_>> =
        paragraphs.iter().zip(&texts).map(|(p, text)| p.measure_text(text)).collect();
    fits_area(&measured, place.area, size)
}

/// A paragraph that alone is too long for a slide, in pieces: after sentences, else after words.
fn split_paragraph(
    paragraph: SlideParagraph,
    place: &SlidePlace,
    size: u32,
) -> Vec<SlideParagraph> {
    if fits_at(std::slice::from_ref(&paragraph), place, size) {
        return vec![paragraph];
    }
    let text = paragraph.collect_text();
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let piece = |length: usize| SlideParagraph {
            runs: SlideParagraph::from_text(&rest[..length]).runs,
            ..paragraph.clone()
        };
        let fit = |length: usize| fits_at(&[piece(length)], place, size);
        let ends: Vec<usize> = rest.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        // How much fits grows with the length: halve until it is found.
        let most = ends.partition_point(|end| fit(*end)).max(1);
        let most = ends.get(most - 1).copied().unwrap_or(rest.len());
        let cut = if most == rest.len() { most } else { cut_place(rest, most) };
        pieces.push(piece(cut));
        rest = rest[cut..].trim_start();
    }
    pieces
}

/// Where to cut before `most`: after a sentence in the second half, else after a word.
fn cut_place(text: &str, most: usize) -> usize {
    let head = &text[..most];
    let sentence = head.rfind(". ").map(|at| at + 1);
    let wide = head.rfind(['。', '！', '？']).map(|at| at + '。'.len_utf8());
    let sentence = sentence.max(wide).filter(|at| *at > most / 2);
    let word = head.rfind(' ').filter(|at| *at > most / 2);
    sentence.or(word).unwrap_or(most)
}

/// What a person sees before the file is written, slide by slide.
fn outline_slides(slides: &[PlacedSlide<'_>]) -> String {
    let mut out = String::new();
    for (number, slide) in slides.iter().enumerate() {
        out.push_str(&format!(
            "## {}. {} ({})\n",
            number + 1,
            slide.title,
            slide.kind.shown_name()
        ));
        for text in &slide.texts {
            for paragraph in &text.paragraphs {
                let indent = "  ".repeat(paragraph.level);
                let sign = if paragraph.bullet.is_some() { "- " } else { "" };
                out.push_str(&format!("{indent}{sign}{}\n", paragraph.collect_text()));
            }
            if let Some(size) = text.size {
                out.push_str(&format!("(text at {size} pt)\n"));
            }
        }
        match &slide.graphic {
            Some(PlacedGraphic::Table { rows, .. }) => {
                out.push_str(&crate::markdown::write_table(rows));
            }
            Some(PlacedGraphic::Picture { picture, .. }) => {
                let alt = picture.alt.as_deref().unwrap_or_default();
                out.push_str(&format!("![{alt}]({})\n", picture.path));
            }
            Some(PlacedGraphic::Chart { chart, .. }) => {
                let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
                out.push_str(&format!("Chart of {}\n", names.join(", ")));
            }
            None => {}
        }
        if let Some(notes) = slide.notes {
            out.push_str(&format!("Notes: {notes}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
