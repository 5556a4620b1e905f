// Order statistics of samples, and the marks of samples that something disturbed.
#pragma once
#include <vector>

namespace probe {

double median(std::vector<double> values);                   // of an even number: mean of the middle two
double quantile(std::vector<double> values, double share);   // linear interpolation, share in [0, 1]
std::vector<bool> outliers(const std::vector<double> &values);  // further than 5 median absolute deviations
                                                             // and 10 % from the median

}  // namespace probe
