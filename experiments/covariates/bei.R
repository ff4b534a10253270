# Tropical trees with elevation and gradient, from spatstat.data.
#   Rscript bei.R export FOLDER                 writes trees.csv (x, y) and ground.csv (x, y, elev, grad: middles of cells of 5 m)
#   Rscript bei.R fit TRAIN.csv TEST.csv        fits ppm, and mgcv's Poisson GAM with a smooth of place, to the first table; prints one line for each
#                                               effect and one for the score of each on the second
suppressPackageStartupMessages({library(spatstat); library(mgcv)})
words <- commandArgs(trailingOnly = TRUE)
ground <- as.data.frame(bei.extra$elev)
names(ground)[3] <- "elev"
ground$grad <- as.data.frame(bei.extra$grad)$value
if (words[1] == "export") {
  write.csv(data.frame(x = bei$x, y = bei$y), file.path(words[2], "trees.csv"), row.names = FALSE, quote = FALSE)
  write.csv(ground, file.path(words[2], "ground.csv"), row.names = FALSE, quote = FALSE)
  quit()
}
train <- read.csv(words[2]); test <- read.csv(words[3])
window <- Window(bei)
area <- 25  # of a cell, in m²; those at the edge reach out of the window by a half
inside <- function(lo, hi, from, to) pmax(pmin(hi, to) - pmax(lo, from), 0)
ground$area <- inside(ground$x - 2.5, ground$x + 2.5, 0, 1000) * inside(ground$y - 2.5, ground$y + 2.5, 0, 500)
cell_of <- function(points) {
  column <- pmin(floor((points$x + 2.5) / 5), 200); row <- pmin(floor((points$y + 2.5) / 5), 100)
  match(paste(column, row), paste(round(ground$x / 5), round(ground$y / 5)))
}
tell <- function(method, name, estimate, error) {
  cat("effect", method, name, estimate, estimate - qnorm(0.95) * error, estimate + qnorm(0.95) * error, "\n", sep = ";")
}
score <- function(method, rate, seconds) {  # of the rates in cells: log rates at the events less the integral
  cat("score", method, sum(log(rate[cell_of(test)])) - sum(rate * ground$area), seconds, "\n", sep = ";")
}

# A Poisson process whose log rate is linear in the two, and nothing else.
seconds <- system.time(one <- ppm(ppp(train$x, train$y, window = window) ~ elev + grad, data = bei.extra))[["elapsed"]]
errors <- sqrt(diag(vcov(one)))
for (name in c("elev", "grad")) tell("ppm", name, coef(one)[[name]], errors[[name]])
score("ppm", exp(coef(one)[[1]] + coef(one)[["elev"]] * ground$elev + coef(one)[["grad"]] * ground$grad), seconds)

# The same with a smooth of place, on the counts in cells.
ground$count <- tabulate(cell_of(train), nrow(ground))
some <- ground[ground$area > 0, ]
form <- count ~ elev + grad + s(x, y, k = 200) + offset(log(area))
seconds <- system.time(gam <- bam(form, family = poisson, data = some, method = "fREML", discrete = TRUE))[["elapsed"]]
errors <- sqrt(diag(vcov(gam)))
for (name in c("elev", "grad")) tell("gam", name, coef(gam)[[name]], errors[[name]])
score("gam", as.numeric(predict(gam, transform(ground, area = 1), type = "response")), seconds)
cat("edf;", sum(gam$edf), "\n", sep = "")
