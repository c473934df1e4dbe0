"""Score a policy with the monitors that trained it: ``python eval.py checkpoint=RUN_DIR``."""

from safe_rl.cli.evaluate import main

if __name__ == "__main__":
    main()
