#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "jani/distance.h"
#include "jani/model.h"

namespace misstep::jani {

// What a property adds to a model: the start states, the unsafe states, the goals, and the distance to unsafety.
struct Task {
    struct Test {
        Condition condition;
        std::vector<SlotId> support;  // the slots that must be in registers
        WhereId where;
    };
    // Start states: a list of them, or all that satisfy a condition.
    using Start = std::variant<std::vector<std::vector<Word>>, ExprId>;

    // Must be called before the model is run, since it adds programs to the model. `distance` is the condition that h refers to,
    // usually `unsafe` itself.
    Task(std::shared_ptr<Model> model, ExprId unsafe, std::string unsafe_where, ExprId goal, std::string goal_where,
         ExprId distance, Distance::Scale scale, Start start, std::string start_where);

    std::shared_ptr<const Model> model;
    Test unsafe;
    Test goal;
    Distance distance;
    std::vector<SlotId> distance_support;
    // The distance to `unsafe` itself, if `distance` refers to another condition.
    std::optional<Distance> plain_distance;
    Start start;
    std::string start_where;
    // All start states, packed one after the other, once an engine has listed them. That may take seconds, so the engines of a
    // task share the list. Guarded by the mutex.
    using Packed = std::shared_ptr<const std::vector<std::uint64_t>>;
    mutable std::mutex listing;
    mutable Packed listed;

    // The conjuncts of a start condition, each with the slots it reads.
    std::vector<ExprId> start_conjuncts;
    std::vector<Test> start_tests;

   private:
    static Test test(Model &model, ExprId condition, std::string where);
};

}  // namespace misstep::jani
