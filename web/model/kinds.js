/** The models that a page runs, by the task of their bundles. */

import { Captioner } from "./captioner.js";
import { LanguageModel } from "./language_model.js";
import { Translator } from "./translator.js";

export const MODELS = { captioning: Captioner, "language-model": LanguageModel, translation: Translator };
