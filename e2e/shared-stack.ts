import { after } from "node:test";
import { createClient } from "./client.ts";
import { ADMINISTRATOR, type TestStack } from "./stack.ts";
import { type Asking, askedOf, startVisitedStack } from "./visited-stack.ts";

/**
 * A stack that other files use at the same time: a test looks at what it made, and not at how much there is. Files that change fields, settings or
 * processes have a stack of their own.
 */
export interface SharedStack extends Pick<TestStack, "baseUrl" | "publicUrl" | "api">, Asking {
  database: Pick<TestStack["database"], "adminUrl">;
}

/** Where it is, as JSON, for files that run in the same command. */
const VARIABLE = "SHARED_STACK";

type Place = Pick<SharedStack, "baseUrl" | "publicUrl" | "database">;

/** The stack of the command, whose public web has a host of its own and whose visitors meet no limits; a new one for a file that runs alone. */
export async function sharedStack(): Promise<SharedStack> {
  const { [VARIABLE]: place } = process.env;
  if (place === undefined) {
    const stack = await startVisitedStack({ hasOwnHost: true });
    after(() => stack.stop());
    return stack;
  }
  const { baseUrl, publicUrl, database }: Place = JSON.parse(place);
  const api = createClient(baseUrl, ADMINISTRATOR);
  return { baseUrl, publicUrl, database, api, ...askedOf({ api, database }) };
}

/** Starts it before all files. Answers how it is stopped. */
export async function startSharedStack(): Promise<() => Promise<void>> {
  const { baseUrl, publicUrl, database, stop } = await startVisitedStack({ hasOwnHost: true });
  const place: Place = { baseUrl, publicUrl, database: { adminUrl: database.adminUrl } };
  process.env[VARIABLE] = JSON.stringify(place);
  return stop;
}
