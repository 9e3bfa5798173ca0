/** Unpacks a saved page: its script and its data, which are compressed. Nothing is requested from anywhere. */
(async () => {
  const unpacked = (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const data = document.getElementById("data");
  if (data.dataset.packed) data.textContent = await unpacked("data");
  const script = document.createElement("script");
  script.textContent = await unpacked("code");
  document.body.append(script);
})().catch((error) => {
  const korean = navigator.language.startsWith("ko");
  document.getElementById("page").textContent = korean
    ? "이 페이지를 열려면 2023년 이후의 브라우저가 필요합니다." : "This page needs a browser of 2023 or later.";
  throw error;
});
