"""Perfect deciders of solvability for three domains with dead ends, as P22 used them.

Where actions can be undone, a state is solvable if the initial state is, and a run that fails is a bug. In domains with
dead ends that takes a proof for each state. For Matching Blocksworld, Floortile and Spanner the proof is short: each
module here decides, in polynomial time, whether a state has a plan, and says in which steps one goes. The oracle turns
the steps into operators and replays them, so a mistake in a decider can never make a bug; that a state has no plan
rests on the decider's argument, which the tests compare with exhaustive search.
"""
