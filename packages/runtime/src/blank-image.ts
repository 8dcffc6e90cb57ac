/** A transparent GIF of one pixel, 43 bytes: the answer to requests that count. */
export const BLANK_IMAGE = Buffer.from(
  "R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==",
  "base64",
);
