import assert from "node:assert/strict";
import { UNLIMITED_VISITORS } from "@tidings/scripts/unlimited-visitors";
import { eventually } from "@tidings/testkit/eventually";
import { query } from "./query.ts";
import { startTestStack, type TestStack, type TestStackOptions } from "./stack.ts";
import { visitor } from "./visitor.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it knows to be there
type Any = any;

/** Questions that tests ask of a stack. */
export interface Asking {
  /** Looks into the database, past every service. */
  query(text: string): Promise<Any[]>;
  /** Posts to the API and answers the body of the answer, which is a success. */
  made(path: string, body: object): Promise<Any>;
}

export type VisitedStack = TestStack & Asking;

/**
 * A stack whose visitors meet no limits, and say by `X-Forwarded-For` which address they come from. Done when a visitor can be recorded, with what
 * they say of themselves: the names of fields and the first ids for contacts come from the contact service.
 */
export async function startVisitedStack(options: TestStackOptions = {}): Promise<VisitedStack> {
  const gateway = {
    ...{ ...UNLIMITED_VISITORS, PUBLIC_REQUESTS_IN_FLIGHT: "2000", TRUSTED_PROXIES: "127.0.0.1/32" },
    ...options.env?.gateway,
  };
  const stack = await startTestStack({ ...options, env: { ...options.env, gateway } });
  const host = options.hasOwnHost ? { host: new URL(stack.publicUrl).host } : {};
  await eventually(async () => {
    const [missing] = await query(
      stack.database,
      "select count(*) from contact.fields f where not exists (select from content.contact_fields c where c.alias = f.alias)",
    );
    assert.equal(missing?.count, "0");
    const { json } = await visitor(stack.baseUrl, host).hit({ page_url: "https://ready.example/" });
    assert.equal(json.success, 1);
  });
  return { ...stack, ...askedOf(stack) };
}

export function askedOf({ api, database }: Pick<TestStack, "api"> & AnyDatabase): Asking {
  return {
    query: (text) => query(database, text),
    async made(path, body) {
      const answer = await api("POST", path, body);
      assert.ok(answer.status < 300, answer.text);
      return answer.body;
    },
  };
}

interface AnyDatabase {
  database: Parameters<typeof query>[0];
}
