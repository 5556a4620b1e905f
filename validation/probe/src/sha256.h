// SHA-256 (FIPS 180-4), for the id of a record.
#pragma once
#include <string>

namespace probe {

std::string sha256_hex(const std::string &text);  // 64 lower-case hexadecimal digits

}  // namespace probe
