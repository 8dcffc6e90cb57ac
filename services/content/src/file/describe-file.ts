import type { ServerResponse } from "node:http";

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
