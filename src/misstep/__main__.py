from misstep.cli.main import main

main()
