/** The delimiters of a multipart body (RFC 2046, 5.1.1). */
export interface MultipartBoundary {
  /** A content type that names this boundary and nothing else. */
  contentType: string;
  /** Delimiters after the first in the body so far, with those in `chunk`, its next octets: as many as parts. */
  count(chunk: Buffer): number;
}

/** The characters that a boundary may have. */
const BOUNDARY =
  /;\s{0,8}boundary=(?:"([\w'()+,./:=? -]{0,69}[\w'()+,./:=?-])"|([\w'()+,./:=?-]{1,70}))\s{0,8}(?:;|$)/i;

/**
 * The boundary that the content type of a form names; undefined where it names none. A parser takes as long for a delimiter with nothing
 * behind it as for a part, but does not count it: whoever reads a body counts delimiters first.
 */
export function multipartBoundary(contentType: string): MultipartBoundary | undefined {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  let count = 0;
  return {
    contentType: `multipart/form-data; boundary="${boundary}"`,
    count(chunk) {
      for (let at = chunk.indexOf(delimiter); at >= 0; at = chunk.indexOf(delimiter, at + delimiter.length))
        count += 1;
      return count;
    },
  };
}
