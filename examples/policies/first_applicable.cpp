// A policy as a program: chooses the first operator that applies. The protocol: docs/policy-protocol.md.
// Needs no JSON library: the task is read from its SAS file, and a batch is a line of numbers.
//   g++ -O2 -o first_applicable examples/policies/first_applicable.cpp
//   misstep test ... --policy exec:./first_applicable
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using Facts = std::vector<std::pair<int, int>>;

static std::vector<Facts> read_preconditions(const std::string &path) {
    std::ifstream sas(path);
    std::vector<Facts> result;
    std::string line;
    while (std::getline(sas, line)) {
        if (line != "begin_operator") continue;
        std::getline(sas, line);  // the name
        Facts facts;
        int count, variable, value, effect;
        sas >> count;
        while (count-- > 0) {
            sas >> variable >> value;
            facts.emplace_back(variable, value);
        }
        sas >> count;
        while (count-- > 0) {
            int conditions, a, b;
            sas >> conditions;
            while (conditions-- > 0) sas >> a >> b;
            sas >> variable >> value >> effect;
            if (value != -1) facts.emplace_back(variable, value);
        }
        result.push_back(facts);
    }
    return result;
}

static int choose(const std::vector<Facts> &operators, const std::vector<int> &state) {
    for (std::size_t op = 0; op < operators.size(); ++op) {
        bool applies = true;
        for (auto [variable, value] : operators[op]) applies = applies && state[variable] == value;
        if (applies) return static_cast<int>(op);
    }
    return -1;
}

int main() {
    std::ios::sync_with_stdio(false);
    std::string line;
    std::getline(std::cin, line);
    const std::size_t start = line.find("\"sas\":\"") + 7;
    const std::vector<Facts> operators = read_preconditions(line.substr(start, line.find('"', start) - start));
    std::cout << R"({"protocol": 1, "name": "first applicable, C++", "digest": "1"})" << std::endl;

    while (std::getline(std::cin, line)) {  // {"id":7,"states":[[0,3,1],[0,3,2]]}
        const char *at = line.c_str() + 6;
        std::cout << "{\"id\":" << std::strtol(at, nullptr, 10) << ",\"operators\":[";
        const char *separator = "";
        at = line.c_str() + line.find('[') + 1;
        while (*at == '[') {
            std::vector<int> state;
            while (*at != ']') {
                char *end;
                state.push_back(static_cast<int>(std::strtol(at + 1, &end, 10)));
                at = end;
            }
            std::cout << separator << choose(operators, state);
            separator = ",";
            at += at[1] == ',' ? 2 : 1;
        }
        std::cout << "]}" << std::endl;
    }
}
