/** What a classifier says: the parts of a trace that name a label. */

const BEST = 5; // STEP_CHOICES in inspection/trace.py

/** `logits`: of all labels. The label is the only step. @param {Float32Array} logits @param {string[]} labels */
export function labelled(logits, labels) {
  const most = Math.max(...logits);
  const sum = logits.reduce((all, logit) => all + Math.exp(logit - most), 0);
  const logs = Array.from(logits, (logit) => logit - most - Math.log(sum));
  const order = logs.map((_, i) => i).sort((a, b) => logs[b] - logs[a] || a - b);
  const [first] = order;
  /** @type {Step["best"]} */
  const best = order.slice(0, BEST).map((i) => [labels[i], logs[i]]);
  return { output: labels[first], written: [first], steps: [{ token: labels[first], log_probability: logs[first], best, gate: null }] };
}
