import { type MendedText, mendTokens, type UnreadToken } from "@tidings/rendering/mend-tokens";
import { isObject, type JsonObject, membersOf } from "@tidings/resource/json-member";
import { inSteps } from "@tidings/runtime/long-work";
import { textOf } from "@tidings/runtime/plain-text";
import type { EmailRevision } from "./email-revision.ts";

/** The texts of an email that may have tokens. */
export interface MailTexts {
  subject: string;
  /** Undefined for an email of text only. */
  customHtml: string | undefined;
  preheaderText: string;
  /** Undefined where the HTML is all there is. */
  plainText: string | undefined;
  fromAddress: string;
  fromName: string;
  headers: [name: string, value: string][];
  dynamicContent: WrittenContent[];
}

export interface WrittenContent {
  tokenName: string;
  content: string;
  versions: { content: string; filters: unknown }[];
}

/** A token that cannot be read, with the member of the email that it stands in. */
export type UnreadInMember = UnreadToken & { member: keyof MailTexts };

/** The tokens of emails beside fields of contacts and dates (engines.md 6.7). */
const NAMES =
  `unsubscribe_text unsubscribe_url dnc_url webview_text webview_url tracking_pixel scanner_trap subject signature
  ownerfield pagelink assetlink dynamiccontent trackedlink trackedfield formfield`.split(/\s+/);
const TOKEN_NAME = /^\w{1,64}$/;

/** The names of tokens in a mail for which values of the tokens `given` come with the send. */
export function tokenNames(given: string[]): ReadonlySet<string> {
  return new Set([...NAMES, ...given.filter((name) => TOKEN_NAME.test(name))]);
}

type Texts = Pick<
  EmailRevision,
  | ("subject" | "customHtml" | "preheaderText" | "plainText" | "fromAddress" | "fromName")
  | ("headers" | "dynamicContent")
>;

export function mailTexts(revision: Texts): MailTexts {
  const { subject, customHtml, preheaderText, plainText, fromAddress, fromName, headers } = revision;
  return {
    subject,
    customHtml: customHtml?.trim() ? customHtml : undefined,
    preheaderText: preheaderText ?? "",
    plainText: plainText?.trim() ? plainText : undefined,
    fromAddress: fromAddress ?? "",
    fromName: fromName ?? "",
    headers: Object.entries(membersOf(headers)).map(([name, value]) => [name, textOf(value) ?? ""]),
    dynamicContent: dynamicContents(revision),
  };
}

/** `[{tokenName, content, filters: [{content, filters}]}]`, all of it optional. Before a save it may be any JSON, of which no more is read. */
function dynamicContents({ dynamicContent }: Pick<EmailRevision, "dynamicContent">): WrittenContent[] {
  return objectsIn(dynamicContent).map(({ tokenName, content, filters }) => ({
    tokenName: textOf(tokenName) ?? "",
    content: textOf(content) ?? "",
    versions: objectsIn(filters).map((version) => ({
      content: textOf(version.content) ?? "",
      filters: version.filters ?? [],
    })),
  }));
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The texts with the defaults of tokens that cannot be read in their place, and these tokens. */
export async function mendTexts(
  texts: MailTexts,
  names: ReadonlySet<string>,
): Promise<{ texts: MailTexts; unread: UnreadInMember[] }> {
  const unread: UnreadInMember[] = [];
  const mend = async (member: keyof MailTexts, text: string, kind: "html" | "text" = "text") => {
    const mended: MendedText = await inSteps(mendTokens(text, names, kind));
    for (const token of mended.unread) unread.push({ member, ...token });
    return mended.text;
  };
  const headers: [string, string][] = [];
  for (const [name, value] of texts.headers) headers.push([name, await mend("headers", value)]);
  const dynamicContent: WrittenContent[] = [];
  for (const { tokenName, content, versions } of texts.dynamicContent) {
    const mended: WrittenContent["versions"] = [];
    for (const version of versions)
      mended.push({ ...version, content: await mend("dynamicContent", version.content, "html") });
    const usual = await mend("dynamicContent", content, "html");
    dynamicContent.push({ tokenName, content: usual, versions: mended });
  }
  const { customHtml, plainText } = texts;
  const mended: MailTexts = {
    subject: await mend("subject", texts.subject),
    customHtml: customHtml === undefined ? undefined : await mend("customHtml", customHtml, "html"),
    preheaderText: await mend("preheaderText", texts.preheaderText),
    plainText: plainText === undefined ? undefined : await mend("plainText", plainText),
    fromAddress: await mend("fromAddress", texts.fromAddress),
    fromName: await mend("fromName", texts.fromName),
    headers,
    dynamicContent,
  };
  return { texts: mended, unread };
}
