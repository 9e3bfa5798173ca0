/**
 * What the page says when something is wrong. Errors that a reader of the page can cause have texts of their own, by the
 * names that Python gives them (`known` in src/jumok/errors.py); of any other error it shows the parts.
 */

/**
 * @satisfies {TextsWith<{
 *   faultLong: (count: number, most: number) => string,
 *   faultTooMuch: (most: number) => string,
 *   faultPixels: (side: number, all: number) => string,
 * }>}
 */
export const FAULTS = {
  en: {
    faultSays: (what) => what,
    fault_expected: "expected",
    fault_got: "got",
    fault_do: "what to do",
    faultEmpty: "Enter a text.",
    faultGone: "The server does not answer: jumok look has ended, or the connection was lost.",
    faultLong: (count, most) => `This text has ${count} tokens, and the model reads at most ${most} at once: enter one sentence.`,
    faultHalf: "This text contains an unpaired surrogate, half of a character: enter it again.",
    faultMemory: "The browser has not enough memory for this text.",
    faultTooMuch: (most) => `This is too much at once: at most ${most.toLocaleString("en")} bytes.`,
    faultFileTooLarge: "This file is too large: at most 32 MB.",
    faultToken: "This page belongs to an earlier jumok look. Open the link that was printed last.",
    faultHost: "This address is not the page's own. Use the same port at both ends of a tunnel, or start jumok look with --host.",
    faultNoFile: "There is no such file. Check the path; names are case-sensitive.",
    faultUnreadable: "This file cannot be read. Check the path, and whether it is the file of an image.",
    faultNotImage: "This file is not an image. Give a JPEG, PNG or another common image format.",
    faultNoBytes: "This file is empty.",
    faultPhone: "This is a HEIC or AVIF image, as phones write them. Convert it to JPEG.",
    faultDamaged: "This image is truncated or damaged. Download or export it again.",
    faultColours: "The pixels of this image are floating-point numbers. Convert it to PNG.",
    faultPixels: (side, all) => `This image is too large: at most ${side.toLocaleString("en")} pixels a side, and ${all.toLocaleString("en")} in all.`,
    faultNotStored: "This image cannot be stored. The disk may be full.",
    faultFirstImage: "The image file is not part of this page, so the model cannot be run on it. Choose an image above.",
    faultSentBefore: "This image was sent to another page, or was replaced by later ones. Choose the file again.",
  },
  ko: {
    faultSays: (what) => `처리하지 못했습니다. 프로그램의 메시지: ${what}`,
    fault_expected: "기대한 것",
    fault_got: "받은 것",
    fault_do: "해결 방법",
    faultEmpty: "텍스트를 입력하세요.",
    faultGone: "응답이 없습니다. jumok look이 끝났거나 연결이 끊어졌습니다.",
    faultLong: (count, most) => `입력한 텍스트는 토큰 ${count}개인데, 모델은 한 번에 ${most}개까지 읽습니다. 한 문장을 입력하세요.`,
    faultHalf: "텍스트에 짝이 없는 서로게이트(글자의 반쪽)가 있습니다. 다시 입력하세요.",
    faultMemory: "이 텍스트를 처리하기에는 브라우저의 메모리가 부족합니다.",
    faultTooMuch: (most) => `한 번에 보내기에는 너무 깁니다. ${most.toLocaleString("ko")}바이트까지만 받습니다.`,
    faultFileTooLarge: "파일이 너무 큽니다. 32 MB까지만 받습니다.",
    faultToken: "이 페이지는 앞서 실행한 jumok look의 것입니다. 마지막에 출력된 링크를 여세요.",
    faultHost: "이 페이지의 주소가 아닙니다. 터널 양쪽에서 같은 포트를 쓰거나 jumok look에 --host를 주세요.",
    faultNoFile: "그런 파일이 없습니다. 경로를 확인하세요. 이름의 대소문자를 구별합니다.",
    faultUnreadable: "파일을 읽을 수 없습니다. 경로가 맞는지, 이미지 파일인지 확인하세요.",
    faultNotImage: "이미지 파일이 아닙니다. JPEG이나 PNG처럼 널리 쓰는 이미지 파일을 주세요.",
    faultNoBytes: "빈 파일입니다.",
    faultPhone: "휴대전화가 저장하는 HEIC나 AVIF 이미지입니다. JPEG으로 바꾸어 주세요.",
    faultDamaged: "이미지가 잘렸거나 손상되었습니다. 다시 내려받거나 내보내세요.",
    faultColours: "픽셀이 부동소수점 수인 이미지입니다. PNG로 바꾸어 주세요.",
    faultPixels: (side, all) => `이미지가 너무 큽니다. 한 변은 ${side.toLocaleString("ko")}픽셀, 전체는 ${all.toLocaleString("ko")}픽셀까지 읽습니다.`,
    faultNotStored: "이미지를 저장할 수 없습니다. 디스크가 가득 찼을 수 있습니다.",
    faultFirstImage: "이 페이지에는 이미지 파일이 없어서 모델을 실행할 수 없습니다. 위에서 이미지를 고르세요.",
    faultSentBefore: "다른 페이지에 보냈거나 나중에 보낸 것으로 바뀐 이미지입니다. 파일을 다시 고르세요.",
  },
};
