"""The `misstep` program. Loading the commands takes a moment, in which Ctrl-C must do what it does later."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from misstep.cli.main import main as command
    except KeyboardInterrupt:
        if "--debug" in sys.argv:
            raise
        from misstep.cli.failure import tell
        from misstep.errors import Interrupted

        sys.exit(tell(Interrupted("stopped by the user"), as_json="--json" in sys.argv))
    command()


if __name__ == "__main__":
    main()
