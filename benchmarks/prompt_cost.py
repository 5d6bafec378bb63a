"""What a research sends to its models: tokens raw, and priced with a prefix cache, against the anchors.

    python benchmarks/prompt_cost.py [--parts]

Twelve questions, each one search, three pages, one thought, as in the anchors' script (see scripted_research.py);
exploration only. Beside it what the evaluation, and challenging every question, add. Exits with 1 over the bounds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from scripted_research import Cost, Done, Prompt, Script, play

MOST_RAW = 700_000
MOST_PRICED = 220_000
BEST_ANCHOR = 185_088
"""Cache-priced tokens of the best of the anchors over the same research."""
READ_ONCE = 81_000
"""Tokens of the hits and pages alone, each read once."""


def line(name: str, prompts: list[Prompt]) -> str:
    """One line in the anchors' form."""
    cost = Cost(prompts)
    sizes = [p.tokens for p in prompts]
    at = " ".join(f"{sizes[min(n, len(sizes)) - 1]:,}" for n in (10, 30, 60)) if sizes else "-"
    return (
        f"{name:34s} calls {len(prompts):3d}  prompt tokens {cost.raw:9,d}  cache-priced {cost.priced:8,d}  "
        f"at turn 10/30/60: {at}"
    )


def parts(prompts: list[Prompt]) -> list[str]:
    """Where the tokens go, the dearest first."""
    found = sorted(Cost(prompts).parts().items(), key=lambda item: -item[1][1])
    return [f"  {name:28s} raw {raw:8,d}  cache-priced {priced:8,d}" for name, (raw, priced) in found]


def told(name: str, done: Done, with_parts: bool) -> None:
    """Prints a run."""
    print(line(name, done.exploration))
    print(line(f"{name}: arms", done.evaluation))
    if with_parts:
        print("\n".join(parts([*done.exploration, *done.evaluation])))


def main() -> int:
    """Runs both variants; 0 if the plain one keeps its bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", action="store_true", help="also where the tokens go")
    asked = parser.parse_args()
    plain = asyncio.run(play(Script()))
    told("zetetic", plain, asked.parts)
    challenged = asyncio.run(play(Script(challenged=True)))
    told("zetetic, every question challenged", challenged, asked.parts)
    cost = Cost(plain.exploration)
    kept = cost.raw <= MOST_RAW and cost.priced <= MOST_PRICED
    best = "below" if cost.priced < BEST_ANCHOR else "above"
    print(
        f"bounds {MOST_RAW:,} raw, {MOST_PRICED:,} cache-priced: {'kept' if kept else 'NOT kept'}; {best} the best "
        f"anchor's {BEST_ANCHOR:,}; reading each text once is {READ_ONCE:,}"
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
