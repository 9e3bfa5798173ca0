/** What the page of an exported model says of itself, by the model's task. */

/** By language and task; the second part of a headline is a button. @type {Record<string, { headlines: Record<string, string[]>, kept: string }>} */
export const HEADLINES = {
  en: {
    headlines: {
      translation: ["This page contains a whole translator.", "Type."],
      "language-model": ["This page contains a whole language model.", "Type."],
      captioning: ["This page contains a model that describes photographs.", "Drop one."],
      "text-classification": ["This page contains a whole classifier.", "Type."],
      "image-classification": ["This page contains a model that names what is on a picture.", "Drop one."],
    },
    kept: "It runs here, in the browser: nothing is sent. Below is what it attended to, number by number.",
  },
  ko: {
    headlines: {
      translation: ["이 페이지 안에 번역기 하나가 통째로 들어 있습니다.", "입력해 보세요."],
      "language-model": ["이 페이지 안에 언어 모델 하나가 통째로 들어 있습니다.", "입력해 보세요."],
      captioning: ["이 페이지 안에 사진을 설명하는 모델이 들어 있습니다.", "사진을 끌어다 놓아 보세요."],
      "text-classification": ["이 페이지 안에 분류기 하나가 통째로 들어 있습니다.", "입력해 보세요."],
      "image-classification": ["이 페이지 안에 사진을 알아보는 모델이 들어 있습니다.", "사진을 끌어다 놓아 보세요."],
    },
    kept: "브라우저 안에서 돌아가며 아무것도 보내지 않습니다. 모델이 어디에 주목했는지 아래에서 숫자 하나하나까지 볼 수 있습니다.",
  },
};
