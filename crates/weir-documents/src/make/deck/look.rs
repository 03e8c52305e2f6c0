//! The three themes that come with the program: colours, fonts, and where things stand. Layouts are
//! made of them in `master`.

use weir_core::office::SlideTheme;

use super::fit::SlideBox;
use crate::make::parts::XML_HEAD;

/// Size of a slide, 16 to 9.
pub(super) const WIDTH: u64 = 12_192_000;
pub(super) const HEIGHT: u64 = 6_858_000;

pub(super) const TITLE: SlideBox =
    SlideBox { x: 640_080, y: 384_048, width: 10_911_840, height: 960_120 };
pub(super) const BODY: SlideBox =
    SlideBox { x: 640_080, y: 1_527_048, width: 10_911_840, height: 4_572_000 };
pub(super) const LEFT: SlideBox = SlideBox { width: 5_303_520, ..BODY };
pub(super) const RIGHT: SlideBox = SlideBox { x: 6_248_400, ..LEFT };
pub(super) const COVER_TITLE: SlideBox =
    SlideBox { x: 914_400, y: 1_691_640, width: 10_363_200, height: 1_737_360 };
pub(super) const COVER_SUBTITLE: SlideBox =
    SlideBox { x: 914_400, y: 3_611_880, width: 10_363_200, height: 1_188_720 };
pub(super) const SECTION_TITLE: SlideBox =
    SlideBox { x: 914_400, y: 2_148_840, width: 10_363_200, height: 1_463_040 };
pub(super) const SECTION_TEXT: SlideBox =
    SlideBox { x: 914_400, y: 3_749_040, width: 10_363_200, height: 914_400 };
pub(super) const FOOTER: SlideBox =
    SlideBox { x: 640_080, y: 6_336_792, width: 8_229_600, height: 301_752 };
pub(super) const NUMBER: SlideBox =
    SlideBox { x: 10_180_320, y: 6_336_792, width: 1_371_600, height: 301_752 };

/// How large a text may be, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PointSizes {
    /// Where there is room.
    pub(super) most: u32,
    /// Where there is little.
    pub(super) least: u32,
}

pub(super) const TITLE_SIZES: PointSizes = PointSizes { most: 32, least: 20 };
pub(super) const COVER_SIZES: PointSizes = PointSizes { most: 48, least: 26 };
pub(super) const SECTION_SIZES: PointSizes = PointSizes { most: 40, least: 24 };
pub(super) const SUBTITLE_SIZES: PointSizes = PointSizes { most: 24, least: 14 };
pub(super) const BODY_SIZES: PointSizes = PointSizes { most: 24, least: 14 };
/// Of footers and numbers of slides.
pub(super) const SMALL_SIZES: PointSizes = PointSizes { most: 12, least: 12 };
/// Size of the second level as a part of the first.
pub(super) const SECOND_LEVEL: f64 = 0.86;

/// Colours and fonts of a theme.
pub(super) struct ThemeStyle {
    name: &'static str,
    dark: &'static str,
    light: &'static str,
    second_dark: &'static str,
    second_light: &'static str,
    accents: [&'static str; 6],
    link: &'static str,
    heading_font: &'static str,
    body_font: &'static str,
    /// Whether text is light and the ground dark.
    pub(super) is_dark: bool,
}

/// The look of a theme.
pub(super) fn look_of(theme: SlideTheme) -> &'static ThemeStyle {
    match theme {
        SlideTheme::Plain => &ThemeStyle {
            name: "Plain",
            dark: "1F2933",
            light: "FFFFFF",
            second_dark: "1F4E79",
            second_light: "EEF3F8",
            accents: ["1F6FB2", "E07B39", "4C9F70", "8E5EA2", "C9A227", "5B6770"],
            link: "1F6FB2",
            heading_font: "Calibri",
            body_font: "Calibri",
            is_dark: false,
        },
        SlideTheme::Dark => &ThemeStyle {
            name: "Dark",
            dark: "14202E",
            light: "F4F6F8",
            second_dark: "22344A",
            second_light: "9CC9F0",
            accents: ["4FA3E3", "F2A65A", "6CC49A", "C39BD3", "F0D264", "9FB1C1"],
            link: "8CC8FF",
            heading_font: "Calibri",
            body_font: "Calibri",
            is_dark: true,
        },
        SlideTheme::Warm => &ThemeStyle {
            name: "Warm",
            dark: "3B2F2A",
            light: "FBF6EC",
            second_dark: "7A2E22",
            second_light: "F0E4CF",
            accents: ["A5402D", "C98B2B", "5E7A4A", "3F6C78", "8B5A83", "7D6B5D"],
            link: "A5402D",
            heading_font: "Georgia",
            body_font: "Georgia",
            is_dark: false,
        },
    }
}

impl ThemeStyle {
    /// The part of the theme.
    pub(super) fn theme_xml(&self) -> String {
        let colour =
            |tag: &str, value: &str| format!("<a:{tag}><a:srgbClr val=\"{value}\"/></a:{tag}>");
        let mut colours = [
            colour("dk1", self.dark),
            colour("lt1", self.light),
            colour("dk2", self.second_dark),
            colour("lt2", self.second_light),
        ]
        .concat();
        for (number, accent) in self.accents.iter().enumerate() {
            colours.push_str(&colour(&format!("accent{}", number + 1), accent));
        }
        colours.push_str(&colour("hlink", self.link));
        colours.push_str(&colour("folHlink", self.link));
        let font = |tag: &str, font: &str| {
            format!(
                "<a:{tag}><a:latin typeface=\"{font}\"/><a:ea typeface=\"Microsoft YaHei\"/><a:cs \
                 typeface=\"Arial\"/></a:{tag}>"
            )
        };
        let fill = "<a:solidFill><a:schemeClr val=\"phClr\"/></a:solidFill>";
        let line = format!("<a:ln w=\"9525\">{fill}<a:prstDash val=\"solid\"/></a:ln>");
        let effect = "<a:effectStyle><a:effectLst/></a:effectStyle>";
        format!(
            "{XML_HEAD}<a:theme xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" \
             name=\"{name}\"><a:themeElements><a:clrScheme name=\"{name}\">{colours}</a:clrScheme>\
             <a:fontScheme name=\"{name}\">{}{}</a:fontScheme><a:fmtScheme name=\"{name}\">\
             <a:fillStyleLst>{fill}{fill}{fill}</a:fillStyleLst><a:lnStyleLst>{line}{line}{line}\
             </a:lnStyleLst><a:effectStyleLst>{effect}{effect}{effect}</a:effectStyleLst>\
             <a:bgFillStyleLst>{fill}{fill}{fill}</a:bgFillStyleLst></a:fmtScheme>\
             </a:themeElements></a:theme>",
            font("majorFont", self.heading_font),
            font("minorFont", self.body_font),
            name = self.name,
        )
    }

    /// How the names of colours in slides are mapped to those of the theme.
    pub(super) fn colour_map(&self) -> &'static str {
        if self.is_dark {
            "<p:clrMap bg1=\"dk1\" tx1=\"lt1\" bg2=\"dk2\" tx2=\"lt2\" accent1=\"accent1\" \
             accent2=\"accent2\" accent3=\"accent3\" accent4=\"accent4\" accent5=\"accent5\" \
             accent6=\"accent6\" hlink=\"hlink\" folHlink=\"folHlink\"/>"
        } else {
            "<p:clrMap bg1=\"lt1\" tx1=\"dk1\" bg2=\"lt2\" tx2=\"dk2\" accent1=\"accent1\" \
             accent2=\"accent2\" accent3=\"accent3\" accent4=\"accent4\" accent5=\"accent5\" \
             accent6=\"accent6\" hlink=\"hlink\" folHlink=\"folHlink\"/>"
        }
    }
}
