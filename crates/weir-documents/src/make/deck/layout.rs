//! Layouts as a slide uses them: which placeholders there are, where, and how large their text is.
//! Those of the bundled themes are written by `master`, those of a template are read by `template`.

use super::fit::SlideBox;
use super::look::{
    BODY, BODY_SIZES, COVER_SIZES, COVER_SUBTITLE, COVER_TITLE, FOOTER, LEFT, NUMBER, PointSizes,
    RIGHT, SECTION_SIZES, SECTION_TEXT, SECTION_TITLE, SMALL_SIZES, SUBTITLE_SIZES, TITLE,
    TITLE_SIZES,
};
use crate::xml::xml_text;

/// What a slide is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlideKind {
    Cover,
    Section,
    Content,
    Columns,
    TitleOnly,
}

impl SlideKind {
    pub(super) const ALL: [SlideKind; 5] = [
        SlideKind::Cover,
        SlideKind::Content,
        SlideKind::Columns,
        SlideKind::Section,
        SlideKind::TitleOnly,
    ];

    /// As the format calls such a layout.
    pub(super) fn format_name(self) -> &'static str {
        match self {
            SlideKind::Cover => "title",
            SlideKind::Section => "secHead",
            SlideKind::Content => "obj",
            SlideKind::Columns => "twoObj",
            SlideKind::TitleOnly => "titleOnly",
        }
    }

    /// As a person calls it.
    pub(super) fn shown_name(self) -> &'static str {
        match self {
            SlideKind::Cover => "Title slide",
            SlideKind::Section => "Section",
            SlideKind::Content => "Title and text",
            SlideKind::Columns => "Two columns",
            SlideKind::TitleOnly => "Title only",
        }
    }
}

/// A placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlidePlace {
    /// As the format calls it; empty for text.
    pub(super) kind: String,
    pub(super) index: Option<String>,
    pub(super) area: SlideBox,
    /// How large its text may be.
    pub(super) sizes: PointSizes,
    /// Where the slide says itself where it stands: the layout does not.
    pub(super) own_frame: Option<SlideBox>,
}

impl SlidePlace {
    pub(super) fn new(kind: &str, index: Option<&str>, area: SlideBox, sizes: PointSizes) -> Self {
        let index = index.map(str::to_owned);
        SlidePlace { kind: kind.to_owned(), index, area, sizes, own_frame: None }
    }

    pub(super) fn reference_xml(&self) -> String {
        let kind = match self.kind.as_str() {
            "" => String::new(),
            kind => format!(" type=\"{}\"", xml_text(kind)),
        };
        let index = match &self.index {
            Some(index) => format!(" idx=\"{}\"", xml_text(index)),
            None => String::new(),
        };
        format!("<p:ph{kind}{index}/>")
    }

    pub(super) fn shown_name(&self) -> &'static str {
        match self.kind.as_str() {
            "title" | "ctrTitle" => "Title",
            "subTitle" => "Subtitle",
            "ftr" => "Footer",
            "sldNum" => "Number",
            _ => "Text",
        }
    }
}

/// A layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlideLayout {
    pub(super) part: String,
    pub(super) title: SlidePlace,
    pub(super) texts: Vec<SlidePlace>,
    /// Where graphics go that have no placeholder.
    pub(super) room: SlideBox,
    pub(super) footer: Option<SlidePlace>,
    pub(super) number: Option<SlidePlace>,
}

/// The layouts of a deck by what a slide is.
#[derive(Debug, Clone)]
pub(super) struct DeckLayouts {
    pub(super) layouts: Vec<(SlideKind, SlideLayout)>,
}

impl DeckLayouts {
    pub(super) fn find_layout(&self, kind: SlideKind) -> Option<&SlideLayout> {
        self.layouts.iter().find(|(known, _)| *known == kind).map(|(_, layout)| layout)
    }
}

/// The layouts of the bundled themes.
pub(super) fn bundled_layouts() -> DeckLayouts {
    let layouts = SlideKind::ALL.iter().enumerate().map(|(at, kind)| {
        let title = |area, sizes| SlidePlace::new("title", None, area, sizes);
        let text = |index, area| SlidePlace::new("", Some(index), area, BODY_SIZES);
        let (title, texts) = match kind {
            SlideKind::Cover => (
                SlidePlace::new("ctrTitle", None, COVER_TITLE, COVER_SIZES),
                vec![SlidePlace::new("subTitle", Some("1"), COVER_SUBTITLE, SUBTITLE_SIZES)],
            ),
            SlideKind::Section => (
                title(SECTION_TITLE, SECTION_SIZES),
                vec![SlidePlace::new("body", Some("1"), SECTION_TEXT, SUBTITLE_SIZES)],
            ),
            SlideKind::Content => (title(TITLE, TITLE_SIZES), vec![text("1", BODY)]),
            SlideKind::Columns => {
                (title(TITLE, TITLE_SIZES), vec![text("1", LEFT), text("2", RIGHT)])
            }
            SlideKind::TitleOnly => (title(TITLE, TITLE_SIZES), Vec::new()),
        };
        let layout = SlideLayout {
            part: format!("ppt/slideLayouts/slideLayout{}.xml", at + 1),
            title,
            texts,
            room: BODY,
            footer: Some(SlidePlace::new("ftr", Some("11"), FOOTER, SMALL_SIZES)),
            number: Some(SlidePlace::new("sldNum", Some("12"), NUMBER, SMALL_SIZES)),
        };
        (*kind, layout)
    });
    DeckLayouts { layouts: layouts.collect() }
}
