// What the machine says of itself: versions once, clocks, power and temperature before and after a measurement.
// NVML and ROCm SMI are opened at run time; what cannot be read is left out, never guessed.
#pragma once
#include <string>
#include <vector>

#include "json.h"

namespace probe {

struct Reading {  // of one GPU, at one moment; negative: not readable
    double core_clock_mhz = -1, memory_clock_mhz = -1, power_w = -1, temperature_c = -1;
    std::string limited_by;  // "" when nothing holds the clock down, else "power", "thermal", "other"
    Json json() const;
};

class Machine {
public:
    // pci_bus_ids: one per GPU in the runtime's order ("0000:17:00.0").
    explicit Machine(std::vector<std::string> pci_bus_ids);
    ~Machine();
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;

    std::vector<Reading> read() const;  // one per GPU
    double energy_j(std::size_t gpu) const;  // what the GPU has used since some moment; negative: not readable
    std::string driver_version() const; // "" where it cannot be read

private:
    struct Library;
    Library *library_;
    std::vector<std::string> pci_bus_ids_;
};

}  // namespace probe
