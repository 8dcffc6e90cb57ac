const [TAB, LF, CR, SPACE, EQUALS, TILDE] = [9, 10, 13, 32, 61, 126];
const HEX = Buffer.from("0123456789ABCDEF");
/** Without the `=` that ends a line which goes on in the next. */
const LINE_LENGTH = 75;

/**
 * Text as quoted-printable (RFC 2045, 6.7): lines of at most 76 octets, each line end a CRLF of the text, no blank before one. A `F` at the
 * beginning of a line is written out, too: mailboxes in files change `From ` there.
 */
export function quotedPrintable(text: string): Buffer {
  const bytes = Buffer.from(text);
  // Each octet takes three at most, and each line three more.
  const written = Buffer.allocUnsafe(Math.ceil(bytes.length * 3 * (1 + 3 / (LINE_LENGTH - 2))) + 3);
  let at = 0;
  let column = 0;
  for (let index = 0; index < bytes.length; index++) {
    const octet = bytes[index] as number;
    if (octet === CR && bytes[index + 1] === LF) {
      written[at++] = CR;
      written[at++] = LF;
      column = 0;
      index++;
      continue;
    }
    const isPlain = octet > SPACE ? isPrintable(octet, column) : isInnerBlank(octet, bytes, index);
    const length = isPlain ? 1 : 3;
    if (column + length > LINE_LENGTH) {
      written[at++] = EQUALS;
      written[at++] = CR;
      written[at++] = LF;
      column = 0;
    }
    if (isPlain) written[at++] = octet;
    else {
      written[at++] = EQUALS;
      written[at++] = HEX[octet >> 4] as number;
      written[at++] = HEX[octet & 15] as number;
    }
    column += length;
  }
  return written.subarray(0, at);
}

function isPrintable(octet: number, column: number): boolean {
  return octet <= TILDE && octet !== EQUALS && !(column === 0 && octet === 70);
}

/** Blanks at the end of a line get lost on the way. */
function isInnerBlank(octet: number, bytes: Buffer, index: number): boolean {
  const next = bytes[index + 1];
  return (octet === SPACE || octet === TAB) && next !== undefined && next !== CR;
}
