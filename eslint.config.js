/** What tsc does not find in web/. It knows every name and type; here are habits that hide faults. */

import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "off", // tsc finds these, and knows what a browser has
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "all" }],
      "no-control-regex": "off", // characters without a picture are shown by name
      "no-misleading-character-class": ["error", { allowEscape: true }],
      eqeqeq: "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "no-var": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-throw-literal": "error",
      "no-shadow-restricted-names": "error",
      "no-self-compare": "error",
      "no-unreachable-loop": "error",
      "no-template-curly-in-string": "error",
      "no-unmodified-loop-condition": "error",
      "no-constructor-return": "error",
      "no-use-before-define": "off", // a file begins with what it exports
      "array-callback-return": "error",
      "default-param-last": "error",
      "object-shorthand": ["error", "always", { avoidQuotes: true }],
      "prefer-template": "error",
      "no-useless-rename": "error",
      "no-useless-return": "error",
      "no-restricted-syntax": ["error", { selector: "ImportExpression, MetaProperty", message: "A page is one script: bundle.py." }],
    },
  },
];
