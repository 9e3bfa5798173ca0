/**
 * Unpacks a saved page: its style, its script, its data, and its arrays, of which the first part is enough to begin with.
 * Nothing is requested from anywhere.
 */
(async () => {
  /** 13 bits from two of 91 letters, six from a last one (`lettered` in packing.py). @param {string} text */
  const bytesOf = (text) => {
    const bytes = new Uint8Array(((text.length >> 1) * 13 + (text.length & 1) * 6) >> 3);
    const value = (/** @type {number} */ code) => code - (code > 60 ? 36 : 35);
    let [held, bits, count] = [0, 0, 0];
    const even = text.length & ~1;
    for (let at = 0; at < even; at += 2) {
      held = (held << 13) | (91 * value(text.charCodeAt(at)) + value(text.charCodeAt(at + 1)));
      for (bits += 13; bits >= 8; count++) bytes[count] = held >> (bits -= 8);
    }
    if (count < bytes.length) bytes[count] = ((held << 6) | value(text.charCodeAt(even))) >> (bits - 2);
    return bytes;
  };
  const find = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const unpacked = (/** @type {string} */ id) => {
    const node = find(id);
    const stream = new DecompressionStream("gzip");
    const writer = stream.writable.getWriter();
    writer.write(bytesOf(node.textContent ?? "")).catch(() => {}); // what reads the stream reports it
    writer.close().catch(() => {});
    if (id !== "data") node.remove();
    return new Response(stream.readable);
  };
  const part = async (/** @type {number} */ number) => new Uint8Array(await (await unpacked(`arrays-${number}`)).arrayBuffer());
  const data = /** @type {Held} */ (find("data"));
  const code = unpacked("code").text();
  const [styled, text, first] = await Promise.all([unpacked("style").text(), unpacked("data").text(), part(0)]);
  const style = document.createElement("style");
  style.textContent = styled;
  document.head.append(style);
  data.textContent = text;
  const arrays = [first];
  data.arrays = arrays;
  const others = async () => {
    if (document.readyState === "loading") await new Promise((done) => { document.addEventListener("DOMContentLoaded", done); });
    for (let number = 1; number < Number(data.dataset.parts); number++) arrays.push(await part(number));
  };
  data.whole = Number(data.dataset.parts) > 1 ? others() : null;
  const script = document.createElement("script");
  script.textContent = await code;
  document.body.append(script);
})().catch((error) => {
  const korean = navigator.language.startsWith("ko");
  const page = document.getElementById("page");
  if (page) page.textContent = korean
    ? "이 페이지를 열려면 2023년 이후의 브라우저가 필요합니다." : "This page needs a browser of 2023 or later.";
  throw error;
});
