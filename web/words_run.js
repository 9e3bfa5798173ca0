/** The texts of the training run: its view, and the commands to go on with. */

const exact = (/** @type {number} */ number, /** @type {Language} */ lang) => number.toLocaleString(lang, { maximumSignificantDigits: 3 });
const whole = (/** @type {number} */ number, /** @type {Language} */ lang) => number.toLocaleString(lang);
/** Scores as papers write them; the log has them in lower case. @type {Record<string, string | undefined>} */
const NAMES = { bleu: "BLEU", "bleu-4": "BLEU-4", chrf: "chrF", "cider-d": "CIDEr-D", "macro-f1": "macro-F1" };
const named = (/** @type {string} */ name) => NAMES[name] ?? name;
/** The curves that are no scores. @type {ByLanguage<Record<string, string | undefined>>} */
const CURVES = {
  en: { loss: "loss (nats)", learning_rate: "learning rate" },
  ko: { loss: "손실(nat)", learning_rate: "학습률" },
};

/**
 * @typedef {[name: string, value: number]} Score
 *
 * @satisfies {TextsWith<{
 *   runLead: (steps: number, minutes: number, best: { step: number, values: Score[] } | null) => string,
 *   runTested: (on: string, scores: RawRun["tested"]) => string,
 *   runSize: (parameters: number) => string,
 *   runCurve: (name: string) => string,
 *   runAt: (step: number, minutes: number, values: Score[]) => string,
 *   runExamples: (same: number, all: number) => string,
 * }>}
 */
export const RUN = {
  en: {
    question_learn: "How did it learn?",
    run: "Learning curves",
    runHelp: "The loss is the negative log-probability of each token that the model should write, in nats. The training loss includes dropout and label smoothing, so it may end above the validation loss.",
    runLead: (steps, minutes, best) => `Trained in ${whole(steps, "en")} steps, ${exact(minutes, "en")} min.${best ? ` The best validation was at step ${whole(best.step, "en")}: ${best.values.map(([name, value]) => `${name === "loss" ? "loss" : named(name)} ${exact(value, "en")}`).join(", ")}.` : ""}`,
    runTested: (on, scores) => `On ${on} unseen examples: ${scores.map(([name, value]) => `${name} ${exact(value, "en")}`).join(", ")}.`,
    runSize: (parameters) => `${whole(parameters, "en")} parameters.`,
    runCurve: (name) => CURVES.en[name] ?? `validation ${named(name)}`,
    runTraining: "training",
    runValidation: "validation",
    runAlong: "Horizontal axis",
    runSteps: "steps",
    runMinutes: "minutes",
    runMoment: "Moment",
    runAt: (step, minutes, values) => `Step ${whole(step, "en")}, minute ${exact(minutes, "en")}: ${values.map(([name, value]) => `${name} ${exact(value, "en")}`).join("; ")}`,
    runExamples: (same, all) => `Unseen examples: ${same} of these ${all} are the reference word for word`,
    runReference: "reference",
    runSame: "✓ the same",
    wayIn: "Use this model",
    wayHow: "In a terminal; a click copies the command.",
    way_look: "an input of your own",
    way_use: "only the output",
    way_serve: "for programs",
    copied: "Copied.",
    notCopied: "Selected: copy it with Ctrl+C.",
  },
  ko: {
    question_learn: "어떻게 배웠나?",
    run: "학습 곡선",
    runHelp: "손실은 모델이 써야 할 토큰마다 로그 확률에 음의 부호를 붙인 값이며 단위는 nat입니다. 학습 손실에는 드롭아웃과 레이블 스무딩이 들어 있어서 검증 손실보다 크게 끝날 수 있습니다.",
    runLead: (steps, minutes, best) => `${whole(steps, "ko")}단계를 ${exact(minutes, "ko")}분 동안 학습했습니다.${best ? ` 검증 결과가 가장 좋았던 ${whole(best.step, "ko")}단계의 값은 ${best.values.map(([name, value]) => `${name === "loss" ? "손실" : named(name)} ${exact(value, "ko")}`).join(", ")}입니다.` : ""}`,
    runTested: (on, scores) => `처음 보는 예 ${on}개의 점수는 ${scores.map(([name, value]) => `${name} ${exact(value, "ko")}`).join(", ")}입니다.`,
    runSize: (parameters) => `매개변수는 ${whole(parameters, "ko")}개입니다.`,
    runCurve: (name) => CURVES.ko[name] ?? `검증 ${named(name)}`,
    runTraining: "학습",
    runValidation: "검증",
    runAlong: "가로축",
    runSteps: "단계",
    runMinutes: "분",
    runMoment: "시점",
    runAt: (step, minutes, values) => `${whole(step, "ko")}단계, ${exact(minutes, "ko")}분: ${values.map(([name, value]) => `${name} ${exact(value, "ko")}`).join("; ")}`,
    runExamples: (same, all) => `처음 보는 예 ${all}개 가운데 ${same}개가 정답과 똑같습니다`,
    runReference: "정답",
    runSame: "✓ 같음",
    wayIn: "이 모델 쓰기",
    wayHow: "터미널에서 실행합니다. 누르면 명령이 복사됩니다.",
    way_look: "직접 입력해 보기",
    way_use: "결과만 보기",
    way_serve: "프로그램에서 쓰기",
    copied: "복사했습니다.",
    notCopied: "선택했습니다. Ctrl+C로 복사하세요.",
  },
};
