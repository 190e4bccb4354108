from medebench.cli import main

main()
