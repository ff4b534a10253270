//! Longitudes and latitudes as km on a plane of equal area, and back.
//!
//! The plane is the cylindrical equal-area projection of the WGS84 ellipsoid (PROJ calls it `cea`): with k the radius of the parallel of true scale,
//! in radii a of the equator,
//!
//! > east = a k (λ − λ₀),  north = a (q(φ) − q(φ₀)) / 2k,  q(φ) = (1 − e²) (s / (1 − e² s²) + artanh(e s) / e),  s = sin φ.
//!
//! Areas are those of the ellipsoid. East depends on the longitude alone and north on the latitude alone: so a box of degrees is a box of km, and an
//! axis is converted by itself wherever its numbers come in or go out, as an axis of dates is. The price is paid in lengths: away from the parallel
//! of true scale they are too long east and as much too short north. The parallel is chosen so that the worst of that is smallest, and a window that is so
//! high that it matters is warned of.

use super::columns::number;
use super::geojson::ring_name;
use super::input_error::InputError;
use super::message::{Message, Setting};
use super::window::place;
use crate::message;
use pointillist::window::{Direction, Globe, Piece, Polygons, Ring, Span};
use pointillist::{Axis, Error, Points, Window};

/// The radius of the equator in km, and the square of the eccentricity: WGS84.
pub const EQUATOR: f64 = 6378.137;
const ECCENTRICITY_SQUARED: f64 = 0.006_694_379_990_141_316;
/// What axes on the globe are counted in.
const UNIT: &str = "km";
/// Names of columns of longitudes, and of latitudes.
const LONGITUDES: [&str; 4] = ["lon", "long", "longitude", "lng"];
const LATITUDES: [&str; 2] = ["lat", "latitude"];
/// Farther east or west no longitude is, however it is counted.
const MOST_LONGITUDE: f64 = 360.0;
/// Events that reach over more degrees of longitude most likely lie on both sides of the antimeridian; so does a border that leaves more of them out.
const WIDEST: f64 = 180.0;
/// All the way round, with what a number may lose in the writing.
const ROUND: f64 = 360.0 + 1e-9;
/// So near the poles the map of a window ends.
const HIGHEST: f64 = 89.0;
/// Lengths may be wrong by this factor before it is said.
const STRETCH_WORTH_A_WORD: f64 = 1.1;
/// Degrees of latitude after which a slanting edge of a border gets a corner: what is straight in degrees is bent in km.
const STEP: f64 = 0.25;
/// Degrees that a region may reach beyond half a turn from the map's centre, which is rounded.
const SLACK: f64 = 0.01;
/// Degrees are given to so many parts: as exactly as there and back again leaves them.
const PARTS: f64 = 1e11;

/// Whether coordinates are degrees on the globe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Geography {
    /// They are if their columns are called so.
    #[default]
    Recognised,
    /// They are.
    Sphere,
    /// They are numbers in a plane, whatever they are called.
    Plane,
}

/// The axes of longitude and latitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The number of the axis of longitudes.
    pub east: usize,
    /// The number of the axis of latitudes.
    pub north: usize,
}

impl Pair {
    /// Whether latitudes come first, of the two axes that a border stands on.
    pub fn is_north_first(self) -> bool {
        self.north == 0 && self.east == 1
    }
}

/// The axes that are called longitude and latitude, if there is one of each.
pub fn called(axes: &[Axis]) -> Option<Pair> {
    let only = |names: &[&str]| {
        let is_called =
            |axis: &Axis| axis.origin.is_none() && names.contains(&axis.name.trim().to_lowercase().as_str());
        let mut found = axes.iter().enumerate().filter(|(_, axis)| is_called(axis)).map(|(r, _)| r);
        found.next().filter(|_| found.next().is_none())
    };
    Some(Pair { east: only(&LONGITUDES)?, north: only(&LATITUDES)? })
}

/// The numbers of the axes that go east and north: by what they are on the globe or are called, else the first two.
pub fn directions(axes: &[Axis]) -> [usize; 2] {
    let is_north = |axis: &Axis| axis.globe.is_some_and(|globe| globe.direction == Direction::North);
    let is_turned = axes.first().is_some_and(is_north) || called(axes).is_some_and(Pair::is_north_first);
    if is_turned { [1, 0] } else { [0, 1] }
}

/// What a column may be called as well, if this is what a longitude or a latitude may be called.
pub fn synonyms(name: &str) -> &'static [&'static str] {
    match name {
        name if LONGITUDES.contains(&name) => &LONGITUDES,
        name if LATITUDES.contains(&name) => &LATITUDES,
        _ => &[],
    }
}

/// The axes that are degrees on the globe, as the setting says. Where it asks for them and no name tells, they are the first two.
pub fn pair(axes: &[Axis], setting: Geography) -> Result<Option<Pair>, Message> {
    let first_two = || match axes {
        [one, other, ..] if one.origin.is_none() && other.origin.is_none() => Ok(Pair { east: 0, north: 1 }),
        _ => Err(message![
            Setting::Geography.given("sphere"),
            " needs a longitude and a latitude; name their columns with ",
            Setting::Columns.given("lon,lat")
        ]),
    };
    if let Some(crs) = axes.iter().find_map(|axis| axis.crs.as_ref()) {
        return match setting {
            Geography::Sphere => Err(message![
                Setting::Geography.given("sphere"),
                ": the coordinates are in {crs}, which is a map and has no degrees; leave it out, or convert them to longitude and latitude (EPSG:4326)"
            ]),
            _ => Ok(None),
        };
    }
    match setting {
        Geography::Plane => Ok(None),
        Geography::Recognised => Ok(called(axes)),
        Geography::Sphere => Ok(Some(called(axes).map_or_else(first_two, Ok)?)),
    }
}

/// Refuses another unit that was given to degrees, which are counted in km here.
pub fn refuse_units(pair: Pair, axes: &[Axis], without: &[Axis]) -> Result<(), Message> {
    let is_other = |&r: &usize| axes[r].unit != without[r].unit && axes[r].unit.as_deref() != Some("degrees");
    let Some(r) = [pair.east, pair.north].into_iter().find(is_other) else { return Ok(()) };
    let (name, unit) = (&axes[r].name, axes[r].unit.clone().unwrap_or_default());
    Err(message![
        Setting::Unit.given(format!("{name}={unit}")),
        ": `{name}` is taken for degrees on the globe, which are counted in {UNIT}; leave it out, or take the numbers as they are with ",
        Setting::Geography.given("plane")
    ])
}

/// Whether some of the axes are km that stand for degrees.
pub fn is_on_globe(axes: &[Axis]) -> bool {
    axes.iter().any(|axis| axis.globe.is_some())
}

/// A number on an axis as it is counted there: on the globe from degrees, else as it is.
pub fn inward(axis: &Axis, value: f64) -> f64 {
    axis.globe.as_ref().map_or(value, |globe| to_km(globe, value))
}

/// A number on an axis as people know it: on the globe in degrees, else as it is.
pub fn outward(axis: &Axis, value: f64) -> f64 {
    // Adding 0 takes the sign off -0.
    axis.globe.as_ref().map_or(value, |globe| (to_degrees(globe, value) * PARTS).round() / PARTS + 0.0)
}

/// The same for a row.
pub fn row_outward(row: &[f64], axes: &[Axis]) -> Vec<f64> {
    row.iter().zip(axes).map(|(&value, axis)| outward(axis, value)).collect()
}

/// [`inward`] for a coordinate of a place. A longitude more than half a turn from the map's centre is the same place on the other side of it: on a map
/// from 170 to 190 degrees −175 is 185.
pub(crate) fn place_inward(axis: &Axis, value: f64) -> f64 {
    let off =
        axis.globe.filter(|globe| globe.direction == Direction::East).map_or(0.0, |globe| value - globe.centre[0]);
    let turns = if off.abs() > 180.0 && off.abs() <= 2.0 * MOST_LONGITUDE { (off / 360.0).round() } else { 0.0 };
    inward(axis, value - 360.0 * turns)
}

/// The same for a row.
pub fn row_inward(row: &[f64], axes: &[Axis]) -> Vec<f64> {
    row.iter().zip(axes).map(|(&value, axis)| place_inward(axis, value)).collect()
}

/// The same for all rows, in place.
pub fn rows_inward(rows: &mut [f64], axes: &[Axis]) {
    if is_on_globe(axes) {
        rows.chunks_exact_mut(axes.len())
            .flatten()
            .zip(axes.iter().cycle())
            .for_each(|(v, axis)| *v = place_inward(axis, *v));
    }
}

/// [`row_inward`] for points; without a copy where there is no globe.
pub fn points_inward(points: Points, axes: &[Axis]) -> Result<Points, Error> {
    if !is_on_globe(axes) {
        return Ok(points);
    }
    let mut rows = points.coordinates().to_vec();
    rows_inward(&mut rows, axes);
    Points::new(points.dims(), rows)
}

/// [`row_outward`] for points.
pub fn points_outward(points: &Points, axes: &[Axis]) -> Result<Points, Error> {
    Points::new(points.dims(), points.rows().flat_map(|row| row_outward(row, axes)).collect())
}

/// What a number on an axis would be, if it is on the globe and the number is not: `latitude`.
pub fn no_degrees(axis: &Axis, value: f64) -> Option<&'static str> {
    let (most, what) = match axis.globe?.direction {
        Direction::East => (MOST_LONGITUDE, "longitude"),
        Direction::North => (90.0, "latitude"),
    };
    (value.abs() > most).then_some(what)
}

/// Refuses points that are not on the globe though the axes are: most likely they are metres, or the other way round.
pub fn refuse_no_degrees(points: &Points, axes: &[Axis], what: &str) -> Result<(), Message> {
    for (r, axis) in axes.iter().enumerate() {
        let Some(value) = points.rows().map(|row| row[r]).find(|value| no_degrees(axis, *value).is_some()) else {
            continue;
        };
        let (name, value) = (&axis.name, number(value));
        return Err(message![
            "{what} reach {value} on `{name}`, which is no number of degrees; give longitudes and latitudes, in the order of the axes"
        ]);
    }
    Ok(())
}

/// A region, in km, where the map has it. What lies more than half a turn from the map's centre is the same place on its other side: on a map from 170 to
/// 190 degrees -180,-170 is 180,190. A region that lies across the map's cut comes in two parts, one on each side. The reason if it cannot be placed.
pub fn onto_map(region: Window) -> Result<Window, Message> {
    let Some(east) = region.axes().iter().position(is_east) else { return Ok(region) };
    let Some(globe) = region.axes()[east].globe else { return Ok(region) };
    let degrees = |degrees: f64| to_km(&globe, globe.centre[0] + degrees);
    let (half, turn, slack) = (degrees(180.0), degrees(360.0), degrees(SLACK));
    let span = region.bounding_box()[east];
    if span.lo >= -half - slack && span.hi <= half + slack {
        return Ok(region);
    }
    let mut parts: Vec<Window> = Vec::new();
    let pieces = region.pieces().iter().map(|piece| polygon_by_polygon(piece, east)).collect::<Result<Vec<_>, _>>();
    for piece in pieces.map_err(|error| message!["{error}"])?.into_iter().flatten() {
        let Span { lo, hi } = piece.spans[east];
        let length = rounded((hi - lo) / degrees(1.0));
        if hi - lo > turn + slack {
            let name = &region.axes()[east].name;
            return Err(message![
                "reaches over {length} degrees of `{name}`, more than once round the globe; give at most 360 of them"
            ]);
        }
        let [first, last] = [lo, hi].map(|end| ((end + half) / turn).floor() as i64);
        for turns in first..=last {
            parts.extend(turned(&piece, east, turns as f64 * turn, half)?);
        }
    }
    let overlap = |_| message!["covers some places twice, on both sides of the globe; give each of them once"];
    let placed = Window::union(&parts).map_err(overlap)?;
    placed.with_axes(region.axes().to_vec()).map_err(|error| message!["{error}"])
}

/// Each polygon of a piece as a piece of its own: islands on both sides of the antimeridian are turned each for itself, and not cut.
fn polygon_by_polygon(piece: &Piece, east: usize) -> Result<Vec<Piece>, Error> {
    let Some(outline) = piece.outline.as_ref().filter(|_| east < 2) else { return Ok(vec![piece.clone()]) };
    let of_rings = |rings: &Vec<Ring>| {
        let own = Polygons::new(vec![rings.clone()])?;
        let mut spans = piece.spans.clone();
        spans.splice(..2, own.bounding_box());
        Ok(Piece { spans, outline: Some(own), repeats: piece.repeats })
    };
    outline.rings().iter().map(of_rings).collect()
}

/// The part of a piece that lies on the map once it was moved west by so many km.
fn turned(piece: &Piece, east: usize, west: f64, half: f64) -> Result<Option<Window>, Message> {
    let wrong = |error: Error| message!["{error}"];
    let mut spans: Vec<(f64, f64)> = piece.spans.iter().map(|span| (span.lo, span.hi)).collect();
    spans[east] = (spans[east].0 - west, spans[east].1 - west);
    let cut = (spans[east].0.max(-half), spans[east].1.min(half));
    // Less is what numbers lose on their way.
    if cut.1 - cut.0 <= 1e-9 * half {
        return Ok(None);
    }
    let moved = match &piece.outline {
        // A border stands on the first two axes.
        Some(outline) if east < 2 => {
            let point = |point: &[f64; 2]| {
                let mut point = *point;
                point[east] -= west;
                point
            };
            let ring = |ring: &Ring| ring.iter().map(point).collect();
            let rings = outline.rings().iter().map(|rings| rings.iter().map(ring).collect()).collect();
            let inside = Window::inside(Polygons::new(rings).map_err(wrong)?);
            match spans.get(2..) {
                Some(others) if !others.is_empty() => {
                    inside.times(&Window::new(others).map_err(wrong)?).map_err(wrong)?
                }
                _ => inside,
            }
        }
        _ => Window::new(&spans).map_err(wrong)?,
    };
    let is_whole = cut == spans[east];
    spans[east] = cut;
    let map = Window::new(&spans).map_err(wrong)?;
    Ok(if is_whole { Some(moved) } else { map.intersection(&moved) })
}

/// A window that stands on axes already, on others: as it is where these are the same plane or map, by way of degrees from one map to another.
pub fn onto(window: &Window, axes: &[Axis]) -> Result<Window, InputError> {
    let maps = |axes: &[Axis]| axes.iter().map(|axis| axis.globe).collect::<Vec<_>>();
    let own = window.axes();
    if maps(own) == maps(axes) {
        return Ok(window.clone().with_axes(axes.to_vec())?);
    }
    let directions =
        |axes: &[Axis]| axes.iter().map(|axis| axis.globe.map(|globe| globe.direction)).collect::<Vec<_>>();
    if directions(own) != directions(axes) {
        let is = |axes| if is_on_globe(axes) { "on the globe" } else { "in a plane" };
        let (one, other) = (is(own), is(axes));
        return Err(message![
            "one window is {one} and the other is {other}, or their axes differ; give both as degrees, or both as numbers of one plane, on the same axes"
        ]
        .into());
    }
    if window.exposure().is_some() || window.pieces().iter().any(|piece| piece.repeats != 1.0) {
        let why = "cannot go from one map of the globe to another; give it anew, in degrees";
        return Err(message!["a window with repeats or an exposure {why}"].into());
    }
    let moved = |piece: &Piece| piece_inward(&piece_outward(piece, own)?, axes);
    let pieces = window.pieces().iter().map(moved).collect::<Result<Vec<_>, _>>()?;
    Ok(onto_map(Window::union(&pieces)?.with_axes(axes.to_vec())?)?)
}

/// A piece in degrees.
fn piece_outward(piece: &Piece, axes: &[Axis]) -> Result<Piece, Error> {
    let spans = piece
        .spans
        .iter()
        .zip(axes)
        .map(|(span, axis)| Span { lo: outward(axis, span.lo), hi: outward(axis, span.hi) });
    let outline =
        piece.outline.as_ref().map(|outline| Polygons::new(rings_outward(outline.rings(), axes))).transpose()?;
    Ok(Piece { spans: spans.collect(), outline, repeats: piece.repeats })
}

/// What to write beside an axis of a picture, if it is on the globe.
pub fn label(axis: &Axis) -> Option<String> {
    let globe = axis.globe.as_ref()?;
    let [longitude, latitude] = globe.centre;
    Some(match globe.direction {
        Direction::East => format!("{UNIT} east of {}", hemisphere(longitude, ["E", "W"])),
        Direction::North => format!("{UNIT} north of {}", hemisphere(latitude, ["N", "S"])),
    })
}

fn hemisphere(degrees: f64, names: [&str; 2]) -> String {
    format!("{}° {}", degrees.abs(), names[usize::from(degrees < 0.0)])
}

/// The radius of a parallel, in radii of the equator.
pub fn radius(latitude: f64) -> f64 {
    let (s, c) = latitude.to_radians().sin_cos();
    c / (1.0 - ECCENTRICITY_SQUARED * s * s).sqrt()
}

/// q, from the sine of the latitude: half of it times a² is the area between the equator and the parallel, for each radian of longitude.
fn authalic(sine: f64) -> f64 {
    let e = ECCENTRICITY_SQUARED.sqrt();
    (1.0 - ECCENTRICITY_SQUARED) * (sine / (1.0 - ECCENTRICITY_SQUARED * sine * sine) + (e * sine).atanh() / e)
}

/// The sine of the latitude at which q has a value, by Newton's steps: q is nearly 2 sin φ.
fn sine_of(q: f64) -> f64 {
    let mut sine = q / authalic(1.0);
    for _ in 0..6 {
        let bend = 1.0 - ECCENTRICITY_SQUARED * sine * sine;
        sine -= (authalic(sine) - q) * bend * bend / (2.0 * (1.0 - ECCENTRICITY_SQUARED));
        sine = sine.clamp(-1.0, 1.0);
    }
    sine
}

/// The km north of the equator of a latitude on a projection. Beyond the poles it goes on as a line, so that what is no latitude lies outside of every
/// window.
fn north_of_equator(globe: &Globe, latitude: f64) -> f64 {
    let scale = EQUATOR / (2.0 * radius(globe.parallel));
    let beyond = latitude - latitude.clamp(-90.0, 90.0);
    scale * (authalic((latitude - beyond).to_radians().sin()) + 2.0 * beyond.to_radians())
}

fn to_km(globe: &Globe, degrees: f64) -> f64 {
    let [longitude, latitude] = globe.centre;
    match globe.direction {
        Direction::East => EQUATOR * radius(globe.parallel) * (degrees - longitude).to_radians(),
        Direction::North => north_of_equator(globe, degrees) - north_of_equator(globe, latitude),
    }
}

fn to_degrees(globe: &Globe, km: f64) -> f64 {
    let [longitude, latitude] = globe.centre;
    match globe.direction {
        Direction::East => longitude + (km / (EQUATOR * radius(globe.parallel))).to_degrees(),
        Direction::North => {
            let q = (km + north_of_equator(globe, latitude)) * 2.0 * radius(globe.parallel) / EQUATOR;
            let most = authalic(1.0);
            let beyond = q - q.clamp(-most, most);
            sine_of(q - beyond).asin().to_degrees() + (beyond / 2.0).to_degrees()
        }
    }
}

/// What false northing brings the zero of a projection to its centre, in km: the equator's own northing with its sign turned.
pub fn northing_of_centre(globe: &Globe) -> f64 {
    north_of_equator(globe, globe.centre[1])
}

/// Who says where a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidBy {
    /// The user.
    User,
    /// The events, around which it is.
    Events,
}

/// A window of degrees as one of km, on a projection about its middle; what to know of it joins the warnings.
pub fn on_globe(
    window: Window,
    pair: Pair,
    said_by: SaidBy,
    warnings: &mut Vec<Message>,
) -> Result<Window, InputError> {
    let spans = window.bounding_box();
    check_longitudes(&window, pair.east, said_by)?;
    check_latitudes(spans[pair.north], &window.axes()[pair.north], spans[pair.east])?;
    if window.outlines().next().is_some() && pair.east.max(pair.north) > 1 {
        let [east, north] = [pair.east, pair.north].map(|r| window.axes()[r].name.clone());
        return Err(message![
            "a border stands on the first two axes, which here are not `{east}` and `{north}`; put these first with ",
            Setting::Columns
        ]
        .into());
    }
    for outline in window.outlines() {
        refuse_long_way("the border of the window", outline.rings(), pair.east)?;
    }
    let (parallel, stretch) = true_parallel(spans[pair.north]);
    let centre = [spans[pair.east], spans[pair.north]].map(|span| rounded(0.5 * (span.lo + span.hi)));
    if stretch > STRETCH_WORTH_A_WORD {
        warnings.push(stretched(spans[pair.north], stretch));
    }
    if spans[pair.east].length() > WIDEST {
        let [lo, hi] = [spans[pair.east].lo, spans[pair.east].hi].map(rounded);
        warnings.push(message![
            "the map is cut at longitude {lo} and {hi}: what lies near the cut on one side knows nothing of the other side"
        ]);
    }
    let mut axes = window.axes().to_vec();
    for (r, direction) in [(pair.east, Direction::East), (pair.north, Direction::North)] {
        axes[r].globe = Some(Globe { direction, centre, parallel });
        axes[r].unit = Some(UNIT.into());
    }
    let pieces = window.pieces().iter().map(|piece| piece_inward(piece, &axes)).collect::<Result<Vec<_>, _>>()?;
    Ok(Window::union(&pieces)?.with_axes(axes)?)
}

/// Whether an axis counts longitudes.
pub(crate) fn is_east(axis: &Axis) -> bool {
    axis.globe.is_some_and(|globe| globe.direction == Direction::East)
}

/// Refuses edges that go more than half round the globe: whoever draws from 178 to -176 means the short way.
pub(crate) fn refuse_long_way(file: &str, polygons: &[Vec<Ring>], east: usize) -> Result<(), Message> {
    for (polygon, rings) in polygons.iter().enumerate() {
        for (ring, corners) in rings.iter().enumerate() {
            let ends = |place: usize| [corners[place][east], corners[(place + 1) % corners.len()][east]];
            // All round the globe is meant.
            let is_long = |[from, to]: [f64; 2]| (180.0 + 1e-9..360.0 - 1e-9).contains(&(to - from).abs());
            let Some(place) = (0..corners.len()).find(|&place| is_long(ends(place))) else { continue };
            let [from, to] = ends(place);
            let (west, polygon, ring, place) = (number(from.min(to)), polygon + 1, ring_name(ring), place + 1);
            let (short, [from, to]) = (number(from.min(to) + 360.0), [from, to].map(number));
            return Err(message![
                "{file}: polygon {polygon}: {ring}, position {place}: from longitude {from} to {to} it goes the long way round the globe; if the short way is meant write \
                 {short} for {west}, else give a position between the two"
            ]);
        }
    }
    Ok(())
}

/// What to say of lengths in a window that is high or tall.
fn stretched(latitudes: Span, stretch: f64) -> Message {
    let percent = (100.0 * (stretch - 1.0)).round();
    let [lo, hi] = [latitudes.lo, latitudes.hi].map(rounded);
    message![
        "from latitude {lo} to {hi} no map of equal area keeps all lengths: areas and rates are right, but lengths east and north are wrong by up to \
         {percent} % at the ends; a window of fewer degrees of latitude has less of that"
    ]
}

fn rounded(degrees: f64) -> f64 {
    (100.0 * degrees).round() / 100.0
}

/// The parallel of true scale, and the factor by which lengths are wrong where they are worst, which it makes smallest.
fn true_parallel(latitudes: Span) -> (f64, f64) {
    let ends = [radius(latitudes.lo), radius(latitudes.hi)];
    let least = ends[0].min(ends[1]);
    let most = if latitudes.lo <= 0.0 && latitudes.hi >= 0.0 { 1.0 } else { ends[0].max(ends[1]) };
    let wanted = (least * most).sqrt();
    // The radius of the parallel of a latitude, turned round.
    let parallel = ((1.0 - wanted * wanted) / (1.0 - ECCENTRICITY_SQUARED * wanted * wanted)).max(0.0).sqrt().asin();
    let side = if latitudes.lo + latitudes.hi < 0.0 { -1.0 } else { 1.0 };
    (side * rounded(parallel.to_degrees()), (most / least).sqrt())
}

fn as_they_are() -> Message {
    message!["take the numbers as they are with ", Setting::Geography.given("plane")]
}

fn check_longitudes(window: &Window, east: usize, said_by: SaidBy) -> Result<(), Message> {
    let (span, axis) = (window.bounding_box()[east], &window.axes()[east]);
    let name = &axis.name;
    if let Some(end) = [span.lo, span.hi].into_iter().find(|end| end.abs() > MOST_LONGITUDE) {
        let end = place(axis, end);
        return Err(message!["`{name}` reaches {end}, which is no longitude; correct it, or ", as_they_are()]);
    }
    let length = rounded(span.length());
    let smaller = || message!["give a smaller ", Setting::Window, " with ", Setting::Clip, ", or ", as_they_are()];
    if span.length() > ROUND {
        return Err(message![
            "the window reaches over {length} degrees of `{name}`, more than once round the globe: ",
            smaller()
        ]);
    }
    if span.length() > WIDEST && said_by == SaidBy::Events {
        return Err(message![
            "the events reach over {length} degrees of `{name}`: if they lie across the antimeridian, count longitudes from 0 to 360; if they lie all \
             round the globe, give the ",
            Setting::Window,
            ", as in -180,180,-60,60; or ",
            as_they_are()
        ]);
    }
    if span.length() > WIDEST && widest_gap(window, east) > WIDEST {
        return Err(message![
            "the window lies at both ends of {length} degrees of `{name}`, across the antimeridian: count longitudes from 0 to 360; else ",
            smaller()
        ]);
    }
    Ok(())
}

/// The most degrees of longitude in a row of which a window has nothing, between its ends.
fn widest_gap(window: &Window, east: usize) -> f64 {
    let of_ring = |ring: &Ring| {
        let fold = |(lo, hi): (f64, f64), point: &[f64; 2]| (lo.min(point[east]), hi.max(point[east]));
        ring.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
    };
    let of_piece = |piece: &Piece| match &piece.outline {
        // The first ring of a polygon goes round all of it. A border stands on the first two axes.
        Some(outline) if east < 2 => outline.rings().iter().filter_map(|rings| rings.first()).map(of_ring).collect(),
        _ => vec![(piece.spans[east].lo, piece.spans[east].hi)],
    };
    let mut stretches: Vec<(f64, f64)> = window.pieces().iter().flat_map(of_piece).collect();
    stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut reached, mut widest) = (f64::NEG_INFINITY, 0.0);
    for (lo, hi) in stretches {
        if reached.is_finite() {
            widest = f64::max(widest, lo - reached);
        }
        reached = reached.max(hi);
    }
    widest
}

fn check_latitudes(span: Span, axis: &Axis, longitudes: Span) -> Result<(), Message> {
    let (name, is_beyond) = (&axis.name, |end: &f64, most: f64| end.abs() > most);
    if let Some(end) = [span.lo, span.hi].into_iter().find(|end| is_beyond(end, 90.0)) {
        let end = place(axis, end);
        let swapped = match [longitudes.lo, longitudes.hi].iter().any(|end| is_beyond(end, 90.0)) {
            true => "",
            false => " (the columns may be swapped)",
        };
        return Err(message!["`{name}` reaches {end}, which is no latitude{swapped}; correct it, or ", as_they_are()]);
    }
    if let Some(end) = [span.lo, span.hi].into_iter().find(|end| is_beyond(end, HIGHEST)) {
        let end = place(axis, end);
        return Err(message![
            "the window reaches latitude {end}, and maps end at {HIGHEST}: give a smaller ",
            Setting::Window,
            " with ",
            Setting::Clip,
            ", or ",
            as_they_are()
        ]);
    }
    Ok(())
}

/// A piece that was looked at once, in km.
fn piece_inward(piece: &Piece, axes: &[Axis]) -> Result<Window, InputError> {
    let ends = |r: usize| (inward(&axes[r], piece.spans[r].lo), inward(&axes[r], piece.spans[r].hi));
    let spans: Vec<(f64, f64)> = (0..axes.len()).map(ends).collect();
    let Some(outline) = &piece.outline else { return Ok(Window::new(&spans)?) };
    let inside = Window::inside(Polygons::new(rings_inward(outline.rings(), axes))?);
    Ok(if spans.len() > 2 { inside.times(&Window::new(&spans[2..])?)? } else { inside })
}

/// Rings on the first two axes, in km where these are on the globe.
pub fn rings_inward(polygons: &[Vec<Ring>], axes: &[Axis]) -> Vec<Vec<Ring>> {
    let ring = |ring: &Ring| with_corners(ring, axes).into_iter().map(|point| point_inward(point, axes)).collect();
    polygons.iter().map(|rings| rings.iter().map(ring).collect()).collect()
}

/// The same the other way.
pub fn rings_outward(polygons: &[Vec<Ring>], axes: &[Axis]) -> Vec<Vec<Ring>> {
    let point = |[x, y]: &[f64; 2]| [outward(&axes[0], *x), outward(&axes[1], *y)];
    let ring = |ring: &Ring| ring.iter().map(point).collect();
    polygons.iter().map(|rings| rings.iter().map(ring).collect()).collect()
}

fn point_inward([x, y]: [f64; 2], axes: &[Axis]) -> [f64; 2] {
    [inward(&axes[0], x), inward(&axes[1], y)]
}

/// A ring with more corners on its long slanting edges. Edges along a parallel or a meridian stay straight.
fn with_corners(ring: &Ring, axes: &[Axis]) -> Ring {
    let is_north = |r: usize| axes[r].globe.is_some_and(|globe| globe.direction == Direction::North);
    let Some(north) = (0..2).find(|&r| is_north(r)) else { return ring.clone() };
    let mut corners = Ring::with_capacity(ring.len());
    for (i, &a) in ring.iter().enumerate() {
        let b = ring[(i + 1) % ring.len()];
        corners.push(a);
        let rise = (a[north] - b[north]).abs();
        if a[1 - north] == b[1 - north] || !rise.is_finite() {
            continue;
        }
        let parts = (rise / STEP).ceil().min(360.0 / STEP) as usize;
        // From the same end whichever way it is walked: polygons that share an edge then share its corners.
        let turned = (a[0], a[1]) > (b[0], b[1]);
        let [from, to] = if turned { [b, a] } else { [a, b] };
        let corner = |k: usize| {
            let t = (if turned { parts - k } else { k }) as f64 / parts as f64;
            [0, 1].map(|r| from[r] + t * (to[r] - from[r]))
        };
        corners.extend((1..parts).map(corner));
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(names: [&str; 2]) -> Vec<Axis> {
        names.map(|name| Axis { name: name.into(), ..Axis::default() }).to_vec()
    }

    fn of_box(spans: [(f64, f64); 2]) -> Window {
        Window::new(&spans).unwrap().with_axes(degrees(["lon", "lat"])).unwrap()
    }

    fn mapped(window: Window) -> Result<Window, InputError> {
        on_globe(window, Pair { east: 0, north: 1 }, SaidBy::User, &mut Vec::new())
    }

    /// The area of a zone, by the closed form of its cap: a different one from that in the projection, with logarithms in place of artanh.
    fn zone(lo: f64, hi: f64, longitudes: f64) -> f64 {
        let e = ECCENTRICITY_SQUARED.sqrt();
        let polar = EQUATOR * (1.0 - ECCENTRICITY_SQUARED).sqrt();
        let cap = |latitude: f64| {
            let s = latitude.to_radians().sin();
            polar * polar / 2.0 * (s / (1.0 - e * e * s * s) + ((1.0 + e * s) / (1.0 - e * s)).ln() / (2.0 * e))
        };
        longitudes.to_radians() * (cap(hi) - cap(lo))
    }

    #[test]
    fn boxes_have_the_area_of_zones() {
        for (lon, lat) in [
            ((0.0, 1.0), (0.0, 1.0)),
            ((-75.6, -66.4), (-55.9, -17.5)),
            ((170.0, 350.0), (60.0, 89.0)),
            ((-180.0, 180.0), (-60.0, 75.0)),
        ] {
            let (found, area) = (mapped(of_box([lon, lat])).unwrap().volume(), zone(lat.0, lat.1, lon.1 - lon.0));
            assert!((found / area - 1.0).abs() < 1e-12, "{found} {area}");
        }
        // Of the whole ellipsoid, as it is published: 510 065 621.7 km².
        assert!((zone(-90.0, 90.0, 360.0) / 510_065_621.724 - 1.0).abs() < 1e-10);
    }

    #[test]
    fn a_triangle_has_its_area_though_its_edges_bend() {
        // Half of a box in degrees, by Simpson's rule over thin zones: what lies below the diagonal of 10 by 40 degrees.
        let ring = vec![[10.0, 20.0], [20.0, 20.0], [20.0, 60.0]];
        let window =
            Window::inside(Polygons::new(vec![vec![ring]]).unwrap()).with_axes(degrees(["lon", "lat"])).unwrap();
        let width = |latitude: f64| 10.0 * (60.0 - latitude) / 40.0;
        let zones = 4000;
        let thin = |k: usize| 20.0 + 40.0 * k as f64 / zones as f64;
        let area: f64 = (0..zones).map(|k| zone(thin(k), thin(k + 1), width(0.5 * (thin(k) + thin(k + 1))))).sum();
        let found = mapped(window).unwrap().volume();
        assert!((found / area - 1.0).abs() < 1e-5, "{found} {area}");
    }

    #[test]
    fn there_and_back_gives_the_same_degrees() {
        let window = mapped(of_box([(33.9, 41.9), (-4.7, 5.1)])).unwrap();
        let axes = window.axes();
        for row in [[36.8172, -1.2864], [33.9, 5.1], [0.1, 89.9], [35.0, 120.0], [35.0, -91.5]] {
            assert_eq!(row_outward(&row_inward(&row, axes), axes), row);
        }
        // Places that are nearer on the other side of the globe are the same places, counted as the map counts.
        for (row, counted) in [([-179.999, -89.5], [180.001, -89.5]), ([360.0, 90.0], [0.0, 90.0])] {
            assert_eq!(row_outward(&row_inward(&row, axes), axes), counted);
        }
        assert!(!window.contains(&row_inward(&[36.0, 175.0], axes)), "what is no latitude is not folded back");
    }

    #[test]
    fn lengths_are_true_where_they_should_be() {
        let window = mapped(of_box([(7.0, 9.0), (49.9, 50.1)])).unwrap();
        let axes = window.axes();
        let [x, y] = [0, 1].map(|r| inward(&axes[r], [8.0, 50.0][r]));
        // One degree at 50° N: 71.696 km east, and 111.229 km north.
        assert!((inward(&axes[0], 9.0) - x - 71.696).abs() < 0.02);
        assert!(((inward(&axes[1], 50.01) - y) * 100.0 - 111.229).abs() < 0.05);
        assert_eq!((axes[0].unit.as_deref(), label(&axes[0]).unwrap()), (Some("km"), "km east of 8° E".into()));
    }

    #[test]
    fn names_are_recognised_in_both_orders() {
        let pair_of = |names| pair(&degrees(names), Geography::Recognised).unwrap();
        assert_eq!(pair_of(["LON", "Latitude"]), Some(Pair { east: 0, north: 1 }));
        assert_eq!(pair_of(["lat", "lng"]), Some(Pair { east: 1, north: 0 }));
        assert_eq!(pair_of(["x", "y"]), None);
        assert_eq!(pair(&degrees(["lon", "lat"]), Geography::Plane), Ok(None));
        assert_eq!(pair(&degrees(["x", "y"]), Geography::Sphere), Ok(Some(Pair { east: 0, north: 1 })));
        assert!(pair(&degrees(["x", "y"])[..1], Geography::Sphere).is_err());
    }

    #[test]
    fn what_has_no_map_is_refused_and_what_is_tall_is_warned_of() {
        let refused = |spans, what: &str| {
            let sentence = mapped(of_box(spans)).unwrap_err().to_string();
            assert!(sentence.contains(what) && sentence.contains("`geography = plane`"), "{sentence}");
        };
        refused([(-180.0, 181.0), (-60.0, 60.0)], "more than once round");
        refused([(-400.0, -390.0), (0.0, 1.0)], "no longitude");
        refused([(0.0, 1.0), (0.0, 91.0)], "swapped");
        refused([(0.0, 91.0), (0.0, 91.0)], "no latitude; correct");
        refused([(0.0, 1.0), (80.0, 90.0)], "latitude 90");
        let mut warnings = Vec::new();
        let pair = Pair { east: 0, north: 1 };
        on_globe(of_box([(-75.6, -66.4), (-55.9, -17.5)]), pair, SaidBy::User, &mut warnings).unwrap();
        assert!(warnings[0].to_string().contains("up to 30 %"), "{}", warnings[0]);
        let wide = of_box([(-180.0, 180.0), (-60.0, 60.0)]);
        on_globe(wide.clone(), pair, SaidBy::User, &mut warnings).unwrap();
        assert!(warnings[2].to_string().contains("cut at longitude -180 and 180"), "{}", warnings[2]);
        let sentence = on_globe(wide, pair, SaidBy::Events, &mut warnings).unwrap_err().to_string();
        assert!(sentence.contains("antimeridian") && sentence.contains("-180,180,-60,60"), "{sentence}");
        // Fiji has land on both sides, and so have two boxes.
        let ring = |x: f64| vec![vec![[x, -18.0], [x + 1.0, -18.0], [x, -17.0]]];
        let fiji = Window::inside(Polygons::new(vec![ring(-180.0), ring(177.0)]).unwrap());
        let boxes = [(-180.0, -170.0), (170.0, 180.0)].map(|lon| Window::new(&[lon, (0.0, 1.0)]).unwrap());
        for window in [fiji, Window::union(&boxes).unwrap()] {
            let sentence = mapped(window.with_axes(degrees(["lon", "lat"])).unwrap()).unwrap_err().to_string();
            assert!(sentence.contains("both ends") && sentence.contains("0 to 360"), "{sentence}");
        }
        mapped(of_box([(175.0, 190.0), (-20.0, -10.0)])).expect("across the antimeridian, counted from 0 to 360");
    }
}
