import type { ServerResponse } from "node:http";
import { attachmentName, contentDisposition } from "./attachment-name.ts";
import { extensionOf } from "./kind.ts";

/** An uploaded file, or the part of it that is sent. */
export interface DescribedFile {
  mime: string;
  /** Bytes. */
  length: number;
  /** The header `Content-Disposition`. */
  disposition: string;
}

/** Whatever a browser makes of an uploaded file, nothing in it runs or loads. Pages on other sites may show it. */
export function describeFile(response: ServerResponse, { mime, length, disposition }: DescribedFile): void {
  response.setHeader("content-type", mime);
  response.setHeader("content-length", length);
  response.setHeader("content-disposition", disposition);
  response.setHeader("content-security-policy", "default-src 'none'; sandbox");
  response.setHeader("cross-origin-resource-policy", "cross-origin");
}

/** A file from somebody unknown is a download and nothing else, whatever it is or claims to be. */
export function describeDownload(response: ServerResponse, name: string, length: number): void {
  const extension = extensionOf(name) ?? "bin";
  const disposition = contentDisposition("attachment", attachmentName(name, extension));
  describeFile(response, { mime: "application/octet-stream", length, disposition });
}
