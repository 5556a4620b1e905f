#include "machine.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <utility>

namespace probe {

namespace {

// One vendor's management library, opened at run time, with the GPUs that were asked for.
class Vendor {
public:
    virtual ~Vendor() = default;
    virtual bool start(const std::vector<std::string> &pci_bus_ids) = 0;  // false: no such library or driver
    virtual Reading read(std::size_t gpu) const = 0;  // all unknown where there is no such GPU
    virtual double energy_j(std::size_t gpu) const = 0;  // negative: not readable
    virtual std::string driver_version() const = 0;
};

// A shared library; empty when none of the names could be opened. It stays loaded: these libraries keep
// threads.
class Shared {
public:
    explicit Shared(std::initializer_list<const char *> names) {
        for (const char *name : names)
            if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL))) return;
    }

    explicit operator bool() const { return handle_ != nullptr; }

    template <class Function>
    void load(Function *&function, std::initializer_list<const char *> names) const {
        for (const char *name : names)
            if (!function) function = reinterpret_cast<Function *>(dlsym(handle_, name));
    }

private:
    void *handle_ = nullptr;
};

// Calls a function that may be missing from the library; true on success, which is 0 in both libraries.
template <class Function, class... Arguments>
bool succeeds(Function *function, Arguments... arguments) {
    return function && function(arguments...) == 0;
}

// ---- NVIDIA. Types and numbers from nvml.h (NVML API; nvmlReturn_t and the enums are ints).

using nvmlDevice_t = struct nvmlDevice_st *;
constexpr int nvml_clock_sm = 1, nvml_clock_mem = 2, nvml_temperature_gpu = 0;

// nvmlClocksEventReason*
constexpr unsigned long long software_power_cap = 0x4, hardware_slowdown = 0x8, software_thermal = 0x20,
                             hardware_thermal = 0x40, hardware_power_brake = 0x80;

std::string limit_of(unsigned long long reasons) {
    if (reasons & (software_power_cap | hardware_power_brake)) return "power";
    if (reasons & (software_thermal | hardware_thermal)) return "thermal";
    return reasons & hardware_slowdown ? "other" : "";
}

class Nvml final : public Vendor {
public:
    ~Nvml() override {
        if (started_) succeeds(stop_);
    }

    bool start(const std::vector<std::string> &pci_bus_ids) override {
        if (!shared_) return false;
        int (*start)() = nullptr;
        shared_.load(start, {"nvmlInit_v2"});
        shared_.load(stop_, {"nvmlShutdown"});
        shared_.load(handle_, {"nvmlDeviceGetHandleByPciBusId_v2"});
        shared_.load(clock_, {"nvmlDeviceGetClockInfo"});
        shared_.load(power_, {"nvmlDeviceGetPowerUsage"});
        shared_.load(temperature_, {"nvmlDeviceGetTemperature"});
        shared_.load(reasons_, {"nvmlDeviceGetCurrentClocksEventReasons",  // the newer name of the same call
                                "nvmlDeviceGetCurrentClocksThrottleReasons"});
        shared_.load(driver_, {"nvmlSystemGetDriverVersion"});
        shared_.load(energy_, {"nvmlDeviceGetTotalEnergyConsumption"});
        started_ = succeeds(start);
        for (const std::string &id : pci_bus_ids) {
            nvmlDevice_t device = nullptr;
            devices_.push_back(started_ && succeeds(handle_, id.c_str(), &device) ? device : nullptr);
        }
        return started_;
    }

    Reading read(std::size_t gpu) const override {
        Reading reading;
        const nvmlDevice_t device = devices_[gpu];
        if (!device) return reading;
        unsigned value = 0;
        unsigned long long reasons = 0;
        if (succeeds(clock_, device, nvml_clock_sm, &value)) reading.core_clock_mhz = value;
        if (succeeds(clock_, device, nvml_clock_mem, &value)) reading.memory_clock_mhz = value;
        if (succeeds(power_, device, &value)) reading.power_w = value / 1e3;  // from mW
        if (succeeds(temperature_, device, nvml_temperature_gpu, &value)) reading.temperature_c = value;
        if (succeeds(reasons_, device, &reasons)) reading.limited_by = limit_of(reasons);
        return reading;
    }

    double energy_j(std::size_t gpu) const override {
        unsigned long long millijoules = 0;
        return devices_[gpu] && succeeds(energy_, devices_[gpu], &millijoules) ? millijoules / 1e3 : -1;
    }

    std::string driver_version() const override {
        std::array<char, 80> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
        return succeeds(driver_, text.data(), static_cast<unsigned>(text.size())) ? text.data() : "";
    }

private:
    Shared shared_{"libnvidia-ml.so.1", "libnvidia-ml.so"};
    bool started_ = false;
    std::vector<nvmlDevice_t> devices_;
    int (*stop_)() = nullptr;
    int (*handle_)(const char *, nvmlDevice_t *) = nullptr;
    int (*clock_)(nvmlDevice_t, int, unsigned *) = nullptr;
    int (*power_)(nvmlDevice_t, unsigned *) = nullptr;
    int (*temperature_)(nvmlDevice_t, int, unsigned *) = nullptr;
    int (*reasons_)(nvmlDevice_t, unsigned long long *) = nullptr;
    int (*driver_)(char *, unsigned) = nullptr;
    int (*energy_)(nvmlDevice_t, unsigned long long *) = nullptr;
};

// ---- AMD. Types and numbers from rocm_smi/rocm_smi.h (rsmi_status_t and the enums are ints).

constexpr int rsmi_clock_system = 0, rsmi_clock_memory = 4;  // rsmi_clk_type_t
constexpr std::uint32_t rsmi_edge = 0, rsmi_junction = 1;    // rsmi_temperature_type_t
constexpr int rsmi_temperature_current = 0;                  // rsmi_temperature_metric_t
constexpr int rsmi_component_driver = 0;                     // rsmi_sw_component_t

// rsmi_frequencies_t: {bool has_deep_sleep; uint32_t num_supported, current; uint64_t frequency[33];}, before
// ROCm 6 {uint32_t num_supported, current; uint64_t frequency[32];}. Hz; large enough for both.
union Frequencies {
    std::uint32_t words[128];
    std::uint64_t long_words[64];
};

// MHz, or negative. The third word tells the layouts apart: a small index now, half of a frequency before.
double current_mhz(const Frequencies &f) {
    const std::size_t header = f.words[2] <= 33 ? 1 : 0;
    const std::uint32_t supported = f.words[header], current = f.words[header + 1];
    if (supported == 0 || supported > 33 || current >= supported) return -1;
    const double hz = static_cast<double>(f.long_words[header + 1 + current]);
    return hz >= 1e6 && hz <= 1e11 ? hz / 1e6 : -1;
}

// A PCI place as rsmi_dev_pci_id_get numbers it; all ones where the text is no bus id.
std::uint64_t pci_number(const std::string &pci_bus_id) {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    if (std::sscanf(pci_bus_id.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return ~0ull;
    return std::uint64_t{domain} << 32 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
}

class RocmSmi final : public Vendor {
public:
    ~RocmSmi() override {
        if (started_) succeeds(stop_);
    }

    bool start(const std::vector<std::string> &pci_bus_ids) override {
        if (!shared_) return false;
        int (*start)(std::uint64_t) = nullptr;
        shared_.load(start, {"rsmi_init"});
        shared_.load(stop_, {"rsmi_shut_down"});
        shared_.load(count_, {"rsmi_num_monitor_devices"});
        shared_.load(pci_, {"rsmi_dev_pci_id_get"});
        shared_.load(clock_, {"rsmi_dev_gpu_clk_freq_get"});
        shared_.load(power_, {"rsmi_dev_power_get"});
        shared_.load(average_power_, {"rsmi_dev_power_ave_get"});
        shared_.load(temperature_, {"rsmi_dev_temp_metric_get"});
        shared_.load(version_, {"rsmi_version_str_get"});
        shared_.load(energy_, {"rsmi_dev_energy_count_get"});
        started_ = succeeds(start, std::uint64_t{0});
        for (const std::string &id : pci_bus_ids) indices_.push_back(started_ ? index_of(id) : no_gpu);
        return started_;
    }

    Reading read(std::size_t gpu) const override {
        Reading reading;
        const std::uint32_t index = indices_[gpu];
        if (index == no_gpu) return reading;
        Frequencies core{}, memory{};
        if (succeeds(clock_, index, rsmi_clock_system, &core)) reading.core_clock_mhz = current_mhz(core);
        if (succeeds(clock_, index, rsmi_clock_memory, &memory))
            reading.memory_clock_mhz = current_mhz(memory);

        std::uint64_t microwatts = 0;
        int kind = 0;
        if (succeeds(power_, index, &microwatts, &kind) ||
            succeeds(average_power_, index, std::uint32_t{0}, &microwatts))
            reading.power_w = static_cast<double>(microwatts) / 1e6;

        std::int64_t millidegrees = 0;
        for (const std::uint32_t sensor : {rsmi_junction, rsmi_edge})  // not every GPU has both
            if (succeeds(temperature_, index, sensor, rsmi_temperature_current, &millidegrees)) {
                reading.temperature_c = static_cast<double>(millidegrees) / 1e3;
                break;
            }
        return reading;
    }

    double energy_j(std::size_t gpu) const override {  // a counter of `resolution` microjoules
        std::uint64_t count = 0, time_ns = 0;
        float resolution = 0;
        if (indices_[gpu] == no_gpu || !succeeds(energy_, indices_[gpu], &count, &resolution, &time_ns)) return -1;
        return static_cast<double>(count) * static_cast<double>(resolution) / 1e6;
    }

    std::string driver_version() const override {
        std::array<char, 256> text{};
        const auto size = static_cast<std::uint32_t>(text.size());
        return succeeds(version_, rsmi_component_driver, text.data(), size) ? text.data() : "";
    }

private:
    static constexpr std::uint32_t no_gpu = ~0u;

    std::uint32_t index_of(const std::string &pci_bus_id) const {
        constexpr std::uint64_t place = 0xffffffff0000ffff;  // the bits between may number a partition
        const std::uint64_t wanted = pci_number(pci_bus_id);
        std::uint32_t count = 0;
        std::uint64_t id = 0;
        if (!succeeds(count_, &count)) return no_gpu;
        for (std::uint32_t index = 0; index < count; ++index)
            if (succeeds(pci_, index, &id) && (id & place) == wanted) return index;
        return no_gpu;
    }

    Shared shared_{"librocm_smi64.so",   "librocm_smi64.so.7", "librocm_smi64.so.6",
                   "librocm_smi64.so.5", "librocm_smi64.so.1", "/opt/rocm/lib/librocm_smi64.so"};
    bool started_ = false;
    std::vector<std::uint32_t> indices_;
    int (*stop_)() = nullptr;
    int (*count_)(std::uint32_t *) = nullptr;
    int (*pci_)(std::uint32_t, std::uint64_t *) = nullptr;
    int (*clock_)(std::uint32_t, int, Frequencies *) = nullptr;
    int (*power_)(std::uint32_t, std::uint64_t *, int *) = nullptr;
    int (*average_power_)(std::uint32_t, std::uint32_t, std::uint64_t *) = nullptr;
    int (*temperature_)(std::uint32_t, std::uint32_t, int, std::int64_t *) = nullptr;
    int (*version_)(int, char *, std::uint32_t) = nullptr;
    int (*energy_)(std::uint32_t, std::uint64_t *, float *, std::uint64_t *) = nullptr;
};

}  // namespace

struct Machine::Library {
    std::unique_ptr<Vendor> vendor;  // null where neither library is there
};

Json Reading::json() const {
    Json json = Json::object();
    if (core_clock_mhz >= 0) json.set("core_clock_mhz", core_clock_mhz);
    if (memory_clock_mhz >= 0) json.set("memory_clock_mhz", memory_clock_mhz);
    if (power_w >= 0) json.set("power_w", power_w);
    if (temperature_c >= 0) json.set("temperature_c", temperature_c);
    if (!limited_by.empty()) json.set("limited_by", limited_by);
    return json;
}

Machine::Machine(std::vector<std::string> pci_bus_ids)
    : library_(new Library), pci_bus_ids_(std::move(pci_bus_ids)) {
    library_->vendor = std::make_unique<Nvml>();
    if (library_->vendor->start(pci_bus_ids_)) return;
    library_->vendor = std::make_unique<RocmSmi>();
    if (!library_->vendor->start(pci_bus_ids_)) library_->vendor.reset();
}

Machine::~Machine() { delete library_; }

std::vector<Reading> Machine::read() const {
    std::vector<Reading> readings(pci_bus_ids_.size());
    if (library_->vendor)
        for (std::size_t gpu = 0; gpu < readings.size(); ++gpu) readings[gpu] = library_->vendor->read(gpu);
    return readings;
}

double Machine::energy_j(std::size_t gpu) const { return library_->vendor ? library_->vendor->energy_j(gpu) : -1; }

std::string Machine::driver_version() const {
    return library_->vendor ? library_->vendor->driver_version() : "";
}

}  // namespace probe
