// What the host-only part promises, without a GPU and without a framework.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "energy.h"
#include "json.h"
#include "machine.h"
#include "options.h"
#include "sha256.h"
#include "statistics.h"

using namespace probe;

namespace {

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

// ---- options

Options copy_options() {
    Options options;
    options.option("sizes", "", "bytes to move, a list")
        .option("repeat", "20", "measurements of each case")
        .option("gpus", "1,2,4", "how many GPUs")
        .option("share", "0.5", "part of the processors")
        .option("modes", "read,write", "directions")
        .flag("verify", "compare the bytes");
    return options;
}

Options parsed(const Texts &arguments) {
    Options options = copy_options();
    options.parse(arguments);
    return options;
}

std::string usage_error(const Texts &arguments) {
    return error_of<UsageError>([&] { parsed(arguments); });
}

void options_are_read() {
    const Options given = parsed({"--sizes=1KiB,64MiB,1e6", "--repeat", "7", "--verify", "--gpus", "1..4,8"});
    CHECK_EQUAL(given.sizes("sizes"), (Integers{1024, 67108864, 1000000}));
    CHECK_EQUAL(given.integer("repeat"), 7);
    CHECK_EQUAL(given.integers("gpus"), (Integers{1, 2, 3, 4, 8}));
    CHECK(given.on("verify"));

    const Options left = parsed({"--sizes", "1"});
    CHECK(!left.on("verify"));
    CHECK_EQUAL(left.integers("gpus"), (Integers{1, 2, 4}));
    CHECK_EQUAL(left.number("share"), 0.5);
    CHECK_EQUAL(left.texts("modes"), (Texts{"read", "write"}));
    CHECK_EQUAL(left.text("repeat"), "20");
}

void help_has_a_line_per_option() {
    CHECK_EQUAL(
        Options().option("sizes", "", "bytes").option("n", "3", "times").flag("all", "every one").help(),
        "  --sizes VALUE  bytes (must be given)\n"
        "  --n VALUE      times (default: 3)\n"
        "  --all          every one\n");
}

void wrong_command_lines_are_refused() {
    CHECK_EQUAL(usage_error({}), "--sizes must be given: bytes to move, a list");
    CHECK_EQUAL(usage_error({"--repeats", "3"}), "unknown option --repeats; did you mean --repeat?");
    CHECK_EQUAL(usage_error({"--colour=red"}),
                "unknown option --colour; there are --sizes, --repeat, --gpus, --share, --modes, --verify");
    CHECK_EQUAL(error_of<UsageError>([] { Options().parse({"--all"}); }),
                "unknown option --all; there are none here");
    CHECK_EQUAL(usage_error({"1KiB"}),
                "'1KiB' is not an option; options are written --name value or --name=value");
    CHECK_EQUAL(usage_error({"--sizes"}), "--sizes needs a value: bytes to move, a list");
    CHECK_EQUAL(usage_error({"--sizes", "--verify"}), "--sizes needs a value: bytes to move, a list");
    CHECK_EQUAL(usage_error({"--sizes="}), "--sizes: '' is empty; it needs a value: bytes to move, a list");
    CHECK_EQUAL(usage_error({"--sizes=1", "--sizes=2"}), "--sizes is given twice");
    CHECK_EQUAL(usage_error({"--sizes=1", "--verify=no"}), "--verify takes no value, but 'no' is given");
}

void wrong_values_are_refused() {
    const auto error = [](const std::string &option, const std::string &value) {
        const Options options =
            parsed({option == "sizes" ? "--repeat=1" : "--sizes=1", "--" + option, value});
        return error_of<UsageError>([&] {
            if (option == "sizes") options.sizes(option);
            if (option == "repeat") options.integer(option);
            if (option == "gpus") options.integers(option);
            if (option == "share") options.number(option);
            if (option == "modes") options.texts(option);
        });
    };
    CHECK_EQUAL(error("repeat", "ten"), "--repeat: 'ten' is not a whole number, 0 or more");
    CHECK_EQUAL(error("repeat", "2.5"), "--repeat: '2.5' is not a whole number, 0 or more");
    CHECK_EQUAL(error("repeat", "-1"), "--repeat: '-1' is not a whole number, 0 or more");
    CHECK_EQUAL(error("repeat", "9223372036854775808"),  // 2^63
                "--repeat: '9223372036854775808' is not a whole number, 0 or more");
    CHECK_EQUAL(error("repeat", "0"), "no error");
    CHECK_EQUAL(error("gpus", "1,,2"),
                "--gpus: '' is not a whole number, 0 or more, nor a range such as 1..8");
    CHECK_EQUAL(error("gpus", "8..1"), "--gpus: '8..1' is not a rising range, as in 1..8");
    CHECK_EQUAL(error("gpus", "1..1000000"), "--gpus: '1..1000000' is not a range of at most 100000 numbers");
    CHECK_EQUAL(error("share", "half"), "--share: 'half' is not a number, 0 or more, as in 0.5 or 1e-3");
    CHECK_EQUAL(error("share", "-0.5"), "--share: '-0.5' is not a number, 0 or more, as in 0.5 or 1e-3");
    CHECK_EQUAL(error("share", "inf"), "--share: 'inf' is not a number, 0 or more, as in 0.5 or 1e-3");
    CHECK_EQUAL(error("modes", "read,"), "--modes: 'read,' is not a list without gaps, as in a,b,c");
    CHECK_EQUAL(error("sizes", "1MiB..1KiB"),
                "--sizes: '1MiB..1KiB' is not a rising range, as in 1KiB..1GiB");
}

void undeclared_options_are_a_mistake_of_the_program() {
    CHECK_EQUAL(error_of<std::logic_error>([] { copy_options().text("speed"); }),
                "option --speed was never declared");
}

// ---- sizes and shapes

std::string size_error(const std::string &text) {
    return error_of<UsageError>([&] { parse_size(text); });
}

void sizes_are_exact_bytes() {
    CHECK_EQUAL(parse_size("4096"), 4096);
    CHECK_EQUAL(parse_size("1B"), 1);
    CHECK_EQUAL(parse_size("3KB"), 3000);
    CHECK_EQUAL(parse_size("2MB"), 2000000);
    CHECK_EQUAL(parse_size("5GB"), 5000000000);
    CHECK_EQUAL(parse_size("3KiB"), 3072);
    CHECK_EQUAL(parse_size("1.5MiB"), 1572864);  // 1.5 * 2^20
    CHECK_EQUAL(parse_size("80GiB"), 85899345920);
    CHECK_EQUAL(parse_size("1e6"), 1000000);
    CHECK_EQUAL(parse_size("2.5e+3"), 2500);
    CHECK_EQUAL(parse_size("4000e-3KB"), 4000);
    CHECK_EQUAL(parse_size("1.1KB"), 1100);  // 1100.0000000000002 in doubles
    CHECK_EQUAL(parse_size("0.015625KiB"), 16);
    CHECK_EQUAL(parse_size("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

void sizes_that_make_no_sense_are_refused() {
    const std::string allowed =
        " is not a size in whole bytes above 0, as in 4096, 64MiB or 1e6 (B, KB, MB, GB, KiB, MiB, GiB)";
    for (const std::string text : {"", "KiB", "12kb", "1Kib", "1 KiB", "0", "0MiB", "-4", "1..2", "1.2.3",
                                   ".", "1e", "1eB", "1e+", "0x10", "1e99999"})
        CHECK_EQUAL(size_error(text).substr(0, text.size() + 2 + allowed.size()), "'" + text + "'" + allowed);
    CHECK_EQUAL(size_error("0.1KiB"), "'0.1KiB'" + allowed + "; it is no whole number of bytes");  // 102.4
    CHECK_EQUAL(size_error("1.5"), "'1.5'" + allowed + "; it is no whole number of bytes");
    CHECK_EQUAL(size_error("9223372036854775808"),
                "'9223372036854775808'" + allowed + "; it has too many digits");
    CHECK_EQUAL(size_error("1e19"), "'1e19'" + allowed + "; it is too large");
    CHECK_EQUAL(size_error("8589934592GiB"),
                "'8589934592GiB'" + allowed + "; it is too large");  // 2^33 * 2^30
}

void ranges_of_sizes_double() {
    CHECK_EQUAL(parsed({"--sizes=1KiB..8KiB"}).sizes("sizes"), (Integers{1024, 2048, 4096, 8192}));
    CHECK_EQUAL(parsed({"--sizes=3..10,1"}).sizes("sizes"), (Integers{3, 6, 1}));  // 12 is beyond 10
    CHECK_EQUAL(parsed({"--sizes=1KB..1KB"}).sizes("sizes"), (Integers{1000}));
    CHECK_EQUAL(parsed({"--sizes=1..9223372036854775807"}).sizes("sizes").size(), 63u);  // 2^0 to 2^62
}

void shapes_are_read() {
    CHECK_EQUAL(parse_shape("8192x8192x4096", 3), (Integers{8192, 8192, 4096}));
    CHECK_EQUAL(parse_shape("7", 1), (Integers{7}));
    const std::string three = " is not 3 whole numbers above 0, as in 64x64x64";
    for (const std::string text :
         {"8192x8192", "1x2x3x4", "1xx3", "1x2x", "1x0x3", "1x-2x3", "axbxc", "1x2x3.5"})
        CHECK_EQUAL(error_of<UsageError>([&] { parse_shape(text, 3); }), "'" + text + "'" + three);
}

// ---- JSON

void json_is_one_line_in_the_order_given() {
    Json json = Json::object();
    json.set("b", 1)
        .set("a", Json::array().push(true).push(Json()).push("x"))
        .set("times", std::vector<double>{1, 2.5});
    CHECK_EQUAL(json.dump(), R"({"b": 1, "a": [true, null, "x"], "times": [1.0, 2.5]})");
    CHECK_EQUAL(json.canonical(), R"({"a":[true,null,"x"],"b":1,"times":[1.0,2.5]})");
    CHECK_EQUAL(json.set("b", Json::object()).dump(),
                R"({"b": {}, "a": [true, null, "x"], "times": [1.0, 2.5]})");
    CHECK_EQUAL(Json::array().dump(), "[]");
}

void keys_sort_by_code_point() {
    Json json = Json::object();
    json.set("\xf0\x9d\x84\x9e", 4).set("\xc3\xa9", 3).set("b", 2).set("B", 1).set("", 0);
    CHECK_EQUAL(json.canonical(), R"({"":0,"B":1,"b":2,"\u00e9":3,"\ud834\udd1e":4})");
}

void strings_are_escaped() {
    const std::string text = "\"\\/\b\f\n\r\t\x01\x7f";
    CHECK_EQUAL(Json(text).dump(), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\"");
    CHECK_EQUAL(Json(text).canonical(), R"("\"\\/\b\f\n\r\t\u0001\u007f")");
    CHECK_EQUAL(Json(std::string("a\0b", 3)).dump(), R"("a\u0000b")");
    // U+00B5, U+2028, U+1D11E: two, three and four bytes of UTF-8, the last a surrogate pair in UTF-16.
    const std::string wide = "\xc2\xb5\xe2\x80\xa8\xf0\x9d\x84\x9e";
    CHECK_EQUAL(Json(wide).dump(), "\"" + wide + "\"");
    CHECK_EQUAL(Json(wide).canonical(), R"("\u00b5\u2028\ud834\udd1e")");
}

void bytes_that_are_not_utf8_are_replaced() {
    CHECK_EQUAL(Json("a\xff").dump(), "\"a\xef\xbf\xbd\"");                    // never a byte of UTF-8
    CHECK_EQUAL(Json("\xc3").canonical(), R"("\ufffd")");                      // cut off
    CHECK_EQUAL(Json("\xc0\xaf").canonical(), R"("\ufffd\ufffd")");            // '/' in too many bytes
    CHECK_EQUAL(Json("\xed\xa0\x80").canonical(), R"("\ufffd\ufffd\ufffd")");  // half a surrogate pair
    CHECK_EQUAL(Json("\xf4\x90\x80\x80z").canonical(), R"("\ufffd\ufffd\ufffd\ufffdz")");  // above U+10FFFF
}

void numbers_read_as_python_writes_them() {
    const std::pair<double, const char *> cases[] = {{0.0, "0.0"},
                                                     {-0.0, "-0.0"},
                                                     {1.0, "1.0"},
                                                     {100.0, "100.0"},
                                                     {0.1, "0.1"},
                                                     {1.0 / 3, "0.3333333333333333"},
                                                     {123.456, "123.456"},
                                                     {-1234.5, "-1234.5"},
                                                     {0.0001, "0.0001"},
                                                     {1e-05, "1e-05"},
                                                     {1.5e-07, "1.5e-07"},
                                                     {1e15, "1000000000000000.0"},
                                                     {9999999999999998.0, "9999999999999998.0"},
                                                     {1e16, "1e+16"},
                                                     {123456789012345680.0, "1.2345678901234568e+17"},
                                                     {5e-324, "5e-324"},
                                                     {1.7976931348623157e308, "1.7976931348623157e+308"}};
    for (const auto &[value, text] : cases) {
        CHECK_EQUAL(Json(value).canonical(), text);
        CHECK_EQUAL(Json(value).dump(), text);
    }
    CHECK_EQUAL(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
    CHECK_EQUAL(Json(std::uint64_t{1} << 62).dump(), "4611686018427387904");
    CHECK_EQUAL(error_of<std::overflow_error>([] { Json(std::uint64_t{1} << 63); }),
                "9223372036854775808 is beyond the integers that Json holds (63 bits)");
}

void what_is_no_number_is_null() {
    CHECK_EQUAL(Json(std::nan("")).dump(), "null");
    CHECK_EQUAL(Json(-std::numeric_limits<double>::infinity()).canonical(), "null");
}

void members_belong_to_objects() {
    CHECK_EQUAL(error_of<std::logic_error>([] { Json(1).set("a", 2); }),
                "Json::set(\"a\") on what is not an object");
    CHECK_EQUAL(error_of<std::logic_error>([] { Json::object().push(2); }),
                "Json::push on what is not an array");
}

// ---- SHA-256 and the id of a record

void sha256_gives_the_published_digests() {
    // FIPS 180-2, appendix B, and the empty message of NIST's test vectors.
    CHECK_EQUAL(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_EQUAL(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK_EQUAL(sha256_hex(std::string(1000000, 'a')),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK_EQUAL(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

void record_ids_are_those_of_python() {
    // python -c 'from c3sim.spec.record import record_id; print(record_id("h200-1", {...}, "as_written",
    // "probe 1; CUDA 13.0"))' with the dictionary below, its numbers 0.25, 1e-05, 1e16 and 1.0 as floats.
    Json gemm = Json::object(), copy = Json::object(), workload = Json::object();
    gemm.set("name", "gemm").set("kind", "gemm").set("shape", Json::array().push(8192).push(8192).push(4096));
    gemm.set("dtype", "bf16");
    copy.set("name", "copy").set("kind", "copy").set("bytes", 67108864).set("share", 0.25);
    copy.set("after", Json::array());
    workload.set("tasks", Json::array().push(gemm).push(copy));
    workload
        .set("note", "\xc2\xb5-L\xc3\xb6"
                     "f \"quoted\" \xf0\x9d\x84\x9e")
        .set("schema", 1);
    workload.set("checked", true).set("limit", Json()).set("tiny", 1e-05).set("huge", 1e16).set("one", 1.0);
    const Json conditions =
        Json::array().push("h200-1").push(workload).push("as_written").push("probe 1; CUDA 13.0");
    CHECK_EQUAL(sha256_hex(conditions.canonical()).substr(0, 16), "35606e512af5dad5");
}

// ---- statistics

void quantiles_interpolate() {
    CHECK_EQUAL(median({3, 1, 2}), 2.0);
    CHECK_EQUAL(median({4, 1, 3, 2}), 2.5);  // (2 + 3) / 2
    CHECK_EQUAL(median({7}), 7.0);
    CHECK_EQUAL(quantile({10, 20, 30, 40, 50}, 0), 10.0);
    CHECK_EQUAL(quantile({10, 20, 30, 40, 50}, 1), 50.0);
    CHECK_EQUAL(quantile({50, 10, 40, 20, 30}, 0.25), 20.0);   // place 0.25 * 4 = 1
    CHECK_EQUAL(quantile({10, 20, 30, 40, 50}, 0.875), 45.0);  // place 3.5: half way from 40 to 50
    CHECK_EQUAL(error_of<std::invalid_argument>([] { median({}); }), "a quantile of no values");
    CHECK_EQUAL(error_of<std::invalid_argument>([] { quantile({1}, 1.5); }),
                "a quantile's share must be in [0, 1]");
}

void outliers_are_far_in_both_measures() {
    using Marks = std::vector<bool>;
    // Median 100, deviations 0 1 1 2 30, their median 1: limits 5 and 10; 130 is out.
    CHECK(outliers({100, 99, 101, 98, 130}) == (Marks{false, false, false, false, true}));
    // All equal but one: the median deviation is 0, 109 is within 10 % and 111 is not.
    CHECK(outliers({100, 100, 100, 109}) == Marks(4, false));
    CHECK(outliers({100, 100, 111, 100}) == (Marks{false, false, true, false}));
    // Median 100, deviations 0 10 10 20 40, their median 10: 140 is beyond 10 % but within 50.
    CHECK(outliers({100, 90, 110, 80, 140}) == Marks(5, false));
    // The same spread and 151, 51 away: out. Median of 80 90 100 110 151 is 100, of deviations 10.
    CHECK(outliers({100, 90, 110, 80, 151}) == (Marks{false, false, false, false, true}));
    CHECK(outliers({}) == Marks{});
}

// ---- the machine

void what_cannot_be_read_is_left_out() {
    CHECK_EQUAL(Reading().json().dump(), "{}");
    Reading reading;
    reading.power_w = 700.5;
    reading.limited_by = "power";
    CHECK_EQUAL(reading.json().dump(), R"({"power_w": 700.5, "limited_by": "power"})");
}

void gpus_that_are_not_there_read_as_nothing() {
    const Machine machine({"ffff:ff:1f.7", "no bus id"});
    CHECK_EQUAL(machine.read().size(), 2u);
    for (const Reading &reading : machine.read()) CHECK_EQUAL(reading.json().dump(), "{}");
}

void a_machine_without_gpus_counts_no_energy() {
    const Machine machine({"ffff:ff:1f.7"});
    CHECK(machine.energy_j(0) < 0);
}

// ---- energy

void power_is_taken_between_steps_of_the_counter() {
    // 50 J from 0.25 s to 0.75 s, wherever the ends of the stretch are between two steps of the counter.
    const std::vector<Mark> marks{{0.0625, 0}, {0.125, 3}, {0.25, 13}, {0.375, 23}, {0.5, 43}, {0.75, 63}, {0.875, 63.5}};
    CHECK_EQUAL(power_between(marks, 0.2, 0.8), 100.0);  // (63 - 13) / (0.75 - 0.25)
    CHECK_EQUAL(power_between(marks, 0.25, 0.75), 100.0);
    CHECK(power_between(marks, 0.3, 0.45) < 0);  // one step only
    CHECK(power_between({}, 0, 1) < 0);
    // What was there when the watching began is no step: its time is not when the counter went on.
    CHECK_EQUAL(power_between({{0, 0}, {0.5, 40}, {1, 100}}, 0, 1), 120.0);  // 60 J in 0.5 s
}

void a_meter_sees_counters_and_readings() {
    double joules = 0;
    const auto energy = [&](std::size_t gpu) { return gpu ? -1.0 : joules += 1; };  // a step at every look
    const auto read = [] {
        Reading reading;
        reading.power_w = 150, reading.core_clock_mhz = 1980, reading.limited_by = "power";
        return std::vector<Reading>{reading, reading};
    };
    EnergyMeter meter(2, energy, read);
    while (meter.now() < 0.2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    meter.stop();
    const double end = meter.now();
    const auto counted = meter.watched(0, 0, end), sensed = meter.watched(1, 0, end);
    CHECK(counted.counted && counted.power_w > 0);
    CHECK_EQUAL(counted.marks + 1, static_cast<std::size_t>(joules));  // all but the first
    CHECK_EQUAL(counted.sensor_w, 150.0);
    CHECK_EQUAL(counted.core_clock_mhz, 1980.0);
    CHECK_EQUAL(counted.power_limited, 1.0);
    CHECK(counted.memory_clock_mhz < 0);
    CHECK(!sensed.counted && sensed.marks == 0);
    CHECK_EQUAL(sensed.power_w, 150.0);  // no counter: what the sensor says
    CHECK(meter.watched(0, end + 1, end + 2).power_w < 0);
}

}  // namespace

int main() {
    options_are_read();
    help_has_a_line_per_option();
    wrong_command_lines_are_refused();
    wrong_values_are_refused();
    undeclared_options_are_a_mistake_of_the_program();
    sizes_are_exact_bytes();
    sizes_that_make_no_sense_are_refused();
    ranges_of_sizes_double();
    shapes_are_read();
    json_is_one_line_in_the_order_given();
    keys_sort_by_code_point();
    strings_are_escaped();
    bytes_that_are_not_utf8_are_replaced();
    numbers_read_as_python_writes_them();
    what_is_no_number_is_null();
    members_belong_to_objects();
    sha256_gives_the_published_digests();
    record_ids_are_those_of_python();
    quantiles_interpolate();
    outliers_are_far_in_both_measures();
    what_cannot_be_read_is_left_out();
    gpus_that_are_not_there_read_as_nothing();
    a_machine_without_gpus_counts_no_energy();
    power_is_taken_between_steps_of_the_counter();
    a_meter_sees_counters_and_readings();
    return verdict();
}
