import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestDatabase } from "@tidings/testkit/postgres";

export interface OAuthClient {
  client_id: string;
  client_secret: string;
}

const SCRIPT = join(import.meta.dirname, "../scripts/credentials.ts");

/** Makes an API credential the way an operator does. */
export async function createOAuthClient(database: TestDatabase, options: string[]): Promise<OAuthClient> {
  const env = { ...process.env, DATABASE_URL: database.url("identity") };
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "create", ...options], { env });
  return JSON.parse(stdout) as OAuthClient;
}

export interface Tokens {
  status: number;
  body: { access_token: string; refresh_token: string; expires_in: number; error: string };
}

/** Asks the token endpoint. */
export async function requestTokens(baseUrl: string, fields: Record<string, string>): Promise<Tokens> {
  const response = await fetch(`${baseUrl}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams(fields),
  });
  return { status: response.status, body: (await response.json()) as Tokens["body"] };
}
