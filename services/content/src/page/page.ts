import { type Page, PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { TemplateError } from "@tidings/rendering/template-error";
import { notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { notOneOf } from "@tidings/rpc/fault";
import { isTakenWord } from "@tidings/rpc/public-paths";
import { sql } from "kysely";
import { checkVariantSettings, type Family, family } from "../family/family.ts";
import { type MakeWinner, winnerMaker } from "../family/make-winner.ts";
import { PAGE_SHOWN } from "../family/references.ts";
import { restartTests } from "../family/variant-test.ts";
import { isWebAddress } from "../family/web-address.ts";
import { compilePage } from "./page-html.ts";

const REDIRECTS = [301, 302, 303, 307, 308];

/** Pages, and the way in which a test of them ends. */
export function pages(context: ResourceContext): { rows: Repository<Page>; makeWinner: MakeWinner<Page> } {
  const variants = family(PageSchema, PAGE_SHOWN, ["variant", "translation"]);
  const changed = restartTests<Page>(PageSchema, ["variantHits"]);
  const rows = repository<Page, Loaded>(context, PageSchema, {
    listed: variants.listed,
    commands: new Map([
      ["is", ({ text }) => (text === "prefcenter" ? sql`is_preference_center` : undefined)],
    ]),
    load: async (transaction, _call, messages, ids) => ({
      family: await variants.load(transaction, ids, messages),
      tooLarge: await tooLargeIn(messages),
    }),
    prepare: (draft, { before, loaded }) => [
      ...checkAlias(draft, before),
      ...checkRedirect(draft),
      ...checkVariantSettings(draft),
      ...variants.check(draft, before, loaded.family),
      ...checkHtml(draft, loaded),
    ],
    changed,
    show: variants.show,
  });
  return { rows, makeWinner: winnerMaker<Page>(context, PageSchema, { changed, show: variants.show }) };
}

interface Loaded {
  family: Family;
  /** Why the HTML of a page cannot be shown, by the HTML. */
  tooLarge: ReadonlyMap<string, string>;
}

async function tooLargeIn(messages: (Page | undefined)[]): Promise<Loaded["tooLarge"]> {
  const reasons = new Map<string, string>();
  for (const { customHtml = "" } of messages.flatMap((message) => message ?? []))
    await compilePage(customHtml).catch((error) => {
      if (!(error instanceof TemplateError)) throw error;
      reasons.set(customHtml, error.message);
    });
  return reasons;
}

function checkHtml({ customHtml = "" }: Page, { tooLarge }: Loaded) {
  const reason = tooLarge.get(customHtml);
  return reason === undefined ? [] : [notValid("customHtml", reason)];
}

/** On the host of the API its addresses come first: a page of such a name could not be seen there. */
function checkAlias({ alias }: Page, before: Page | undefined) {
  const isFree = alias === before?.alias || !isTakenWord(alias);
  return isFree
    ? []
    : [notValid("alias", `"${alias}" is an address of this installation. Choose another one.`)];
}

function checkRedirect({ redirectType, redirectUrl }: Page) {
  if (redirectType === undefined) return [];
  if (!REDIRECTS.includes(redirectType)) return [notValid("redirectType", notOneOf(REDIRECTS))];
  return redirectUrl && isWebAddress(redirectUrl)
    ? []
    : [notValid("redirectUrl", "A valid URL is required.")];
}
