import type { VisitedStack } from "./visited-stack.ts";

type Made = Pick<VisitedStack, "made">;

const BATCH = 200;
let count = 0;

/** `name-0@example.org`, `name-1@example.org` and so on. */
export function addresses(name: string, many: number, domain = "example.org"): string[] {
  return Array.from({ length: many }, (_, index) => `${name}-${index}@${domain}`);
}

/** Makes contacts of these members, and answers their ids in the same order. */
export async function contactsOf({ made }: Made, all: object[]): Promise<number[]> {
  const ids: number[] = [];
  for (let from = 0; from < all.length; from += BATCH) {
    const { contacts } = await made("contacts/batch/new", all.slice(from, from + BATCH));
    ids.push(...Object.values<{ id: number }>(contacts).map(({ id }) => id));
  }
  return ids;
}

/** Makes a segment of contacts with these addresses, by hand. */
export async function segmentOf(
  { made }: Made,
  emails: string[],
  members: object = {},
): Promise<{ id: number; contactIds: number[] }> {
  const { list } = await made("segments/new", { name: `Segment ${++count}` });
  const contactIds = await contactsOf(
    { made },
    emails.map((email) => ({ email, ...members })),
  );
  for (let from = 0; from < contactIds.length; from += BATCH)
    await made(`segments/${list.id}/contacts/add`, { ids: contactIds.slice(from, from + BATCH) });
  return { id: list.id, contactIds };
}

/** Makes an email for segments, which may be sent, and answers its id. */
export async function newsletterTo(
  { made }: Made,
  segmentIds: number[],
  members: object = {},
): Promise<number> {
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "list", isPublished: true, lists: segmentIds },
    customHtml: "<p>Hello</p>",
    ...members,
  });
  return email.id;
}
