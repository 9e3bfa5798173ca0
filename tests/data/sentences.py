"""A little text to train tokenizers on."""

ENGLISH = [
    "a man in a blue shirt is standing on a ladder and cleaning a window",
    "two young men with long hair are looking at their hands in the yard",
    "a group of people is standing in front of a house of snow",
    "a boy in a red uniform is trying to reach the home plate in time",
    "a man is cooking dinner on the stove while a woman cuts bread",
    "a little girl climbs into a wooden house in the garden",
    "several men in hard hats are operating a giant system of wheels",
    "a man with a hat is sitting on a chair and repairing a clock",
    "a woman is holding a large white dog at the beach in the morning",
    "children are playing with a ball while their mother reads a letter",
    "three women walk along a quiet street and talk about the weather",
    "the old teacher writes a question and waits for an answer",
    "students who read every evening often write better letters",
    "my brother bought four apples and two books at the market yesterday",
    "nobody knew where the green bird with the yellow wings had gone",
    "the train leaves at seven and arrives before the museum opens",
    "a quick brown fox jumps over the lazy dog near the zoo",
    "please close the window before you leave the room tonight",
    "the doctor told his patient to drink more water and to sleep longer",
    "when the rain stopped we went down to the river and swam",
]
