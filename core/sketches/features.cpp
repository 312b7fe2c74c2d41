#include "sketches/features.h"

#include <algorithm>
#include <map>

#include "sketches/sets.h"

namespace misstep {

namespace {

bool reads_two(SketchProgram::StepCode code) {
    using Code = SketchProgram::StepCode;
    return code != Code::complement && code != Code::inverse && code != Code::closure;
}

// Also marks the targets of all steps that read a marked set.
void mark_dependent(const SketchProgram &program, std::vector<char> &marked) {
    for (const SketchProgram::Step &step : program.steps)
        if (marked[step.a] || (reads_two(step.code) && marked[step.b])) marked[step.target] = 1;
}

bool reads(const SketchProgram::Feature &feature, const std::vector<char> &marked) {
    const bool distance = feature.code == SketchProgram::FeatureCode::distance;
    return marked[feature.a] || (distance && (marked[feature.b] || marked[feature.c]));
}

}  // namespace

SketchFeatures::SketchFeatures(const SketchProgram &program, const Task &task, const std::vector<char> &compared)
    : task_(task),
      objects_(program.objects),
      words_(program.words()),
      current_(task.initial().begin(), task.initial().end()),
      successor_(current_.size()),
      values_(program.features.size()),
      after_(program.features.size()) {
    program.check(task);
    lay_out(program);
    add_members(program);
    const std::vector<char> everything(program.features.size(), 1);
    std::vector<char> all_sets(program.sets.size(), 1);
    run(bind(program, all_sets, everything, false), values_.data());
    of_state_ = bind(program, sets_of_state(program), everything, false);
    group_operators(program, compared);
}

void SketchFeatures::lay_out(const SketchProgram &program) {
    std::size_t words = 0;
    for (int set = 0; set < static_cast<int>(program.sets.size()); ++set) {
        offsets_.push_back(words);
        words += program.size(set);
    }
    sets_.assign(words, 0);
    aside_.assign(words, 0);
    scratch_.assign(3 * static_cast<std::size_t>(words_), 0);
}

void SketchFeatures::add_members(const SketchProgram &program) {
    const auto cell_of = [&](const SketchProgram::Member &member) {
        const std::size_t word = offsets_[member.set] + static_cast<std::size_t>(member.from) * words_ + member.to / 64;
        return Cell{word, Word{1} << (member.to % 64)};
    };
    std::map<std::pair<std::size_t, Word>, int> known;
    std::vector<std::vector<int>> of_fact(task_.fact_count());
    for (const SketchProgram::FactMember &some : program.sometimes) {
        const Cell cell = cell_of(some.member);
        const auto [place, fresh] = known.try_emplace({cell.word, cell.mask}, static_cast<int>(cells_.size()));
        if (fresh) cells_.push_back(cell);
        of_fact[task_.fact_id(some.fact)].push_back(place->second);
        variables_.push_back(some.fact.variable);
    }
    std::sort(variables_.begin(), variables_.end());
    variables_.erase(std::unique(variables_.begin(), variables_.end()), variables_.end());
    counts_.assign(cells_.size(), 0);
    cell_begin_.push_back(0);
    for (const std::vector<int> &cells : of_fact) {
        fact_cells_.insert(fact_cells_.end(), cells.begin(), cells.end());
        cell_begin_.push_back(fact_cells_.size());
    }
    for (const SketchProgram::Member &member : program.always) {
        const Cell cell = cell_of(member);
        sets_[cell.word] |= cell.mask;
        const auto place = known.find({cell.word, cell.mask});
        if (place != known.end()) ++counts_[place->second];  // so the count never becomes zero
    }
    for (int variable : variables_) {
        const std::size_t fact = task_.fact_id({variable, current_[variable]});
        for (std::size_t i = cell_begin_[fact]; i < cell_begin_[fact + 1]; ++i) {
            ++counts_[fact_cells_[i]];
            sets_[cells_[fact_cells_[i]].word] |= cells_[fact_cells_[i]].mask;
        }
    }
}

std::vector<char> SketchFeatures::sets_of_state(const SketchProgram &program) const {
    std::vector<char> changed(program.sets.size(), 0);
    for (const SketchProgram::FactMember &some : program.sometimes) changed[some.member.set] = 1;
    mark_dependent(program, changed);
    return changed;
}

void SketchFeatures::group_operators(const SketchProgram &program, const std::vector<char> &compared) {
    std::vector<std::vector<int>> given_by(task_.variable_count());  // sets, of each variable
    for (const SketchProgram::FactMember &some : program.sometimes)
        given_by[some.fact.variable].push_back(some.member.set);
    for (std::vector<int> &sets : given_by) {
        std::sort(sets.begin(), sets.end());
        sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    }
    std::map<std::vector<int>, int> groups;
    effect_begin_.push_back(0);
    for (OperatorId op = 0; op < task_.operator_count(); ++op) {
        std::vector<int> variables, touched;
        for (const Fact &fact : task_.effect_facts(op))
            if (!given_by[fact.variable].empty()) variables.push_back(fact.variable);
        std::sort(variables.begin(), variables.end());
        variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
        for (int v : variables) touched.insert(touched.end(), given_by[v].begin(), given_by[v].end());
        std::sort(touched.begin(), touched.end());
        touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
        effect_variables_.insert(effect_variables_.end(), variables.begin(), variables.end());
        effect_begin_.push_back(effect_variables_.size());
        const auto [place, fresh] = groups.try_emplace(touched, static_cast<int>(groups_.size()));
        group_of_.push_back(place->second);
        if (!fresh) continue;
        std::vector<char> changed(program.sets.size(), 0);
        for (int set : touched) changed[set] = 1;
        mark_dependent(program, changed);
        groups_.push_back(bind(program, changed, compared, true));
    }
}

std::vector<char> SketchFeatures::needed_sets(const SketchProgram &program, const std::vector<char> &wanted) {
    std::vector<char> needed(program.sets.size(), 0);
    for (std::size_t f = 0; f < program.features.size(); ++f) {
        const SketchProgram::Feature &feature = program.features[f];
        if (!wanted[f]) continue;
        needed[feature.a] = 1;
        if (feature.code == SketchProgram::FeatureCode::distance) needed[feature.b] = needed[feature.c] = 1;
    }
    for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step)
        if (needed[step->target]) {
            needed[step->a] = 1;
            if (reads_two(step->code)) needed[step->b] = 1;
        }
    return needed;
}

// The steps and wanted features that depend on the changed sets. With `aside` the results are kept apart from the sets of the
// current state.
SketchFeatures::Program SketchFeatures::bind(const SketchProgram &program, const std::vector<char> &changed,
                                             const std::vector<char> &wanted, bool aside) {
    std::vector<char> moved(program.sets.size(), 0);
    const auto at = [&](int set) { return (moved[set] ? aside_.data() : sets_.data()) + offsets_[set]; };
    const std::vector<char> needed = needed_sets(program, wanted);
    Program result;
    for (const SketchProgram::Step &step : program.steps) {
        if (!changed[step.target] || !needed[step.target]) continue;
        const Word *a = at(step.a), *b = reads_two(step.code) ? at(step.b) : nullptr;
        moved[step.target] = aside;
        result.steps.push_back({step.code, at(step.target), a, b, program.size(step.target)});
    }
    for (int f = 0; f < static_cast<int>(program.features.size()); ++f) {
        const SketchProgram::Feature &feature = program.features[f];
        if (!wanted[f] || !reads(feature, changed)) continue;
        const bool distance = feature.code == SketchProgram::FeatureCode::distance;
        result.features.push_back({feature.code, f, at(feature.a), distance ? at(feature.b) : nullptr,
                                   distance ? at(feature.c) : nullptr, program.size(feature.a)});
    }
    return result;
}

bool SketchFeatures::changes(int group, int feature) const {
    return std::any_of(groups_[group].features.begin(), groups_[group].features.end(),
                       [&](const BoundFeature &bound) { return bound.feature == feature; });
}

void SketchFeatures::shift(int variable, int from, int to) {
    const std::size_t gone = task_.fact_id({variable, from}), come = task_.fact_id({variable, to});
    for (std::size_t i = cell_begin_[gone]; i < cell_begin_[gone + 1]; ++i) {
        const int cell = fact_cells_[i];
        if (--counts_[cell] == 0) sets_[cells_[cell].word] &= ~cells_[cell].mask;
    }
    for (std::size_t i = cell_begin_[come]; i < cell_begin_[come + 1]; ++i) {
        const int cell = fact_cells_[i];
        if (counts_[cell]++ == 0) sets_[cells_[cell].word] |= cells_[cell].mask;
    }
}

const std::int32_t *SketchFeatures::move_to(const int *state) {
    bool moved = false;
    for (int variable : variables_)
        if (current_[variable] != state[variable]) {
            shift(variable, current_[variable], state[variable]);
            moved = true;
        }
    std::copy(state, state + current_.size(), current_.begin());
    if (moved) run(of_state_, values_.data());
    return values_.data();
}

const std::int32_t *SketchFeatures::after(OperatorId op) {
    const Program &program = groups_[group_of_[op]];
    if (program.features.empty()) return values_.data();
    task_.apply(op, current_.data(), successor_.data());
    const int *begin = effect_variables_.data() + effect_begin_[op],
              *end = effect_variables_.data() + effect_begin_[op + 1];
    for (const int *v = begin; v != end; ++v)
        if (current_[*v] != successor_[*v]) shift(*v, current_[*v], successor_[*v]);
    std::copy(values_.begin(), values_.end(), after_.begin());
    run(program, after_.data());
    for (const int *v = begin; v != end; ++v)
        if (current_[*v] != successor_[*v]) shift(*v, successor_[*v], current_[*v]);
    return after_.data();
}

void SketchFeatures::run(const Program &program, std::int32_t *values) {
    if (words_ == 1) return run_with<1>(program, values);
    if (words_ == 2) return run_with<2>(program, values);
    run_with<0>(program, values);
}

template <int W>
void SketchFeatures::run_with(const Program &program, std::int32_t *values) {
    using Code = SketchProgram::StepCode;
    const Sets<W> sets({objects_, words_});
    for (const BoundStep &step : program.steps) switch (step.code) {
            case Code::intersect: sets.intersect(step.to, step.a, step.b, step.size); break;
            case Code::complement: sets.complement(step.to, step.a); break;
            case Code::some: sets.some(step.to, step.a, step.b); break;
            case Code::all: sets.all(step.to, step.a, step.b); break;
            case Code::equal: sets.equal(step.to, step.a, step.b); break;
            case Code::inverse: sets.inverse(step.to, step.a); break;
            case Code::closure: sets.closure(step.to, step.a); break;
            case Code::restrict_to: sets.restrict_to(step.to, step.a, step.b); break;
        }
    for (const BoundFeature &feature : program.features) switch (feature.code) {
            case SketchProgram::FeatureCode::nonempty:
                values[feature.feature] = sets.count(feature.a, feature.size) > 0;
                break;
            case SketchProgram::FeatureCode::count:
                values[feature.feature] = sets.count(feature.a, feature.size);
                break;
            case SketchProgram::FeatureCode::distance:
                values[feature.feature] = sets.distance(feature.a, feature.b, feature.c, scratch_.data());
                break;
        }
}

}  // namespace misstep
