"""``python -m safe_rl.cli`` is the command ``safe-rl``."""

from safe_rl.cli.main import main

if __name__ == "__main__":
    main()
