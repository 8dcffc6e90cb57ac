import { readFileSync } from "node:fs";
import { credsAuthenticator, type NodeConnectionOptions } from "@nats-io/transport-node";

/** Where NATS is, and how a process shows who it is. */
export interface NatsServer {
  /** `nats://user:password@host:port`; without a scheme too. */
  url: string;
  /** A file with a JWT and its seed (`.creds`), in place of user and password. It is read anew for each connection. */
  credentialsFile?: string | undefined;
  /** PEM: the connection has to be one of TLS, with a certificate of these authorities. It is read anew as well. */
  caFile?: string | undefined;
}

/** A server as the NATS client describes it. */
export function natsServer({ url, credentialsFile, caFile }: NatsServer): NodeConnectionOptions {
  const { host, username, password } = new URL(url.includes("://") ? url : `nats://${url}`);
  return {
    servers: host,
    ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(credentialsFile && { authenticator: credsAuthenticator(() => readFileSync(credentialsFile)) }),
    ...(caFile && { tls: { caFile } }),
  };
}
