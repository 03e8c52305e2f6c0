//! The master, the layouts and the page of notes of the bundled themes.

use std::fmt::Write as _;

use super::fit::SlideBox;
use super::layout::{SlideKind, SlideLayout, SlidePlace};
use super::look::{BODY, FOOTER, HEIGHT, NUMBER, TITLE, ThemeStyle, WIDTH};
use super::shape::frame_xml;
use crate::make::parts::{RELATION, XML_HEAD};

/// The namespaces of a part of a presentation.
pub(super) fn declare_namespaces() -> String {
    format!(
        "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" xmlns:r=\"{RELATION}\" \
         xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\""
    )
}

/// The group around all shapes.
pub(super) const GROUP: &str = "<p:nvGrpSpPr><p:cNvPr id=\"1\" name=\"\"/><p:cNvGrpSpPr/><p:nvPr/>\
     </p:nvGrpSpPr><p:grpSpPr><a:xfrm><a:off x=\"0\" y=\"0\"/><a:ext cx=\"0\" cy=\"0\"/><a:chOff \
     x=\"0\" y=\"0\"/><a:chExt cx=\"0\" cy=\"0\"/></a:xfrm></p:grpSpPr>";

fn placeholder_xml(id: usize, place: &SlidePlace, prompt: &str) -> String {
    let most = place.sizes.most;
    let anchor = match place.kind.as_str() {
        "ctrTitle" => " anchor=\"b\"",
        "title" if place.area != TITLE => " anchor=\"b\"",
        "title" => " anchor=\"ctr\"",
        _ => "",
    };
    let flat = matches!(place.kind.as_str(), "subTitle" | "body");
    let levels = match place.kind.as_str() {
        "ftr" | "sldNum" => String::new(),
        _ if flat => format!(
            "<a:lvl1pPr marL=\"0\" indent=\"0\"><a:buNone/><a:defRPr sz=\"{}\"><a:solidFill>\
             <a:schemeClr val=\"tx1\"/></a:solidFill></a:defRPr></a:lvl1pPr>",
            most * 100
        ),
        _ => format!("<a:lvl1pPr><a:defRPr sz=\"{}\"/></a:lvl1pPr>", most * 100),
    };
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"{} {id}\"/><p:cNvSpPr><a:spLocks noGrp=\"1\"/>\
         </p:cNvSpPr><p:nvPr>{}</p:nvPr></p:nvSpPr><p:spPr>{}</p:spPr><p:txBody><a:bodyPr{anchor}>\
         <a:normAutofit/></a:bodyPr><a:lstStyle>{levels}</a:lstStyle><a:p>{prompt}</a:p></p:txBody>\
         </p:sp>",
        place.shown_name(),
        place.reference_xml(),
        frame_xml("a", place.area),
    )
}

/// A filled bar without text.
fn bar_xml(id: usize, area: SlideBox, colour: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"Bar {id}\"/><p:cNvSpPr/><p:nvPr \
         userDrawn=\"1\"/></p:nvSpPr><p:spPr>{}<a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom>\
         <a:solidFill><a:schemeClr val=\"{colour}\"/></a:solidFill><a:ln><a:noFill/></a:ln>\
         </p:spPr><p:txBody><a:bodyPr/><a:lstStyle/><a:p/></p:txBody></p:sp>",
        frame_xml("a", area)
    )
}

const TEXT_PROMPT: &str = "<a:r><a:rPr/><a:t>Text</a:t></a:r>";
const NUMBER_PROMPT: &str = "<a:fld id=\"{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}\" \
     type=\"slidenum\"><a:rPr/><a:t>‹#›</a:t></a:fld>";

/// The shapes of a layout.
fn layout_shapes(kind: SlideKind, layout: &SlideLayout) -> String {
    let mut shapes = String::new();
    let mut id = 2;
    // A stripe tells the cover and sections from other slides.
    if matches!(kind, SlideKind::Cover | SlideKind::Section) {
        let area = SlideBox { x: 0, y: 0, width: 320_040, height: HEIGHT };
        shapes.push_str(&bar_xml(id, area, "accent1"));
        id += 1;
    }
    for place in std::iter::once(&layout.title).chain(&layout.texts) {
        shapes.push_str(&placeholder_xml(id, place, TEXT_PROMPT));
        id += 1;
    }
    for (place, prompt) in [(&layout.footer, ""), (&layout.number, NUMBER_PROMPT)] {
        if let Some(place) = place {
            shapes.push_str(&placeholder_xml(id, place, prompt));
            id += 1;
        }
    }
    shapes
}

/// The part of a layout.
pub(super) fn layout_xml(kind: SlideKind, layout: &SlideLayout) -> String {
    format!(
        "{XML_HEAD}<p:sldLayout {} type=\"{}\" preserve=\"1\"><p:cSld name=\"{}\"><p:spTree>{GROUP}\
         {}</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sldLayout>",
        declare_namespaces(),
        kind.format_name(),
        kind.shown_name(),
        layout_shapes(kind, layout)
    )
}

/// The part of the master; `ids` are the relationships of its layouts.
pub(super) fn master_xml(look: &ThemeStyle, ids: &[String]) -> String {
    let list: String = ids
        .iter()
        .enumerate()
        .map(|(at, id)| format!("<p:sldLayoutId id=\"{}\" r:id=\"{id}\"/>", 2_147_483_649 + at))
        .collect();
    let text =
        |kind: &str, index: Option<&str>, area, sizes| SlidePlace::new(kind, index, area, sizes);
    let mut shapes = String::new();
    for (at, (place, prompt)) in [
        (text("title", None, TITLE, super::look::TITLE_SIZES), TEXT_PROMPT),
        (text("body", Some("1"), BODY, super::look::BODY_SIZES), TEXT_PROMPT),
        (text("ftr", Some("3"), FOOTER, super::look::SMALL_SIZES), ""),
        (text("sldNum", Some("4"), NUMBER, super::look::SMALL_SIZES), NUMBER_PROMPT),
    ]
    .iter()
    .enumerate()
    {
        shapes.push_str(&master_place(at + 3, place, prompt));
    }
    format!(
        "{XML_HEAD}<p:sldMaster {}><p:cSld><p:bg><p:bgPr><a:solidFill><a:schemeClr val=\"bg1\"/>\
         </a:solidFill><a:effectLst/></p:bgPr></p:bg><p:spTree>{GROUP}{shapes}</p:spTree>\
          </p:cSld>{}\
         <p:sldLayoutIdLst>{list}</p:sldLayoutIdLst><p:txStyles>{}</p:txStyles></p:sldMaster>",
        declare_namespaces(),
        look.colour_map(),
        text_styles(look),
    )
}

fn master_place(id: usize, place: &SlidePlace, prompt: &str) -> String {
    let side = match place.kind.as_str() {
        "sldNum" => {
            "<a:lvl1pPr algn=\"r\"><a:defRPr sz=\"1200\"><a:solidFill><a:schemeClr \
                     val=\"tx1\"><a:alpha val=\"65000\"/></a:schemeClr></a:solidFill></a:defRPr>\
                     </a:lvl1pPr>"
        }
        "ftr" => {
            "<a:lvl1pPr algn=\"l\"><a:defRPr sz=\"1200\"><a:solidFill><a:schemeClr \
                  val=\"tx1\"><a:alpha val=\"65000\"/></a:schemeClr></a:solidFill></a:defRPr>\
                  </a:lvl1pPr>"
        }
        _ => "",
    };
    let anchor = if place.kind == "title" { " anchor=\"ctr\"" } else { "" };
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"{} {id}\"/><p:cNvSpPr><a:spLocks noGrp=\"1\"/>\
         </p:cNvSpPr><p:nvPr>{}</p:nvPr></p:nvSpPr><p:spPr>{}<a:prstGeom prst=\"rect\"><a:avLst/>\
         </a:prstGeom></p:spPr><p:txBody><a:bodyPr vert=\"horz\" lIns=\"91440\" tIns=\"45720\" \
         rIns=\"91440\" bIns=\"45720\"{anchor}><a:normAutofit/></a:bodyPr><a:lstStyle>{side}\
         </a:lstStyle><a:p>{prompt}</a:p></p:txBody></p:sp>",
        place.shown_name(),
        place.reference_xml(),
        frame_xml("a", place.area),
    )
}

fn text_styles(look: &ThemeStyle) -> String {
    let fill = |colour: &str| format!("<a:solidFill><a:schemeClr val=\"{colour}\"/></a:solidFill>");
    let fonts = |kind: &str| {
        format!(
            "<a:latin typeface=\"+{kind}-lt\"/><a:ea typeface=\"+{kind}-ea\"/><a:cs \
             typeface=\"+{kind}-cs\"/>"
        )
    };
    let title_colour = if look.is_dark { "tx1" } else { "tx2" };
    let mut body = String::new();
    for level in 0..9_usize {
        let size = if level == 0 { 24 } else { [21, 20, 18][level.min(3) - 1] };
        let _ = write!(
            body,
            "<a:lvl{n}pPr marL=\"{left}\" indent=\"-285750\" algn=\"l\"><a:lnSpc><a:spcPct \
             val=\"100000\"/></a:lnSpc><a:spcBef><a:spcPts val=\"{before}\"/></a:spcBef>\
             <a:buClr><a:schemeClr val=\"accent1\"/></a:buClr><a:buFont typeface=\"Arial\"/>\
             <a:buChar char=\"•\"/><a:defRPr sz=\"{size}00\">{}{}</a:defRPr></a:lvl{n}pPr>",
            fill("tx1"),
            fonts("mn"),
            n = level + 1,
            left = 285_750 + 342_900 * level,
            before = if level == 0 { 800 } else { 400 },
        );
    }
    format!(
        "<p:titleStyle><a:lvl1pPr algn=\"l\"><a:lnSpc><a:spcPct val=\"95000\"/></a:lnSpc>\
         <a:spcBef><a:spcPct val=\"0\"/></a:spcBef><a:buNone/><a:defRPr sz=\"3200\" b=\"1\">{}{}\
         </a:defRPr></a:lvl1pPr></p:titleStyle><p:bodyStyle>{body}</p:bodyStyle><p:otherStyle>\
         <a:lvl1pPr><a:defRPr sz=\"1800\">{}{}</a:defRPr></a:lvl1pPr></p:otherStyle>",
        fill(title_colour),
        fonts("mj"),
        fill("tx1"),
        fonts("mn"),
    )
}

/// The master of the pages of notes.
pub(super) fn notes_master_xml() -> String {
    let body = SlideBox { x: 685_800, y: 4_400_550, width: 5_486_400, height: 3_600_450 };
    let image = SlideBox { x: 685_800, y: 1_143_000, width: 5_486_400, height: 3_086_100 };
    format!(
        "{XML_HEAD}<p:notesMaster {}><p:cSld><p:bg><p:bgRef idx=\"1001\"><a:schemeClr \
         val=\"bg1\"/></p:bgRef></p:bg><p:spTree>{GROUP}<p:sp><p:nvSpPr><p:cNvPr id=\"2\" \
         name=\"Slide 2\"/><p:cNvSpPr><a:spLocks noGrp=\"1\" noRot=\"1\" noChangeAspect=\"1\"/>\
         </p:cNvSpPr><p:nvPr><p:ph type=\"sldImg\" idx=\"2\"/></p:nvPr></p:nvSpPr><p:spPr>{}\
         <a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom><a:noFill/></p:spPr></p:sp><p:sp>\
         <p:nvSpPr><p:cNvPr id=\"3\" name=\"Notes 3\"/><p:cNvSpPr><a:spLocks noGrp=\"1\"/>\
         </p:cNvSpPr><p:nvPr><p:ph type=\"body\" idx=\"3\"/></p:nvPr></p:nvSpPr><p:spPr>{}\
         <a:prstGeom prst=\"rect\"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr/>\
         <a:lstStyle/><a:p>{TEXT_PROMPT}</a:p></p:txBody></p:sp></p:spTree></p:cSld><p:clrMap \
         bg1=\"lt1\" tx1=\"dk1\" bg2=\"lt2\" tx2=\"dk2\" accent1=\"accent1\" accent2=\"accent2\" \
         accent3=\"accent3\" accent4=\"accent4\" accent5=\"accent5\" accent6=\"accent6\" \
         hlink=\"hlink\" folHlink=\"folHlink\"/><p:notesStyle><a:lvl1pPr><a:defRPr sz=\"1200\"/>\
         </a:lvl1pPr></p:notesStyle></p:notesMaster>",
        declare_namespaces(),
        frame_xml("a", image),
        frame_xml("a", body),
    )
}

/// Size of a slide as its part of the presentation.
pub(super) fn slide_size() -> String {
    format!("<p:sldSz cx=\"{WIDTH}\" cy=\"{HEIGHT}\"/><p:notesSz cx=\"6858000\" cy=\"9144000\"/>")
}
