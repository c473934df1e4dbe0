"""A problem for tests of the loop, which has nothing to do with plans."""

from dataclasses import dataclass

from safe_rl.feedback.judgement import Judgement


@dataclass(frozen=True)
class Letters:
    """A problem whose plans are words in capitals: GOOD is safe and complete, others unsafe."""

    name: str = "letters"
    split: str = "train"

    def opening(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": f"Solve {self.name}."}]

    def judge(self, answer: str) -> Judgement:
        if not answer.isupper():
            return Judgement("parse error", words="Write capitals.")
        if answer.strip() == "GOOD":
            return Judgement(
                "safe and complete", plan=("GOOD",), valid=True, success=True, safe=True
            )
        plan = (answer.strip(),)
        return Judgement("unsafe", words=f"{plan[0]} is unsafe.", plan=plan, valid=True, step=0)
