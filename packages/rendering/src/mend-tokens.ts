import { readTextReferences } from "./character-references.ts";
import { scanHtml } from "./scan-html.ts";
import { beginsLikeToken, readToken } from "./token.ts";

/** Braces that an author meant as a token, and that are none. */
export interface UnreadToken {
  /** As it is written, shortened. */
  text: string;
  /** `unclosed`: its brace has no end. `unknown`: no token has such a name, or such an argument. */
  reason: "unclosed" | "unknown";
}

export interface MendedText {
  text: string;
  unread: UnreadToken[];
}

/** A name after an opening brace, the rest up to the next brace, and the closing ones. Doubled braces are those of other products. */
const BRACES = /(\{?)\{(\w{1,64})([^{}]{0,2000})(\}?)(\}?)/g;
/** Up to here a token without an end goes. Its default follows. */
const UNCLOSED_ARGUMENT = /^(?:="?[\w-]*)?\|?/;
const TEXT_LENGTH_MAX = 60;
const UNREAD_MAX = 20;
/** Braces of style sheets and scripts are their own. */
const CODE = new Set(["style", "script"]);

/**
 * The text with the default in place of each token that cannot be read: the words after its `|`, or nothing. Braces of style sheets, and those that do not
 * begin with a name, stay. Names the first 20 such tokens. Yields where its reader may pause.
 */
export function* mendTokens(
  text: string,
  names: ReadonlySet<string>,
  kind: "html" | "text",
): Generator<void, MendedText> {
  const decode = kind === "html" ? readTextReferences : (body: string) => body;
  const unread: UnreadToken[] = [];
  let code: Place[] | undefined;
  let mended = "";
  let from = 0;
  let passed = 0;
  for (const match of text.matchAll(BRACES)) {
    yield;
    const found = readBraces(match, names, decode);
    if (!found) continue;
    // Most texts have no such token, and need not be read for their code.
    code ??= kind === "html" ? yield* codeIn(text) : [];
    while ((code[passed]?.end ?? text.length) <= match.index) passed += 1;
    if ((code[passed]?.start ?? text.length) <= match.index) continue;
    if (unread.length < UNREAD_MAX)
      unread.push({ text: match[0].slice(0, TEXT_LENGTH_MAX).trim(), reason: found.reason });
    mended += text.slice(from, match.index) + found.instead;
    from = match.index + match[0].length;
  }
  return { text: mended + text.slice(from), unread };
}

/** The text in place of braces; undefined for a token, and for braces that no author meant as one. */
function readBraces(
  [, before = "", name = "", rest = "", closing = "", after = ""]: RegExpExecArray,
  names: ReadonlySet<string>,
  decode: (body: string) => string,
): { reason: UnreadToken["reason"]; instead: string } | undefined {
  const isKnown = beginsLikeToken(name, names);
  if (closing === "") {
    if (!isKnown) return undefined;
    return { reason: "unclosed", instead: before + rest.replace(UNCLOSED_ARGUMENT, "") };
  }
  const isMeant = isKnown ? !readToken(decode(name + rest), names) : /^(?:$|[=|])/.test(rest);
  if (!isMeant) return undefined;
  const bar = name === "today" ? -1 : rest.indexOf("|");
  const fallback = bar < 0 ? "" : rest.slice(bar + 1);
  const isDoubled = before !== "" && after !== "";
  return { reason: "unknown", instead: isDoubled ? fallback : before + fallback + after };
}

interface Place {
  start: number;
  end: number;
}

/** The places of style sheets and scripts in a document, in their order. */
function* codeIn(html: string): Generator<void, Place[]> {
  const places: Place[] = [];
  let isCode = false;
  yield* scanHtml(html, {
    openTag(name) {
      isCode = CODE.has(name);
    },
    closeTag() {
      isCode = false;
    },
    text(text, start) {
      if (isCode) places.push({ start, end: start + text.length });
    },
    attribute: () => undefined,
    tagEnd: () => undefined,
  });
  return places;
}
