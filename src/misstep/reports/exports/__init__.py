"""Files for others, made from campaigns: tests, problems, plans, models, tables.

`misstep.reports.exports.api.export` is what `Campaign.export` and the verbs of `misstep export` call.
"""
