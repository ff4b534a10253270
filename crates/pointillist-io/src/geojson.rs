//! Borders in: the polygons of a GeoJSON document (RFC 7946), whatever they are wrapped in.
//!
//! Only the nesting and the numbers are read here; whether rings close, cross or overlap is judged by the library. Heights are passed
//! over, and so are names and properties unless regions are read ([`read_features`]). A walk over plain JSON is shorter than what a
//! crate for all of GeoJSON would need around it, and it can say where a mistake is.

use super::input_error::shortened;
use serde_json::Value;

/// Bytes of memory for each byte of a document that is walked as plain JSON.
pub const GROWTH: u64 = 16;

/// The polygons of a border, and the reference system that its document names if that is not longitude and latitude.
pub struct Border {
    /// The rings of each polygon.
    pub polygons: Vec<Vec<Ring>>,
    /// The reference system.
    pub crs: Option<String>,
}

/// A closed line of positions.
pub type Ring = Vec<[f64; 2]>;

/// The polygons of one feature, and what is said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// The rings of each polygon.
    pub polygons: Vec<Vec<Ring>>,
    /// Its properties, an `id` first if it has one.
    pub properties: Vec<(String, Value)>,
}

/// The features of the document that hold polygons, in order; without a collection it is one.
pub fn read_features(file: &str, bytes: &[u8]) -> Result<Vec<Feature>, String> {
    let document = document(file, bytes)?;
    let alone = [document.clone()];
    let members = match document["type"].as_str() {
        Some("FeatureCollection") => document["features"].as_array().map_or(&alone[..], Vec::as_slice),
        _ => &alone,
    };
    let (mut features, mut others, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for (number, member) in members.iter().enumerate() {
        let place = if members.len() == 1 { file.to_string() } else { format!("{file}, feature {}", number + 1) };
        let mut found = Found { file: &place, polygons: Vec::new(), others };
        found.walk(member)?;
        others = found.others;
        match found.polygons.is_empty() {
            false => features.push(Feature { polygons: found.polygons, properties: properties(member) }),
            true => without.push(number + 1),
        }
    }
    match (features.is_empty(), without.first()) {
        (true, _) => Err(Found { file, polygons: Vec::new(), others }.nothing()),
        // Each feature has its row: none is passed over in silence.
        (false, Some(number)) => Err(format!("{file}, feature {number} has no polygon; give it one, or take it out")),
        (false, None) => Ok(features),
    }
}

pub(super) fn properties(feature: &Value) -> Vec<(String, Value)> {
    let id = feature.get("id").map(|id| ("id".to_string(), id.clone()));
    let rest = feature["properties"].as_object().into_iter().flatten();
    id.into_iter().chain(rest.map(|(name, value)| (name.clone(), value.clone()))).collect()
}

/// The rings of each polygon in the document, in order; `file` stands for it in messages.
pub fn read_polygons(file: &str, bytes: &[u8]) -> Result<Border, String> {
    let document = document(file, bytes)?;
    let mut found = Found { file, polygons: Vec::new(), others: Vec::new() };
    found.walk(&document)?;
    if found.polygons.is_empty() {
        return Err(found.nothing());
    }
    Ok(Border { polygons: found.polygons, crs: crs_name(&document) })
}

pub(super) fn document(file: &str, bytes: &[u8]) -> Result<Value, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.trim_ascii().is_empty() {
        return Err(format!("{file} is empty; it should hold the polygons of a border, as GeoJSON"));
    }
    serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("{file} is not JSON (line {line}, column {column}); a border is a GeoJSON file with polygons")
    })
}

/// How the reference system of all GeoJSON is called where older files name it.
const WGS84: [&str; 7] = ["CRS84", "CRS84H", "EPSG::4326", "EPSG:4326", "CRS:84", "WGS84", "WGS 84"];
/// Other degrees on the globe, those of North America and of Europe, which lie within two metres of these.
const NEARLY_WGS84: [&str; 4] = ["EPSG::4269", "EPSG:4269", "EPSG::4258", "EPSG:4258"];

/// The reference system that a file names, if it is not longitude and latitude.
pub fn named_crs(file: &str, bytes: &[u8]) -> Result<Option<String>, String> {
    Ok(crs_name(&document(file, bytes)?))
}

/// The reference system that a document names, as older files may.
fn crs_name(document: &Value) -> Option<String> {
    let crs = &document["crs"];
    let named = [&crs["properties"]["name"], &crs["properties"]["href"], crs].into_iter().find_map(Value::as_str)?;
    Some(shortened(named))
}

/// The same, if it is not longitude and latitude.
pub(super) fn other_crs(document: &Value) -> Option<String> {
    crs_name(document).filter(|name| !is_degrees(name))
}

/// Whether a reference system is that of longitude and latitude.
pub(super) fn is_degrees(crs: &str) -> bool {
    WGS84.iter().chain(&NEARLY_WGS84).any(|known| crs.trim().to_uppercase().ends_with(known))
}

/// What the walk has met.
struct Found<'a> {
    file: &'a str,
    polygons: Vec<Vec<Ring>>,
    /// Types that are no polygons and hold none.
    others: Vec<String>,
}

impl Found<'_> {
    fn walk(&mut self, value: &Value) -> Result<(), String> {
        match value["type"].as_str() {
            Some("FeatureCollection") => self.walk_all(&value["features"]),
            Some("GeometryCollection") => self.walk_all(&value["geometries"]),
            // A feature without a place is allowed, and has nothing to say here.
            Some("Feature") if value["geometry"].is_null() => Ok(()),
            Some("Feature") => self.walk(&value["geometry"]),
            Some("Polygon") => self.polygon(&value["coordinates"]),
            Some("MultiPolygon") => {
                let polygons = self.list(&value["coordinates"], "a MultiPolygon has no list of polygons")?;
                polygons.iter().try_for_each(|polygon| self.polygon(polygon))
            }
            other => {
                let name =
                    other.unwrap_or("JSON without a `type`").chars().filter(|c| !c.is_control()).take(40).collect();
                if !self.others.contains(&name) {
                    self.others.push(name);
                }
                Ok(())
            }
        }
    }

    fn walk_all(&mut self, values: &Value) -> Result<(), String> {
        self.list(values, "a collection has no list of members")?.iter().try_for_each(|value| self.walk(value))
    }

    fn polygon(&mut self, value: &Value) -> Result<(), String> {
        let number = self.polygons.len() + 1;
        let rings = self.list(value, &format!("polygon {number} has no list of rings"))?;
        let mut polygon = Vec::with_capacity(rings.len());
        for (place, ring) in rings.iter().enumerate() {
            let name = format!("polygon {number}, {}", ring_name(place));
            let positions = self.list(ring, &format!("{name} is no list of positions"))?;
            let read = |(at, value): (usize, &Value)| position(value).ok_or_else(|| self.misplaced(&name, at, value));
            polygon.push(positions.iter().enumerate().map(read).collect::<Result<Ring, String>>()?);
        }
        // An empty list of rings is how some programs write "no polygon".
        if !polygon.is_empty() {
            self.polygons.push(polygon);
        }
        Ok(())
    }

    fn list<'v>(&self, value: &'v Value, why: &str) -> Result<&'v Vec<Value>, String> {
        value.as_array().ok_or_else(|| format!("{}: {why}; a border is a GeoJSON file with polygons", self.file))
    }

    fn misplaced(&self, ring: &str, at: usize, value: &Value) -> String {
        let shown: String = value.to_string().chars().take(40).collect();
        format!("{}: {ring}, position {} is {shown}, not two numbers; correct it", self.file, at + 1)
    }

    fn nothing(&self) -> String {
        let file = self.file;
        match &self.others[..] {
            [] => format!("{file} holds no polygon: its collection is empty; a border needs at least one"),
            [only] if only == "Topology" => {
                format!("{file} is TopoJSON; convert it to GeoJSON, for example with topo2geo")
            }
            others => format!(
                "{file} holds no polygon, only {}; a border needs GeoJSON of type Polygon or MultiPolygon",
                others.join(", ")
            ),
        }
    }
}

/// What a ring is called: the first goes round the outside.
pub fn ring_name(place: usize) -> String {
    if place == 0 { "its outer ring".into() } else { format!("its hole {place}") }
}

/// Two finite numbers; a third, the height, has no meaning here.
pub(super) fn position(value: &Value) -> Option<[f64; 2]> {
    let numbers = value.as_array().filter(|numbers| numbers.len() >= 2)?;
    let finite = |value: &Value| value.as_f64().filter(|number| number.is_finite());
    Some([finite(&numbers[0])?, finite(&numbers[1])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: &str =
        r#"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4,7.5],[0,4],[0,0]],[[1,1],[1,2],[2,2],[1,1]]]}"#;
    const TWO: &str =
        r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[0,1],[0,0]]],[[[5,5],[6,5],[5,6],[5,5]]]]}"#;

    fn read(text: &str) -> Vec<Vec<Ring>> {
        read_polygons("border.geojson", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).polygons
    }

    fn refused(text: &str, words: &[&str]) {
        let sentence = read_polygons("border.geojson", text.as_bytes()).err().expect(text);
        assert!(sentence.contains("border.geojson") && !sentence.contains('\n'), "{sentence}");
        assert!(words.iter().all(|word| sentence.contains(word)), "{words:?}: {sentence}");
    }

    #[test]
    fn polygons_are_found_in_every_wrapping() {
        let square = read(SQUARE);
        assert_eq!((square.len(), square[0].len(), square[0][0].len()), (1, 2, 5));
        assert_eq!(square[0][0][2], [4.0, 4.0], "a height is passed over");
        assert_eq!(read(TWO).len(), 2);
        let feature = |geometry: &str| format!(r#"{{"type":"Feature","properties":null,"geometry":{geometry}}}"#);
        assert_eq!(read(&feature(SQUARE)), square);
        let point = r#"{"type":"Point","coordinates":[1,2]}"#;
        let features = [feature(TWO), feature(point), feature("null"), feature(SQUARE)].join(",");
        let all = read(&format!(r#"{{"type":"FeatureCollection","features":[{features}]}}"#));
        assert_eq!((all.len(), &all[2]), (3, &square[0]));
        let nested = format!(r#"{{"type":"GeometryCollection","geometries":[{SQUARE},{point}]}}"#);
        assert_eq!(read(&format!("\u{feff} {}", feature(&nested))), square);
    }

    #[test]
    fn features_keep_their_properties() {
        let feature = |extra: &str, geometry: &str| format!(r#"{{"type":"Feature",{extra}"geometry":{geometry}}}"#);
        let members = [
            feature(r#""id":7,"properties":{"name":"North","people":12},"#, SQUARE),
            feature(r#""properties":{"name":"South"},"#, TWO),
        ];
        let collection =
            |members: &[String]| format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, members.join(","));
        let text = collection(&members);
        let features = read_features("regions.geojson", text.as_bytes()).unwrap();
        let counts: Vec<usize> = features.iter().map(|feature| feature.polygons.len()).collect();
        assert_eq!(counts, [1, 2]);
        let expected = [("id", Value::from(7)), ("name", "North".into()), ("people", 12.into())];
        assert_eq!(features[0].properties, expected.map(|(name, value)| (name.to_string(), value)));
        let alone = read_features("regions.geojson", TWO.as_bytes()).unwrap();
        assert_eq!((alone.len(), alone[0].polygons.len(), alone[0].properties.len()), (1, 2, 0));
        let broken = text.replace("[5,5]", "[5]");
        let sentence = read_features("regions.geojson", broken.as_bytes()).unwrap_err();
        assert!(sentence.contains("regions.geojson, feature 2: polygon 2"), "{sentence}");
        let nowhere = collection(&[members[0].clone(), feature(r#""properties":null,"#, "null")]);
        let sentence = read_features("regions.geojson", nowhere.as_bytes()).unwrap_err();
        assert!(sentence.contains("regions.geojson, feature 2 has no polygon"), "{sentence}");
        assert!(read_features("regions.geojson", br#"{"type":"Topology","objects":{}}"#).is_err());
    }

    #[test]
    fn what_is_no_border_is_named() {
        refused("", &["empty"]);
        refused("lon,lat\n1,2\n", &["not JSON", "line 1", "GeoJSON"]);
        refused(&SQUARE[..SQUARE.len() - 4], &["not JSON"]);
        refused("[1, 2]", &["without a `type`"]);
        refused(r#"{"type":"FeatureCollection","features":[]}"#, &["empty", "at least one"]);
        refused(r#"{"type":"FeatureCollection"}"#, &["no list of members"]);
        refused(r#"{"type":"Topology","objects":{}}"#, &["TopoJSON", "convert"]);
        let mixed = r#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},
            {"type":"LineString","coordinates":[[1,2],[2,3]]},{"type":"Point","coordinates":[3,4]}]}"#;
        refused(mixed, &["only Point, LineString;", "Polygon"]);
    }

    #[test]
    fn a_misplaced_number_is_found() {
        refused(&SQUARE.replace("[4,0]", "[4]"), &["polygon 1, its outer ring, position 2", "[4]"]);
        refused(&SQUARE.replace("[1,2]", "[1,\"x\"]"), &["polygon 1, its hole 1, position 2"]);
        refused(r#"{"type":"Polygon","coordinates":[1,2]}"#, &["polygon 1, its outer ring is no list"]);
        refused(r#"{"type":"Polygon"}"#, &["no list of rings"]);
        refused(r#"{"type":"MultiPolygon","coordinates":7}"#, &["no list of polygons"]);
    }
}
