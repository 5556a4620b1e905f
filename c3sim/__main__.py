"""``python -m c3sim`` is the ``c3sim`` command."""

from c3sim.cli import main

if __name__ == "__main__":
    main()
