"""The learning rate over the course of a run: `peak x warmup x decay`, pure functions of the step.

Decay follows the finished share of the run, of its steps or its minutes. In a run of minutes the
warm-up ends after its steps or after `warmup_share` of the run, whichever comes first.
"""

import math

from jumok.config import ScheduleConfig


def learning_rate(
    schedule: ScheduleConfig, peak: float, step: int, share: float, *, timed: bool = False
) -> float:
    """The learning rate of one optimizer step, counted from 1.

    Args:
        peak: reached at the end of the warm-up.
        share: the finished share of the run, 0 to 1: of its steps, or of its time.
        timed: minutes limit the run.
    """
    warmups = warmups_over(schedule, step, share, timed=timed)
    return peak * min(warmups, 1.0) * decay(schedule, warmups, share)


def warmups_over(schedule: ScheduleConfig, step: int, share: float, *, timed: bool) -> float:
    """The finished part of the run in units of the warm-up: 1 at its end."""
    by_steps = step / max(schedule.warmup, 1)
    return max(by_steps, share / schedule.warmup_share) if timed else by_steps


def decay(schedule: ScheduleConfig, warmups: float, share: float) -> float:
    """The learning rate as a share of the peak, without the warm-up; see `warmups_over`.

    * constant: 1
    * inverse-sqrt: sqrt(warmup / step) after the warmup, which is 1 / sqrt(warmups)
      (Vaswani et al. 2017, section 5.3)
    * cosine: final + (1 - final) (1 + cos(pi share)) / 2 (Loshchilov and Hutter 2017)
    * warmup-stable-decay: 1, then linear to final over the last `decay_share` of the run (Hu et al.
      2024, section 4)
    """
    final = schedule.final_share
    match schedule.kind:
        case "constant":
            return 1.0
        case "inverse-sqrt":
            return 1.0 / math.sqrt(max(warmups, 1.0))
        case "cosine":
            return final + (1.0 - final) * (1.0 + math.cos(math.pi * min(share, 1.0))) / 2.0
        case "warmup-stable-decay":
            left = (1.0 - min(share, 1.0)) / schedule.decay_share if schedule.decay_share else 1.0
            return final + (1.0 - final) * min(left, 1.0)
