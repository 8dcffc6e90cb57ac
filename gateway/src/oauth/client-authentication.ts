import type { IncomingMessage } from "node:http";
import type { Database } from "@tidings/database/database";
import { Code } from "@tidings/rpc/fault";
import { findClient, hasSecret, type OAuthClient } from "./client.ts";
import { OAuthError } from "./oauth-error.ts";
import type { Parameters } from "./parameters.ts";

/**
 * Which client asks (RFC 6749, 2.3.1): id and secret in the body or by Basic, never by both. A public client names itself
 * in the body.
 */
export async function authenticateClient(
  request: IncomingMessage,
  parameters: Parameters,
  { database, deadlineMs }: { database: Database; deadlineMs: number },
): Promise<OAuthClient> {
  const basic = basicOf(request.headers.authorization);
  const sent = { id: parameters.text("client_id"), secret: parameters.text("client_secret") };
  if (basic && (sent.secret || (sent.id && sent.id !== basic.id)))
    throw new OAuthError("invalid_request", "Only one method may be used to authenticate the client");
  const { id, secret } = basic ?? sent;
  if (!id) throw refused(basic, "Client id was not found in the headers or body");
  const client = await findClient(database, id, deadlineMs);
  if (!client || !hasSecret(client, secret)) throw refused(basic, "The client credentials are invalid");
  return client;
}

interface SentClient {
  id: string | undefined;
  secret: string | undefined;
}

function basicOf(header = ""): SentClient | undefined {
  const [scheme = "", value = ""] = header.split(" ", 2);
  if (scheme.toLowerCase() !== "basic") return undefined;
  const text = Buffer.from(value, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) return { id: text, secret: undefined };
  // Ids and secrets are made of characters that no encoding changes.
  return { id: text.slice(0, colon), secret: text.slice(colon + 1) || undefined };
}

/** By Basic it is 401 with a challenge, else 400 (RFC 6749, 5.2). */
function refused(basic: SentClient | undefined, message: string): OAuthError {
  return new OAuthError("invalid_client", message, basic ? Code.UNAUTHENTICATED : Code.INVALID_ARGUMENT);
}
