#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace probe {

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double share) {
    if (values.empty()) throw std::invalid_argument("a quantile of no values");
    if (!(share >= 0 && share <= 1)) throw std::invalid_argument("a quantile's share must be in [0, 1]");
    std::sort(values.begin(), values.end());
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

std::vector<bool> outliers(const std::vector<double> &values) {
    if (values.empty()) return {};
    const double middle = median(values);
    std::vector<double> deviations;
    for (const double value : values) deviations.push_back(std::fabs(value - middle));
    const double limit = std::max(5 * median(deviations), 0.1 * std::fabs(middle));
    std::vector<bool> marks;
    for (const double deviation : deviations) marks.push_back(deviation > limit);
    return marks;
}

}  // namespace probe
