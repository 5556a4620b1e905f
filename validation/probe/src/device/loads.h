// Loads by name, as on the command line: for pairs of them, and for their power.
#pragma once
#include <memory>

#include "task.h"

namespace probe {

// One synthetic load, with :N workgroups, engines or extent; sized to run for about a millisecond on a large GPU. `scale`:
// MiB that a memory load moves each way, the others in proportion.
std::unique_ptr<Task> load_of(Node &node, const std::string &text, std::int64_t scale);

}  // namespace probe
