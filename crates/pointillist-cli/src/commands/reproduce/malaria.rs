//! Malaria in Kenya (the paper's test scores in the plane): a 20 x 20 grid, on the paper's box and inside the border.

use super::*;
use crate::commands::figure;
use crate::io::KeptEvents;
use pointillist::settings::Inducing;
use pointillist_rivals::compare::halves;

/// Random halves, and inducing points an axis.
const SPLITS: (usize, usize) = (5, 1);
const SIDE: (usize, usize) = (20, 5);
/// The windows, as `fit` reads them.
const WINDOWS: [(&str, &str); 2] = [("box", "kenya"), ("border", "kenya --window kenya --clip")];
/// The paper's: KS−EC, KS+EC, VBPP M_p and L_0.
const PAPER: [f64; 4] = [855.0, 867.2, 869.7, 855.9];

pub fn run(bench: &Bench) -> Result<Section, Failure> {
    let mut rows = vec![
        [Cell::from("paper, box"), 741.into()]
            .into_iter()
            .chain(PAPER.map(Cell::from))
            .chain([(); 3].map(Cell::Missing))
            .collect(),
    ];
    let mut goals = Vec::new();
    let mut pictures = Vec::new();
    for (name, words) in WINDOWS {
        let events = bundled(words)?;
        let all = performances(bench, &events)?;
        let mean = |method: usize, pick: &dyn Fn(&Performance) -> Option<f64>| Cell::mean(column(&all, method, pick));
        rows.push(cells([
            name.into(),
            events.len().into(),
            mean(0, &log_likelihood),
            mean(1, &log_likelihood),
            mean(2, &predictive),
            mean(2, &|p| p.scores.l_0),
            mean(2, &log_likelihood),
            mean(3, &predictive),
            mean(3, &log_likelihood),
        ]));
        for (ours, place) in [("VBPP", 2), ("the default", 3)] {
            for (rival, method) in [(PLAIN, 0), (TRUNCATED, 1)] {
                let apart = difference(&column(&all, place, predictive), &column(&all, method, predictive));
                goals.push(above_zero(format!("{name}: M_p of {ours} above {rival}"), apart, 0.0));
            }
        }
        pictures.push(picture(bench, name, &events)?);
    }
    let side = bench.size(SIDE.0, SIDE.1);
    Ok(Section {
        title: "Malaria in Kenya".into(),
        text: vec![format!(
            "The paper took 741 reports of malaria from the Malaria Atlas Project; which ones is not said. In their place stand the places of 1,230 \
            parasite-rate surveys of the same project: more of them, and placed by survey teams. So scores cannot be compared with the paper's, only \
            their order. VBPP has {side}x{side} inducing points at the maximum of the bound; {} random halves.",
            bench.size(SPLITS.0, SPLITS.1)
        )],
        goals,
        tables: vec![Table {
            name: "scores".into(),
            caption: "Held-out scores, means over halves.".into(),
            columns: heads([
                "window",
                "events",
                "KS−EC",
                "KS+EC",
                "VBPP (M_p)",
                "VBPP (L_0)",
                "VBPP (LL)",
                "default (M_p)",
                "default (LL)",
            ]),
            rows,
        }],
        pictures,
    })
}

fn model(bench: &Bench) -> Model {
    let points = Inducing::Grid(vec![bench.size(SIDE.0, SIDE.1); 2]);
    Model { family: InducingPoints { points, ..InducingPoints::as_in_the_paper() }.into(), ..paper() }
}

fn performances(bench: &Bench, events: &Events) -> Result<Vec<Vec<Performance>>, Failure> {
    let methods = [
        Method { name: PLAIN, contender: Contender::Smoother(EdgeCorrection::None) },
        Method { name: TRUNCATED, contender: Contender::Smoother(EdgeCorrection::Truncate) },
        Method { name: ML, contender: Contender::Variational(model(bench)) },
        Method { name: DEFAULT, contender: Contender::Variational(Model::default()) },
    ];
    let nowhere = Points::new(2, vec![])?;
    let performance = |split: usize| {
        let (train, test) = halves(events, bench.seed, split as u64)?;
        methods.iter().map(|method| bench.perform(method, &train, &test, &nowhere)).collect()
    };
    let splits = bench.size(SPLITS.0, SPLITS.1);
    bench.foresee(splits * methods.len());
    (0..splits).map(performance).collect()
}

fn picture(bench: &Bench, name: &str, events: &Events) -> Result<Picture, Failure> {
    let posterior = bench.size(Model::default(), model(bench)).fit(events)?.posterior;
    let kept = KeptEvents { points: events.points().clone(), trials: None };
    let figure = figure::map(&posterior, Some(&kept), format!("Malaria surveys in Kenya, {name}"))?;
    Ok(Picture {
        file: format!("malaria-{name}.svg"),
        caption: format!("The rate found in all events ({name})."),
        svg: figure.svg(),
    })
}
