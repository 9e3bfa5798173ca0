// Writes the greedy translations of rows of token ids: node onnx_in_node.cjs FOLDER '[[5,6,3],[7,3]]' MOST
const ort = require('onnxruntime-node');
const [folder, given, most] = process.argv.slice(2);
const PAD = 0, START = 2, END = 3;
const rows = JSON.parse(given), longest = Math.max(...rows.map((row) => row.length));
const filled = (row) => [...row, ...Array(longest - row.length).fill(0)];
const int64 = (numbers, sizes) => new ort.Tensor('int64', BigInt64Array.from(numbers, BigInt), sizes);

async function main() {
  const sizes = [rows.length, longest];
  const ids = int64(rows.flatMap(filled), sizes);
  const mask = int64(rows.flatMap((row) => filled(row.map(() => 1))), sizes);
  const encoder = await ort.InferenceSession.create(`${folder}/onnx/encoder_model.onnx`);
  const decoder = await ort.InferenceSession.create(`${folder}/onnx/decoder_model_merged.onnx`);
  const first = await encoder.run({ input_ids: ids, attention_mask: mask });
  const source = { ...first, encoder_attention_mask: mask, encoder_hidden_states: first.last_hidden_state };
  const asked = ([name]) => decoder.inputNames.includes(name);
  const memory = Object.fromEntries(Object.entries(source).filter(asked));
  const later = (made, name) => made[name.replace(/^past\w*/, 'present')];
  let past = {};
  for (const { name, shape } of decoder.inputMetadata) {
    if (!name.startsWith('past')) continue;
    past[name] = later(first, name);
    if (past[name]) continue; // an RNN's encoder gives the first state
    const empty = shape.map((size) => (typeof size === 'number' ? size : 0));
    past[name] = new ort.Tensor('float32', new Float32Array(0), [rows.length, ...empty.slice(1)]);
  }
  let read = rows.map(() => START);
  const written = rows.map(() => []), over = rows.map(() => false);
  for (let step = 0; step < Number(most) && !over.every(Boolean); step++) {
    const made = await decoder.run({ input_ids: int64(read, [rows.length, 1]), ...memory, ...past });
    past = Object.fromEntries(Object.keys(past).map((name) => [name, later(made, name)]));
    const width = made.logits.dims[2];
    read = rows.map((_, row) => {
      const logits = Array.from(made.logits.data.subarray(row * width, (row + 1) * width));
      logits[PAD] = logits[START] = -Infinity;
      const best = logits.indexOf(logits.reduce((one, other) => Math.max(one, other)));
      over[row] ||= best === END;
      if (!over[row]) written[row].push(best);
      return best;
    });
  }
  console.log(JSON.stringify(written));
}

main();
