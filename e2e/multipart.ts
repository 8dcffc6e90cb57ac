/** One part of a form: its headers and its content. */
export interface Part {
  name?: string;
  filename?: string;
  type?: string;
  content: Buffer | string;
}

export const BOUNDARY = "----tidings-e2e";
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

/** A multipart/form-data body (RFC 7578), byte for byte as it is written here: names are not made harmless. */
export function multipart(...parts: Part[]): Buffer {
  const pieces = parts.flatMap(({ name = "file", filename, type = "application/octet-stream", content }) => {
    const named = filename === undefined ? "" : `; filename="${filename}"\r\ncontent-type: ${type}`;
    const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${named}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(content), Buffer.from("\r\n")];
  });
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
export const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
export const PDF = Buffer.from(
  "%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n",
);
