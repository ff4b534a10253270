//! GeoTIFF in: numbers in cells with their place, band by band, as covariates come from geographic information systems.
//!
//! The crate `tiff` reads strips and tiles; here is what makes them a map: where cells lie, in which coordinates, which value means nothing, and the names,
//! scales and offsets that GDAL keeps. Only what a window needs is read. Rotated rasters are refused, and so are pictures (colour tables, JPEG).

use super::geotiff::USER_DEFINED;
use super::message::Message;
use crate::message;
use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use tiff::TiffError;
use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::{PhotometricInterpretation, PlanarConfiguration, Tag};

const SCALE: u16 = 33550;
const TIE_POINTS: u16 = 33922;
const TRANSFORMATION: u16 = 34264;
const KEYS: u16 = 34735;
const KEY_DOUBLES: u16 = 34736;
const METADATA: u16 = 42112;
const NO_DATA: u16 = 42113;
/// The key of projections that is cylindrical and equal-area, and that of km.
const EQUAL_AREA: u16 = 28;
const KM: u16 = 9036;

/// Most cells across or down: what says that it has more is damaged, or finer than any lattice.
const MOST_ACROSS: u32 = 10_000_000;

/// A file whose head was read.
pub struct GeoTiff {
    decoder: Decoder<BufReader<File>>,
    source: String,
    width: usize,
    height: usize,
    bands: usize,
    is_planar: bool,
    /// The western and northern end, and how far a cell reaches east and south.
    corner: [f64; 2],
    cell: [f64; 2],
    no_data: Option<f64>,
    /// Names, scales and offsets of bands, where they are known.
    items: Vec<Item>,
    /// What its coordinates are.
    pub ground: Ground,
}

/// What the coordinates of a raster are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ground {
    /// It does not say, or not in a way that is known here.
    Unknown,
    /// Longitudes and latitudes.
    Degrees,
    /// A map, by its number in the register of EPSG if it has one.
    Map(Option<u16>),
    /// The map of a window on the globe, in km, as this program writes it.
    EqualArea {
        /// The latitude of true scale.
        parallel: f64,
        /// The longitude of the middle.
        meridian: f64,
        /// What is added to the km north of the equator.
        northing: f64,
    },
}

/// What GDAL says of a band.
struct Item {
    band: usize,
    role: String,
    text: String,
}

/// Refuses what the decoder would read as other numbers than were stored: several cells in a byte, and white for the least.
fn refuse_unreadable(source: &str, bits: &[u16], photometric: Option<u16>) -> Result<(), Message> {
    if let Some(bits) = bits.iter().find(|bits| **bits < 8) {
        return Err(message![
            "{source} has cells of {bits} bits, which are not read; give whole bytes, as `gdal_translate -ot Byte -co NBITS=8 {source} bytes.tif` does"
        ]);
    }
    if photometric == Some(PhotometricInterpretation::WhiteIsZero.to_u16()) {
        return Err(message![
            "{source} shows its least number white, and is not read: which numbers are meant is not clear; write it anew, as `gdal_translate -co PHOTOMETRIC=MINISBLACK {source} plain.tif` does"
        ]);
    }
    Ok(())
}

/// Whether a path is that of a GeoTIFF, by its name.
pub fn is_geotiff(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.ends_with(".tif") || lower.ends_with(".tiff")
}

impl GeoTiff {
    /// Reads the head of a file, which messages call `source`.
    pub fn open(path: &str, source: &str) -> Result<Self, Message> {
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => message!["{source} does not exist; check the name and the directory"],
            _ => message!["{source} cannot be read ({error}); check its permissions"],
        })?;
        let fault = |error: TiffError| fault(source, &error);
        let mut decoder = Decoder::new(BufReader::new(file)).map_err(fault)?;
        let (width, height) = decoder.dimensions().map_err(fault)?;
        let samples = decoder.find_tag_unsigned::<u16>(Tag::SamplesPerPixel).map_err(fault)?;
        let planar = decoder.find_tag_unsigned::<u16>(Tag::PlanarConfiguration).map_err(fault)?;
        let bits = decoder.find_tag_unsigned_vec::<u16>(Tag::BitsPerSample).map_err(fault)?.unwrap_or(vec![1]);
        let photometric = decoder.find_tag_unsigned::<u16>(Tag::PhotometricInterpretation).map_err(fault)?;
        refuse_unreadable(source, &bits, photometric)?;
        if width.max(height) > MOST_ACROSS {
            return Err(message![
                "{source} says that it is {width}×{height} cells, more than can be used; is it damaged? Else give means over larger cells, as `gdalwarp -tr EAST NORTH -r average {source} coarser.tif` does"
            ]);
        }
        let mut tag = |tag: u16| decoder.find_tag(Tag::Unknown(tag)).map_err(fault);
        let mut doubles = |number: u16| match tag(number)? {
            Some(value) => value.into_f64_vec().map_err(fault),
            None => Ok(Vec::new()),
        };
        let (scale, ties, matrix) = (doubles(SCALE)?, doubles(TIE_POINTS)?, doubles(TRANSFORMATION)?);
        let key_doubles = doubles(KEY_DOUBLES)?;
        let keys = tag(KEYS)?.map_or(Ok(Vec::new()), |value| value.into_u16_vec().map_err(fault))?;
        let mut text = |number: u16| match tag(number)? {
            Some(value) => value.into_string().map_err(fault).map(Some),
            None => Ok(None),
        };
        let no_data = text(NO_DATA)?.map(|text| nothing(source, &text)).transpose()?;
        let items = items(&text(METADATA)?.unwrap_or_default());
        let keys = Keys { entries: keys, doubles: key_doubles };
        let (mut corner, cell) = placed(source, &scale, &ties, &matrix)?;
        if keys.short(1025) == Some(2) {
            // What is tied is the middle of the first cell.
            corner = [corner[0] - 0.5 * cell[0], corner[1] + 0.5 * cell[1]];
        }
        Ok(Self {
            decoder,
            source: source.into(),
            width: width as usize,
            height: height as usize,
            bands: usize::from(samples.unwrap_or(1)),
            is_planar: planar == Some(PlanarConfiguration::Planar.to_u16()),
            corner,
            cell,
            no_data,
            items,
            ground: keys.ground(source)?,
        })
    }

    /// Where its cells begin and end, going east.
    pub fn lines_east(&self) -> Vec<f64> {
        (0..=self.width).map(|i| self.corner[0] + self.cell[0] * i as f64).collect()
    }

    /// Where its cells begin and end, going north: rows are kept the other way round.
    pub fn lines_north(&self) -> Vec<f64> {
        (0..=self.height).rev().map(|i| self.corner[1] - self.cell[1] * i as f64).collect()
    }

    /// What each band is called: as the file says, or as the file is.
    pub fn names(&self) -> Vec<String> {
        let stem = std::path::Path::new(&self.source).file_stem().map_or("band".into(), |stem| stem.to_string_lossy());
        let own = |band: usize| match self.bands {
            1 => stem.to_string(),
            _ => format!("{stem}_{}", band + 1),
        };
        (0..self.bands).map(|band| self.said(band, "description").map_or_else(|| own(band), String::from)).collect()
    }

    fn said(&self, band: usize, role: &str) -> Option<&str> {
        let found = self.items.iter().find(|item| item.band == band && item.role == role)?;
        Some(found.text.as_str()).filter(|text| !text.is_empty())
    }

    /// The values of all bands in cells, columns counted from the west and rows from the south; within a band row by row from the south. NaN where there
    /// is nothing.
    pub fn read(&mut self, columns: Range<usize>, rows: Range<usize>) -> Result<Vec<Vec<f64>>, Message> {
        let size = columns.len() * rows.len();
        let mut bands = vec![vec![f64::NAN; size]; self.bands];
        // Rows of the file go south.
        let wanted = self.height - rows.end..self.height - rows.start;
        let (chunk_width, chunk_height) = self.decoder.chunk_dimensions();
        let (chunk_width, chunk_height) = (chunk_width.max(1) as usize, chunk_height.max(1) as usize);
        let (across, down) = (self.width.div_ceil(chunk_width), self.height.div_ceil(chunk_height));
        let planes = if self.is_planar { self.bands } else { 1 };
        for plane in 0..planes {
            for chunk_row in wanted.start / chunk_height..wanted.end.div_ceil(chunk_height) {
                for chunk_column in columns.start / chunk_width..columns.end.div_ceil(chunk_width) {
                    let chunk = ((plane * down + chunk_row) * across + chunk_column) as u32;
                    let values = numbers(self.decoder.read_chunk(chunk).map_err(|error| fault(&self.source, &error))?);
                    let inner = chunk_width.min(self.width - chunk_column * chunk_width);
                    let samples = if self.is_planar { 1 } else { self.bands };
                    for (place, value) in values.into_iter().enumerate() {
                        let (sample, cell) = (place % samples, place / samples);
                        let (row, column) =
                            (chunk_row * chunk_height + cell / inner, chunk_column * chunk_width + cell % inner);
                        if wanted.contains(&row) && columns.contains(&column) {
                            let own = (wanted.end - 1 - row) * columns.len() + column - columns.start;
                            bands[plane + sample][own] = value;
                        }
                    }
                }
            }
        }
        for (band, values) in bands.iter_mut().enumerate() {
            let number =
                |role: &str, usual: f64| self.said(band, role).and_then(|text| text.parse().ok()).unwrap_or(usual);
            let (scale, offset): (f64, f64) = (number("scale", 1.0), number("offset", 0.0));
            for value in values.iter_mut() {
                *value = match self.is_nothing(*value) {
                    true => f64::NAN,
                    false => scale * *value + offset,
                };
            }
        }
        Ok(bands)
    }

    /// Whether a value says that there is nothing. It may have been written with more digits than single precision has.
    fn is_nothing(&self, value: f64) -> bool {
        !value.is_finite() || self.no_data.is_some_and(|nothing| value == nothing || value == f64::from(nothing as f32))
    }
}

/// The value that says that there is nothing in a cell.
fn nothing(source: &str, text: &str) -> Result<f64, Message> {
    let text = text.trim_matches(['\0', ' ', '\n']);
    text.parse().map_err(|_| {
        message![
            "{source} says that `{text}` stands for cells without a value, which is no number; give one, as `gdal_translate -a_nodata -9999 {source} plain.tif` does"
        ]
    })
}

/// A file that is no GeoTIFF of numbers.
fn fault(source: &str, error: &TiffError) -> Message {
    let kind = match error {
        TiffError::IoError(error) => {
            return message!["{source} ends or cannot be read where its numbers should be ({error}); get it again"];
        }
        TiffError::FormatError(_) => "is no TIFF, or a damaged one",
        _ => "is a TIFF of a kind that is not read here",
    };
    message![
        "{source} {kind} ({error}); write plain numbers, as `gdal_translate -co COMPRESS=DEFLATE -co PHOTOMETRIC=MINISBLACK -colorinterp gray {source} plain.tif` does"
    ]
}

/// The western and northern end of the first cell, and the size of one.
fn placed(source: &str, scale: &[f64], ties: &[f64], matrix: &[f64]) -> Result<([f64; 2], [f64; 2]), Message> {
    let (corner, cell) = match (scale, ties, matrix) {
        ([east, south, ..], [i, j, _, x, y, ..], _) => ([x - i * east, y + j * south], [*east, *south]),
        (_, _, [east, turn, _, x, other, south, _, y, ..]) => {
            if *turn != 0.0 || *other != 0.0 {
                return Err(message!["{source} is a rotated raster; turn it, as `gdalwarp {source} turned.tif` does"]);
            }
            ([*x, *y], [*east, -south])
        }
        _ => {
            return Err(message![
                "{source} does not say where its cells lie; give it a place, as `gdal_translate -a_ullr WEST NORTH EAST SOUTH {source} placed.tif` does"
            ]);
        }
    };
    let is_size = |size: f64| size.is_finite() && size > 0.0;
    if !cell.into_iter().all(is_size) || !corner.into_iter().all(f64::is_finite) {
        return Err(message![
            "{source} does not go from west to east and from north to south; write it anew, as `gdalwarp {source} north-up.tif` does"
        ]);
    }
    Ok((corner, cell))
}

/// The keys that say what coordinates are.
struct Keys {
    /// A head of four numbers, then four for each.
    entries: Vec<u16>,
    doubles: Vec<f64>,
}

impl Keys {
    fn entry(&self, key: u16) -> Option<&[u16]> {
        self.entries.get(4..)?.chunks_exact(4).find(|entry| entry[0] == key)
    }

    fn short(&self, key: u16) -> Option<u16> {
        self.entry(key).filter(|entry| entry[1] == 0).map(|entry| entry[3])
    }

    fn double(&self, key: u16) -> Option<f64> {
        let entry = self.entry(key).filter(|entry| entry[1] == KEY_DOUBLES)?;
        self.doubles.get(usize::from(entry[3])).copied()
    }

    fn ground(&self, source: &str) -> Result<Ground, Message> {
        let code = |key| self.short(key).filter(|code| *code != USER_DEFINED && *code != 0);
        match self.short(1024) {
            Some(1) => Ok(self.equal_area().unwrap_or(Ground::Map(code(3072)))),
            Some(2) => Ok(Ground::Degrees),
            Some(3) => Err(message![
                "{source} has coordinates that are measured from the middle of the Earth; give a map, as `gdalwarp -t_srs EPSG:4326 {source} map.tif` does"
            ]),
            _ => Ok(Ground::Unknown),
        }
    }

    /// A projection as this program writes it.
    fn equal_area(&self) -> Option<Ground> {
        if self.short(3075) != Some(EQUAL_AREA) || self.short(3076) != Some(KM) {
            return None;
        }
        Some(Ground::EqualArea {
            parallel: self.double(3078)?,
            meridian: self.double(3080)?,
            northing: self.double(3083)?,
        })
    }
}

/// What the metadata of GDAL say of bands.
fn items(text: &str) -> Vec<Item> {
    let attribute = |head: &str, name: &str| {
        let from = head.find(&format!("{name}=\""))? + name.len() + 2;
        Some(head[from..].split('"').next()?.to_string())
    };
    let one = |part: &str| {
        let (head, rest) = part.split_once('>')?;
        let text = rest.split("</Item>").next()?;
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        Some(Item { band: attribute(head, "sample")?.parse().ok()?, role: attribute(head, "role")?, text })
    };
    text.split("<Item ").skip(1).filter_map(one).collect()
}

fn numbers(values: DecodingResult) -> Vec<f64> {
    fn all<T: Into<f64>>(values: Vec<T>) -> Vec<f64> {
        values.into_iter().map(Into::into).collect()
    }
    match values {
        DecodingResult::U8(values) => all(values),
        DecodingResult::U16(values) => all(values),
        DecodingResult::U32(values) => all(values),
        DecodingResult::I8(values) => all(values),
        DecodingResult::I16(values) => all(values),
        DecodingResult::I32(values) => all(values),
        DecodingResult::F16(values) => values.into_iter().map(|value| f64::from(value.to_f32())).collect(),
        DecodingResult::F32(values) => all(values),
        DecodingResult::F64(values) => values,
        DecodingResult::U64(values) => values.into_iter().map(|value| value as f64).collect(),
        DecodingResult::I64(values) => values.into_iter().map(|value| value as f64).collect(),
    }
}
