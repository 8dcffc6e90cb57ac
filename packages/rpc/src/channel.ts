import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";
import type { Tls } from "@tidings/runtime/tls";

const MEGABYTE = 1024 * 1024;

/**
 * Options both ends share. The flow-control window is what limits pages of 25 KB and more when left at its default;
 * keep-alive finds dead peers that send no packet.
 */
export const channelOptions: ChannelOptions = {
  "grpc-node.flow_control_window": 4 * MEGABYTE,
  "grpc.max_receive_message_length": 32 * MEGABYTE,
  "grpc.max_send_message_length": 32 * MEGABYTE,
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.enable_channelz": 0,
  // retry.ts repeats calls that may be repeated, and replica.ts opens broken lines anew.
  "grpc.enable_retries": 0,
};

/** How a connection is secured, and by what name the other end goes. */
export interface Security {
  credentials: ChannelCredentials;
  options: ChannelOptions;
}

/** A connection to `host`, whichever of its addresses it leads to: with TLS the certificate there has to be the host's. */
export function securityOf(host: string, tls: Tls | undefined): Security {
  if (!tls) return { credentials: credentials.createInsecure(), options: {} };
  const verify = {
    checkServerIdentity: (_name: string, cert: PeerCertificate) => checkServerIdentity(host, cert),
  };
  const secured = credentials.createFromSecureContext(tls.context, verify);
  return { credentials: secured, options: { "grpc.ssl_target_name_override": host } };
}
