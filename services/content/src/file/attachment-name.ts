const LENGTH_MAX = 100;
/** Control, format and bidi characters, separators of lines and paths, and characters that a shell or a file system reads otherwise. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}"'`\\/<>:|?*%;$]+/gu;
/** The characters of an extended value that `encodeURIComponent` leaves, and that are not to be left (RFC 8187, 3.2.1). */
const LEFT = /['()*]/g;

/** The name under which a browser keeps a download: the title, made harmless, with the extension of the file. */
export function attachmentName(title: string, extension: string): string {
  const clean = title
    .toWellFormed()
    .replaceAll(UNSAFE, " ")
    .replaceAll(/\s+/g, " ")
    .replace(/^[\s.]+/, "");
  const ending = `.${extension}`;
  const base = clean.toLowerCase().endsWith(ending) ? clean.slice(0, -ending.length) : clean;
  const short = [...base]
    .slice(0, LENGTH_MAX)
    .join("")
    .replace(/[\s.]+$/, "");
  return `${short || "file"}${ending}`;
}

/** The header `Content-Disposition` (RFC 6266). The name is in the form of RFC 8187, whose characters are ASCII and no quotes. */
export function contentDisposition(type: "attachment" | "inline", name: string): string {
  const encoded = encodeURIComponent(name).replaceAll(
    LEFT,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename*=UTF-8''${encoded}`;
}
