#include "jani/task.h"

namespace misstep::jani {

Task::Test Task::test(Model &model, ExprId condition, std::string where) {
    const Expressions &expressions = model.expressions();
    return {model.programs_for_task().condition(expressions.conjuncts(condition)), expressions.support(condition),
            model.place(std::move(where))};
}

Task::Task(std::shared_ptr<Model> owner, ExprId unsafe_condition, std::string unsafe_where, ExprId goal_condition,
           std::string goal_where, ExprId distance_condition, Distance::Scale scale, Start given_start,
           std::string given_start_where)
    : model(owner),
      unsafe(test(*owner, unsafe_condition, std::move(unsafe_where))),
      goal(test(*owner, goal_condition, std::move(goal_where))),
      distance(owner->expressions(), owner->programs_for_task(), distance_condition, scale),
      distance_support(owner->expressions().support(distance_condition)),
      start(std::move(given_start)),
      start_where(std::move(given_start_where)) {
    if (distance_condition != unsafe_condition)
        plain_distance.emplace(owner->expressions(), owner->programs_for_task(), unsafe_condition, scale);
    if (const ExprId *condition = std::get_if<ExprId>(&start)) {
        start_conjuncts = owner->expressions().conjuncts(*condition);
        for (ExprId e : start_conjuncts) start_tests.push_back(test(*owner, e, start_where));
    }
}

}  // namespace misstep::jani
