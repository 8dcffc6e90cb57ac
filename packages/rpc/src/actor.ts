import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { LRUCache } from "lru-cache";
import { unauthenticated } from "./fault.ts";

/** The user, client or service on whose behalf a call is made. */
export interface Actor {
  kind: ActorKind;
  /** The id of the user; null for clients and services. */
  id: number | null;
  /** The id of the API credential that acts for itself. */
  clientId?: number;
  /** As shown in created_by_user. */
  name: string;
  admin: boolean;
  /** Permission base ("lead:leads") to the actions held on it. */
  permissions: Record<string, string[]>;
}

export type ActorKind = "user" | "client" | "service";

/** A part of the product that acts for itself, with the rights that its calls are given. */
export function serviceActor(name: string): Actor {
  return { kind: "service", id: null, name, admin: false, permissions: {} };
}

/** Turns an actor into a token that one process accepts for a minute. */
export type ActorSigner = (actor: Actor) => string;
export type ActorVerifier = (token: string) => Actor;

const LIFETIME_MS = 60_000;
const REUSE_MS = 30_000;
const KINDS: ReadonlySet<string> = new Set<ActorKind>(["user", "client", "service"]);

interface Claims {
  actor: Actor;
  /** Name of the process the token is for: it cannot pass it on to another one. */
  aud: string;
  /** Milliseconds since the epoch. */
  iat: number;
  exp: number;
}

/**
 * Tokens for the process `audience` are `base64url(claims).base64url(Ed25519 signature)`. One is made per actor and half
 * minute, so that a request costs a look-up and not a signature.
 */
export function actorSigner(privateKeyBase64: string, audience: string): ActorSigner {
  const key = createPrivateKey({
    key: Buffer.from(privateKeyBase64, "base64"),
    format: "der",
    type: "pkcs8",
  });
  const tokens = new LRUCache<Actor, string>({ max: 1_000, ttl: REUSE_MS });
  return (actor) => {
    const known = tokens.get(actor);
    if (known) return known;
    const iat = Date.now();
    const claims = Buffer.from(
      JSON.stringify({ actor, aud: audience, iat, exp: iat + LIFETIME_MS } satisfies Claims),
    );
    const token = `${claims.toString("base64url")}.${sign(null, claims, key).toString("base64url")}`;
    tokens.set(actor, token);
    return token;
  };
}

interface TrustedKey {
  /** The kinds of actor that its holder may speak for. */
  kinds: ReadonlySet<string>;
  key: KeyObject;
}

/**
 * Accepts tokens for the process `audience` of any of the keys, each written as `user+client:<base64 of SPKI DER>`: the
 * kinds of actor its holder may speak for (two keys while one is rotated). Throws UNAUTHENTICATED on all others, and
 * ACTOR_EXPIRED where the clocks of the two processes do not agree.
 */
export function actorVerifier(publicKeys: string[], audience: string): ActorVerifier {
  const keys = publicKeys.map(trustedKey);
  const verified = new LRUCache<string, Claims>({ max: 1_000, ttl: LIFETIME_MS });
  return (token) => {
    let claims = verified.get(token);
    if (!claims) {
      claims = verifyToken(token, keys, audience);
      verified.set(token, claims);
    }
    const now = Date.now();
    if (claims.exp < now || claims.iat > now + LIFETIME_MS) throw outOfTime(now - claims.iat);
    return claims.actor;
  };
}

function trustedKey(text: string): TrustedKey {
  const [kinds = "", key = ""] = text.split(":");
  const names = kinds.split("+");
  if (!names.every((name) => KINDS.has(name)))
    throw new Error("A key of an actor begins with the kinds it may speak for, such as user+client:");
  const publicKey = createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" });
  return { kinds: new Set(names), key: publicKey };
}

function verifyToken(token: string, keys: TrustedKey[], audience: string): Claims {
  const [payload = "", signature = ""] = token.split(".");
  const bytes = Buffer.from(payload, "base64url");
  const signer = keys.find(({ key }) => verify(null, bytes, key, Buffer.from(signature, "base64url")));
  const claims = signer && (JSON.parse(bytes.toString("utf8")) as Claims);
  if (!claims || claims.aud !== audience || !signer.kinds.has(claims.actor.kind))
    throw unauthenticated("ACTOR_INVALID", "The caller's identity could not be verified.");
  return claims;
}

function outOfTime(ageMs: number) {
  const seconds = Math.round(ageMs / 1_000);
  const message = `The caller's identity was made ${seconds} seconds ago by our clock: the clocks of the two processes differ.`;
  return unauthenticated("ACTOR_EXPIRED", message);
}
