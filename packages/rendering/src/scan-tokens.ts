import { beginsLikeToken, readToken, type Token } from "./token.ts";

/** A template in pieces: `fixed[0]`, `tokens[0]`, `fixed[1]`, `tokens[1]`, …, and a last fixed part. */
export interface ScannedTemplate {
  fixed: string[];
  tokens: Token[];
}

const TOKENS_MAX = 5_000;
const TOKEN_LENGTH_MAX = 2_000;
const BRACE = /[{}]|%7[bd]/gi;

/**
 * Finds the tokens of a text in time linear in its length. Braces may be percent-encoded, as editors of links leave them:
 * then `|`, `=` and the rest of the token may be so too. Braces that hold no token stay fixed text, and so does all that
 * follows the first 5,000 tokens. `decode` gives the text that the characters between braces stand for.
 */
export function scanTokens(
  text: string,
  names: ReadonlySet<string>,
  decode: (body: string) => string,
): ScannedTemplate {
  const scanned: ScannedTemplate = { fixed: [], tokens: [] };
  const bodyStarts = { plain: -1, encoded: -1 };
  let fixedStart = 0;
  let candidates = 0;
  for (const { 0: brace, index } of text.matchAll(BRACE)) {
    const form = brace.length === 1 ? "plain" : "encoded";
    if (brace === "{" || /b$/i.test(brace)) {
      bodyStarts[form] = index + brace.length;
      continue;
    }
    const bodyStart = bodyStarts[form];
    bodyStarts[form] = -1;
    if (bodyStart < 0 || index - bodyStart > TOKEN_LENGTH_MAX) continue;
    const body = text.slice(bodyStart, index);
    if (!beginsLikeToken(body, names)) continue;
    // Texts that only begin like tokens are counted too: to read them takes as long.
    candidates += 1;
    if (candidates > TOKENS_MAX) break;
    const decoded = form === "plain" ? decode(body) : percentDecoded(decode(body));
    const token = decoded === undefined ? undefined : readToken(decoded, names);
    if (!token) continue;
    scanned.fixed.push(text.slice(fixedStart, bodyStart - brace.length));
    scanned.tokens.push(token);
    fixedStart = index + brace.length;
    bodyStarts.plain = -1;
    bodyStarts.encoded = -1;
  }
  scanned.fixed.push(text.slice(fixedStart));
  return scanned;
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
