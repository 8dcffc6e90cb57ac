import { beginsLikeToken, readToken, type Token } from "./token.ts";

/** A template in pieces: `fixed[0]`, `tokens[0]`, `fixed[1]`, `tokens[1]`, …, and a last fixed part. */
export interface ScannedTemplate {
  fixed: string[];
  tokens: Token[];
}

const TOKENS_MAX = 5_000;
const TOKEN_LENGTH_MAX = 2_000;
/** Characters of a text without braces after which a reader that shares the event loop may pause. */
const LENGTH_AT_ONCE = 65_536;

interface Brace {
  length: number;
  opens: boolean;
  form: "plain" | "encoded";
}

const OPENING: Brace = { length: 1, opens: true, form: "plain" };
const CLOSING: Brace = { length: 1, opens: false, form: "plain" };
const ENCODED_OPENING: Brace = { length: 3, opens: true, form: "encoded" };
const ENCODED_CLOSING: Brace = { length: 3, opens: false, form: "encoded" };

/**
 * Finds the tokens of a text in time linear in its length. Braces may be percent-encoded, as editors of links leave them:
 * then `|`, `=` and the rest of the token may be so too. Braces that hold no token stay fixed text, and so does all that
 * follows the first 5,000 tokens. `decode` gives the text that the characters between braces stand for. It yields where its reader
 * may pause.
 */
export function* scanTokens(
  text: string,
  names: ReadonlySet<string>,
  decode: (body: string) => string,
): Generator<void, ScannedTemplate> {
  const scanned: ScannedTemplate = { fixed: [], tokens: [] };
  const bodyStarts = { plain: -1, encoded: -1 };
  let fixedStart = 0;
  let candidates = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (index % LENGTH_AT_ONCE === 0) yield;
    const brace = braceAt(text, index);
    if (!brace) continue;
    const { length, opens, form } = brace;
    const bodyStart = bodyStarts[form];
    bodyStarts[form] = opens ? index + length : -1;
    if (opens || bodyStart < 0 || index - bodyStart > TOKEN_LENGTH_MAX) continue;
    const body = text.slice(bodyStart, index);
    if (!beginsLikeToken(body, names)) continue;
    // Texts that only begin like tokens are counted too: to read them takes as long.
    candidates += 1;
    if (candidates > TOKENS_MAX) break;
    yield;
    const decoded = form === "plain" ? decode(body) : percentDecoded(decode(body));
    const token = decoded === undefined ? undefined : readToken(decoded, names);
    if (!token) continue;
    scanned.fixed.push(text.slice(fixedStart, bodyStart - length));
    scanned.tokens.push(token);
    fixedStart = index + length;
    bodyStarts.plain = -1;
    bodyStarts.encoded = -1;
  }
  scanned.fixed.push(text.slice(fixedStart));
  return scanned;
}

/** The brace at a place of a text: `{`, `}`, `%7B` or `%7D`. */
function braceAt(text: string, index: number): Brace | undefined {
  switch (text[index]) {
    case "{":
      return OPENING;
    case "}":
      return CLOSING;
    case "%":
      break;
    default:
      return undefined;
  }
  if (text[index + 1] !== "7") return undefined;
  const letter = text[index + 2];
  if (letter === "B" || letter === "b") return ENCODED_OPENING;
  return letter === "D" || letter === "d" ? ENCODED_CLOSING : undefined;
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
