//! Events in GeoJSON (RFC 7946): Points and MultiPoints as a table with the columns `lon` and `lat`, and one for each property.
//!
//! The table is made as text and read as any other, so that conditions, trials and dates in properties work as they do in CSV.

use super::geojson::{document, other_crs, position, properties};
use super::geotiff::{names_degrees, registered, same_crs};
use super::input_error::{InputError, shortened};
use super::message::Message;
use super::model_file::is_json;
use crate::message;
use pointillist::Axis;
use serde_json::Value;
use std::fmt::Write;

/// The columns of coordinates, …
pub const COLUMNS: [&str; 2] = ["lon", "lat"];
/// … and of those on a map.
const ON_MAP: [&str; 2] = ["x", "y"];
/// The types of whole documents, and of geometries.
const TYPES: [&str; 9] = [
    "FeatureCollection",
    "Feature",
    "GeometryCollection",
    "Point",
    "MultiPoint",
    "LineString",
    "MultiLineString",
    "Polygon",
    "MultiPolygon",
];
/// What a model file has among its first bytes, and no GeoJSON document.
const FORMAT: &[u8] = b"\"pointillist-";
const HEAD: usize = 64;

/// Which reference systems the points of a document may be in.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Systems {
    /// Longitude and latitude alone.
    #[default]
    Degrees,
    /// Any: the table says which it is.
    Any,
    /// That of a map, by its name.
    Map(String),
}

impl Systems {
    /// What a document may be in whose points go onto these axes.
    pub fn of(axes: &[Axis]) -> Self {
        axes.iter().find_map(|axis| axis.crs.clone()).map_or(Self::Degrees, Self::Map)
    }

    /// Refuses a document in a system that is not one of them.
    pub fn check(&self, source: &str, crs: Option<&str>) -> Result<(), Message> {
        match (self, crs) {
            (_, Some(crs)) if names_degrees(crs) => Err(message![
                "{source} is in {crs}, degrees that are not those of GPS: convert it to EPSG:4326, as with ogr2ogr -t_srs EPSG:4326"
            ]),
            (Self::Any, _) | (Self::Degrees, None) => Ok(()),
            (Self::Degrees, Some(crs)) => Err(message![
                "{source} is in {crs}, and the other coordinates are not known to be: convert it to longitude and latitude (EPSG:4326)"
            ]),
            (Self::Map(own), Some(crs)) if same_crs(own, crs) => Ok(()),
            (Self::Map(own), crs) => {
                let crs = crs.unwrap_or("longitude and latitude, for it names nothing else");
                Err(message![
                    "{source} is in {crs}, and the other coordinates are in {own}: convert it, as with ogr2ogr -t_srs {own}"
                ])
            }
        }
    }
}

/// What a sentence that names a line of the table calls the document.
pub fn lines_of(source: &str) -> String {
    format!("{source} (a header, and a line for each point)")
}

/// Whether bytes are GeoJSON, and not another document in JSON.
pub fn is_geojson(bytes: &[u8]) -> bool {
    // A model begins with its format, and is large to read twice.
    let is_model = bytes[..bytes.len().min(HEAD)].windows(FORMAT.len()).any(|part| part == FORMAT);
    // One that cannot be read is one: who reads its events will say why.
    !is_model && !matches!(documents("", bytes), Ok(None))
}

fn has_type(document: &Value) -> bool {
    document["type"].as_str().is_some_and(|name| TYPES.contains(&name))
}

/// The points of a document as a table in text.
pub struct Flat {
    /// The text: a header, then a line for each point.
    pub text: String,
    /// The number of the feature of each point, from 1.
    pub features: Vec<u64>,
    /// The reference system, if it is not longitude and latitude.
    pub crs: Option<String>,
}

impl Flat {
    /// The columns that are read unless others are asked for.
    pub fn columns(&self) -> Vec<String> {
        coordinates(self.crs.as_deref()).map(String::from).to_vec()
    }
}

fn coordinates(crs: Option<&str>) -> [&'static str; 2] {
    if crs.is_some() { ON_MAP } else { COLUMNS }
}

/// The points of a document, if it is GeoJSON; `source` stands for it in messages.
pub fn flat(source: &str, bytes: &[u8]) -> Result<Option<Flat>, InputError> {
    let Some(documents) = documents(source, bytes)? else { return Ok(None) };
    let crs = documents.iter().find_map(other_crs).map(|name| registered(&name));
    let members: Vec<&Value> = documents.iter().flat_map(members).collect();
    let mut rows = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let place = if members.len() == 1 { source.to_string() } else { format!("{source}, feature {}", number + 1) };
        let own = properties(member);
        for at in points(&place, member)? {
            rows.push(Row { feature: number as u64 + 1, at, properties: own.clone() });
        }
    }
    if rows.is_empty() {
        return Err(nothing(source));
    }
    Ok(Some(table(&rows, crs)))
}

/// The features of a document, or itself if it is no collection of them.
fn members(document: &Value) -> Vec<&Value> {
    match document["type"].as_str() {
        Some("FeatureCollection") => {
            document["features"].as_array().map_or(Vec::new(), |members| members.iter().collect())
        }
        _ => vec![document],
    }
}

/// The GeoJSON document, or several of them one after the other, as where each feature has its line; none if it is something else.
fn documents(source: &str, bytes: &[u8]) -> Result<Option<Vec<Value>>, InputError> {
    if !is_json(bytes) {
        return Ok(None);
    }
    if let Ok(document) = document(source, bytes) {
        return Ok(has_type(&document).then(|| vec![document]));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let each = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().collect::<Result<Vec<_>, _>>();
    match each {
        Ok(documents) => Ok(documents.iter().all(has_type).then_some(documents)),
        Err(error) if begins_as_geojson(bytes) => {
            let (line, column) = (error.line(), error.column());
            let why = "a number may be missing (NaN) or the file cut short; correct it, or save the events as CSV";
            Err(message!["{source} is GeoJSON that cannot be read at line {line}, column {column}: {why}"].into())
        }
        Err(_) => Ok(None),
    }
}

/// Whether the first bytes name one of the types.
fn begins_as_geojson(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1000)]);
    TYPES.iter().any(|name| head.contains(&format!("\"{name}\"")))
}

fn nothing(source: &str) -> InputError {
    message!["{source} is GeoJSON without a point; give one in each feature, or save the events as CSV or TSV"].into()
}

/// One event.
struct Row {
    feature: u64,
    at: [f64; 2],
    properties: Vec<(String, Value)>,
}

/// The positions of a feature or a geometry.
fn points(place: &str, member: &Value) -> Result<Vec<[f64; 2]>, Message> {
    let geometry = if member["type"] == "Feature" { &member["geometry"] } else { member };
    let one = |value: &Value| {
        let shown = shortened(&value.to_string());
        position(value).ok_or_else(|| message!["{place} is at {shown}, which are not two numbers; correct it"])
    };
    match geometry["type"].as_str() {
        Some("Point") => Ok(vec![one(&geometry["coordinates"])?]),
        Some("MultiPoint") => {
            let list = geometry["coordinates"].as_array();
            list.ok_or_else(|| message!["{place} has no list of positions; correct it"])?.iter().map(one).collect()
        }
        Some(other) => {
            let other = shortened(other);
            Err(message![
                "{place} is a {other}; an event is a Point, so convert it, for example to its centroid, or take it out"
            ])
        }
        None => Err(message!["{place} has no place; give it a Point, or take it out"]),
    }
}

fn table(rows: &[Row], crs: Option<String>) -> Flat {
    let coordinates = coordinates(crs.as_deref());
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.properties) {
        let is_known = names.contains(&name.as_str()) || coordinates.iter().any(|own| name.eq_ignore_ascii_case(own));
        if !is_known {
            names.push(name);
        }
    }
    let mut text = coordinates.join(",");
    names.iter().for_each(|name| text += &format!(",{}", quoted(name)));
    text.push('\n');
    for row in rows {
        // Writing to a string cannot fail.
        let _ = write!(text, "{},{}", row.at[0], row.at[1]);
        for name in &names {
            let value = row.properties.iter().find(|(own, _)| own == name).map(|(_, value)| value);
            text += &format!(",{}", cell(value));
        }
        text.push('\n');
    }
    Flat { text, features: rows.iter().map(|row| row.feature).collect(), crs }
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => quoted(text),
        Some(other) => quoted(&other.to_string()),
    }
}

/// A field of the table, which stays on its line.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(geometry: &str, properties: &str) -> String {
        format!(r#"{{"type":"Feature","properties":{properties},"geometry":{geometry}}}"#)
    }

    fn collection(features: &[String]) -> String {
        format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, features.join(","))
    }

    fn read(text: &str) -> Flat {
        flat("points.geojson", text.as_bytes()).unwrap().unwrap()
    }

    fn refused(text: &str, words: &[&str]) {
        let sentence = flat("points.geojson", text.as_bytes()).err().unwrap().to_string();
        assert!(words.iter().all(|word| sentence.contains(word)), "{words:?}: {sentence}");
    }

    #[test]
    fn points_and_their_properties_become_rows() {
        let one = feature(r#"{"type":"Point","coordinates":[1.5,-2,700]}"#, r#"{"kind":"a, \"b\"","size":3}"#);
        let two = feature(r#"{"type":"MultiPoint","coordinates":[[3,4],[5,6]]}"#, r#"{"size":null,"lat":9}"#);
        let found = read(&collection(&[one, two]));
        assert_eq!(found.text, "lon,lat,\"kind\",\"size\"\n1.5,-2,\"a, \"\"b\"\"\",3\n3,4,,\n5,6,,\n");
        assert_eq!(found.features, [1, 2, 2]);
        assert_eq!(read(r#"{"type":"Point","coordinates":[1,2]}"#).text, "lon,lat\n1,2\n");
    }

    #[test]
    fn what_is_no_event_is_named() {
        let point = feature(r#"{"type":"Point","coordinates":[1,2]}"#, "null");
        let with = |geometry: &str| collection(&[point.clone(), feature(geometry, "null")]);
        refused(&with(r#"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#), &["feature 2 is a LineString", "Point"]);
        refused(&with("null"), &["feature 2 has no place"]);
        refused(&with(r#"{"type":"Point","coordinates":[1,"x"]}"#), &["feature 2 is at [1,\"x\"]"]);
        refused(r#"{"type":"FeatureCollection","features":[]}"#, &["without a point"]);
        let with_crs = |crs: &str| format!(r#"{{"type":"Point","coordinates":[1,2],"crs":{crs}}}"#);
        for name in ["urn:ogc:def:crs:EPSG::27700", "EPSG:43260", "EPSG:3857"] {
            let short = registered(name);
            for crs in [
                format!(r#"{{"properties":{{"name":"{name}"}}}}"#),
                format!(r#"{{"properties":{{"href":"{name}"}}}}"#),
                format!(r#""{name}""#),
            ] {
                let found = read(&with_crs(&crs));
                assert_eq!((found.text.as_str(), found.crs.as_deref()), ("x,y\n1,2\n", Some(short.as_str())));
                assert!(
                    Systems::Any.check("f", Some(&short)).is_ok()
                        && Systems::Map(name.into()).check("f", Some(&short)).is_ok()
                );
                for other in [Systems::Degrees, Systems::Map("EPSG:2154".into())] {
                    let sentence = other.check("f", Some(&short)).unwrap_err().to_string();
                    assert!(sentence.contains("convert") && sentence.contains(&short), "{sentence}");
                }
            }
        }
        assert!(Systems::Any.check("f", Some("EPSG:4277")).is_err(), "other degrees are no map");
        assert!(Systems::Map("EPSG:27700".into()).check("f", None).is_err(), "degrees are not on it");
        for name in ["urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:EPSG::4326", "epsg:4326"] {
            read(&with_crs(&format!(r#"{{"properties":{{"name":"{name}"}}}}"#)));
        }
        refused(&with("null")[..60], &["cannot be read at line 1", "cut short"]);
        refused(&with(r#"{"type":"Point","coordinates":[1,NaN]}"#), &["cannot be read at line 1", "NaN"]);
        refused(&format!("{point}\n{}\n", feature("null", "null")), &["feature 2 has no place"]);
        assert_eq!(read(&format!("{point}\n{point}\n")).features, [1, 2], "a feature on each line");
        for other in ["lon,lat\n1,2\n", r#"{"format":"pointillist-model"}"#, "{", r#"{"type":"Topology"}"#] {
            assert!(flat("x", other.as_bytes()).unwrap().is_none(), "{other}");
        }
    }
}
