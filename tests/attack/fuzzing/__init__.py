"""A seeded mutation fuzzer over everything that Misstep reads.

    PYTHONPATH=src:tests python -m attack.fuzzing --seconds 300 --jobs 16 --out findings
    PYTHONPATH=src:tests python -m attack.fuzzing --reader sas --seed 1 --case 17

A reader (reader.py) has seeds, files as they should be. A case is one of them with some damage (mutators.py), and is
a function of the reader's name, the seed and the number of the case. A damaged file may be read, or refused by an
error of ours with an exit code that blames the file; within two seconds and 512 MB. Everything else is a finding,
written to a folder with the files that led to it. Cases run in processes of their own (work.py), which may die or
hang; whoever drives them (drive.py) notices, writes the finding down and goes on behind that case.
"""
