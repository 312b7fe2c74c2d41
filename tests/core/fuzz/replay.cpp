// Runs a fuzzer without libFuzzer: on the files of a folder, if one is given, and on bytes of a generator.
//
// `make fuzz-native` needs clang and hours. This one is part of `make test`, so that the fuzzers still compile when a
// reader changes, and so that what was found once stays mended.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

int main(int count, char **arguments) {
    int files = 0;
    if (count > 1 && std::filesystem::is_directory(arguments[1]))
        for (const auto &entry : std::filesystem::directory_iterator(arguments[1])) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
            ++files;
        }
    std::mt19937 random(1);
    constexpr int drawn = 2000;
    for (int i = 0; i < drawn; ++i) {
        std::vector<std::uint8_t> bytes(random() % 512);
        // Small numbers more often than others: most inputs of only large ones are refused at once.
        for (std::uint8_t &byte : bytes) byte = static_cast<std::uint8_t>(random() % 4 ? random() % 8 : random());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    // The format of files is not found by chance, so one of the files has to be accepted.
    const std::size_t wanted = files ? 1 : drawn / 20;
    std::printf("%d files and %d inputs of a generator, %zu accepted\n", files, drawn, misstep::test::accepted);
    if (misstep::test::accepted >= wanted) return 0;
    std::printf("at least %zu should be accepted: this fuzzer does not reach what it is for\n", wanted);
    return 1;
}
