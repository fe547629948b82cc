"""Run the command as ``python -m labelspan``."""

from .cli import main

if __name__ == "__main__":
    main()
