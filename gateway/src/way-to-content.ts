import { Agent, type AgentOptions } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { Tls } from "@tidings/runtime/tls";

/** How requests get to the web port of the content service. */
export interface WayToContent {
  /** `http://content:8081` */
  origin: string;
  agent: Agent;
}

/** `address` is `host:port`. With TLS both ends show a certificate, and the one there has to be the host's. */
export function wayToContent(address: string, tls: Tls | undefined, options: AgentOptions): WayToContent {
  if (!tls) return { origin: `http://${address}`, agent: new Agent(options) };
  const origin = `https://${address}`;
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, "");
  const agent = new TlsAgent({
    ...options,
    ...tls.files,
    minVersion: "TLSv1.3",
    // Else it would be taken from the Host header, which is the visitor's.
    servername: isIP(host) ? "" : host,
    checkServerIdentity: (_name: string, cert: PeerCertificate) => checkServerIdentity(host, cert),
  });
  // Connections with other certificates are others to the agent.
  tls.onChange((files) => Object.assign(agent.options, files));
  return { origin, agent };
}
