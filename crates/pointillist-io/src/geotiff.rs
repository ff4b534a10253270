//! GeoTIFF out: a grid of 32-bit floats in several bands, with its place on the globe, as geographic information systems read it.
//!
//! TIFF 6.0, little-endian, one plane for each band in deflated strips; the keys of OGC GeoTIFF 1.1; names of bands and the value for "nothing here" as
//! GDAL writes them. No tiles, no overviews, and at most 4 GB, which is what the offsets of a TIFF can say.

use super::geography::northing_of_centre;
use super::message::{Message, Setting};
use super::output::OutputError;
use crate::message;
use flate2::{Compression, write::ZlibEncoder};
use pointillist::window::Globe;
use std::io::Write;
use std::ops::RangeInclusive;

/// Bytes of a strip before it is deflated, about.
const STRIP: usize = 1 << 18;
/// A key whose value a user defines.
pub(crate) const USER_DEFINED: u16 = 32767;
/// The geographic system of longitudes and latitudes.
pub const WGS84: u16 = 4326;
/// What a GeoTIFF takes for a number of EPSG.
const EPSG: RangeInclusive<u16> = 1024..=32766;
/// Codes of EPSG for systems of degrees that stand alone; ...
const GEOGRAPHIC: [u16; 3] = [4490, 4937, 7844];
/// ... and where they stand together, but for one in the middle of the first. Others are projected.
const GEOGRAPHIC_RANGES: [RangeInclusive<u16>; 4] = [4120..=4389, 4600..=4646, 4657..=4765, 4801..=4821];
const MAP_AMONG_THEM: u16 = 4217;

/// Whether the coordinates of a system are degrees.
fn is_geographic(code: u16) -> bool {
    let is_among = GEOGRAPHIC_RANGES.iter().any(|range| range.contains(&code)) && code != MAP_AMONG_THEM;
    is_among || GEOGRAPHIC.contains(&code)
}

/// What coordinates are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crs {
    /// Nobody knows.
    Unknown,
    /// A system by its number in the register of EPSG.
    Epsg(u16),
    /// Those of this projection, in km.
    Globe(Globe),
}

impl Crs {
    /// A system by its name, such as `EPSG:27700`, if it has a number.
    pub fn named(name: &str) -> Option<Self> {
        let (authority, code) = name.rsplit_once(':')?;
        let is_epsg = authority.to_ascii_uppercase().trim_end_matches(':').ends_with("EPSG");
        code.parse().ok().filter(|_| is_epsg).map(Self::Epsg)
    }
}

/// A system by its short name if it has a number, else as it is called.
pub fn registered(name: &str) -> String {
    match Crs::named(name) {
        Some(Crs::Epsg(code)) => format!("EPSG:{code}"),
        _ => name.to_string(),
    }
}

/// Whether a name is that of a system of degrees.
pub fn names_degrees(name: &str) -> bool {
    matches!(Crs::named(name), Some(Crs::Epsg(code)) if is_geographic(code))
}

/// Whether two names are those of one system.
pub fn same_crs(one: &str, other: &str) -> bool {
    registered(one).eq_ignore_ascii_case(&registered(other))
}

/// The number of the system of a map, `EPSG:27700`.
pub fn map_of(name: &str) -> Result<u16, Message> {
    let given = || Setting::Crs.given(name);
    match Crs::named(name.trim()) {
        Some(Crs::Epsg(code)) if is_geographic(code) => {
            Err(message![given(), ": these are degrees on the globe; say so with ", Setting::Geography.given("sphere")])
        }
        Some(Crs::Epsg(code)) if EPSG.contains(&code) => Ok(code),
        _ => Err(message![
            given(),
            ": this is no number in the register of EPSG; write it as in ",
            Setting::Crs.given("EPSG:27700")
        ]),
    }
}

/// A grid of cells. Rows go from north to south, and from west to east.
#[derive(Clone, Debug)]
pub struct Raster {
    /// How many cells go east.
    pub width: usize,
    /// How many go north.
    pub height: usize,
    /// The western and the northern end.
    pub corner: [f64; 2],
    /// How far a cell reaches east and north.
    pub cell: [f64; 2],
    /// Names and values; NaN where there is nothing.
    pub bands: Vec<(String, Vec<f32>)>,
    /// The unit of each band.
    pub units: Vec<String>,
    /// What the coordinates are.
    pub crs: Crs,
}

/// The value of a tag.
enum Field {
    Shorts(Vec<u16>),
    Longs(Vec<u32>),
    Doubles(Vec<f64>),
    Text(String),
}

impl Field {
    /// Its type, how many values it has, and their bytes.
    fn encoded(&self) -> (u16, usize, Vec<u8>) {
        match self {
            Self::Shorts(all) => (3, all.len(), all.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Self::Longs(all) => (4, all.len(), all.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Self::Doubles(all) => (12, all.len(), all.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Self::Text(text) => (2, text.len() + 1, text.bytes().chain([0]).collect()),
        }
    }
}

/// The bytes of a file.
pub fn geotiff(raster: &Raster) -> Result<Vec<u8>, OutputError> {
    if let Some((name, _)) = raster.bands.iter().find(|(_, values)| values.iter().any(|value| value.is_infinite())) {
        return Err(OutputError::NotFinite { name: name.clone() });
    }
    let rows = (STRIP / (4 * raster.width)).clamp(1, raster.height);
    let mut bytes = vec![b'I', b'I', 42, 0, 0, 0, 0, 0];
    let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
    for strip in raster.bands.iter().flat_map(|(_, values)| values.chunks(rows * raster.width)) {
        let packed = deflated(strip);
        offsets.push(offset(bytes.len())?);
        lengths.push(offset(packed.len())?);
        bytes.extend(packed);
    }
    let directory = directory(raster, rows, offsets, lengths);
    write_directory(&mut bytes, &directory)?;
    Ok(bytes)
}

/// A place in the file.
fn offset(place: usize) -> Result<u32, OutputError> {
    let too_large = || OutputError::Other {
        path: "the GeoTIFF".into(),
        error: std::io::Error::other("it would be larger than 4 GB; ask for fewer cells or bands"),
    };
    u32::try_from(place).map_err(|_| too_large())
}

fn deflated(values: &[f32]) -> Vec<u8> {
    let plain: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    // Memory takes every byte.
    let _ = packer.write_all(&plain);
    packer.finish().unwrap_or_default()
}

/// All tags, in the order of their numbers.
fn directory(raster: &Raster, rows: usize, offsets: Vec<u32>, lengths: Vec<u32>) -> Vec<(u16, Field)> {
    let bands = raster.bands.len();
    let [width, height, rows] = [raster.width, raster.height, rows].map(|count| Field::Longs(vec![count as u32]));
    let each = |value: u16, count: usize| Field::Shorts(vec![value; count]);
    let ([west, north], [east_step, north_step]) = (raster.corner, raster.cell);
    let mut tags = vec![
        (256, width),
        (257, height),
        (258, each(32, bands)),
        (259, each(8, 1)), // deflate
        (262, each(1, 1)), // black is 0
        (273, Field::Longs(offsets)),
        (277, each(bands as u16, 1)),
        (278, rows),
        (279, Field::Longs(lengths)),
        (284, each(2, 1)), // a plane for each band
    ];
    if bands > 1 {
        tags.push((338, each(0, bands - 1)));
    }
    tags.extend([
        (339, each(3, bands)), // floats
        (33550, Field::Doubles(vec![east_step, north_step, 0.0])),
        (33922, Field::Doubles(vec![0.0, 0.0, 0.0, west, north, 0.0])),
    ]);
    tags.extend(geo_keys(raster.crs));
    tags.push((42112, Field::Text(metadata(raster))));
    tags.push((42113, Field::Text("nan".into())));
    tags
}

/// The tags that say what the coordinates are.
fn geo_keys(crs: Crs) -> Vec<(u16, Field)> {
    const IS_AREA: [u16; 4] = [1025, 0, 1, 1];
    let (mut keys, mut doubles) = (Vec::new(), Vec::new());
    match crs {
        Crs::Unknown => keys.push(IS_AREA),
        Crs::Epsg(code) if is_geographic(code) => keys.extend([[1024, 0, 1, 2], IS_AREA, [2048, 0, 1, code]]),
        Crs::Epsg(code) => keys.extend([[1024, 0, 1, 1], IS_AREA, [3072, 0, 1, code]]),
        Crs::Globe(globe) => {
            doubles = vec![globe.parallel, globe.centre[0], 0.0, -northing_of_centre(&globe)];
            keys.extend([[1024, 0, 1, 1], IS_AREA, [2048, 0, 1, WGS84]]);
            // A projection of one's own: cylindrical equal-area, in km.
            keys.extend([[3072, 0, 1, USER_DEFINED], [3074, 0, 1, USER_DEFINED], [3075, 0, 1, 28], [3076, 0, 1, 9036]]);
            // The parallel of true scale, the meridian of the middle, and what is added to east and north.
            keys.extend([3078, 3080, 3082, 3083].iter().zip(0..).map(|(&key, place)| [key, 34736, 1, place]));
        }
    }
    let head = [1, 1, 0, keys.len() as u16];
    let mut tags = vec![(34735, Field::Shorts([head].into_iter().chain(keys).flatten().collect()))];
    if !doubles.is_empty() {
        tags.push((34736, Field::Doubles(doubles)));
    }
    tags
}

/// Names and units of the bands, as GDAL keeps them.
fn metadata(raster: &Raster) -> String {
    let item = |sample: usize, name: &str, role: &str, text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("<Item name=\"{name}\" sample=\"{sample}\" role=\"{role}\">{text}</Item>")
    };
    let names = raster.bands.iter().enumerate().map(|(i, (name, _))| item(i, "DESCRIPTION", "description", name));
    let units = raster.units.iter().enumerate().map(|(i, unit)| item(i, "UNITTYPE", "unittype", unit));
    format!("<GDALMetadata>{}</GDALMetadata>", names.chain(units).collect::<String>())
}

/// Writes the tags at the end, with what does not fit into them after them, and their place into the head.
fn write_directory(bytes: &mut Vec<u8>, tags: &[(u16, Field)]) -> Result<(), OutputError> {
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let start = offset(bytes.len())?;
    bytes[4..8].copy_from_slice(&start.to_le_bytes());
    let mut behind = bytes.len() + 2 + 12 * tags.len() + 4;
    let mut more = Vec::new();
    bytes.extend((tags.len() as u16).to_le_bytes());
    for (tag, field) in tags {
        let (kind, count, mut value) = field.encoded();
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(offset(count)?.to_le_bytes());
        value.resize(value.len().max(4).next_multiple_of(2), 0);
        if value.len() == 4 {
            bytes.extend(value);
        } else {
            bytes.extend(offset(behind)?.to_le_bytes());
            behind += value.len();
            more.extend(value);
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn number(bytes: &[u8], at: usize, width: usize) -> usize {
        bytes[at..at + width].iter().rev().fold(0, |sum, &byte| 256 * sum + usize::from(byte))
    }

    /// Where the value of a tag stands, and how many there are.
    fn tag(bytes: &[u8], wanted: usize) -> Option<(usize, usize)> {
        let start = number(bytes, 4, 4);
        let entries = (0..number(bytes, start, 2)).map(|i| start + 2 + 12 * i);
        let entry = entries.into_iter().find(|&at| number(bytes, at, 2) == wanted)?;
        let (kind, count) = (number(bytes, entry + 2, 2), number(bytes, entry + 4, 4));
        let size = count * [0, 1, 1, 2, 4, 8, 0, 0, 0, 0, 0, 0, 8][kind];
        Some((if size <= 4 { entry + 8 } else { number(bytes, entry + 8, 4) }, count))
    }

    #[test]
    fn the_values_come_back() {
        let values: Vec<f32> = (0..6).map(|i| if i == 4 { f32::NAN } else { i as f32 }).collect();
        let other: Vec<f32> = values.iter().map(|v| 10.0 + v).collect();
        let raster = Raster {
            width: 3,
            height: 2,
            corner: [10.0, 20.0],
            cell: [0.5, 2.0],
            bands: vec![("mean".into(), values.clone()), ("p>2".into(), other.clone())],
            units: vec!["events".into(), "".into()],
            crs: Crs::Epsg(WGS84),
        };
        let bytes = geotiff(&raster).unwrap();
        for (band, values) in [values, other].iter().enumerate() {
            let (offsets, lengths) = (tag(&bytes, 273).unwrap(), tag(&bytes, 279).unwrap());
            assert_eq!((offsets.1, lengths.1), (2, 2));
            let at = number(&bytes, offsets.0 + 4 * band, 4);
            let packed = &bytes[at..at + number(&bytes, lengths.0 + 4 * band, 4)];
            let mut plain = Vec::new();
            flate2::read::ZlibDecoder::new(packed).read_to_end(&mut plain).unwrap();
            let found: Vec<f32> = plain.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            assert!(found.iter().zip(values).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{found:?}");
        }
        let (at, count) = tag(&bytes, 42112).unwrap();
        let text = std::str::from_utf8(&bytes[at..at + count - 1]).unwrap();
        assert!(text.contains(">mean<") && text.contains(">p&gt;2<"), "{text}");
        let infinite = Raster { bands: vec![("mean".into(), vec![f32::INFINITY; 6])], ..raster };
        assert!(geotiff(&infinite).is_err());
    }

    #[test]
    fn systems_go_by_their_numbers() {
        assert_eq!(Crs::named("EPSG:27700"), Some(Crs::Epsg(27700)));
        assert_eq!(Crs::named("urn:ogc:def:crs:EPSG::4326"), Some(Crs::Epsg(WGS84)));
        assert!(
            [4326, 4258, 4269, 4267, 4277, 4283, 4617, 4612, 4674, 4490, 4148, 4167, 7844].map(is_geographic)
                == [true; 13]
        );
        assert!([27700, 3857, 32633, 2154, 4217, 4087, 4647, 4839, 28992].map(is_geographic) == [false; 9]);
        assert_eq!(registered("urn:ogc:def:crs:EPSG::27700"), "EPSG:27700");
        assert!(same_crs("epsg:27700", "urn:ogc:def:crs:EPSG::27700") && !same_crs("EPSG:27700", "EPSG:27701"));
        assert_eq!((map_of("EPSG:27700").ok(), map_of(" epsg:2154 ").ok()), (Some(27700), Some(2154)));
        for name in ["EPSG:4326", "27700", "EPSG:0", "EPSG:70000", "ESRI:102022", "", "EPSG:x"] {
            assert!(map_of(name).is_err(), "{name}");
        }
        assert_eq!((Crs::named("GEOGCS[\"WGS 84\"]"), Crs::named("ESRI:102022")), (None, None));
    }
}
