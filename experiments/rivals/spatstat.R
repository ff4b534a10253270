# Kernel smoothing by spatstat: Rscript spatstat.R TRAIN.csv TEST.csv BORDER.csv RATES.csv writes the rate at the held-out events, and prints its
# integral, the seconds and the bandwidth.
suppressPackageStartupMessages(library(spatstat))
files <- commandArgs(trailingOnly = TRUE)
train <- read.csv(files[1]); test <- read.csv(files[2]); border <- read.csv(files[3])
rings <- lapply(split(border, border$ring), function(ring) {
  area <- sum(ring$x * c(ring$y[-1], ring$y[1]) - ring$y * c(ring$x[-1], ring$x[1]))
  wrong <- (area < 0) != (ring$hole[1] == 1)  # spatstat: outer rings anticlockwise, holes clockwise
  if (wrong) ring <- ring[rev(seq_len(nrow(ring))), ]
  list(x = ring$x, y = ring$y)
})
window <- owin(poly = unname(rings), check = FALSE)
spatstat.options(npixel = 512)
seconds <- system.time({
  points <- ppp(train$lon, train$lat, window = window, check = FALSE)
  sigma <- as.numeric(bw.ppl(points))
  rate <- density(points, sigma = sigma)
})[["elapsed"]]
at <- interp.im(rate, test$lon, test$lat)
write.csv(data.frame(rate = pmax(ifelse(is.na(at), 0, at), 0)), files[4], row.names = FALSE)
cat(integral(rate), seconds, sigma, "\n")
