"""Export campaigns as files for other tools: tests, problems, plans, models, tables.

`Campaign.export` and the verbs of `misstep export` call `misstep.reports.exports.api.export`.
"""
