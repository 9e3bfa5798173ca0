/** The models that a page runs, by the task of their bundles. */

import { Captioner } from "./captioner.js";
import { ImageClassifier } from "./image_classifier.js";
import { LanguageModel } from "./language_model.js";
import { TextClassifier } from "./text_classifier.js";
import { Translator } from "./translator.js";

export const MODELS = {
  captioning: Captioner, "image-classification": ImageClassifier, "language-model": LanguageModel,
  "text-classification": TextClassifier, translation: Translator,
};
