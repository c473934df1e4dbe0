"""Train a policy under temporal specifications: ``python train.py env=... algo=... specs=...``."""

from safe_rl.cli.train import main

if __name__ == "__main__":
    main()
