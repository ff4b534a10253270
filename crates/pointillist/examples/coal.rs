//! The coal-mining disasters: `cargo run --release --example coal -- [points] [mean] [method]`.

use pointillist::settings::{Inducing, Method, PriorMean};
use pointillist::{Events, InducingPoints, Model, Points, Window};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let inducing = match arguments.next().as_deref() {
        None | Some("auto") => Inducing::Auto,
        Some(count) => Inducing::Grid(vec![count.parse()?]),
    };
    let prior_mean = if arguments.next().as_deref() == Some("paper") { PriorMean::Paper } else { PriorMean::Constant };
    let method = if arguments.next().as_deref() == Some("joint") { Method::Joint } else { Method::Collapsed };

    let text = include_str!("coal.csv");
    let years: Vec<f64> = text.lines().skip(1).filter_map(|line| line.split(',').next()?.parse().ok()).collect();
    let events = Events::new(Points::line(&years)?, Window::interval(1851.2026009582, 1962.2197125257)?)?;

    let fit = Model {
        family: InducingPoints { points: inducing, method, prior_mean, ..InducingPoints::default() }.into(),
        ..Model::of_maximum_likelihood()
    }
    .fit(&events)?;
    println!("{:#?}", fit.report);
    println!("kernel {:?} lattice {:?} mean {}", fit.posterior.kernel(), fit.posterior.lattice(), fit.posterior.mean());
    println!("bound {}", fit.report.bound.total());
    Ok(())
}
