import { openAsBlob } from "node:fs";
import { fileTypeFromBlob, supportedExtensions } from "file-type";
import { extensionOf, isPlainText } from "./kind.ts";

/** Extensions that stand for the same bytes. */
const ALIKE = [
  ["jpg", "jpeg"],
  ["tif", "tiff"],
  ["mpg", "mpeg"],
  ["png", "apng"],
  ["mp4", "m4v", "m4a", "mov"],
  // One container, several programs.
  ["cfb", "doc", "xls", "ppt", "msg"],
];
/** Formats that are zip archives. Some programs write them so that they look like any other archive. */
const ZIPPED = new Set(["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub"]);
const TEXTS = new Set(["csv", "txt"]);

/**
 * The fault in a file whose bytes are not those of the extension in its name (magic bytes); undefined for none. Nothing is unpacked. A
 * format without a signature is believed: it is a download and nothing else.
 */
export async function contentError(path: string, name: string, size: number): Promise<string | undefined> {
  if (size === 0) return "The file is empty.";
  const extension = extensionOf(name);
  if (extension === undefined) return "The name of the file has no extension.";
  const found = (await fileTypeFromBlob(await openAsBlob(path)))?.ext;
  const isRight =
    found === undefined || (found === "xml" && extension !== "xml")
      ? await mayBe(extension, path)
      : isAlike(found, extension);
  return isRight ? undefined : `This is no ${extension} file.`;
}

function isAlike(found: string, extension: string): boolean {
  return formsOf(extension).includes(found) || (found === "zip" && ZIPPED.has(extension));
}

/** May a file without a signature, or one that is XML, have this extension? */
async function mayBe(extension: string, path: string): Promise<boolean> {
  if (TEXTS.has(extension)) return isPlainText(path);
  return !formsOf(extension).some((form) => supportedExtensions.has(form));
}

function formsOf(extension: string): string[] {
  return ALIKE.find((forms) => forms.includes(extension)) ?? [extension];
}
