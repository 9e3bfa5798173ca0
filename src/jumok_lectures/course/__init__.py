"""The course: its chapters (docs/course) and the checks of their exercises.

from jumok_lectures.course import check

check("00.softmax", my_softmax)
"""

from jumok_lectures.course.checking import check

__all__ = ["check"]
