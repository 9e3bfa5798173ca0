/**
 * Unpacks a saved page: its style, its script, its data, and its arrays, of which the first part is enough to begin with.
 * Nothing is requested from anywhere.
 */
(async () => {
  const bytesOf = (/** @type {string} */ text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
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
