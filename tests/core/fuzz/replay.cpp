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
    std::printf("%d files and %d inputs of a generator\n", files, drawn);
}
